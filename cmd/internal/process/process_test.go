package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain runs this binary for the work of a test.
func TestMain(m *testing.M) {
	Supervise()
	if command := os.Getenv("SUPERVISED"); command != "" {
		runSupervised(command)
		os.Exit(0)
	}
	for name, work := range works {
		if Is(name) {
			work()
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

var works = map[string]func(){
	"free":     func() { report(attempts()) },
	"confined": confined,
	"sealed":   sealed,
	"trapped":  trapped,
	"filling": func() {
		if err := Confine(); err != nil {
			panic(err)
		}
		held := bytes.Repeat([]byte("full"), 150<<20) // beyond what it may map
		report(map[string]string{"holds": fmt.Sprint(len(held))})
	},
	"again": func() {
		_, err := Self("again")
		report(map[string]string{"again": text(err)})
	},
}

// runSupervised runs a command of a shell, whose output it passes on.
func runSupervised(command string) {
	cmd, err := Supervised(context.Background(), os.TempDir(), "sh", "-c", command)
	if err != nil {
		panic(err)
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Run() // the test ends it
}

func text(err error) string {
	if errors.Is(err, syscall.EPERM) {
		return "refused"
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func report(results map[string]string) { _ = json.NewEncoder(os.Stdout).Encode(results) }

// attempts tries the actions that a build must not take. An empty result is a success.
func attempts() map[string]string {
	results := map[string]string{}
	_, err := os.ReadFile("/etc/hostname")
	if errors.Is(err, os.ErrNotExist) {
		_, err = os.ReadDir("/")
	}
	results["read"] = text(err)
	results["write"] = text(os.WriteFile(filepath.Join(os.TempDir(), "trainweld-confined"), nil, 0o600))
	_, err = net.Listen("tcp", "127.0.0.1:0")
	results["socket"] = text(err)
	results["program"] = text((&exec.Cmd{Path: "/proc/self/exe", Args: []string{"trainweld-again"}, Env: []string{role + "=again"}}).Run())
	done := make(chan bool)
	for range 64 { // new threads
		go func() {
			runtime.LockOSThread()
			done <- true
		}()
	}
	for range 64 {
		<-done
	}
	return results
}

// confined tries everything in the thread that has taken the rights away, and in one that was there before.
func confined() {
	ready, isConfined, other := make(chan bool), make(chan bool), make(chan map[string]string)
	go func() {
		runtime.LockOSThread()
		close(ready)
		<-isConfined
		other <- attempts()
	}()
	<-ready
	if err := Confine(); err != nil {
		report(map[string]string{"confine": err.Error()})
		return
	}
	close(isConfined)
	results := <-other
	for what, how := range attempts() {
		if results[what] != how {
			results[what] += " and " + how
		}
	}
	report(results)
}

// trapped tries one thing after Trap.
func trapped() {
	if err := Trap(); err != nil {
		report(map[string]string{"trap": err.Error()})
		return
	}
	var err error
	switch os.Getenv("TRIES") {
	case "socket":
		_, err = net.Listen("tcp", "127.0.0.1:0")
	case "program":
		err = (&exec.Cmd{Path: "/bin/true", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}).Run()
	case "file":
		_, err = os.ReadFile("/etc/hostname")
	}
	report(map[string]string{"tried": text(err)})
}

func sealed() {
	SealLibraries()
	log.Print("of a library")
	fmt.Fprintln(os.Stderr, "of a library")
	_, err := http.Get(os.Getenv("URL"))
	report(map[string]string{"offline": map[bool]string{true: "yes"}[errors.Is(err, errOffline)]})
}

// run runs this binary for a work, and returns its results.
func run(t *testing.T, work string, env ...string) map[string]string {
	t.Helper()
	cmd, err := Self(work)
	if err != nil {
		t.Fatal(err)
	}
	if len(cmd.Env) != 1 {
		t.Errorf("the environment is %q, want only the work", cmd.Env)
	}
	cmd.Env = append(cmd.Env, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%.3000s", err, stderr.String())
	}
	var results map[string]string
	if stderr.Len() > 0 {
		t.Errorf("%s: standard error is %q", work, stderr.String())
	}
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	return results
}

// TestConfine tries the same with and without the rights.
func TestConfine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux takes the rights away: SECURITY.md")
	}
	free := map[string]string{"read": "", "write": "", "socket": "", "program": ""}
	if got := run(t, "free"); !maps.Equal(got, free) {
		t.Errorf("a free process: %q, want success with each", got)
	}
	confined := map[string]string{"read": "refused", "write": "refused", "socket": "refused", "program": "refused"}
	if got := run(t, "confined"); !maps.Equal(got, confined) {
		t.Errorf("a confined process: %q, want %q", got, confined)
	}
}

// TestConfine_Memory fills the memory of a confined process. It ends, whichever part of Go gets no more.
func TestConfine_Memory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems bound no memory: SECURITY.md")
	}
	cmd, err := Self("filling")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("it holds what it wants: %v\n%.300s", err, out)
	}
}

// TestTrap holds that a socket and a program end the process, and that a file is rejected.
func TestTrap(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux takes the rights away: SECURITY.md")
	}
	if got := run(t, "trapped", "TRIES=file"); got["tried"] != "refused" {
		t.Errorf("a file: %q, want that it is refused", got)
	}
	for _, try := range []string{"socket", "program"} {
		cmd, err := Self("trapped")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, "TRIES="+try)
		// Go names the call, unless the system ends the process while it forks.
		if out, err := cmd.CombinedOutput(); !strings.Contains(fmt.Sprintf("%v %s", err, out), "bad system call") {
			t.Errorf("a %s: %v, want that the call ends the process\n%s", try, err, out)
		}
	}
}

