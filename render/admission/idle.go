package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// facts are what the history says about the patch of each manager.
type facts struct {
	sets   map[merge.Owner]bool // the patch sets a value
	shares map[merge.Owner]bool // another patch sets one of these values as well
	acts   map[merge.Owner]bool // a value of the patch is the last change of a field
}

// facts reads the history of the merge. An item of the runtime that a patch only names is not a
// value of the patch.
func (c *checker) facts() facts {
	f := facts{map[merge.Owner]bool{}, map[merge.Owner]bool{}, map[merge.Owner]bool{}}
	for path, claims := range c.merged.History.All() {
		last := len(claims) - 1
		if _, isField := path[len(path)-1].Field(); !isField &&
			claims[0].Owner == runtimepatch.RuntimeLayer &&
			claims[last].Value == any(merge.Presence{}) {
			continue
		}
		first := map[string]merge.Owner{} // by the value
		for i, claim := range claims {
			if _, is := claim.Owner.Manager(); !is {
				continue
			}
			f.sets[claim.Owner] = true
			if i == last && isChange(path, claims) {
				f.acts[claim.Owner] = true
			}
			if last == 0 {
				break // nobody shares it
			}
			text, err := json.Marshal(claim.Value)
			if err != nil {
				continue
			}
			if other, known := first[string(text)]; !known {
				first[string(text)] = claim.Owner
			} else if other != claim.Owner {
				f.shares[other], f.shares[claim.Owner] = true, true
			}
		}
	}
	return f
}

// isChange reports whether the last claim on a field certainly makes another result than the layer
// below it.
func isChange(path fieldpath.Path, claims []merge.Claim) bool {
	last := claims[len(claims)-1]
	var below any // null, as absent
	for _, under := range slices.Backward(claims) {
		if under.Owner != last.Owner {
			below = under.Value
			break
		}
	}
	_, isField := path[len(path)-1].Field()
	return differ(last.Value, below) && !(isField && last.Value == any(merge.Presence{}))
}

// differ reports whether two values certainly make two results. The results may treat an empty
// value as an absent one.
func differ(a, b any) bool {
	switch {
	case a == nil && b == nil:
		return false
	case a == nil:
		return differ(b, nil)
	case b == nil:
		v := reflect.ValueOf(a)
		isEmpty := v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) &&
			v.Len() == 0
		return !isEmpty || v.Type() == reflect.TypeFor[merge.Presence]()
	default:
		return reflect.TypeOf(a) == reflect.TypeOf(b) && !equality.Semantic.DeepEqual(a, b)
	}
}

// mostCompared is the maximum number of patches for idle, which may merge once more for each. The
// schema rejects more.
const mostCompared = 16

// idle returns the warnings on patches that do not change the result. A patch that makes the last
// change of a field changes the result. For every other patch, a merge without it decides. A patch
// that sets a value of another patch is not idle: managers that agree each keep their own patch. A
// patch is not reported if another finding explains why it has no effect: it tries to clear a
// field, loses a conflict, or is of a replicated job that the release skips.
func (c *checker) idle() finding.List {
	patches := c.typed.Spec.RuntimePatches
	if c.merged == nil || len(patches) == 0 || len(patches) > mostCompared {
		return nil
	}
	times := map[string]int{}
	for i := range patches {
		times[patches[i].Manager]++
	}
	facts := c.facts()
	disputes := sync.OnceValue(func() map[string]bool { return conflictManagers(c.merged.History) })
	var found finding.List
	var gone []int
	report := func(i int, message string, isCertain bool) {
		found = append(found, finding.Finding{
			Code: codes.IdlePatch, Severity: finding.Warning, Object: c.job.id,
			Path: fieldpath.Fields("spec", "runtimePatches").Append(
				fieldpath.Item("manager", patches[i].Manager)),
			Message: message,
			Remedy:  finding.Remedy{Do: finding.Remove, Text: "remove it", IsCertain: isCertain},
		})
	}
	for i, patch := range patches {
		// then their claims are one layer's
		layer, isRepeated := merge.Manager(patch.Manager), times[patch.Manager] > 1
		if c.isSkipped(patches[i : i+1]) {
			continue
		}
		if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil {
			report(i, "patch is empty", true)
			continue
		}
		clears := c.cannotClear(patch.Manager)
		found = append(found, clears...)
		if clears != nil || facts.shares[layer] || facts.acts[layer] && !isRepeated ||
			c.hasLost(layer) || !c.isIdle(i) {
			continue
		}
		// Of two patches that are idle because of each other, only the first is certain to go.
		isCertain := len(gone) == 0 || c.isIdle(append(gone, i)...)
		if isCertain {
			gone = append(gone, i)
		}
		switch {
		case !facts.sets[layer]:
			report(i, "patch sets no field: empty values and nulls set none", isCertain)
		case !disputes()[patch.Manager]:
			report(i, "patch has no effect: the runtime or another patch already sets the same "+
				"values, or a later patch replaces them", isCertain)
		}
	}
	return found
}

