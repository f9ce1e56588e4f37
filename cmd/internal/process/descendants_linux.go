package process

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownSession puts a command into a session of its own, and ends it with the thread that has started it.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes each descendant whose parent ends a child of this process, also one with a session of its own.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } // Linux has it since 3.4

// endDescendants ends all descendants of this process. The command has been waited for. Whole groups end at once, since a process
// that starts the next one and ends could outrun its single end.
func endDescendants(int) {
	for start := time.Now(); time.Since(start) < endDeadline/2; {
		switch pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); {
		case err == unix.ECHILD:
			return
		case pid > 0:
			continue
		}
		for _, d := range descendants(os.Getpid()) {
			if d.group != unix.Getpgrp() {
				_ = unix.Kill(-d.group, unix.SIGKILL)
			}
			_ = unix.Kill(d.id, unix.SIGKILL) // it may have ended
		}
		time.Sleep(time.Millisecond)
	}
}

// processInfo is a process of the machine.
type processInfo struct{ id, parent, group int }

// descendants returns the processes that descend from a process.
func descendants(from int) (found []processInfo) {
	entries, _ := os.ReadDir("/proc") // without it, nothing is found
	below := map[int][]processInfo{}
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // no process, or one that has ended
		}
		// The name may hold anything. Behind it are the state, the parent and the group.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) < 3 {
			continue
		}
		var k processInfo
		k.id, _ = strconv.Atoi(e.Name()) // the kernel writes numbers
		k.parent, _ = strconv.Atoi(fields[1])
		k.group, _ = strconv.Atoi(fields[2])
		below[k.parent] = append(below[k.parent], k)
	}
	for rest := below[from]; len(rest) > 0; rest = rest[1:] {
		found = append(found, rest[0])
		rest = append(rest, below[rest[0].id]...)
	}
	return found
}
