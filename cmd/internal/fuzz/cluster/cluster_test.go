package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
)

var (
	cases        = flag.Int("cases", 50, "how many generated cases are compared")
	updates      = flag.Int("updates", 20, "how many updates are compared, each of six sorts")
	readmissions = flag.Int("readmissions", 30,
		"how many TrainJobs are admitted three times, with five to nine writes each")
	policies = flag.Int("policies", 8,
		"how many generated policies are enforced, with twenty requests each")
	seed  = flag.Uint64("seed", 1, "seed of the first case")
	lanes = flag.Int("lanes", 8, "how many cases are recorded at a time")
)

// TestAgainstCluster compares the program with a running control plane. For generated documents, it
// compares the verdicts, the fields that they name, and the objects. A third of the documents have
// no change, a third have one, and a third have three. For changes of existing runtimes, TrainJobs
// and JobSets, it compares the verdicts.
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
	t.Run("policies", func(t *testing.T) { c.tryPolicies(t, *policies, 20) })
	t.Run("cases", func(t *testing.T) {
		counts := inLanes(t, *cases, func(seed uint64, dir string) result {
			return c.try(t.Context(), program, dir, seed)
		})
		if counts[Undecided]*20 > *cases {
			t.Errorf("%d of %d cases did not come to rest", counts[Undecided], *cases)
		}
	})
	t.Run("readmissions", func(t *testing.T) {
		inLanes(t, *readmissions, func(seed uint64, dir string) result {
			return c.tryReadmissions(t.Context(), program, dir, seed)
		})
	})
	// Most fields cannot be changed. The third and the last entry name fields that can.
	for _, within := range []string{
		"runtime:spec", "runtime:spec beside its TrainJob", "trainJob:spec",
		"trainJob:spec.runtimePatches", "runtime:spec.template.spec",
		"runtime:spec.template.spec.replicatedJobs[].template.spec.template",
	} {
		t.Run("updates of "+within, func(t *testing.T) {
			inLanes(t, *updates, func(seed uint64, dir string) result {
				return c.tryUpdate(t.Context(), program, dir, seed, within)
			})
		})
	}
}

type result struct{ outcome, words, difference, documents string }

// inLanes tries n seeds, and tells differences as they come.
func inLanes(t *testing.T, n int, try func(seed uint64, dir string) result) map[string]int {
	t.Helper()
	t.Logf("seeds %d to %d", *seed, *seed+uint64(n)-1)
	var group sync.WaitGroup
	var mu sync.Mutex
	counts, done := map[string]int{}, 0
	free := make(chan struct{}, *lanes)
	for i := range uint64(n) {
		seed := *seed + i
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			r := try(seed, t.TempDir())
			if r.difference != "" {
				t.Errorf("seed %d: %s\n%s", seed, r.difference, r.documents)
			}
			mu.Lock()
			defer mu.Unlock()
			if counts[r.outcome]++; r.words != "" {
				t.Logf("seed %d: %s", seed, r.words)
			}
			if done++; done%100 == 0 || done == n {
				t.Logf("%d of %d: %v", done, n, counts)
			}
		})
	}
	group.Wait()
	return counts
}

