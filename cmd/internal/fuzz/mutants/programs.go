package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The outcomes of a mutant that no test program killed.
const (
	skipped = "skipped" // it was not asked for
	nowhere = "nowhere" // no test program reaches it
)

// A program is a test program with the tests that it runs.
type program struct {
	name    string // the folder of the package
	tests   string // a regular expression, or "" for all
	except  string // a regular expression
	cases   string // of each law
	deep    bool   // it takes long, or belongs to a module of its own
	guards  bool   // it tests guards of SECURITY.md, and no engine
	long    string // "1" for the tests at full length
	binary  string
	takes   time.Duration
	reached []bool
}

// testPrograms are the programs that may kill a mutant, the fast ones first.
func testPrograms() []*program {
	return []*program{
		{name: "merge", tests: "^(TestCases|TestObject_Cases)$"},
		{name: "conflict"},
		{name: "render/fuzz", tests: "^(TestLaws|TestForce|TestOrderConflicts|TestPlan|TestUnion|TestCompose)$", cases: "40"},
		{name: "merge", except: "^TestFieldsV1Paths_Written$"},
		{name: "render/compose", cases: "200"},
		{name: "cmd/internal/fuzz/strategic", except: "^(TestJSONMerge|TestLargePatches)$", cases: "200", deep: true},
		{name: "render/runtimepatch", except: "^(TestImportBudget|TestOnly|TestGrowth|TestLinks)"},
		{name: "render/fuzz", tests: "^(Fuzz|TestHistory|TestManagedFields|TestChildHistory|TestConflictsWithoutRuntime|TestUpdate)", cases: "20", deep: true},
		{name: "cmd/internal/fuzz/crds", cases: "150", deep: true},
		{name: "merge", tests: "^TestFieldsV1Paths_Written$"},
		{name: "render/fuzz", tests: "^(TestLaws|TestForce|TestOrderConflicts|TestPlan)$", cases: "400", deep: true},
		{name: "fieldpath/printable", guards: true},
		{name: "cmd/internal/ownfile", guards: true},
		{name: "cmd/internal/process", guards: true},
		{name: "cmd/internal/host", except: "^Test(Copy_Size|Progress|OpenRevision_Large|Git_HostileFolder)|_Confined$", guards: true},
		{name: "cmd/internal/host", tests: "^Test(Copy_Size|OpenRevision_Large|Git_HostileFolder)$", guards: true},
		{name: "cmd/internal/transaction", guards: true},
		{name: "cmd/internal/build", except: "^TestBuild_Bounded$|_Confined$|^TestSandbox_", guards: true},
		{name: "cmd/trainweld", tests: "^TestScripts/build_(command|kustomize|lost)$", guards: true},
		{name: "cmd/internal/cli", tests: "^(TestOwnFiles_Obstacles|TestTwoProcessesAtOnce|TestNamedPrograms)$", guards: true},
		{name: "cmd/internal/build", tests: "^TestSandbox_", deep: true, guards: true},
		{name: "cmd/internal/cli", tests: "^(TestKilledRuns|TestAttacks)$", long: "1", deep: true, guards: true},
	}
}

// build builds the test programs with the mutants in them: the programs of guards, or all others.
func build(ctx context.Context, dir, overlay string, deep, guards bool) ([]*program, error) {
	built := map[string]string{}
	var programs []*program
	for _, p := range testPrograms() {
		if p.deep && !deep || p.guards != guards {
			continue
		}
		programs = append(programs, p)
		if p.binary = built[p.name]; p.binary != "" {
			continue
		}
		p.binary = filepath.Join(dir, strings.ReplaceAll(p.name, "/", "-")+".test")
		built[p.name] = p.binary
		cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-c", "-overlay", overlay, "-o", p.binary, ".")
		cmd.Dir = filepath.FromSlash(p.name)
		if _, err := os.Stat(filepath.Join(cmd.Dir, "go.mod")); err == nil { // a module that go.work does not name
			cmd.Env = append(cmd.Environ(), "GOWORK=off")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", p.name, err, out)
		}
	}
	return programs, nil
}

// first runs a program without a mutant. It must pass, and tells which of n mutants it reaches and how long it takes.
func (p *program) first(ctx context.Context, dir string, n int) error {
	file := filepath.Join(dir, "reached")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		return err
	}
	start := time.Now()
	if out, err := p.start(ctx, dir, 10*time.Minute, reachedVariable+"="+file); err != nil {
		return fmt.Errorf("%s without a mutant: %w\n%s", p.name, err, out)
	}
	p.takes = time.Since(start)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p.reached = make([]bool, n)
	for _, line := range strings.Fields(string(text)) {
		number, err := strconv.Atoi(line)
		if err != nil {
			return err
		}
		p.reached[number] = true
	}
	return nil
}

// count returns how many mutants the program reaches.
func (p *program) count() int {
	n := 0
	for _, reached := range p.reached {
		if reached {
			n++
		}
	}
	return n
}

// start runs the tests of a program until the first failure. They write their files to a directory.
func (p *program) start(ctx context.Context, dir string, limit time.Duration, variable string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := []string{"-test.failfast", "-test.timeout", limit.String()}
	if p.tests != "" {
		args = append(args, "-test.run", p.tests)
	}
	if p.except != "" {
		args = append(args, "-test.skip", p.except)
	}
	// A mutant that allocates without end dies of the limit, and not the machine. A mutant of a guard could end any other process. So it
	// sees only its own processes, and none outlives it. The shell, as the first process there, waits for orphans.
	command := []string{"sh", "-c", `ulimit -v 8388608; "$0" "$@"; exit $?`, p.binary}
	if p.guards {
		command = append([]string{"unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"}, command...)
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], args...)...)
	cmd.Dir = filepath.FromSlash(p.name)
	cmd.Env = append(os.Environ(), variable, "TMPDIR="+dir, "TRAINWELD_SEED=1", "TRAINWELD_LONG="+p.long, "TRAINWELD_CASES="+p.cases, "TRAINWELD_OBJECTS="+p.cases, "TRAINWELD_SCHEMAS="+p.cases)
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// killersOf returns the name of the program that kills each mutant, or one of the words above, or "".
func killersOf(ctx context.Context, out *os.File, dir string, mutants []Mutant, programs []*program, chosen func(string) bool, workers int) []string {
	killers := make([]string, len(mutants))
	next := make(chan int)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := range next {
				killers[i] = kill(ctx, dir, programs, i)
				if killers[i] == "" || killers[i] == nowhere {
					fmt.Fprintf(out, "%d of %d: %s:%d: %s %s\n", i+1, len(mutants), mutants[i].File, mutants[i].Line, killers[i], mutants[i])
				}
			}
		})
	}
	for i, m := range mutants {
		if killers[i] = skipped; chosen(m.String()) {
			next <- i
		}
	}
	close(next)
	done.Wait()
	return killers
}

// kill returns the name of the first program that fails with a mutant.
func kill(ctx context.Context, dir string, programs []*program, mutant int) string {
	if !slices.ContainsFunc(programs, func(p *program) bool { return p.reached[mutant] }) {
		return nowhere
	}
	for _, p := range programs {
		if !p.reached[mutant] {
			continue
		}
		_, err := p.start(ctx, dir, 5*p.takes+10*time.Second, mutantVariable+"="+strconv.Itoa(mutant))
		var exit *exec.ExitError
		if errors.As(err, &exit) || errors.Is(err, context.DeadlineExceeded) {
			return p.name
		}
	}
	return ""
}
