package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"time"
)

// superviseWork is the work of a process that runs one command.
const superviseWork = "supervise"

// endDeadline is the longest time that a supervisor has to end its command. Its parent ends it afterwards.
const endDeadline = 2 * time.Second

// Supervised returns a command that the user names, to be run in a directory. A process of this program, its supervisor, starts it.
// The command ends with all its descendants when the context or this process ends. Its descendants end with it. The command is in a
// session of its own. It cannot write into the terminal's input, and no group outside holds one of its processes.
func Supervised(ctx context.Context, dir string, command ...string) (*Command, error) {
	if missing := (*exec.Error)(nil); errors.As(exec.Command(command[0]).Err, &missing) {
		return nil, missing.Err
	}
	file, err := executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, file)
	cmd.Args = append([]string{"trainweld-" + superviseWork}, command...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, append(os.Environ(), role+"="+superviseWork), ownGroup()
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel, cmd.WaitDelay = alive.Close, endDeadline
	return cmd, nil
}

// Supervise runs a command for the parent, if this process was started for that, and does not return then.
func Supervise() {
	if !Is(superviseWork) {
		return
	}
	runtime.LockOSThread() // the command ends with the thread that starts it
	adoptOrphans()
	if err := os.Unsetenv(role); err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, ownSession()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(127)
	}
	var isStopped atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it, or ends
		isStopped.Store(true)
		_ = cmd.Process.Kill() // it may have ended
	}()
	err := cmd.Wait()
	endDescendants(cmd.Process.Pid)
	status := cmd.ProcessState.ExitCode()
	if status < 0 { // ended by a signal
		if status = 1; !isStopped.Load() {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(status)
}
