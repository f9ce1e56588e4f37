package process

import "golang.org/x/sys/unix"

// StartWithin starts a command that gets no more bytes of memory for its data.
func StartWithin(cmd *Command, most uint64) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	// it may have ended
	_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil)
	return nil
}
