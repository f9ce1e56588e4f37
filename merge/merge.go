// Package merge answers what a list of patches makes of a runtime's template, and who set what.
//
//	result, err := merge.Apply(&runtime.Spec.Template, job.Spec.RuntimePatches, merge.Options{Owners: true})
//	if err != nil {
//		return err
//	}
//	for path, claims := range result.Owners.All() {
//		fmt.Println(path, claims[len(claims)-1].Layer)
//	}
//
// # What a merge does
//
// [Apply] gives what the Trainer controller gives (Trainer v2.3.0 pkg/runtime/core): each patch in
// the order of the list is laid over the template as a strategic merge patch by the struct tags of
// JobSetSpec, and the replicated jobs are then put back into the template's order. The laws, each
// held by a property test against the controller's own code:
//
//   - A patch says what its JSON says. An empty field with omitempty says nothing; an empty field
//     without it is set to empty; a null empties the field.
//   - Structs merge field by field and maps key by key.
//   - A list with a merge key merges item by item. New items go in front in the patch's order; items
//     that the patch names take the patch's order; an item that the patch does not name stays before
//     the named ones that it preceded.
//   - Any other list is replaced whole.
//   - template.metadata is apart: labels and annotations merge key by key, all else is ignored.
//   - Nothing is ever removed, but by a null and by a directive in a map.
//
// Union rules do not exist here: two sources of one volume are both kept, as in the cluster.
// Package schema refuses such patches before the merge, and package conflict finds them between
// managers after it.
package merge

import (
	"cmp"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/schema"
)

// Options says what Apply does besides merging. The zero value merges only, which is cheapest.
type Options struct {
	// Owners asks for Result.Owners.
	Owners bool
}

// Result is what Apply made. It aliases neither the template nor the patches.
type Result struct {
	// Template is the merged template.
	Template trainer.JobSetTemplateSpec
	// Owners says who set each field of Template; nil unless it was asked for.
	Owners *Ownership
}

// Claim says that a layer wrote a value: see [schema.Claim].
type Claim = schema.Claim

// Apply lays patches over a template in the order given, as the Trainer controller does. It changes
// neither, accepts a nil list, and does what the controller does also for a patch of a job or
// container that the template lacks: schema.Check is what refuses such patches, and is called first.
//
// The error is a [*PatchError], which names the manager and the field where the controller's own merge
// would fail: an item without its merge key, an unknown directive. There is then no result.
func Apply(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch, opts Options) (*Result, error) {
	if template == nil {
		template = &trainer.JobSetTemplateSpec{}
	}
	return apply(template, patches, merger{owners: opts.Owners})
}

func apply(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch, m merger) (*Result, error) {
	more := count(template, patches)
	m.spine = theSpine()
	if m.owners {
		m.log = newLog(patches, &more)
	}
	result := &Result{}
	m.copyTemplate(&result.Template, template, &more)
	metadata, spec := schema.JobSetTemplate().Field("metadata"), schema.JobSetTemplate().Field("spec")
	for i := range patches {
		runtimeSpec := patches[i].TrainingRuntimeSpec
		if runtimeSpec == nil || runtimeSpec.Template == nil {
			continue
		}
		m.left, m.raw = len(patches)-i-1, m.raw[:0]
		if m.owners {
			m.layer = m.log.ids[i]
		}
		if patch := runtimeSpec.Template.Metadata; patch != nil {
			m.metadata(&result.Template.ObjectMeta, patch, metadata)
		}
		if patch := runtimeSpec.Template.Spec; patch != nil {
			if err := m.jobSet(spec, &result.Template.Spec, patch, m.field(rootNode, spec)); err != nil {
				failed := within(schema.Field("spec"), err).(*PatchError)
				failed.Manager = patches[i].Manager
				return nil, failed
			}
		}
	}
	restoreOrder(result.Template.Spec.ReplicatedJobs, template.Spec.ReplicatedJobs)
	if m.owners {
		result.Owners = &Ownership{log: m.log, template: &result.Template}
	}
	return result, nil
}

// restoreOrder puts the merged jobs back into the template's order. A job that the template lacks
// counts as its first one, as a Go map's zero value does in the controller.
func restoreOrder(merged, template []jobset.ReplicatedJob) {
	order := make(map[string]int, len(template))
	for i := range template {
		order[template[i].Name] = i
	}
	before := func(a, b jobset.ReplicatedJob) int { return cmp.Compare(order[a.Name], order[b.Name]) }
	if !slices.IsSortedFunc(merged, before) {
		slices.SortStableFunc(merged, before)
	}
}

// Upsert returns the patches with one manager's entry replaced in full, in its place, or added last
// where the manager has none. It never changes the list it is given, nor merges the old entry with
// the new one: a manager that sends less takes back what it no longer sends.
func Upsert(patches []trainer.RuntimePatch, entry trainer.RuntimePatch) []trainer.RuntimePatch {
	patches = slices.Clone(patches)
	entry = *entry.DeepCopy()
	at := slices.IndexFunc(patches, func(p trainer.RuntimePatch) bool { return p.Manager == entry.Manager })
	if at < 0 {
		return append(patches, entry)
	}
	patches[at] = entry
	return patches
}
