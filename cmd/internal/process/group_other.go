//go:build !unix

package process

import "syscall"

// ownGroup does nothing on this system.
func ownGroup() *syscall.SysProcAttr { return nil }
