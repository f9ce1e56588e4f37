package admission

import (
	"cmp"
	"context"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// aloneName is the name of the TrainJob that CheckAlone judges. It is short, since a longer one
// could exceed limits that a shorter one does not.
const aloneName = "job"

// CheckAlone judges a runtime by itself: with a TrainJob that sets nothing. It returns the findings
// whose cause is in the runtime, each at the field of the runtime, except those of AdmitRuntime and
// WithoutImage. The input has no TrainJob, no patches and no layers.
func CheckAlone(ctx context.Context, in Input) finding.List {
	r := in.Runtime
	if r == nil {
		return nil
	}
	in.TrainJob = r.plainJob(in)
	withoutImage := r.WithoutImage()
	own := codes.NewReport(r.findings, nil)
	var warnings finding.List
	for _, f := range Check(ctx, in) {
		if f.Object != r.id {
			source := sourceInRuntime(f)
			if source == nil {
				continue
			}
			f.Object, f.Path, f.Claims = r.id, source, nil
		}
		path := f.Path.String()
		switch {
		case slices.ContainsFunc(withoutImage, func(w finding.Finding) bool {
			return w.Path.String() == path
		}):
		case f.Severity < finding.Error:
			warnings = append(warnings, f)
		default:
			own.Add(f)
		}
	}
	own.Follow(warnings...)
	return own.List()
}

// sourceInRuntime returns the field of the runtime that causes a finding on another object, or nil.
func sourceInRuntime(f finding.Finding) fieldpath.Path {
	switch n := len(f.Claims); {
	case f.Code == codes.JobSetName && f.Path.HasPrefix(fieldpath.Fields("spec", "replicatedJobs")):
		// the TrainJob's name is as short as any
		return fieldpath.Fields("spec", "template").Append(f.Path...)
	case n == 0:
		return nil
	case f.Code == codes.Shadowed && runtimepatch.FromRuntime(f.Claims[0]):
		return f.Claims[0].At
	case f.Object.Kind != trainer.TrainJobKind && runtimepatch.FromRuntime(f.Claims[n-1]):
		return f.Claims[n-1].At
	}
	return nil
}

// plainJob returns a TrainJob that sets nothing. The flux policy requires numNodes, which is then
// the runtime's.
func (r *Runtime) plainJob(in Input) map[string]any {
	section := map[string]any{}
	if policy := r.spec.MLPolicy; policy != nil && policy.Flux != nil {
		nodes := int32(1)
		if policy.NumNodes != nil {
			nodes = *policy.NumNodes
		}
		section["numNodes"] = int64(nodes)
	}
	return map[string]any{
		"apiVersion": trainer.GroupVersion.String(), "kind": trainer.TrainJobKind,
		"metadata": map[string]any{
			"name": aloneName, "namespace": cmp.Or(r.id.Namespace, in.namespace())},
		"spec": map[string]any{
			"runtimeRef": map[string]any{"apiGroup": trainer.GroupVersion.Group, "kind": r.id.Kind,
				"name": r.id.Name},
			"trainer": section,
		},
	}
}
