package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/release"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
)

// This file is trainweld's own answer: it renders a TrainJob as a release of the Trainer does. It shows how a program links the
// library: decode by the API of a release, admit the runtime and the TrainJob, render.

// serve answers one case, as the runner asks a program. It returns the exit status.
func serve(args []string, in io.Reader, out, problems io.Writer) int {
	flags := flag.NewFlagSet("answer", flag.ContinueOnError)
	flags.SetOutput(problems)
	name := flags.String("release", "", "the release of the Trainer")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	refused, err := answer(*name, in, out)
	switch {
	case err != nil:
		fmt.Fprintln(problems, "conformance:", err)
		return 2
	case refused != nil:
		fmt.Fprintln(problems, refused)
		return 1
	}
	return 0
}

// answer writes the objects of a TrainJob, or returns the errors with which the release refuses it.
func answer(name string, in io.Reader, out io.Writer) (refused finding.List, err error) {
	r, err := release.Parse(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	documents, found, _ := manifest.NewAPI(r, nil).Decode("stdin", data, nil)
	if errs := refusals(r, found); errs != nil {
		return errs, nil
	}
	job, input, found, err := admit(context.Background(), r, documents)
	if errs := refusals(r, found); err != nil || errs != nil {
		return errs, err
	}
	rendered, _ := render.JobSet(input, render.Options{Release: r, OnConflict: render.Last, Owners: true, Secrets: rand.Reader})
	if rendered.JobSet == nil {
		return rendered.Findings, nil
	}
	items, err := objects(r, job, input, rendered)
	if err != nil {
		return nil, err
	}
	return nil, json.NewEncoder(out).Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

// admit sends the runtime and the TrainJob through the API server and the webhooks.
func admit(ctx context.Context, r *release.Release, documents []*manifest.Document) (*trainer.TrainJob, render.Input, finding.List, error) {
	in := admission.Input{Release: r, OnConflict: render.Last}
	var input render.Input
	var all finding.List
	for _, d := range documents {
		fields, err := d.Fields()
		if err != nil {
			return nil, input, nil, err
		}
		switch o := d.Object.(type) {
		case *trainer.TrainJob:
			render.DefaultTrainJob(o, d.Sets)
			in.TrainJob, input.TrainJob = fields, o
			in.Earlier.NumProcPerNode = d.Earlier.NumProcPerNode
			if d.Overrides != nil {
				layers := d.Overrides.DeepCopy()
				render.DefaultPatches(layers.Patches(), nil)
				in.Layers = layers
			}
		case *trainer.ClusterTrainingRuntime:
			render.DefaultRuntime(&o.Spec, d.Sets)
			input.Runtime, in.Earlier.TorchNumProcPerNode = &o.Spec, d.Earlier.TorchNumProcPerNode
			runtime, found := admission.AdmitRuntime(ctx, r, fields, "")
			in.Runtime, all = runtime, append(all, found...)
		}
	}
	if input.TrainJob == nil || input.Runtime == nil {
		return nil, input, nil, fmt.Errorf("the input holds no TrainJob or no ClusterTrainingRuntime")
	}
	input.Layers, input.Earlier = in.Layers, in.Earlier
	return input.TrainJob, input, append(all, admission.Check(ctx, in)...), nil
}

// refusals returns the errors that the cluster has as well: not those of a later stage, and not the ones that are stricter here.
func refusals(r *release.Release, found finding.List) finding.List {
	var errs finding.List
	for _, f := range found {
		if f.Severity >= finding.Error && !admission.Stricter(r, f) {
			errs = append(errs, f)
		}
	}
	return errs
}

// objects returns the rendered objects. The JobSet carries the owners of its patches.
func objects(r *release.Release, job *trainer.TrainJob, input render.Input, rendered *render.Output) ([]any, error) {
	js, err := admission.Encode(rendered.JobSet)
	if err != nil {
		return nil, err
	}
	if patches := job.Spec.RuntimePatches; input.Layers == nil && len(patches) > 0 {
		merged, err := merge.Apply(&input.Runtime.Template, patches, merge.Options{Owners: true})
		if err != nil {
			return nil, err
		}
		js["metadata"].(map[string]any)["managedFields"] = merge.ManagedFields(merged.Owners)
	}
	items := []any{js}
	for _, companion := range rendered.Companions {
		items = append(items, companion)
	}
	stored, _ := render.JobSet(input, render.Options{Release: r, OnConflict: render.Last, As: render.Stored})
	children, _ := render.Jobs(stored.JobSet, render.JobsOptions{Release: r, OwnerReferences: true})
	for _, child := range children.Jobs {
		items = append(items, child.Job)
	}
	if children.Service != nil {
		items = append(items, children.Service)
	}
	for _, claim := range children.Claims {
		items = append(items, claim)
	}
	return items, nil
}
