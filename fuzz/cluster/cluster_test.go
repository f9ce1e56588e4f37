package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/trainweld/trainweld/fuzz"
)

var (
	cases = flag.Int("cases", 50, "how many generated cases are compared")
	seed  = flag.Uint64("seed", 1, "seed of the first case")
	lanes = flag.Int("lanes", 8, "how many cases are recorded at a time")
)

// TestAgainstCluster compares the program's verdicts and objects with those of a running control plane, for generated documents:
// a third as they are, a third with one change, and a third with three.
func TestAgainstCluster(t *testing.T) {
	program := build(t)
	dir := t.TempDir()
	c, err := Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.namespace("dry-run"); err != nil {
		t.Fatal(err)
	}
	t.Logf("seeds %d to %d", *seed, *seed+uint64(*cases)-1)
	var group sync.WaitGroup
	free := make(chan struct{}, *lanes)
	results := make([]result, *cases)
	for i := range results {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			results[i] = c.try(t.Context(), program, t.TempDir(), *seed+uint64(i))
		})
	}
	group.Wait()
	counts := map[string]int{}
	for i, r := range results {
		counts[r.outcome]++
		if r.difference != "" {
			t.Errorf("seed %d: %s\n%s", *seed+uint64(i), r.difference, r.documents)
		}
	}
	t.Logf("outcomes: %v", counts)
	if counts[Undecided]*20 > *cases {
		t.Errorf("%d of %d cases did not come to rest", counts[Undecided], *cases)
	}
}

type result struct{ outcome, difference, documents string }

func (c *ControlPlane) try(ctx context.Context, program Program, dir string, seed uint64) result {
	documents := fuzz.Document(seed, fuzz.DocumentOptions{Changes: []int{0, 1, 3}[seed%3]})
	out := result{documents: string(documents.YAML())}
	fail := func(format string, values ...any) result {
		out.difference = fmt.Sprintf(format, values...) + "\nchanged: " + strings.Join(documents.Changes, ", ")
		return out
	}
	file := filepath.Join(dir, "input.yaml")
	if err := os.WriteFile(file, documents.YAML(), 0o600); err != nil {
		return fail("%v", err)
	}
	var objects []Object
	for _, document := range []Object{documents.Runtime, documents.TrainJob} {
		data, err := json.Marshal(document)
		if err != nil {
			return fail("%v", err)
		}
		var object Object
		if err := exact(data, &object); err != nil {
			return fail("%v", err)
		}
		objects = append(objects, object)
	}
	recorded, err := c.Record(ctx, objects)
	if err != nil {
		return fail("%v", err)
	}
	out.outcome = recorded.Outcome
	taken, said, err := program.Verdict(file)
	if err != nil {
		return fail("check: %v: %s", err, said)
	}
	refused := recorded.Outcome == Rejected || recorded.Outcome == Blocked
	switch {
	case strings.Contains(recorded.Words, "DeadlineExceeded") && shortDeadline(documents.TrainJob):
		// It passed while the case was recorded.
		return out
	case recorded.Outcome == Undecided || recorded.NeedsCluster():
		return out
	case taken && documents.TrainJob["apiVersion"] != "trainer.kubeflow.org/v1alpha1":
		// The program leaves it out, with a warning.
		return out
	case !taken && (recorded.Outcome == Suspended || recorded.Outcome == Partial):
		// What the program refuses is not made yet, or not at all.
		return out
	case taken && refused && recorded.Finished:
		// What was refused came after the end.
		return out
	case taken == refused:
		return fail("the cluster: %s %s\n%s\nthe program: %s", recorded.Outcome, recorded.Words, strings.Join(recorded.said(), "\n"), said)
	case recorded.Outcome != Accepted && recorded.Outcome != Suspended || recorded.Finished:
		return out
	}
	rendered, err := program.Objects(file)
	if err != nil {
		return fail("render: %v", err)
	}
	difference, err := c.Compare(recorded, rendered)
	if err != nil || difference != "" {
		return fail("%s %v", difference, err)
	}
	return out
}

// shortDeadline tells a TrainJob that may run for less than an hour.
func shortDeadline(trainjob Object) bool {
	spec, _ := trainjob["spec"].(Object)
	var seconds int64
	_, err := fmt.Sscan(fmt.Sprint(spec["activeDeadlineSeconds"]), &seconds)
	return err == nil && seconds < 3600
}

// build builds the program of this repository.
func build(t *testing.T) Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trainweld")
	command := exec.Command("go", "build", "-C", "../..", "-o", path, "./cmd/trainweld")
	var failure bytes.Buffer
	command.Stderr = &failure
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %s", err, failure.String())
	}
	return Program(path)
}
