//go:build linux && (amd64 || arm64)

package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/trainweld/trainweld/internal/testenv"
)

// confinements are the program under a filter of the kernel. A forbidden system call ends it with a
// stack trace.
func confinements() map[string]func() {
	confined := func(forbid ...uint32) func() {
		return func() {
			if err := confine(forbid); err != nil {
				fmt.Fprintln(os.Stderr, "the kernel takes no filter:", err)
				os.Exit(125)
			}
			os.Exit(Run(Start("", ""), os.Args))
		}
	}
	network := []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND,
		unix.SYS_LISTEN, unix.SYS_SENDTO}
	return map[string]func(){
		"trainweld-alone": confined(
			append(network, unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_CLONE)...),
		"trainweld-offline": confined(network...),
		"trainweld-fetches": func() {
			Start("", "")
			_, err := http.Get(os.Args[1])
			fmt.Print(err)
		},
	}
}

// confine installs a filter in all threads of the process. Children inherit it. With SYS_CLONE,
// only new threads are allowed.
func confine(forbid []uint32) error {
	const (
		load     = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal    = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		anyOf    = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		verdict  = unix.BPF_RET | unix.BPF_K
		number   = 0  // offset of the system call in seccomp_data
		argument = 16 // and of the low half of its first argument
	)
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	// clone3 has its flags in memory, which a filter cannot read. Programs fall back to clone.
	program := []unix.SockFilter{
		{Code: load, K: number},
		{Code: equal, K: unix.SYS_CLONE3, Jf: 1},
		{Code: verdict, K: errno(unix.ENOSYS)},
	}
	for _, call := range forbid {
		if call == unix.SYS_CLONE {
			program = append(program,
				unix.SockFilter{Code: equal, K: call, Jf: 4},
				unix.SockFilter{Code: load, K: argument},
				unix.SockFilter{Code: anyOf, K: unix.CLONE_THREAD, Jt: 1},
				unix.SockFilter{Code: verdict, K: unix.SECCOMP_RET_TRAP},
				unix.SockFilter{Code: verdict, K: unix.SECCOMP_RET_ALLOW},
			)
			continue
		}
		program = append(program, unix.SockFilter{Code: equal, K: call, Jf: 1},
			unix.SockFilter{Code: verdict, K: unix.SECCOMP_RET_TRAP})
	}
	program = append(program, unix.SockFilter{Code: verdict, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if e != 0 {
		return e
	}
	return nil
}

// runConfined runs a program of confinements, and fails the test if the filter ended it.
func runConfined(t *testing.T, program string, env, args []string) {
	t.Helper()
	run := exec.Command(program, args...)
	run.Env = append(os.Environ(), env...)
	run.Stdin = strings.NewReader(resourceList)
	var stderr bytes.Buffer
	run.Stderr = &stderr
	err := run.Run()
	if status := run.ProcessState.ExitCode(); status < 0 || status > 2 ||
		strings.Contains(stderr.String(), "SIGSYS") {
		t.Errorf("%v\n%.3000s", err, stderr.String())
	}
}

// TestNoNetworkNoPrograms runs every command in each of its formats. No one opens a socket or
// starts a program. Each run is a process, so the short form takes some formats of each command.
func TestNoNetworkNoPrograms(t *testing.T) {
	seen, every := 0, testenv.Every(8)
	eachOutput(t, func(t *testing.T, args []string) {
		seen++
		if slices.Contains(args, "-o") && seen%every > 0 {
			return
		}
		runConfined(t, "trainweld-alone", nil, args)
	})
}

// TestStart_Sealed fetches something in a process of the program, as a library could.
func TestStart_Sealed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if out, err := exec.Command("trainweld-fetches", server.URL).Output(); err != nil ||
		!bytes.Contains(out, []byte("a build fetches nothing")) {
		t.Errorf("a request by HTTP: %q, %v", out, err)
	}
}

// TestNamedPrograms runs the flags that name a program. They open no socket, and they start that
// program only: the folder of PATH has no other one.
func TestNamedPrograms(t *testing.T) {
	dir := t.TempDir()
	repository := filepath.Join(dir, "repository")
	testenv.WriteIn(t, repository, "job.yaml", testenv.TrainJob(0))
	testenv.WriteIn(t, repository, "runtime.yaml", testenv.Runtime())
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"},
	} {
		if out, err := exec.Command(
			"git", append([]string{"-C", repository}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	testenv.WriteIn(t, repository, "job.yaml", testenv.TrainJob(0)+"# changed\n")
	for _, tc := range []struct {
		program string
		args    []string
	}{
		{"git", []string{"diff", "--git", "HEAD", repository}},
		{"git", []string{"check", "--git", "HEAD", repository}},
	} {
		t.Run(strings.Join(tc.args[:2], " "), func(t *testing.T) {
			only := t.TempDir()
			file, err := exec.LookPath(tc.program)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(file, filepath.Join(only, tc.program)); err != nil {
				t.Fatal(err)
			}
			runConfined(t, "trainweld-offline", []string{"PATH=" + only}, tc.args)
		})
	}
}

// TestConfine shows that the filter works: it stops a command that starts git.
func TestConfine(t *testing.T) {
	out, err := exec.Command("trainweld-alone", "diff", "--git", "HEAD", ".").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("SIGSYS")) {
		t.Errorf("a confined program started git: %v\n%.2000s", err, out)
	}
}
