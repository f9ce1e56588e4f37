//go:build linux && (amd64 || arm64)

package process

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostData limits the bytes that the process maps for its data. Go maps up to 64 MiB ahead of their use.
const mostData = 512 << 20

// allowed are the system calls that Go needs for computing, for threads, and for pipes that are open. Everything else fails with
// EPERM: it names a file, socket, process, namespace or part of the kernel.
var allowed = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_FCNTL,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2, unix.SYS_PPOLL,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_MEMBARRIER, unix.SYS_RSEQ,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_TGKILL,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM,
	unix.SYS_GETRLIMIT, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// watched are the system calls that end a process after Trap. They open a socket, connect it, or start a program.
var watched = []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_EXECVE, unix.SYS_EXECVEAT}

const (
	rejection = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	signal    = uint32(unix.SECCOMP_RET_TRAP) // Go ends the process, and names the goroutine
)

// Confine takes rights away from all threads of the process, forever. These are the rights to open files and sockets, to start
// programs and to write memory to disk. It returns an error if the kernel has no filters of system calls.
func Confine() error {
	for resource, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_DATA: mostData} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limits of the process: %w", err)
		}
	}
	return install(filter(rejection))
}

// Trap is Confine for a process that tests hostile inputs. Its memory has no limits. A socket or a program ends the process, so that no
// code can hide the attempt.
func Trap() error { return install(filter(signal)) }

func install(program []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return fmt.Errorf("filter of system calls: %w", e)
	}
	return nil
}

// filter returns a program for the kernel. It allows the calls of the list, and new threads. Sockets and programs have the given verdict.
func filter(attempted uint32) []unix.SockFilter {
	const (
		load     = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal    = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		anyOf    = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		verdict  = unix.BPF_RET | unix.BPF_K
		number   = 0  // offset of the system call in seccomp_data
		machine  = 4  // of its architecture
		argument = 16 // of the low half of its first argument
	)
	architecture := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		architecture = unix.AUDIT_ARCH_AARCH64
	}
	allow := unix.SockFilter{Code: verdict, K: unix.SECCOMP_RET_ALLOW}
	reject := unix.SockFilter{Code: verdict, K: rejection}
	attempt := unix.SockFilter{Code: verdict, K: attempted}
	program := []unix.SockFilter{
		{Code: load, K: machine},
		{Code: equal, K: architecture, Jt: 1},
		reject,
		{Code: load, K: number},
		// clone3 has its flags in memory, which a filter cannot read. Go does not use it, and C libraries fall back to clone.
		{Code: equal, K: unix.SYS_CLONE3, Jf: 1},
		{Code: verdict, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: equal, K: unix.SYS_CLONE, Jf: 4},
		{Code: load, K: argument},
		{Code: anyOf, K: unix.CLONE_THREAD, Jf: 1},
		allow,
		attempt, // a process
	}
	// The calls of the x32 ABI have numbers of their own, which are not in the list.
	for _, call := range allowed {
		program = append(program, unix.SockFilter{Code: equal, K: call, Jf: 1}, allow)
	}
	for _, call := range watched {
		program = append(program, unix.SockFilter{Code: equal, K: call, Jf: 1}, attempt)
	}
	return append(program, reject)
}
