package fuzz_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render"
)

// TestChildHistory holds for the Jobs and Pods of generated pairs what TestHistory holds for JobSets:
// the claims of a Job or a Pod alone give it; and a field that the controllers leave as the JobSet has
// it has the history that it has there.
func TestChildHistory(t *testing.T) {
	t.Parallel()
	opts := fuzz.PairOptions{Policies: []fuzz.Policy{fuzz.Plain, fuzz.Torch, fuzz.JAX, fuzz.MPI, fuzz.Coscheduling, fuzz.Volcano}}
	n, jobs, pods := 0, 0, 0
	for seed := range pairSeeds(t, 400) {
		n++
		p := fuzz.Render(seed, opts)
		render.DefaultTrainJob(p.TrainJob)
		render.DefaultRuntime(&p.Runtime.Spec, nil)
		out, _ := render.JobSet(render.Input{TrainJob: p.TrainJob, Runtime: &p.Runtime.Spec}, render.Options{OnConflict: render.Last, Owners: true})
		if out.JobSet == nil {
			continue
		}
		jobOpts := render.JobsOptions{Stored: seed%2 == 0, JobSetUID: "uid"}
		owners, err := render.OwnersOfChildren(out.JobSet, out.Owners, jobOpts)
		if err != nil {
			t.Fatal(err)
		}
		made, _ := render.Jobs(out.JobSet, jobOpts)
		template := historyOf(out.Owners.All())
		for _, child := range made.Jobs {
			fields, err := owners.Job(child.Job)
			if err != nil {
				t.Fatal(err)
			}
			h := historyOf(fields)
			job := &batchv1.JobTemplateSpec{ObjectMeta: child.Job.ObjectMeta, Spec: child.Job.Spec}
			at := fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("replicatedJobs"), fieldpath.Item("name", child.ReplicatedJob), fieldpath.Field("template")}
			for _, text := range []string{h.broken(), h.replays(job, true), h.begins(template, at)} {
				if text != "" {
					t.Fatalf("pair %d, Job %s: %s", seed, child.Job.Name, text)
				}
			}
			jobs++
		}
		for pod, err := range render.Pods(out.JobSet, render.PodsOptions{JobsOptions: jobOpts, Indexes: &render.IndexRange{First: 0, Last: 1}}) {
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
	from := history{claims: map[string][]engine.Claim{}}
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
