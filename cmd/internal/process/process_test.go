package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
)

// TestMain runs this binary for the work of a test.
func TestMain(m *testing.M) {
	for name, work := range works {
		if Is(name) {
			work()
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

var works = map[string]func(){
	"sealed": sealed,
	"again": func() {
		_, err := Self("again")
		report(map[string]string{"again": text(err)})
	},
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

// TestIs holds that both the name and the environment of a process tell its work. A caller can set
// one of them by accident.
func TestIs(t *testing.T) {
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	for _, tc := range []struct {
		args []string
		env  string
		want bool
	}{
		{[]string{"trainweld-a"}, "a", true}, {[]string{"trainweld-a"}, "", false},
		{[]string{"trainweld"}, "a", false}, {[]string{"trainweld-b"}, "a", false},
		{nil, "a", false},
	} {
		os.Args = tc.args
		t.Setenv(role, tc.env)
		if got := Is("a"); got != tc.want {
			t.Errorf("%q with %q: %t, want %t", tc.args, tc.env, got, tc.want)
		}
	}
}