// hasLost reports whether a decision of force took a claim of the layer. Another finding reports
// it.
func (c *checker) hasLost(layer merge.Owner) bool {
	return slices.ContainsFunc(c.merging.Decisions, func(d conflict.Decision) bool {
		return slices.ContainsFunc(d.Lost, func(claim merge.Claim) bool {
			return claim.Owner == layer
		})
	})
}

// isIdle reports whether the merge without some patches gives the same template.
func (c *checker) isIdle(gone ...int) bool {
	job := *c.typed
	job.Spec.RuntimePatches = nil
	for i := range c.typed.Spec.RuntimePatches {
		if !slices.Contains(gone, i) {
			job.Spec.RuntimePatches = append(job.Spec.RuntimePatches,
				c.typed.Spec.RuntimePatches[i])
		}
	}
	in := c.renderInput(c.in.Runtime)
	in.TrainJob = &job
	without := render.Merge(in, c.options()).Result
	return without != nil &&
		equality.Semantic.DeepEqual(&without.Template, &c.merged.Template)
}

// isSkipped reports whether the merge of the release skips parts of the patch.
func (c *checker) isSkipped(patch []trainer.RuntimePatch) bool {
	reached := render.Applicable(c.in.Release, &c.in.Runtime.spec.Template, patch)
	return &reached[0] != &patch[0]
}

// conflictManagers returns the managers of all conflicts.
func conflictManagers(owners *merge.History) map[string]bool {
	managers := map[string]bool{}
	for _, found := range conflict.Find(owners) {
		for _, manager := range found.Managers() {
			managers[manager] = true
		}
	}
	return managers
}

// cannotClear returns the warnings on empty fields of the TrainJob's own patch for which the result
// has a value. The controller encodes its Go type of the patch, which omits such fields.
func (c *checker) cannotClear(manager string) finding.List {
	spec := mapOf(c.in.TrainJob, "spec")
	list, _ := spec["runtimePatches"].([]any)
	at := slices.IndexFunc(list, func(item any) bool {
		patch, _ := item.(map[string]any)
		return patch["manager"] == manager
	})
	if at < 0 {
		return nil
	}
	patch, _ := list[at].(map[string]any)
	written := mapOf(mapOf(patch, "trainingRuntimeSpec"), "template")
	if !hasEmpty(written) {
		return nil
	}
	result, err := tree.Fields(&c.merged.Template)
	if err != nil {
		return nil
	}
	var found finding.List
	emptied(runtimepatch.JobSetTemplate(), written, result, runtimepatch.PatchPath(manager),
		func(path fieldpath.Path, value any) {
			found = append(found, finding.Finding{
				Code: codes.IdlePatch, Severity: finding.Warning, Object: c.job.id, Path: path,
				Message: fmt.Sprintf("a patch cannot clear this field: %s has no effect",
					nameEmpty(value)),
				Remedy: finding.Remedy{
					Text: "remove the value where it is set"},
			})
		})
	return found
}

// hasEmpty reports whether a value has an empty one within it.
func hasEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			if isEmptyValue(field) || hasEmpty(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasEmpty)
	}
	return false
}

// isEmptyValue reports whether encoding/json omits a value from a field with omitempty, or an
// absent pointer.
func isEmptyValue(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	}
	return false
}

func nameEmpty(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an empty map"
	case []any:
		return "an empty list"
	case string:
		return "an empty string"
	}
	return fmt.Sprint(value)
}

// wrappers are the fields that lead to a Pod template. There a null is an empty YAML key, which
// nobody means to clear the template.
var wrappers = []string{"metadata", "spec", "template"}

// emptied reports the fields of a patch that are empty while the result has a value. A pointer
// keeps its empty value, and an empty struct is not an attempt to clear the struct.
func emptied(t *schema.Type, patch, result map[string]any, path fieldpath.Path,
	report func(fieldpath.Path, any)) {
	for _, f := range t.Patchable() {
		value, isSet := patch[f.Name]
		has, at := result[f.Name], path.Append(fieldpath.Field(f.Name))
		switch {
		case !isSet || isEmptyValue(has):
		case !isEmptyValue(value):
			emptiedWithin(f.Type, value, has, at, report)
		case value == nil && slices.Contains(wrappers, f.Name),
			value != nil && f.Type.Kind == schema.Struct,
			value != nil && f.Type.Kind == schema.Scalar && f.IsPatchPointer():
		default:
			report(at, value)
		}
	}
}

func emptiedWithin(t *schema.Type, value, has any, at fieldpath.Path,
	report func(fieldpath.Path, any)) {
	switch value := value.(type) {
	case map[string]any:
		within, _ := has.(map[string]any)
		if t.Kind == schema.Struct {
			emptied(t, value, within, at, report)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if t.Kind == schema.Map && value[key] == nil && !isEmptyValue(within[key]) {
				report(at.Append(fieldpath.Key(key)), nil)
			}
		}
	case []any:
		known, _ := has.([]any)
		byKey := map[fieldpath.Step]map[string]any{}
		for _, item := range known {
			if step, ok := t.Item(item); ok {
				byKey[step], _ = item.(map[string]any)
			}
		}
		for _, item := range value {
			if step, ok := t.Item(item); ok {
				item, _ := item.(map[string]any)
				emptied(t.Elem, item, byKey[step], at.Append(step), report)
			}
		}
	}
}
