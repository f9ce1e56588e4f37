//go:build unix

package process

import "syscall"

// ownGroup puts a process into a group of its own. A signal of the terminal ends the parent first,
// which then ends the process.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
