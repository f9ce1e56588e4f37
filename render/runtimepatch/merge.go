// Package runtimepatch merges a list of patches into a runtime's template and records who set each
// field.
//
//	result, err := runtimepatch.Apply(&runtime.Spec.Template, job.Spec.RuntimePatches, runtimepatch.Options{})
//	if err != nil {
//		return err
//	}
//	for path, claims := range result.History.All() {
//		fmt.Println(path, claims[len(claims)-1].Owner)
//	}
//
// # The laws of a merge
//
// [Apply] gives the Trainer controller's result (Trainer v2.3.0 pkg/runtime/core). It merges each
// patch, in list order, into the template as a strategic merge patch. The struct tags of JobSetSpec
// define the merge. Then it restores the template's order of the replicated jobs. Property tests
// hold each law against the controller's own code:
//
//   - A patch sets the fields of its JSON. An empty field with omitempty sets nothing. An empty
//     field without it sets the empty value. A null empties the field.
//   - Structs merge field by field and maps key by key.
//   - A list with a merge key merges item by item. New items go in front in the patch's order.
//     Items that the patch names take the patch's order. An item that the patch does not name stays
//     before the named items that it preceded.
//   - A patch replaces any other list whole.
//   - The field template.metadata differs: labels and annotations merge key by key, and all else is
//     ignored.
//   - Only a null, or a directive in a map, removes anything.
//
// A merge has no union rules: it keeps both sources of one volume, as the cluster does. Package
// check finds such patches before the merge. Package conflict finds them between managers after it.
//
// # The patch of a controller
//
// A controller adds the patch that [Minimal] returns, so that no other manager loses a field. Use
// [Upsert] and [Remove] to put it into the list and take it out. Use [MinimalIn], [UpsertIn] and
// [RemoveIn] in a whole TrainJob that is an object. They keep the fields that this release of the
// API lacks.
//
// Its first file to read is merge.go.
package runtimepatch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	strict "k8s.io/apimachinery/pkg/util/json"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
)

// Options extend Apply. The zero value merges the patches as they are.
type Options struct {
	// Added are fields that the Go types lack, by the manager of the patch: see
	// legacy.Earlier.Patched.
	Added map[string]map[string]any
	// Trees are the JSON of the template and the patches, if the caller has read it. Apply takes
	// over the template's.
	Trees *Trees

	forced map[string]map[string]any // what ForceIn left of whole patches with such fields
}

// Result is the result of Apply. It aliases neither the template nor the patches.
type Result struct {
	// Template is the merged template.
	Template trainer.JobSetTemplateSpec
	// History records who set each field of Template.
	History *merge.History
	notes   []merge.Note
}

// Apply merges patches into a template in the given order, as the Trainer controller does. It
// changes neither and accepts a nil list. It also follows the controller for a patch of a job or
// container that the template lacks. Call check.Patches first: it reports such patches.
//
// The error is a [*PatchError]. It names the manager and the field at which the controller's own
// merge would fail. Examples are an item without its merge key and an unknown directive. There is
// then no result.
func Apply(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch,
	opts Options) (*Result, error) {
	if template == nil {
		template = &trainer.JobSetTemplateSpec{}
	}
	result := &Result{}
	layers := layersOf(patches)
	if err := addFields(layers, opts); err != nil {
		return nil, err
	}
	merged, err := mergeLayers(template, layers, opts.Trees.of(patches))
	if err != nil {
		return nil, patchError(patches, err)
	}
	result.Template, result.notes = merged.Value, merged.Notes
	result.History = merged.History.On(&result.Template)
	restoreOrder(result.Template.Spec.ReplicatedJobs, template.Spec.ReplicatedJobs)
	return result, nil
}

func mergeLayers(template *trainer.JobSetTemplateSpec, layers []merge.Patch,
	trees merge.Option) (*merge.Result[trainer.JobSetTemplateSpec], error) {
	return merge.Strategic(template, layers, mergeRules(),
		merge.Base(RuntimeLayer, fieldpath.Fields("spec", "template")), trees)
}

// Trees are the JSON of a template and of patches to it, which package check and Apply read. Each
// is made once.
type Trees struct {
	// Template is nil for a template without JSON. Nobody may read it after Apply.
	Template merge.Object
	patches  map[*trainer.JobSetTemplatePatch]merge.Object
}

// ReadTrees returns the JSON of a template and of patches.
func ReadTrees(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) *Trees {
	t := &Trees{patches: make(map[*trainer.JobSetTemplatePatch]merge.Object, len(patches))}
	t.Template, _ = tree.Fields(template) // Apply returns an error
	for i := range patches {
		if spec := patches[i].TrainingRuntimeSpec; spec != nil && spec.Template != nil {
			t.patches[spec.Template], _ = tree.Fields(spec.Template)
		}
	}
	return t
}

// Patch returns the JSON of a patch that was read, nil for one without JSON.
func (t *Trees) Patch(patch *trainer.JobSetTemplatePatch) merge.Object { return t.patches[patch] }

// of returns the option of a merge, nil for no trees.
func (t *Trees) of(patches []trainer.RuntimePatch) merge.Option {
	if t == nil {
		return nil
	}
	list := make([]merge.Object, len(patches))
	for i := range patches {
		if spec := patches[i].TrainingRuntimeSpec; spec != nil {
			list[i] = t.patches[spec.Template]
		}
	}
	return merge.Trees(t.Template, list)
}

// nobody is the manager of a patch that names none. check.Patches refuses it, and the other patches
// are judged all the same.
const nobody = "nobody"

