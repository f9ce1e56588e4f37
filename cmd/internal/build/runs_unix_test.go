//go:build unix

package build

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// detached puts a process into a session of its own.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// runs reports whether a process exists and is not a zombie that nobody waits for.
func runs(pid int) bool { return syscall.Kill(pid, 0) == nil && !isZombie(pid) }

// isZombie reports whether a process has ended. Systems without /proc reap the orphans at once.
func isZombie(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(status), ") ")
	return strings.HasPrefix(after, "Z")
}
