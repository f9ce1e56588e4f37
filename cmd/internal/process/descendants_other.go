//go:build !unix

package process

import "syscall"

// ownGroup does nothing on this system.
func ownGroup() *syscall.SysProcAttr { return nil }

// ownSession does nothing on this system.
func ownSession() *syscall.SysProcAttr { return nil }

// adoptOrphans does nothing on this system.
func adoptOrphans() {}

// endDescendants does nothing: this system has no groups of processes.
func endDescendants(int) {}