// TestSealLibraries wants no connection.
func TestSealLibraries(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // at the end of the test
			}
			connection.Close() // so that a request fails, and not with the error of the transport
		}
	}()
	if got := run(t, "sealed", "URL=http://"+listener.Addr().String()); got["offline"] != "yes" {
		t.Errorf("a request by HTTP does not fail: %q", got)
	}
	listener.Close()
}

// TestSelf_NotAgain holds that a process for one work starts no other one.
func TestSelf_NotAgain(t *testing.T) {
	if got := run(t, "again"); got["again"] == "" {
		t.Error("a process for one work starts another one")
	}
}

// TestSupervised_ParentEnds kills the process that runs a command. The command ends, and so does what it has left.
func TestSupervised_ParentEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is one of a shell")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "SUPERVISED=sleep 60 & echo $! $$; wait")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var child, command int
	if _, err := fmt.Fscan(bufio.NewReader(out), &child, &command); err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for _, pid := range []int{child, command} {
		process, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		for tries := 0; process.Signal(syscall.Signal(0)) == nil; tries++ {
			if tries > 500 {
				t.Fatalf("process %d still runs", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// TestIs holds that both the name and the environment of a process tell its work. A caller can set one of them by accident.
func TestIs(t *testing.T) {
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	for _, tc := range []struct {
		args []string
		env  string
		want bool
	}{
		{[]string{"trainweld-a"}, "a", true}, {[]string{"trainweld-a"}, "", false}, {[]string{"trainweld"}, "a", false}, {[]string{"trainweld-b"}, "a", false}, {nil, "a", false},
	} {
		os.Args = tc.args
		t.Setenv(role, tc.env)
		if got := Is("a"); got != tc.want {
			t.Errorf("%q with %q: %t, want %t", tc.args, tc.env, got, tc.want)
		}
	}
}

// TestSupervised_Ends tells how a command has ended: with its status, by a signal, or because it is not a program.
func TestSupervised_Ends(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is one of a shell")
	}
	file := filepath.Join(t.TempDir(), "no-program")
	if err := os.WriteFile(file, []byte("\x7fELF"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		command []string
		status  int
		said    string
	}{
		{[]string{"sh", "-c", "exit 3"}, 3, ""},
		{[]string{"sh", "-c", "kill -9 $$"}, 1, "signal: killed"},
		{[]string{file}, 127, "no-program"},
	} {
		ended := runIn(t, context.Background(), tc.command...)
		if ended.status != tc.status || !strings.Contains(ended.said, tc.said) || tc.said == "" && ended.said != "" {
			t.Errorf("%q ends with %d and %q, want %d and %q", tc.command, ended.status, ended.said, tc.status, tc.said)
		}
	}
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	if ended := runIn(t, ctx, "sleep", "60"); ended.status != 1 || ended.said != "" {
		t.Errorf("a command that was stopped ends with %d and %q", ended.status, ended.said)
	}
}

// ended is how a supervised command has ended.
type ended struct {
	status int
	said   string // on standard error
}

func runIn(t *testing.T, ctx context.Context, command ...string) ended {
	t.Helper()
	cmd, err := Supervised(ctx, t.TempDir(), command...)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run() // the state tells
	return ended{cmd.ProcessState.ExitCode(), stderr.String()}
}
