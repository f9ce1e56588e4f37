package diff_test

import (
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestEveryChangeHasItsCause compares each recorded input with the next one, and a Job and a Pod of
// each. The layer that set a removed or new value is named. The claim of a leaf has the leaf's
// value.
func TestEveryChangeHasItsCause(t *testing.T) {
	if testenv.Race {
		t.Skip("nothing here runs concurrently")
	}
	t.Parallel()
	last := map[string]ownedObject{}
	causes := map[merge.Owner]int{}
	for i, dir := range recorded(t) {
		if i%testenv.Every(4) > 0 {
			continue
		}
		out := outputOf(t, dir)
		if out == nil || out.JobSet == nil {
			continue
		}
		for _, o := range withChildren(t, out) {
			kind := fmt.Sprintf("%T", o.value)
			if before, ok := last[kind]; ok {
				holdCauses(t, dir, before, o, causes)
			}
			last[kind] = o
		}
	}
	t.Logf("causes: %v", causes)
	for _, layer := range []merge.Owner{
		runtimepatch.RuntimeLayer, runtimepatch.TrainJobLayer, runtimepatch.DefaultLayer,
		runtimepatch.PolicyLayer("torch"), runtimepatch.PolicyLayer("mpi"),
		runtimepatch.SchedulerLayer("volcano"), runtimepatch.JobSetLayer, runtimepatch.JobLayer,
	} {
		if causes[layer] == 0 {
			t.Errorf("nothing changes because of %s", layer)
		}
	}
}

type ownedObject struct {
	value  any
	owners *diff.Owners
}

// withChildren are the JobSet, its first Job and its first Pod.
func withChildren(t *testing.T, out *render.Objects) []ownedObject {
	t.Helper()
	objects := []ownedObject{{out.JobSet, diff.OwnersOf(out.History)}}
	opts := render.JobsOptions{Stored: true}
	children, err := render.OwnersOfChildren(out.JobSet, out.History, opts)
	if err != nil {
		t.Fatal(err)
	}
	made, _ := render.Jobs(out.JobSet, opts)
	if len(made.Jobs) > 0 {
		job := made.Jobs[0].Job
		objects = append(objects, ownedObject{job, ownersOf(t)(children.Job(job))})
	}
	for pod, err := range render.Pods(out.JobSet, render.PodsOptions{JobsOptions: opts}) {
		if err != nil {
			break // what cannot be made, the JobSet's findings say
		}
		return append(objects, ownedObject{pod, ownersOf(t)(children.Pod(pod))})
	}
	return objects
}

// ownersOf returns a function that takes what ChildOwners returns.
func ownersOf(t *testing.T) func(iter.Seq2[fieldpath.Path, []merge.Claim], error) *diff.Owners {
	return func(fields iter.Seq2[fieldpath.Path, []merge.Claim], err error) *diff.Owners {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return diff.OwnersOfFields(fields)
	}
}

func holdCauses(t *testing.T, dir string, old, new ownedObject, causes map[merge.Owner]int) {
	t.Helper()
	changes, err := diff.Compare(old.value, new.value, diff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes.Attribute(old.owners, new.owners)
	for _, c := range changes {
		if c.Kind != diff.Added {
			held{dir, c, "before", c.Before, c.Old}.holdCause(t, causes)
		}
		if c.Kind != diff.Removed {
			held{dir, c, "after", c.After, c.New}.holdCause(t, causes)
		}
	}
}

// held is one side of a change in a folder: the value and its claims.
type held struct {
	dir    string
	change diff.Change
	when   string
	claims []merge.Claim
	value  any
}

func (h held) holdCause(t *testing.T, causes map[merge.Owner]int) {
	t.Helper()
	c, claims := h.change, h.claims
	if len(claims) == 0 {
		t.Errorf("%s: %s %s: nobody is named for what was %s", h.dir, c.Kind, c.Path, h.when)
		return
	}
	for _, claim := range claims {
		causes[claim.Owner]++
	}
	_, presence := claims[0].Value.(merge.Presence)
	if structure := strings.HasPrefix(encoded(h.value), "{"); c.Kind == diff.Moved || presence ||
		structure || len(claims) > 1 {
		return
	}
	if got := generic(encoded(claims[0].Value)); !reflect.DeepEqual(got, generic(encoded(h.value))) {
		t.Errorf("%s: %s %s: the value %s is %v, and the claim of %s says %v", h.dir, c.Kind,
			c.Path, h.when, h.value, claims[0].Owner, got)
	}
}
