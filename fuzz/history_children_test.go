package fuzz_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestChildHistory checks the Jobs and Pods of generated pairs as TestHistory checks JobSets. The
// claims of a Job or a Pod alone give it. A field that the controllers leave as in the JobSet has
// the same history as there.
func TestChildHistory(t *testing.T) {
	t.Parallel()
	opts := fuzz.PairOptions{
		Policies: []fuzz.Policy{fuzz.Plain, fuzz.Torch, fuzz.JAX, fuzz.MPI, fuzz.Coscheduling,
			fuzz.Volcano}}
	n, jobs, pods := 0, 0, 0
	for seed := range pairSeeds(t, 400) {
		n++
		p := fuzz.Render(seed, opts)
		render.DefaultTrainJob(p.TrainJob, nil)
		render.DefaultRuntime(&p.Runtime.Spec, nil)
		out, _ := render.JobSet(render.Input{TrainJob: p.TrainJob, Runtime: &p.Runtime.Spec},
			render.Options{OnConflict: render.Last})
		if out.JobSet == nil {
			continue
		}
		jobOpts := render.JobsOptions{Stored: seed%2 == 0, JobSetUID: "uid"}
		owners, err := render.OwnersOfChildren(out.JobSet, out.History, jobOpts)
		if err != nil {
			t.Fatal(err)
		}
		made, _ := render.Jobs(out.JobSet, jobOpts)
		template := historyOf(out.History.All())
		for _, child := range made.Jobs {
			fields, err := owners.Job(child.Job)
			if err != nil {
				t.Fatal(err)
			}
			h := historyOf(fields)
			job := &batchv1.JobTemplateSpec{ObjectMeta: child.Job.ObjectMeta, Spec: child.Job.Spec}
			at := fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("replicatedJobs"),
				fieldpath.Item("name", child.ReplicatedJob), fieldpath.Field("template")}
			for _, text := range []string{h.broken(), h.replays(job, true),
				h.begins(template, at)} {
				if text != "" {
					t.Fatalf("pair %d, Job %s: %s", seed, child.Job.Name, text)
				}
			}
			jobs++
		}
		for pod, err := range render.Pods(
			out.JobSet, render.PodsOptions{
				JobsOptions: jobOpts, Indexes: &render.IndexRange{First: 0, Last: 1}}) {
			if err != nil {
				t.Fatal(err)
			}
			fields, err := owners.Pod(pod)
			if err != nil {
				t.Fatal(err)
			}
			h := historyOf(fields)
			want := &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
			for _, text := range []string{h.broken(), h.replays(want, true)} {
				if text != "" {
					t.Fatalf("pair %d, Pod %s: %s", seed, pod.GenerateName, text)
				}
			}
			pods++
		}
	}
	if jobs == 0 || pods == 0 {
		t.Errorf("%d Jobs and %d Pods were compared", jobs, pods)
	}
	t.Logf("%d Jobs, %d Pods", jobs, pods)
}

// begins says which field does not begin with the history of the field that it is made from.
func (h history) begins(template history, at fieldpath.Path) string {
	from := history{claims: map[string][]merge.Claim{}}
	for _, path := range template.paths {
		if path.HasPrefix(at) && len(path) > len(at) {
			own := path[len(at):]
			from.paths, from.texts = append(from.paths, own), append(from.texts, own.String())
			from.claims[own.String()] = template.claims[path.String()]
		}
	}
	if text := h.continues(from); text != "" {
		return fmt.Sprintf("from the JobSet: %s", text)
	}
	return ""
}

// withoutEmptyLists is a JSON value without its empty lists.
func withoutEmptyLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if v[key] = withoutEmptyLists(child); v[key] == nil {
				delete(v, key)
			}
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = withoutEmptyLists(v[i])
		}
	}
	return v
}

// comesFrom names a claim that its source does not hold, or returns "". Every claim of the runtime,
// of a manager and of the TrainJob has a source. The input has the claim's value there.
func (h history) comesFrom(p *fuzz.Pair) string {
	inputs := map[bool]any{true: decode(encode(p.Runtime)), false: decode(encode(p.TrainJob))}
	for i, path := range h.paths {
		for _, c := range h.claims[h.texts[i]] {
			if c.At == nil {
				_, isManager := c.Owner.Manager()
				if isManager || c.Owner == runtimepatch.RuntimeLayer ||
					c.Owner == runtimepatch.TrainJobLayer {
					return fmt.Sprintf("%v: %s=%s has no source", path, c.Owner, valueOf(c))
				}
				continue
			}
			if slices.Contains(c.At, fieldpath.Item("name", "")) {
				continue // variables without a name, of which there may be two
			}
			at, found := document{inputs[runtimepatch.FromRuntime(c)].(map[string]any)}.find(
				c.At, false)
			if !found {
				name, _ := c.At[len(c.At)-1].Field()
				if c.Value == nil || name == "command" || name == "args" {
					continue // encoding/json omits an empty one, which clears the runtime's
				}
				return fmt.Sprintf("%v: %s=%s comes from %v, which the input does not have", path,
					c.Owner, valueOf(c), c.At)
			}
			if _, isPolicy := strings.CutPrefix(string(c.Owner), "policy/"); isPolicy ||
				c.Value == nil || valueOf(c) == present {
				continue
			}
			if _, isScheduler := strings.CutPrefix(string(c.Owner), "scheduler/"); isScheduler {
				continue
			}
			// its launcher may count as a node
			mpi := p.Runtime.Spec.MLPolicy != nil && p.Runtime.Spec.MLPolicy.MPI != nil
			if name, _ := c.At[len(c.At)-1].Field(); mpi && name == "numNodes" ||
				name == "secretRef" {
				continue // computed from it
			}
			there := c
			if there.Value = at.get(); said([]merge.Claim{there}) != said([]merge.Claim{c}) {
				return fmt.Sprintf("%v: %s=%s comes from %v, which is %s", path, c.Owner,
					valueOf(c), c.At, valueOf(there))
			}
		}
	}
	return ""
}

// dropBareLists drops lists that merge by item and have none: they say nothing.
func dropBareLists(v any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	object, ok := v.(map[string]any)
	if !ok || t.Kind() != reflect.Struct || encodesItself(t) {
		return
	}
	for name, value := range object {
		f := mustField(t, name)
		list, isList := value.([]any)
		switch {
		case !isList || f.merge == "":
			dropBareLists(value, f.typ)
		case len(list) == 0:
			delete(object, name)
		default:
			for _, item := range list {
				dropBareLists(item, f.typ.Elem())
			}
		}
	}
}
