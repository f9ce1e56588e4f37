//go:build !unix

package build

import "syscall"

func detached() *syscall.SysProcAttr { return nil }

func runs(int) bool { return false }
