package render

import (
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// OrderConflicts returns a finding for each field of a JobSet that depends on the order of managers or policies.
// Finding.Orders holds two orders and their outcomes. No finding means that every order gives the same JobSet, up to the
// order inside list-maps and sets.
//
// An error marks a field with two outcomes. A note marks a field that has the value of a rule of the input in the given order. An error
// also marks a variable that the cluster expands or not, as its policies run in a random order. A warning marks a list of the patches whose
// order carries meaning: init containers, and variables that refer to others. OrderConflicts reads only Release, ForceManagers and the
// feature gates. Patches that fail to merge are errors, as in Conflicts.
func OrderConflicts(in Input, opts Options) finding.List {
	r, merged, left := patchesMerged(in, opts)
	if merged == nil {
		return r.out.Findings
	}
	left = Applicable(r.release, &r.in.Runtime.Template, left)
	if r.in.Layers == nil { // layers have one author and a documented order
		r.patchOrder(left, merged.Owners)
	}
	r.policyOrder(left, opts)
	return r.out.Findings
}

func (r *renderer) patchOrder(patches []trainer.RuntimePatch, owners *runtimepatch.Ownership) {
	found, err := runtimepatch.OrderConflicts(&r.in.Runtime.Template, patches)
	if err != nil {
		r.report(r.noMerge(err))
		return
	}
	composed := r.composed(owners, nil)
	byPath := pathsOf(composed)
	for _, d := range found {
		f := d.Finding(r.trainJob())
		if i := byPath.indexOf(d.Conflict); i >= 0 {
			f = composed[i].Finding(r.trainJob())
			f.Orders = d.Orders
		}
		r.report(f)
	}
	for _, f := range runtimepatch.SequenceWarnings(&r.in.Runtime.Template, patches) {
		f.Object = r.trainJob()
		r.report(f)
	}
}

// policyOrder reports variables that the cluster expands only if its policies run in one of two orders. Policies write to
// different fields, so only the order of the variables depends on theirs.
func (r *renderer) policyOrder(patches []trainer.RuntimePatch, opts Options) {
	given, names := r.enforced(patches, nil, opts)
	var seen codes.Set
	for i := range names {
		for j := range i {
			// The i-th policy runs before the j-th one.
			order := slices.Insert(slices.Delete(slices.Clone(names), i, i+1), j, names[i])
			other, _ := r.enforced(patches, order, opts)
			if given == nil || other == nil {
				return // a policy fails in any order
			}
			for _, e := range runtimepatch.Expansions(given, other, names, order) {
				if f := r.randomExpansion(e); !seen.Has(codes.KeyOf(f)) {
					seen.Add(f)
					r.report(f)
				}
			}
		}
	}
}

// enforced returns the template after the policies in an order, and the names of the policies. Without an order it is Acting's.
// The template is nil if a policy fails.
func (r *renderer) enforced(patches []trainer.RuntimePatch, order []string, opts Options) (*trainer.JobSetTemplateSpec, []string) {
	merged, err := runtimepatch.Apply(&r.in.Runtime.Template, patches, r.mergeOptions(false))
	if err != nil {
		return nil, nil // reported before
	}
	aside := renderer{in: r.in, release: r.release, order: order, out: &Output{}}
	j, ok := aside.enforce(merged, false, opts)
	if !ok {
		return nil, nil
	}
	return &merged.Template, mlpolicy.Acting(j.Input)
}

// randomExpansion returns the finding on a variable that the cluster expands in some orders of its policies only.
func (r *renderer) randomExpansion(e runtimepatch.Expansion) finding.Finding {
	f := finding.Finding{
		Code: codes.PolicyOrder, Severity: finding.Error, Object: r.trainJob(), Path: e.Path, Orders: e.Orders,
		Message: fmt.Sprintf("%s refers to $(%s): policies run in random order, and only some orders expand it", e.From, e.To),
		Remedy:  finding.Remedy{Text: fmt.Sprintf("remove $(%s) from the value, and combine the two variables in the command", e.To)},
	}
	if spec := r.in.TrainJob.Spec.Trainer; spec != nil {
		for _, v := range spec.Env {
			if v.Name == e.From {
				source := fieldpath.Fields("spec", "trainer", "env").Append(fieldpath.Item("name", v.Name), fieldpath.Field("value"))
				f.Claims = []merge.Claim{{Layer: runtimepatch.TrainJobLayer, Value: v.Value, Source: source}}
			}
		}
	}
	return f
}