func (c *ControlPlane) try(ctx context.Context, program Program, dir string, seed uint64) result {
	documents := fuzz.Document(
		seed, fuzz.DocumentOptions{
			Changes: []int{0, 1, 3}[seed%3], Managers: []int{0, 0, 3, 5}[seed/3%4]})
	if metadata, isMap := documents.TrainJob["metadata"].(Object); isMap && seed%15 == 0 {
		// Names of Jobs, Pods and claims are made from it, and have bounds.
		metadata["name"] = strings.Repeat("n", int(30+seed/15%34))
	}
	out := result{documents: string(documents.YAML())}
	fail := func(format string, values ...any) result {
		out.difference = fmt.Sprintf(format, values...) + "\nchanged: " +
			strings.Join(documents.Changes, ", ")
		return out
	}
	file, objects, err := input(dir, documents)
	if err != nil {
		return fail("%v", err)
	}
	recorded, err := c.Record(ctx, objects)
	if err != nil {
		return fail("%v", err)
	}
	if out.outcome = recorded.Outcome; out.outcome == Undecided {
		out.words = recorded.Words
	}
	taken, found, err := program.Verdict(file)
	if err != nil {
		return fail("check: %v: %s", err, found)
	}
	rejected := recorded.Outcome == Rejected || recorded.Outcome == Blocked
	switch {
	case strings.Contains(recorded.Words, "DeadlineExceeded") && shortDeadline(documents.TrainJob):
		// It passed while the case was recorded.
		return out
	case recorded.Outcome == Undecided || recorded.NeedsCluster():
		return out
	case taken && documents.TrainJob["apiVersion"] != "trainer.kubeflow.org/v1alpha1":
		// The program leaves it out, with a warning.
		return out
	case !taken && (recorded.Outcome == Suspended || recorded.Outcome == Partial ||
		recorded.Outcome == Ignored):
		// The cluster has not made the rejected object yet, or never makes it.
		return out
	case !taken && !rejected && recorded.Finished && len(recorded.said()) > 0 &&
		recorded.Names(found):
		// The Job was over before the rejection could count.
		return out
	case taken && rejected && recorded.Finished:
		// The rejection came after the end.
		return out
	case taken == rejected:
		return fail("the cluster: %s %s\n%s\nthe program: %s", recorded.Outcome, recorded.Words,
			strings.Join(recorded.said(), "\n"), found)
	case rejected && !recorded.Names(found):
		return fail("the cluster: %s\nthe program names other fields: %s",
			strings.Join(recorded.said(), "\n"), found)
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

// tryUpdate compares what becomes of a change.
func (c *ControlPlane) tryUpdate(ctx context.Context, program Program, dir string, seed uint64,
	within string) result {
	within, besides := strings.CutSuffix(within, " beside its TrainJob")
	before, after := fuzz.Update(seed, within)
	documents := [2][]Object{{before.Runtime, before.TrainJob}, {after.Runtime, after.TrainJob}}
	switch {
	case besides:
	case within == "runtime:spec":
		documents = [2][]Object{{before.Runtime}, {after.Runtime}}
	case strings.HasPrefix(within, "runtime:"):
		documents = [2][]Object{{jobSetOf(before)}, {jobSetOf(after)}}
		dropNulls(documents[0][0]) // as of what is created; an apply keeps them
	}
	var out result
	fail := func(format string, values ...any) result {
		out.difference = fmt.Sprintf(format, values...) + "\nchanged: " +
			strings.Join(after.Changes, ", ")
		return out
	}
	var objects [2][]Object
	for i, of := range documents {
		var err error
		if objects[i], err = exactly(of...); err != nil {
			return fail("%v", err)
		}
		for _, object := range objects[i] {
			// The API server sets these on create, whatever a request has, and compares them on
			// update.
			metadata, _ := object["metadata"].(Object)
			for _, field := range []string{
				"uid", "deletionTimestamp", "deletionGracePeriodSeconds"} {
				delete(metadata, field)
			}
		}
	}
	at := len(objects[1]) - 1
	if besides {
		at = 0
	}
	changed := objects[1][at]
	change, err := c.Update(ctx, objects[0], changed, seed%3 == 0)
	if err != nil {
		return fail("%v", err)
	}
	isRejected := len(change.Said) > 0
	if out.outcome = "no base"; change.Before != nil {
		objects[0][at]["status"] = change.Before["status"]
	} else if !isRejected ||
		strings.Contains(change.Said[0], "failed to create typed patch object") {
		return out // also what only server-side apply rejects
	}
	var files []string
	for i, name := range []string{"old", "new", "live"} {
		written, text, err := write(dir, name, [][]Object{objects[0], objects[1], change.Live}[i])
		if err != nil {
			return fail("%v", err)
		}
		files = append(files, written)
		out.documents += "# " + name + "\n" + text
	}
	runs := [][]string{{files[0]}}
	if change.Before != nil {
		runs = [][]string{{files[1], "--old", files[0]}, {files[1], "--old", files[2]}}
		out.outcome = "taken"
		if isRejected {
			out.outcome = "refused"
		}
	}
	if slices.ContainsFunc(change.Said, needsCluster.MatchString) {
		return out
	}
	for _, run := range runs {
		taken, found, err := program.Verdict(run[0], run[1:]...)
		if err != nil {
			return fail("check %q: %v: %s", run, err, found)
		}
		if !taken && !isRejected && waits(objects[1][0], changed) &&
			!slices.ContainsFunc(found, isSeenAtOnce) {
			continue // what the program rejects is not made yet
		}
		if taken == isRejected {
			return fail("the cluster: %s\n%s\nthe program %q: %s", out.outcome,
				strings.Join(change.Said, "\n"), run[1:], found)
		}
	}
	return out
}

// input writes documents to a file, and returns them as objects.
func input(dir string, documents *fuzz.Documents) (file string, objects []Object, err error) {
	file = filepath.Join(dir, "input.yaml")
	if err := os.WriteFile(file, documents.YAML(), 0o600); err != nil {
		return "", nil, err
	}
	objects, err = exactly(documents.Runtime, documents.TrainJob)
	return file, objects, err
}

// write writes objects to a file. It also returns the text.
func write(dir, name string, objects []Object) (file, text string, err error) {
	for _, object := range objects {
		data, err := yaml.Marshal(object)
		if err != nil {
			return "", "", err
		}
		text += "---\n" + string(data)
	}
	file = filepath.Join(dir, name+".yaml")
	return file, text, os.WriteFile(file, []byte(text), 0o600)
}

// jobSetOf is the runtime's template as a JobSet of its own.
func jobSetOf(documents *fuzz.Documents) Object {
	spec, _ := documents.Runtime["spec"].(Object)
	template, _ := spec["template"].(Object)
	return Object{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
		"metadata": Object{"name": "js", "namespace": "default"}, "spec": template["spec"]}
}

// isSeenAtOnce reports whether a finding is an error of an update, or of neither a Job nor a Pod. A
// cluster then rejects the change whether a Job exists or not.
func isSeenAtOnce(f Finding) bool {
	kind, _, _ := strings.Cut(f.Object, " ")
	isOfUpdate, isOfPods := strings.HasPrefix(f.Code, "TW7"), kind == "Job" || kind == "Pod" ||
		strings.Contains(f.Path, ".template.spec.template.")
	return f.Severity == "error" && (isOfUpdate || !isOfPods)
}

// waits reports whether some Jobs of a JobSet or a TrainJob are made only when others are done.
func waits(objects ...any) bool {
	for _, value := range objects {
		switch v := value.(type) {
		case Object:
			if v["dependsOn"] != nil || v["startupPolicyOrder"] == "InOrder" ||
				waits(slices.Collect(maps.Values(v))...) {
				return true
			}
		case []any:
			if waits(v...) {
				return true
			}
		}
	}
	return false
}

// dropNulls removes the fields that are null.
func dropNulls(value any) {
	switch v := value.(type) {
	case Object:
		for name, field := range v {
			if field == nil {
				delete(v, name)
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// exactly is the documents as JSON has them, with their numbers as they are written.
func exactly(documents ...Object) (objects []Object, err error) {
	for _, document := range documents {
		data, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		var object Object
		if err := exact(data, &object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
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
	command := exec.Command("go", "build", "-C", "../../../..", "-o", path, "./cmd/trainweld")
	// the program is in the workspace, and this module is not
	command.Env = append(command.Environ(), "GOWORK=")
	var failure bytes.Buffer
	command.Stderr = &failure
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %s", err, failure.String())
	}
	return Program(path)
}
