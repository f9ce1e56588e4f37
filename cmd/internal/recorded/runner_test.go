package recorded

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"

	gocmp "github.com/google/go-cmp/cmp"
)

// caseRunner runs a program on the cases.
type caseRunner struct {
	program  program
	releases []string
	record   bool

	mu       sync.Mutex
	outcomes []releaseOutcome
}

// releaseOutcome is the result of a case on a release. Wrong is empty if it passes.
type releaseOutcome struct{ name, release, wrong string }

// program answers a case of a release, and returns its exit status.
type program func(release string, in io.Reader, out, problems io.Writer) (status int, err error)

// started returns the program of a file, which runs in the root of the repository. It takes the
// release as --release 2.2.
func started(file string) program {
	return func(release string, in io.Reader, out, problems io.Writer) (int, error) {
		cmd := exec.Command(file, "--release", release)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "../../..", in, out, problems
		err := cmd.Run()
		if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
			return cmd.ProcessState.ExitCode(), nil
		}
		return 0, err
	}
}

// run runs all cases, as many at once as there are processors.
func (r *caseRunner) run(archives []*archive) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for _, a := range archives {
		for _, c := range a.cases {
			for _, release := range r.releases {
				want, known := c.want[release]
				if !known && !r.record {
					continue
				}
				wait.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					got, err := r.ask(c, release)
					r.done(c, releaseOutcome{c.String(), release, r.difference(want, got, err)},
						got, err)
				})
			}
		}
	}
	wait.Wait()
	slices.SortFunc(r.outcomes, func(a, b releaseOutcome) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.release, b.release))
	})
}

func (r *caseRunner) done(c *recordedCase, o releaseOutcome, got caseResult, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record && err == nil {
		c.want[o.release] = got
	}
	r.outcomes = append(r.outcomes, o)
}

// difference returns how a result differs from the expected result, or "".
func (r *caseRunner) difference(want, got caseResult, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case r.record:
		return ""
	case want.Rejected && !got.Rejected:
		return "renders it, and the release refuses it"
	case !want.Rejected && got.Rejected:
		return "refuses it, and the release renders it"
	case want.Warns && !got.Warns:
		return "does not warn, and the release does"
	case !want.Warns && got.Warns:
		return "warns, and the release does not"
	}
	diff := gocmp.Diff(byIdentity(normal(want.Items)), byIdentity(got.Items))
	if diff == "" && got.Owners != nil {
		diff = gocmp.Diff(want.Owners, ofManagers(want.Owners, got.Owners))
	}
	return diff
}

// ofManagers returns the entries of the wanted managers, in their order.
func ofManagers(want, got []managedFieldsEntry) []managedFieldsEntry {
	var out []managedFieldsEntry
	for _, w := range want {
		for _, g := range got {
			if g.Manager == w.Manager {
				out = append(out, g)
			}
		}
	}
	return out
}

// ask runs the program on a case.
func (r *caseRunner) ask(c *recordedCase, release string) (caseResult, error) {
	objects, err := c.objects()
	if err != nil {
		return caseResult{}, err
	}
	input, err := json.Marshal(listOf(objects))
	if err != nil {
		return caseResult{}, err
	}
	var out, problems bytes.Buffer
	status, err := r.program(release, bytes.NewReader(input), &out, &problems)
	switch {
	case err != nil:
		return caseResult{}, err
	case status == 1:
		return caseResult{Rejected: true}, nil
	case status != 0:
		return caseResult{},
			fmt.Errorf("exit status %d: %s", status, strings.TrimSpace(problems.String()))
	}
	all, err := itemsOfList(out.Bytes())
	if err != nil {
		return caseResult{}, fmt.Errorf("the program's output: %w", err)
	}
	got := caseResult{
		Owners: removeOwners(all), Warns: strings.Contains("\n"+problems.String(), "\nWarning:")}
	got.Items = normal(all)
	if r.record {
		got.Owners, err = ownersAfterApply(objects, release)
	}
	return got, err
}
