package render

import (
	"errors"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Compose returns the entry of a manager with the values that the rules of the input give, as [runtimepatch.Compose] does. An unchanged
// Trainer then renders these values. The findings are the findings of JobSet for the TrainJob with the entry. Compose returns no entry
// if one is an error, or if the other patches already hold all values. Compose does not change its input.
func Compose(in Input, opts Options, manager string) (*trainer.RuntimePatch, finding.List) {
	r := renderer{in: in.filled(), release: opts.Release.Or()}
	if r.in.Layers != nil || r.release.Overrides != release.RuntimePatches {
		in.Patches = append(slices.Clip(in.Patches), trainer.RuntimePatch{Manager: manager}) // an error
		out, _ := JobSet(in, opts)
		return nil, out.Findings
	}
	template := &r.in.Runtime.Template
	entry, err := runtimepatch.Compose(template, Applicable(r.release, template, prune(r.patches())), manager, in.Rules)
	if err == nil {
		in = in.with(entry)
	}
	out, _ := JobSet(in, opts)
	var failed finding.List
	if errors.As(err, &failed) {
		out.Findings = slices.DeleteFunc(out.Findings, func(f finding.Finding) bool {
			return f.Remedy.Do == finding.Compose || f.Code == codes.NoComposition
		})
		for _, f := range failed {
			f.Object = r.trainJob()
			out.Findings = append(out.Findings, f)
		}
	}
	if err != nil || out.Findings.Err() != nil {
		return nil, out.Findings
	}
	if entry.TrainingRuntimeSpec == nil {
		severity := finding.Note // the patches hold the values already
		if len(in.Rules) == 0 {
			severity = finding.Warning
		}
		return nil, append(out.Findings, finding.Finding{
			Code: codes.NothingToSet, Severity: severity, Object: r.trainJob(), Path: fieldpath.Fields("spec", "runtimePatches"),
			Message: "the patches already set the values of all rules",
			Remedy:  finding.Remedy{Text: "add a rule to compose in the policy, for a field that several patches set"},
		})
	}
	return &entry, out.Findings
}

// with returns the input with an entry in the place of the manager's entry, or in the last one.
func (in Input) with(entry trainer.RuntimePatch) Input {
	isOwn := func(p trainer.RuntimePatch) bool { return p.Manager == entry.Manager }
	if in.TrainJob == nil || !slices.ContainsFunc(in.TrainJob.Spec.RuntimePatches, isOwn) {
		in.Patches = runtimepatch.Upsert(in.Patches, entry)
		return in
	}
	job := *in.TrainJob
	job.Spec.RuntimePatches = runtimepatch.Upsert(job.Spec.RuntimePatches, entry)
	in.TrainJob = &job
	return in
}
