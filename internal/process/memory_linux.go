package process

import (
	"bytes"
	"os"
	"strconv"
)

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

// LimitMemory does nothing: the parent watches the process.
func LimitMemory(int64) {}
