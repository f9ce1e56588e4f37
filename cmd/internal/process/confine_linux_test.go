//go:build linux && (amd64 || arm64)

package process

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// verdict runs a filter on a call as the kernel does: its number, the architecture and the first argument.
func verdict(t *testing.T, program []unix.SockFilter, architecture, call, argument uint32) uint32 {
	t.Helper()
	data := map[uint32]uint32{0: call, 4: architecture, 16: argument}
	loaded := uint32(0)
	for at := 0; at < len(program); at++ {
		switch i := program[at]; i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			loaded = data[i.K]
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			at += jump(i, loaded == i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			at += jump(i, loaded&i.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		default:
			t.Fatalf("the filter has the instruction %#x, which this test does not know", i.Code)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

func jump(i unix.SockFilter, holds bool) int {
	if holds {
		return int(i.Jt)
	}
	return int(i.Jf)
}

// TestFilter asks the filter for its verdict on calls, also on calls of other architectures, which this process cannot make.
func TestFilter(t *testing.T) {
	own, other := uint32(unix.AUDIT_ARCH_X86_64), uint32(unix.AUDIT_ARCH_I386)
	if runtime.GOARCH == "arm64" {
		own, other = unix.AUDIT_ARCH_AARCH64, unix.AUDIT_ARCH_ARM
	}
	const x32 = 1 << 30 // of the calls of the x32 ABI
	for _, tc := range []struct {
		name                         string
		architecture, call, argument uint32
		confined, trapped            uint32
	}{
		{"a read", own, unix.SYS_READ, 0, unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ALLOW},
		{"a file", own, unix.SYS_OPENAT, 0, rejection, rejection},
		{"a socket", own, unix.SYS_SOCKET, 0, rejection, signal},
		{"a connection", own, unix.SYS_CONNECT, 0, rejection, signal},
		{"a program", own, unix.SYS_EXECVE, 0, rejection, signal},
		{"a program of a file", own, unix.SYS_EXECVEAT, 0, rejection, signal},
		{"a thread", own, unix.SYS_CLONE, unix.CLONE_THREAD | unix.CLONE_VM, unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ALLOW},
		{"a process", own, unix.SYS_CLONE, unix.CLONE_VM, rejection, signal},
		{"a thread or a process", own, unix.SYS_CLONE3, 0, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{"a ring of calls", own, unix.SYS_IO_URING_SETUP, 0, rejection, rejection},
		{"memory of another process", own, unix.SYS_PTRACE, 0, rejection, rejection},
		{"a signal to a process", own, unix.SYS_KILL, 0, rejection, rejection},
		{"a call of another architecture", other, unix.SYS_READ, 0, rejection, rejection},
		{"a call of another ABI", own, x32 | unix.SYS_READ, 0, rejection, rejection},
	} {
		for attempted, want := range map[uint32]uint32{rejection: tc.confined, signal: tc.trapped} {
			if got := verdict(t, filter(attempted), tc.architecture, tc.call, tc.argument); got != want {
				t.Errorf("%s: %#x, want %#x", tc.name, got, want)
			}
		}
	}
}
