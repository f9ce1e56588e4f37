package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/process"
)

// caseRunner runs a program on the cases.
type caseRunner struct {
	program  program
	releases []string
	matching *regexp.Regexp
	record   bool
	children bool // compare the objects of the JobSet controller as well
	warnings bool // compare whether the webhooks warn

	mu       sync.Mutex
	outcomes []releaseOutcome
}

// releaseOutcome is the result of a case on a release. Wrong is empty if it passes.
type releaseOutcome struct {
	behaviour, name, release string
	wrong                    string
}

// program answers a case of a release, and returns its exit status.
type program func(args []string, in io.Reader, out, problems io.Writer) (status int, err error)

// started returns the program of a command line.
func started(command []string) program {
	return func(args []string, in io.Reader, out, problems io.Writer) (int, error) {
		cmd := process.Named(command, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, problems
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
			if !r.matching.MatchString(c.String()) {
				continue
			}
			for _, release := range r.releases {
				want, known := c.want[release]
				if !known && !r.record {
					continue
				}
				wait.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					got, err := r.ask(c, release)
					r.done(c, releaseOutcome{c.behaviour, c.name, release, r.difference(want, got, err)}, got, err)
				})
			}
		}
	}
	wait.Wait()
	slices.SortFunc(r.outcomes, func(a, b releaseOutcome) int {
		return cmp.Or(strings.Compare(a.behaviour, b.behaviour), strings.Compare(a.name, b.name), strings.Compare(a.release, b.release))
	})
}

func (r *caseRunner) done(c *conformanceCase, o releaseOutcome, got caseResult, err error) {
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
	case r.warnings && want.Warns && !got.Warns:
		return "does not warn, and the release does"
	case r.warnings && !want.Warns && got.Warns:
		return "warns, and the release does not"
	}
	diff := gocmp.Diff(r.compared(normal(want.Items)), r.compared(got.Items))
	if diff == "" && got.Owners != nil {
		diff = gocmp.Diff(want.Owners, ofManagers(want.Owners, got.Owners))
	}
	return diff
}

// compared returns the objects that count, by their identity.
func (r *caseRunner) compared(items []any) map[string]any {
	return byIdentity(slices.DeleteFunc(slices.Clone(items), func(item any) bool {
		object, _ := item.(map[string]any)
		kind, _ := object["kind"].(string)
		return !r.children && slices.Contains([]string{"Job", "Service", "PersistentVolumeClaim", "Pod"}, kind)
	}))
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
func (r *caseRunner) ask(c *conformanceCase, release string) (caseResult, error) {
	objects, err := c.objects()
	if err != nil {
		return caseResult{}, err
	}
	input, err := json.Marshal(listOf(objects))
	if err != nil {
		return caseResult{}, err
	}
	var out, problems bytes.Buffer
	status, err := r.program([]string{"--release", release}, bytes.NewReader(input), &out, &problems)
	switch {
	case err != nil:
		return caseResult{}, err
	case status == 1:
		return caseResult{Rejected: true}, nil
	case status != 0:
		return caseResult{}, fmt.Errorf("exit status %d: %s", status, strings.TrimSpace(problems.String()))
	}
	all, err := itemsOfList(out.Bytes())
	if err != nil {
		return caseResult{}, fmt.Errorf("the program's output: %w", err)
	}
	got := caseResult{Owners: removeOwners(all), Warns: strings.Contains("\n"+problems.String(), "\nWarning:")}
	got.Items = normal(all)
	if r.record {
		got.Owners, err = ownersAfterApply(objects, release)
	}
	return got, err
}

// report writes the counts of each behaviour, and every failure. It returns whether all cases pass.
func (r *caseRunner) report(w io.Writer) bool {
	passed := 0
	for rest := r.outcomes; len(rest) > 0; {
		behaviour := rest[0].behaviour
		n := slices.IndexFunc(rest, func(o releaseOutcome) bool { return o.behaviour != behaviour })
		if n < 0 {
			n = len(rest)
		}
		of := rest[:n]
		rest = rest[n:]
		good := 0
		for _, o := range of {
			if o.wrong == "" {
				good++
			}
		}
		passed += good
		fmt.Fprintf(w, "%-24s %3d of %3d\n", behaviour, good, len(of))
		for _, o := range of {
			if o.wrong != "" {
				fmt.Fprintf(w, "  %s on %s: %s\n", o.name, o.release, strings.ReplaceAll(strings.TrimSpace(o.wrong), "\n", "\n    "))
			}
		}
	}
	fmt.Fprintf(w, "%d of %d pass\n", passed, len(r.outcomes))
	return passed == len(r.outcomes) && passed > 0
}
