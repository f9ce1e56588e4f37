package upstream

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/render"
)

// Rendered is trainweld's result for one TrainJob.
type Rendered struct {
	// Objects exist even next to a rejection, wherever the controller would get that far.
	Objects []Object
	// Rejected are the findings of severity Error.
	Rejected finding.List
}

// Codes returns the distinct codes of the rejection, sorted.
func (r Rendered) Codes() []string {
	var codes []string
	for _, f := range r.Rejected {
		codes = append(codes, string(f.Code))
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// Trainweld reads a TrainJob and its runtime as the program does. It renders them as the cluster
// would: the last patch wins. A nil runtime means that none exists.
func Trainweld(u *Upstream, trainJob, runtime Object) (Rendered, error) {
	in := render.Input{}
	var runtimes render.Runtimes
	for _, object := range []Object{trainJob, runtime} {
		if object == nil {
			continue
		}
		data, err := yaml.Marshal(object)
		if err != nil {
			return Rendered{}, err
		}
		documents, findings, _ := u.API.Decode("input.yaml", data, nil)
		if findings.Err() != nil {
			return Rendered{Rejected: failing(findings)}, nil
		}
		for _, d := range documents {
			switch o := d.Object.(type) {
			case *trainer.TrainJob:
				if o.Namespace == "" {
					o.Namespace = "default"
				}
				render.DefaultTrainJob(o, d.Sets)
				in.TrainJob = o
				in.Earlier = d.Earlier
				if d.Overrides != nil {
					render.DefaultPatches(d.Overrides.Patches(), nil)
					in.Layers = d.Overrides
				}
			case *trainer.TrainingRuntime:
				render.DefaultRuntime(&o.Spec, d.Sets)
				in.Earlier.TorchNumProcPerNode = d.Earlier.TorchNumProcPerNode
				if o.Namespace == "" && in.TrainJob != nil {
					o.Namespace = in.TrainJob.Namespace
				}
				runtimes.Add(
					fieldpath.Object{Kind: trainer.TrainingRuntimeKind, Namespace: o.Namespace,
						Name: o.Name}, &o.Spec)
			case *trainer.ClusterTrainingRuntime:
				render.DefaultRuntime(&o.Spec, d.Sets)
				in.Earlier.TorchNumProcPerNode = d.Earlier.TorchNumProcPerNode
				runtimes.Add(
					fieldpath.Object{Kind: trainer.ClusterTrainingRuntimeKind, Name: o.Name},
					&o.Spec)
			}
		}
	}
	if in.TrainJob == nil {
		return Rendered{}, errors.New("the input holds no TrainJob")
	}
	spec, missing := runtimes.Find(in.TrainJob)
	if missing != nil {
		return Rendered{Rejected: finding.List{*missing}}, nil
	}
	in.Runtime = spec
	out, _ := render.JobSet(in, render.Options{
		Release:    u.Release,
		OnConflict: render.Last,
		Secrets:    rand.Reader,
		FluxTemplates: os.DirFS(
			filepath.Join(u.Modules.Trainer, "pkg", "runtime", "framework", "plugins", "flux",
				"templates")),
	})
	r := Rendered{Rejected: failing(out.Findings)}
	if out.JobSet == nil {
		return r, nil
	}
	for _, object := range append([]any{out.JobSet}, companions(out)...) {
		asJSON := Object{}
		if err := oracle.Convert(object, &asJSON); err != nil {
			return Rendered{}, fmt.Errorf("encode what trainweld rendered: %w", err)
		}
		r.Objects = append(r.Objects, asJSON)
	}
	return r, nil
}

func companions(out *render.Objects) (objects []any) {
	for _, c := range out.Companions {
		objects = append(objects, c)
	}
	return objects
}

func failing(findings finding.List) finding.List {
	return slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool {
		return f.Severity < finding.Error
	})
}

func dig(object Object, fields ...string) Object {
	for _, field := range fields {
		object, _ = object[field].(map[string]any)
	}
	return object
}
