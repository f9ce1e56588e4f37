package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/internal/testenv"
)

var update = flag.Bool("update", false, "rewrite what the scripts in testdata/script compare with")

// TestMain puts this binary on the PATH as the program. Scripts and tests run it in its own
// process.
func TestMain(m *testing.M) {
	build.Serve()
	testscript.Main(testenv.Tests{M: m},
		map[string]func(){"worker": work, "trainweld": main, "kubectl-trainweld": main,
			"kubectl_complete-trainweld": main})
}

// TestScripts runs the scripts of testdata/script, one a feature. Each has the files of
// testdata/shared next to its own, which go before them. Besides testscript's own commands there
// are:
//
//	section NAME               start a part in the folder NAME: it holds the files NAME/..., and the shared ones
//	exits STATUS COMMAND...    run a command, which must end with this very status. The program runs in a worker, and in a run at
//	                           full length as a process. exec starts a process always.
//	closedpipe COMMAND...      run one whose output nobody reads, which must end as cat does
//	repeat FILE N TEXT         write a file that holds N times TEXT, with the escapes of Go
//	sparse FILE BYTES          make a file of that size without filling the disk
//	copies FILE DIR N          write N copies of a file into a directory, {N} in it being 01 to N
//	atmost BYTES FILE          assert that the file is not larger
//	withoutpath STATUS COMMAND... exits, with an empty PATH
//	age FILE, aged FILE        make a file very old; assert that it still is
//	empty DIR                  assert that a directory is empty
func TestScripts(t *testing.T) {
	// Each command of a script is a process, which starts slowly under the race detector. So it
	// runs only scripts that read many files.
	dir, files := filepath.Join("testdata", "script"), []string(nil)
	if testenv.Race {
		dir = ""
		for _, pattern := range []string{"*director*", "*output_dir*", "*_many*", "*_trainjobs*"} {
			found, err := filepath.Glob(filepath.Join("testdata", "script", pattern))
			if err != nil || len(found) == 0 {
				t.Fatalf("no script is called %s: %v", pattern, err)
			}
			files = append(files, found...)
		}
	}
	idle, names := newWorkers(t), variables(t, filepath.Join("testdata", "script", "*"))
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// the processes are small and short, and a tenth of their time went into collecting
			// garbage
			env.Setenv("GOGC", "400")
			all := slices.Clone(names)
			for _, variable := range env.Vars {
				name, _, _ := strings.Cut(variable, "=")
				all = append(all, name)
			}
			env.Values[idleWorkers], env.Values[variableNames] = idle, all
			return share(env.WorkDir)
		},
		Condition: func(condition string) (bool, error) {
			if condition == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, errors.New("unknown condition " + condition)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"section":     section,
			"exits":       exits,
			"closedpipe":  closedPipe,
			"repeat":      repeat,
			"sparse":      sparse,
			"copies":      copies,
			"atmost":      atMost,
			"withoutpath": withoutPath,
			"age":         age,
			"aged":        aged,
			"empty":       empty,
		},
	})
}

// share copies the shared files that dir lacks into it.
func share(dir string) error {
	shared, err := filepath.Glob(filepath.Join("testdata", "shared", "*"))
	if err != nil {
		return err
	}
	for _, file := range shared {
		to := filepath.Join(dir, filepath.Base(file))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func arguments(ts *testscript.TestScript, neg bool, args []string, least int) {
	if neg || len(args) < least {
		ts.Fatalf("see the usage of this command at TestScripts")
	}
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

func section(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("see the usage of this command at TestScripts")
	}
	dir := filepath.Join(ts.Getenv("WORK"), args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	ts.Check(share(dir))
	ts.Check(ts.Chdir(dir))
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2)
	status := 0
	if programs := []string{"trainweld", "kubectl-trainweld",
		"kubectl_complete-trainweld"}; !testenv.Long() && slices.Contains(programs, args[1]) {
		status = runInWorker(ts, args[1:])
	} else {
		err := ts.Exec(args[1], args[2:]...)
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			status = exit.ExitCode()
		case err != nil:
			ts.Fatalf("%v", err)
		}
	}
	if status != number(ts, args[0]) {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

func closedPipe(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1)
	program, err := exec.LookPath(args[0])
	ts.Check(err)
	r, w, err := os.Pipe()
	ts.Check(err)
	ts.Check(r.Close())
	cmd := exec.Command(program, args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), w, ts.Stderr()
	err = cmd.Run()
	ts.Check(w.Close())
	want := "signal: broken pipe"
	if runtime.GOOS == "windows" {
		want = "exit status 141"
	}
	if got := cmd.ProcessState.String(); got != want {
		ts.Fatalf("%v, want the end by a closed pipe: %s", err, want)
	}
}

func repeat(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 3)
	text, err := strconv.Unquote("`" + args[2] + "`")
	if strings.Contains(args[2], `\`) {
		text, err = strconv.Unquote(`"` + args[2] + `"`)
	}
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(text, number(ts, args[1]))),
		0o666))
}

func sparse(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte("kind: TrainJob\n"), 0o666))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(number(ts, args[1]))))
}

func copies(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 3)
	text := []byte(ts.ReadFile(args[0]))
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o777))
	for i := range number(ts, args[2]) {
		n := strconv.Itoa(100 + i + 1)[1:]
		ts.Check(os.WriteFile(filepath.Join(dir, n+".yaml"),
			bytes.ReplaceAll(text, []byte("{N}"), []byte(n)), 0o666))
	}
}

func atMost(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2)
	if size := len(ts.ReadFile(args[1])); size > number(ts, args[0]) {
		ts.Fatalf("%s has %d bytes", args[1], size)
	}
}

func withoutPath(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2)
	program, err := exec.LookPath(args[1])
	ts.Check(err)
	path := ts.Getenv("PATH")
	ts.Setenv("PATH", "")
	defer ts.Setenv("PATH", path)
	exits(ts, neg, append([]string{args[0], program}, args[2:]...))
}

// long is when the age of a file was set to.
var long = time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC)

func age(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1)
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), long, long))
}

func aged(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		arguments(ts, true, args, 1)
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if old := info.ModTime().Equal(long); old == neg {
		ts.Fatalf("%s was written at %v", args[0], info.ModTime())
	}
}

func empty(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1)
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		ts.Fatalf("%s holds %s", args[0], e.Name())
	}
}
