package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/compose"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// patchValues says of each manager whether its patch sets a value, and whether another patch sets one of these values as well.
type patchValues struct {
	sets, shares map[engine.Layer]bool
}

// patchValues reads the claims of the patches. An item that a patch names to reach its fields is no value of the patch. An item that
// has only a key is a value, and so is an item that the runtime lacks.
func (c *checker) patchValues() patchValues {
	v := patchValues{sets: map[engine.Layer]bool{}, shares: map[engine.Layer]bool{}}
	var item fieldpath.Path // an item that patches have named, until a field within it follows
	var named []engine.Claim
	for path, claims := range c.merged.Owners.All() {
		if item != nil && !path.HasPrefix(item) {
			v.add(named)
		}
		item, named = nil, nil
		switch {
		case claims[len(claims)-1].Value == engine.Presence{} && claims[0].Layer == merge.RuntimeLayer:
			item, named = path, claims
		default:
			v.add(claims)
		}
	}
	v.add(named)
	return v
}

// add adds the claims on one field.
func (v patchValues) add(claims []engine.Claim) {
	first := map[string]engine.Layer{}
	for _, claim := range claims {
		if _, is := claim.Layer.Manager(); !is {
			continue
		}
		v.sets[claim.Layer] = true
		text, err := json.Marshal(claim.Value)
		if err != nil {
			continue
		}
		if other, known := first[string(text)]; !known {
			first[string(text)] = claim.Layer
		} else if other != claim.Layer {
			v.shares[other], v.shares[claim.Layer] = true, true
		}
	}
}

// idle warns of a patch that does not change the result. A patch that sets a value of another patch is not idle: of managers
// that agree, each keeps its own patch. Nor is a patch that tries to clear a field, which its own finding reports.
func (c *checker) idle(i int, patch *trainer.RuntimePatch, values patchValues) {
	path, manager := fieldpath.Fields("spec", "runtimePatches").Append(fieldpath.Item("manager", patch.Manager)), engine.Manager(patch.Manager)
	if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil {
		c.dropIdle(i, path, "the patch says nothing", false)
		return
	}
	clears := c.cannotClear(patch.Manager)
	if slices.Contains(c.lost, manager) {
		return // another finding reports the lost conflict
	}
	if clears || values.shares[manager] {
		return
	}
	if slices.ContainsFunc(compose.Find(c.merged.Owners, c.in.Rules), func(composed compose.Composition) bool { return slices.Contains(composed.Managers(), patch.Manager) }) {
		return // another patch repeats its values, which a rule composes
	}
	others := slices.Delete(slices.Clone(c.patches), i, i+1)
	without, err := merge.Apply(&c.in.Runtime.spec.Template, others, merge.Options{})
	if err != nil || !sameTemplate(&without.Template, &c.merged.Template) {
		return
	}
	if !values.sets[manager] {
		c.dropIdle(i, path, "the patch says nothing: empty values and nulls set no field", false)
		return
	}
	disputed := slices.ContainsFunc(conflict.Find(c.merged.Owners), func(found conflict.Conflict) bool { return slices.Contains(found.Managers(), patch.Manager) })
	c.dropIdle(i, path, "the patch changes nothing: the runtime has the same values, or later patches replace them", disputed)
}

// dropIdle reports an idle patch. Of two patches that are idle because of each other, only the first is certain to go. A disputed
// patch loses a conflict, and its removal would hide the conflict.
func (c *checker) dropIdle(i int, path fieldpath.Path, message string, disputed bool) {
	var others []trainer.RuntimePatch
	for j := range c.patches {
		if j != i && !c.idlePatches[j] {
			others = append(others, c.patches[j])
		}
	}
	remedy := finding.Remedy{Do: finding.Remove, Text: "drop it"}
	without, err := merge.Apply(&c.in.Runtime.spec.Template, others, merge.Options{})
	if remedy.IsCertain = !disputed && err == nil && sameTemplate(&without.Template, &c.merged.Template); remedy.IsCertain {
		if c.idlePatches == nil {
			c.idlePatches = map[int]bool{}
		}
		c.idlePatches[i] = true
	}
	c.add(finding.Finding{
		Code: finding.CodeIdlePatch, Severity: finding.Warning, Object: c.job.id, Path: path, Message: message, Remedy: remedy,
	})
}

// cannotClear warns of the fields of the TrainJob's own patch that are empty where the result has a value, and reports whether
// there are any. The controller encodes its Go type of the patch, which omits such fields.
func (c *checker) cannotClear(manager string) bool {
	spec := mapOf(c.in.TrainJob, "spec")
	list, _ := spec["runtimePatches"].([]any)
	at := slices.IndexFunc(list, func(item any) bool {
		patch, _ := item.(map[string]any)
		return patch["manager"] == manager
	})
	if at < 0 {
		return false
	}
	patch, _ := list[at].(map[string]any)
	written := mapOf(mapOf(patch, "trainingRuntimeSpec"), "template")
	if !hasEmpty(written) {
		return false
	}
	result, err := encode(&c.merged.Template)
	if err != nil {
		return false
	}
	found := false
	emptied(merge.JobSetTemplate(), written, result, merge.PatchPath(manager), func(path fieldpath.Path, value any) {
		found = true
		c.add(finding.Finding{
			Code: finding.CodeIdlePatch, Severity: finding.Warning, Object: c.job.id, Path: path,
			Message: fmt.Sprintf("a patch cannot clear this field: %s has no effect", nameEmpty(value)),
			Remedy:  finding.Remedy{Text: "remove the value where it is set, in the runtime or in another patch"},
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

// isEmptyValue reports whether encoding/json omits a value from a field with omitempty, or an absent pointer.
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

// wrappers are the fields that lead to a Pod template. There a null is an empty YAML key, which nobody means to clear the template.
var wrappers = []string{"metadata", "spec", "template"}

// emptied reports the fields of a patch that are empty while the result has a value. A pointer keeps its empty value, and an empty
// struct is no attempt to clear the struct.
func emptied(t *schema.Type, patch, result map[string]any, path fieldpath.Path, report func(fieldpath.Path, any)) {
	for _, f := range t.Patchable() {
		value, isSet := patch[f.Name]
		has, at := result[f.Name], path.Append(fieldpath.Field(f.Name))
		switch {
		case !isSet || isEmptyValue(has):
		case !isEmptyValue(value):
			emptiedWithin(f.Type, value, has, at, report)
		case value == nil && slices.Contains(wrappers, f.Name), value != nil && f.Type.Kind == schema.Struct, value != nil && f.Type.Kind == schema.Scalar && f.Patch.IsPointer():
		default:
			report(at, value)
		}
	}
}

func emptiedWithin(t *schema.Type, value, has any, at fieldpath.Path, report func(fieldpath.Path, any)) {
	fields, _ := value.(map[string]any)
	within, _ := has.(map[string]any)
	switch t.Kind {
	case schema.Struct:
		emptied(t, fields, within, at, report)
	case schema.Map:
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if fields[key] == nil && !isEmptyValue(within[key]) {
				report(at.Append(fieldpath.Key(key)), nil)
			}
		}
	case schema.ListMap:
		items, _ := value.([]any)
		known, _ := has.([]any)
		byKey := map[any]map[string]any{}
		for _, item := range known {
			if item, ok := item.(map[string]any); ok {
				byKey[item[t.Key]] = item
			}
		}
		for _, item := range items {
			item, _ := item.(map[string]any)
			if name, ok := item[t.Key].(string); ok {
				emptied(t.Elem, item, byKey[name], at.Append(fieldpath.Item(t.Key, name)), report)
			}
		}
	}
}