// layersOf returns the patches as those of a merge.
func layersOf(patches []trainer.RuntimePatch) []merge.Patch {
	layers := make([]merge.Patch, len(patches))
	for i := range patches {
		layers[i] = merge.Patch{Manager: cmp.Or(patches[i].Manager, nobody),
			At: PatchPath(patches[i].Manager)}
		if spec := patches[i].TrainingRuntimeSpec; spec != nil && spec.Template != nil {
			layers[i].Value = spec.Template
		}
	}
	return layers
}

// addFields makes the patches objects, with the fields that the Go types lack, if any has some.
func addFields(layers []merge.Patch, opts Options) error {
	if len(opts.Added) == 0 {
		return nil
	}
	for i := range layers {
		if whole, ok := opts.forced[layers[i].Manager]; ok {
			layers[i].Value = runtime.DeepCopyJSON(whole)
			continue
		}
		object, err := objectOf(layers[i].Value)
		if err != nil {
			return err
		}
		if more := opts.Added[layers[i].Manager]; more != nil {
			LayOver(object, runtime.DeepCopyJSON(more))
		}
		layers[i].Value = object
	}
	return nil
}

// LayOver adds fields of Options.Added to the encoding of a JobSet template patch. Items go by
// their names, which the patch has as well.
func LayOver(patch, added map[string]any) {
	for name, value := range added {
		had, isObject := patch[name].(map[string]any)
		if below, ok := value.(map[string]any); ok && isObject {
			LayOver(had, below)
			continue
		}
		items, _ := value.([]any)
		isLaid := false
		for _, item := range items {
			below, _ := item.(map[string]any)
			own, _ := below["name"].(string)
			if of := itemNamed(patch[name], own); of != nil {
				LayOver(of, below)
				isLaid = true
			}
		}
		if !isLaid {
			patch[name] = value
		}
	}
}

// objectOf returns the JSON object of a value, empty for nil.
func objectOf(value any) (map[string]any, error) {
	object := map[string]any{}
	data, err := json.Marshal(value)
	if err == nil {
		err = strict.Unmarshal(data, &object)
	}
	if object == nil {
		object = map[string]any{}
	}
	return object, err
}

// itemNamed returns the item of a list with a name, or nil.
func itemNamed(list any, name string) map[string]any {
	items, _ := list.([]any)
	for _, one := range items {
		if item, ok := one.(map[string]any); ok && item["name"] == name {
			return item
		}
	}
	return nil
}

func patchError(patches []trainer.RuntimePatch, err error) error {
	var failed *merge.PatchError
	if !errors.As(err, &failed) {
		return err
	}
	return &PatchError{Manager: patches[failed.Index].Manager, Path: failed.Path, Err: failed.Err}
}

// PatchError reports that the cluster cannot merge a manager's patch.
type PatchError struct {
	// Manager owns the patch.
	Manager string
	// Path leads to the field of the JobSet template at which the merge fails.
	Path fieldpath.Path
	// Err states the problem.
	Err error
}

// Error names the manager and the field.
func (e *PatchError) Error() string {
	if e == nil {
		return "no error"
	}
	return fmt.Sprintf("patch of manager %q: %s: %s", e.Manager, e.Path, e.Err)
}

// Unwrap returns the problem.
func (e *PatchError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// ManagedFields returns the ownership in the API server's format. One entry stands for the runtime,
// then one for each patch in order. Each holds the fields of [merge.History.FieldsV1]. Entries
// carry no time.
func ManagedFields(o *merge.History) []metav1.ManagedFieldsEntry {
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

// isIgnored reports whether the controller ignores a field of the template. Of metadata it takes
// labels and annotations only.
func isIgnored(path fieldpath.Path) bool {
	return len(path) > 1 && path[0] == fieldpath.Field("metadata") &&
		path[1] != fieldpath.Field("labels") && path[1] != fieldpath.Field("annotations")
}

// restoreOrder sorts the merged jobs into the template's order. A job that the template lacks
// counts as its first one, like the zero value of the controller's Go map.
func restoreOrder(merged, template []jobset.ReplicatedJob) {
	order := make(map[string]int, len(template))
	for i := range template {
		order[template[i].Name] = i
	}
	before := func(a, b jobset.ReplicatedJob) int {
		return cmp.Compare(order[a.Name], order[b.Name])
	}
	if !slices.IsSortedFunc(merged, before) {
		slices.SortStableFunc(merged, before)
	}
}

// Upsert returns the patches with one manager's entry replaced in full, and without further entries
// of the manager. It appends the entry if the manager has none. It never changes the given list. It
// does not merge the old entry with the new one: a manager that sends less withdraws the rest. An
// entry without a time takes the time of an old entry that is equal otherwise: the cluster sets it.
func Upsert(patches []trainer.RuntimePatch, entry trainer.RuntimePatch) []trainer.RuntimePatch {
	entry = *entry.DeepCopy()
	at := slices.IndexFunc(patches, func(p trainer.RuntimePatch) bool {
		return p.Manager == entry.Manager
	})
	if at < 0 {
		return append(slices.Clip(patches), entry)
	}
	if entry.Time == nil &&
		merge.SameValue(patches[at].TrainingRuntimeSpec, entry.TrainingRuntimeSpec) {
		entry.Time = patches[at].Time.DeepCopy()
	}
	return slices.Insert(Remove(patches, entry.Manager), at, entry)
}

// Remove returns the patches without a manager's entries. It never changes the given list.
func Remove(patches []trainer.RuntimePatch, manager string) []trainer.RuntimePatch {
	return slices.DeleteFunc(slices.Clone(patches), func(p trainer.RuntimePatch) bool {
		return p.Manager == manager
	})
}
