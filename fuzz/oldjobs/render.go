package main

import (
	"errors"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// input is a TrainJob and its runtime as the program reads them.
type input struct{ render.Input }

// read decodes both as the command line does. refused holds the codes of the errors.
func read(trainJob, runtime []byte) (in input, refused []string, err error) {
	documents, findings := manifest.Decode("trainjob.json", trainJob)
	if refused = codes(findings); refused != nil {
		return in, refused, nil
	}
	others, findings := manifest.Decode("runtime.json", runtime)
	if refused = codes(findings); refused != nil {
		return in, refused, nil
	}
	for _, d := range append(documents, others...) {
		switch o := d.Object.(type) {
		case *trainer.TrainJob:
			render.DefaultTrainJob(o)
			if in.TrainJob = o; d.Overrides != nil {
				render.DefaultPatches(d.Overrides.Patches())
				in.Layers = d.Overrides
			}
		case *trainer.ClusterTrainingRuntime:
			render.DefaultRuntime(&o.Spec, d.Sets)
			in.Runtime = &o.Spec
		default:
			return in, nil, fmt.Errorf("%s is neither a TrainJob nor a ClusterTrainingRuntime", d.ID)
		}
	}
	if in.TrainJob == nil || in.Runtime == nil {
		return in, nil, errors.New("there is no TrainJob or no runtime")
	}
	return in, nil, nil
}

func (in input) render() answer {
	out, _ := render.JobSet(in.Input, render.Options{})
	return answer{JobSet: out.JobSet, Refused: codes(out.Findings)}
}

// codes returns the distinct codes of the errors, or nil.
func codes(findings finding.List) []string {
	var codes []string
	for _, f := range findings {
		if f.Severity >= finding.Error && !slices.Contains(codes, string(f.Code)) {
			codes = append(codes, string(f.Code))
		}
	}
	return codes
}
