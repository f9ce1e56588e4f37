package recorded

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// This file is trainweld's own answer: it renders a TrainJob as a release of the Trainer does. It
// decodes by the API of a release, admits the runtime and the TrainJob, and renders.

// definitions are read once for all answers.
var definitions release.Definitions

// own answers a case by the library.
func own(name string, in io.Reader, out, problems io.Writer) (status int, err error) {
	r, err := release.Parse(name)
	if err != nil {
		return 0, err
	}
	rejected, err := answer(r, in, out, problems)
	if rejected != nil {
		return 1, nil
	}
	return 0, err
}

// answer writes the objects of a TrainJob and the warnings of the webhooks. If the release rejects
// an object, it returns the errors.
func answer(r *release.Release, in io.Reader, out,
	warnings io.Writer) (rejected finding.List, err error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	documents, found, _ := manifest.NewAPI(r, &definitions).Decode("stdin", data, nil)
	if errs := rejections(r, found); errs != nil {
		return errs, nil
	}
	if documents, err = withStock(r, documents); err != nil {
		return nil, err
	}
	c := cluster{release: r}
	for _, d := range documents {
		found, err := c.apply(context.Background(), d)
		for _, f := range found {
			if f.Code == codes.Deprecated {
				fmt.Fprintln(warnings, "Warning:", f.Message)
			}
		}
		if errs := rejections(r, found); err != nil || errs != nil {
			return errs, err
		}
	}
	input := c.input
	if c.admitted == nil {
		return nil, errors.New("the input holds no TrainJob")
	}
	if input.Runtime == nil {
		return finding.List{
				{Code: codes.NoRuntime, Severity: finding.Error,
					Object:  render.ObjectOf(input.TrainJob),
					Message: "the runtime does not exist"}},
			nil
	}
	rendered, _ := render.JobSet(
		input, render.Options{Release: r, OnConflict: render.Last, Secrets: rand.Reader})
	if rendered.JobSet == nil {
		return rendered.Findings, nil
	}
	items := []any{}
	if !r.ManagedBy || !slices.ContainsFunc(rendered.Findings, func(f finding.Finding) bool {
		return f.Code == codes.ManagedByOther
	}) {
		if items, err = objects(r, input, rendered); err != nil {
			return nil, err
		}
	}
	return nil, json.NewEncoder(out).Encode(
		map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

// withStock returns the documents, after the stock runtimes of the release if they hold TrainJobs
// only.
func withStock(r *release.Release, documents []*manifest.Document) ([]*manifest.Document, error) {
	if slices.ContainsFunc(documents, func(d *manifest.Document) bool {
		_, isJob := d.Object.(*trainer.TrainJob)
		return !isJob
	}) {
		return documents, nil
	}
	text, err := r.Runtimes()
	if err != nil {
		return nil, err
	}
	stock, _, _ := manifest.NewAPI(r, &definitions).Decode("stock", text, nil)
	return append(slices.DeleteFunc(stock, func(s *manifest.Document) bool {
		return !slices.ContainsFunc(documents, func(d *manifest.Document) bool {
			return d.Object.(*trainer.TrainJob).Spec.RuntimeRef.Name == s.ID.Name
		})
	}), documents...), nil
}

// cluster holds one TrainJob and its runtime. The input holds the objects that the controller
// reads.
type cluster struct {
	release  *release.Release
	input    render.Input
	runtime  *admission.Runtime // as it is now
	admitted *admission.Input   // the stored TrainJob with its runtime; nil without a TrainJob
}

// apply creates or updates an object, sends it through the API server and the webhooks, and returns
// their findings.
func (c *cluster) apply(ctx context.Context, d *manifest.Document) (finding.List, error) {
	fields, err := d.Fields()
	if err != nil {
		return nil, err
	}
	var found finding.List
	in := admission.Input{Release: c.release, OnConflict: render.Last}
	switch o := d.Object.(type) {
	case *trainer.TrainJob:
		render.DefaultTrainJob(o, d.Sets)
		in.TrainJob, in.Earlier = fields, d.Earlier
		c.input.TrainJob, c.input.Earlier.NumProcPerNode = o, d.Earlier.NumProcPerNode
		if d.Overrides != nil && c.release.Overrides != release.RuntimePatches {
			layers := d.Overrides.DeepCopy()
			render.DefaultPatches(layers.Patches(), nil)
			c.input.Layers = layers
		}
	case *trainer.ClusterTrainingRuntime:
		c.runtime, found = admission.AdmitRuntime(ctx, c.release, fields, "")
		if c.admitted == nil || c.release.RuntimeRead == release.LiveRuntime {
			render.DefaultRuntime(&o.Spec, d.Sets)
			c.input.Runtime, c.input.Earlier.TorchNumProcPerNode = &o.Spec,
				d.Earlier.TorchNumProcPerNode
		}
		if c.admitted == nil {
			return found, nil // a TrainJob follows
		}
		in = *c.admitted
	}
	in.Layers, in.Earlier, in.Runtime = c.input.Layers, c.input.Earlier, c.runtime
	if c.admitted == nil {
		found = append(found, admission.Check(ctx, in)...)
	} else {
		found = append(found, admission.Update(ctx, *c.admitted, in)...)
	}
	c.admitted = &in
	return found, nil
}

// rejections returns the errors that the cluster has as well. Admission reports some of them. On
// the others, about the JobSet and the labels of its Jobs, the controllers fail in every
// reconciliation.
func rejections(r *release.Release, found finding.List) finding.List {
	labels := fieldpath.Fields("metadata", "labels")
	var errs finding.List
	for _, f := range found {
		isLater := f.Object.Kind == "JobSet" || f.Object.Kind == "Job" && f.Path.HasPrefix(labels)
		if f.Severity >= finding.Error && (isLater || !admission.Stricter(r, f)) {
			errs = append(errs, f)
		}
	}
	return errs
}

// objects returns the rendered objects. The JobSet carries the owners of its patches.
func objects(r *release.Release, input render.Input, rendered *render.Objects) ([]any, error) {
	js, err := admission.Encode(rendered.JobSet)
	if err != nil {
		return nil, err
	}
	if patches := input.TrainJob.Spec.RuntimePatches; input.Layers == nil && len(patches) > 0 {
		merged, err := runtimepatch.Apply(&input.Runtime.Template, patches,
			runtimepatch.Options{})
		if err != nil {
			return nil, err
		}
		js["metadata"].(map[string]any)["managedFields"] = runtimepatch.ManagedFields(merged.History)
	}
	items := []any{js}
	for _, companion := range rendered.Companions {
		items = append(items, companion)
	}
	stored, _ := render.JobSet(
		input, render.Options{Release: r, OnConflict: render.Last, As: render.Stored})
	children, _ := render.Jobs(stored.JobSet, render.JobsOptions{Release: r, OwnerReferences: true})
	for _, child := range children.Jobs {
		items = append(items, child.Job)
	}
	for pod, err := range render.Pods(stored.JobSet, render.PodsOptions{
		JobsOptions: render.JobsOptions{Release: r, Stored: true}, Indexes: &render.IndexRange{},
	}) {
		if err != nil {
			return nil, err
		}
		if _, known := render.SystemPriority(pod.Spec.PriorityClassName); known &&
			pod.Spec.PriorityClassName != "" {
			pod.TypeMeta, pod.Name = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				pod.Labels[batchv1.JobNameLabel]
			items = append(items, pod)
		}
	}
	if children.Service != nil {
		items = append(items, children.Service)
	}
	for _, claim := range children.Claims {
		items = append(items, claim)
	}
	return items, nil
}
