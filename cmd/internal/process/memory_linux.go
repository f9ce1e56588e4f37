package process

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// StartWithin starts a command that gets no more bytes of memory for its data.
func StartWithin(cmd *Command, most uint64) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil) // it may have ended
	return nil
}

// Resident returns the bytes of memory that a process holds, or 0 if it has ended.
func Resident(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64) // the kernel writes a number
	return pages * int64(os.Getpagesize())
}

// Spent returns the time of the processor that a process has spent, or 0 if it has ended.
func Spent(pid int) time.Duration {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // without it, nothing was spent
	// The name may hold anything. Behind it, the twelfth and thirteenth fields count hundredths of seconds, in the program and in the kernel.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	program, _ := strconv.ParseInt(string(fields[11]), 10, 64) // the kernel writes numbers
	kernel, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(program+kernel) * (time.Second / 100)
}

// LimitMemory does nothing: the parent watches the process.
func LimitMemory(int64) {}
