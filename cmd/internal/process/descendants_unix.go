//go:build unix && !linux

package process

import "syscall"

// ownSession puts a command into a session and a group of its own.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// adoptOrphans does nothing: this system gives orphans to its first process.
func adoptOrphans() {}

// endDescendants ends the group of the command. A process that has left it goes on.
func endDescendants(command int) { _ = syscall.Kill(-command, syscall.SIGKILL) } // there may be none left
