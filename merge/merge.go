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
	"errors"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
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

// Ownership says who set each field of a merged template: see [engine.Ownership].
type Ownership = engine.Ownership

// PatchedField is a field that patches set, or that contains such a field: see [engine.PatchedField].
type PatchedField = engine.PatchedField

// Claim says that a layer wrote a value: see [engine.Claim].
type Claim = engine.Claim

// Apply lays patches over a template in the order given, as the Trainer controller does. It changes
// neither, accepts a nil list, and does what the controller does also for a patch of a job or
// container that the template lacks: check.Patches is what refuses such patches, and is called first.
//
// The error is a [*PatchError], which names the manager and the field where the controller's own merge
// would fail: an item without its merge key, an unknown directive. There is then no result.
func Apply(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch, opts Options) (*Result, error) {
	if template == nil {
		template = &trainer.JobSetTemplateSpec{}
	}
	result := &Result{}
	owners, err := plan().ApplyInto(&result.Template, template, layersOf(patches, opts.Owners), engine.Options{Owners: opts.Owners, Base: RuntimeLayer, Source: fieldpath.Fields("spec", "template")})
	if err != nil {
		return nil, patchError(patches, err)
	}
	restoreOrder(result.Template.Spec.ReplicatedJobs, template.Spec.ReplicatedJobs)
	result.Owners = owners
	return result, nil
}

// layersOf are the patches as layers; with their names and places, if owners are wanted.
func layersOf(patches []trainer.RuntimePatch, owners bool) []engine.Layered[trainer.JobSetTemplatePatch] {
	layers := make([]engine.Layered[trainer.JobSetTemplatePatch], len(patches))
	for i := range patches {
		if spec := patches[i].TrainingRuntimeSpec; spec != nil {
			layers[i].Patch = spec.Template
		}
		if owners {
			layers[i].Layer, layers[i].Source = engine.Manager(patches[i].Manager), PatchPath(patches[i].Manager)
		}
	}
	return layers
}

func patchError(patches []trainer.RuntimePatch, err error) error {
	var failed *engine.PatchError
	if !errors.As(err, &failed) {
		return err
	}
	return &PatchError{Manager: patches[failed.Index].Manager, Path: failed.Path, Err: failed.Err}
}

// PatchError is why the cluster cannot merge a manager's patch.
type PatchError struct {
	// Manager is the manager whose patch it is.
	Manager string
	// Path is the field of the JobSet template at which the merge fails.
	Path fieldpath.Path
	// Err says what is wrong there.
	Err error
}

// Error names the manager and the field.
func (e *PatchError) Error() string {
	if e == nil {
		return "no error"
	}
	return fmt.Sprintf("patch of manager %q: %s: %s", e.Manager, e.Path, e.Err)
}

// Unwrap is what is wrong with the field.
func (e *PatchError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// ManagedFields is the ownership in the form in which the API server keeps it: one entry for the runtime and one for each
// patch, in that order, with what [engine.Ownership.FieldsV1] says of them. Entries carry no time.
func ManagedFields(o *Ownership) []metav1.ManagedFieldsEntry {
	var entries []metav1.ManagedFieldsEntry
	for layer, fields := range o.FieldsV1(isIgnored) {
		manager := string(layer)
		if name, ok := layer.Manager(); ok {
			manager = name
		}
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager:    manager,
			Operation:  metav1.ManagedFieldsOperationApply,
			APIVersion: jobset.GroupVersion.String(),
			FieldsType: "FieldsV1",
			FieldsV1:   &metav1.FieldsV1{Raw: fields},
		})
	}
	return entries
}

// isIgnored says of a field that the controller does not take it from the template: of metadata it takes
// labels and annotations only.
func isIgnored(path fieldpath.Path) bool {
	return len(path) > 1 && path[0] == fieldpath.Field("metadata") && path[1] != fieldpath.Field("labels") && path[1] != fieldpath.Field("annotations")
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
