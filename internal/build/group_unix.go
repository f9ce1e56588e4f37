//go:build unix

package build

import (
	"os/exec"
	"syscall"
)

// inGroup gives a command a process group of its own, and kills the whole group at the end of its context.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		killGroup(cmd)
		return nil
	}
}

// killGroup kills a started command and the processes that it has started.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be none left
}
