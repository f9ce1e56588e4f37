package runtimepatch

import (
	"encoding/json"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	strict "k8s.io/apimachinery/pkg/util/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/quantity"
	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/schema"
)

// Compose returns the entry of a manager with the values that the rules give for all patches. An unchanged Trainer merges the entry to
// these values. Use [Upsert] to put it in the place of the manager's entry, or in the last one. The entry keeps the fields of the old
// one, whose values take part. Without an old entry it has only the fields that the template and other patches do not hold as composed.
// There may be none.
//
// The error is a [finding.List]. It has each field for which a rule gives no value, or that a later patch than the manager's replaces.
// Compose also returns the errors of Apply.
func Compose(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch, manager string, rules compose.Rules) (trainer.RuntimePatch, error) {
	entry := trainer.RuntimePatch{Manager: manager}
	for i := range patches {
		if patches[i].Manager == manager {
			entry = *patches[i].DeepCopy()
		}
	}
	return composed(template, patches, entry, rules, func(c compose.Composition) bool { return !c.IsHeld() })
}

// composed returns an entry with the composed values of the fields that are wanted. Together with the other patches it holds them.
func composed(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch, entry trainer.RuntimePatch, rules compose.Rules, wanted func(compose.Composition) bool) (trainer.RuntimePatch, error) {
	result, err := Apply(template, Upsert(patches, entry), Options{Owners: len(rules) > 0})
	if err != nil {
		return trainer.RuntimePatch{}, err
	}
	var failed finding.List
	var fields []compose.Composition
	for _, c := range compose.Find(result.Owners, rules) {
		switch {
		case !wanted(c):
		case c.Err != nil:
			failed = append(failed, c.Finding(fieldpath.Object{}))
		default:
			if i := slices.IndexFunc(c.Claims, func(claim merge.Claim) bool { return c.Rule.IsSame(claim.Value, c.Value) }); i >= 0 {
				c.Value = c.Claims[i].Value // keep the order of a list that is there
			}
			fields = append(fields, c)
		}
	}
	if err := failed.Err(); err != nil || fields == nil {
		return entry, err
	}
	if entry, err = withFields(entry, fields, &result.Template); err != nil {
		return trainer.RuntimePatch{}, err
	}
	if result, err = Apply(template, Upsert(patches, entry), Options{Owners: true}); err != nil {
		return trainer.RuntimePatch{}, err
	}
	for _, c := range compose.Find(result.Owners, rules) {
		if wanted(c) && !c.IsHeld() {
			failed = append(failed, misplaced(c, entry.Manager))
		}
	}
	return entry, failed.Err()
}

// misplaced returns the finding on a field that an entry does not set as composed.
func misplaced(c compose.Composition, manager string) finding.Finding {
	f, managers := c.Finding(fieldpath.Object{}), c.Managers()
	last := managers[len(managers)-1]
	f.Remedy = finding.Remedy{Text: fmt.Sprintf("move the patch of %s behind the one of %s", manager, last)}
	if c.Value == nil { // most patches have no null
		f.Remedy.Text = fmt.Sprintf("remove the field from the patch of %s", last)
	}
	return f
}

// withFields returns a patch that also sets the composed values. It goes through JSON: a composed value has no Go type. The other
// fields of the template are as merged.
func withFields(entry trainer.RuntimePatch, fields []compose.Composition, merged *trainer.JobSetTemplateSpec) (trainer.RuntimePatch, error) {
	spec := entry.TrainingRuntimeSpec.DeepCopy()
	if spec == nil {
		spec = &trainer.TrainingRuntimeSpecPatch{}
	}
	template, err := objectOf(spec.Template)
	if err != nil {
		return trainer.RuntimePatch{}, err
	}
	have, err := objectOf(merged)
	if err != nil {
		return trainer.RuntimePatch{}, err
	}
	for _, c := range fields {
		if err := setField(JobSetTemplate(), template, have, c.Path, c.Value); err != nil {
			return trainer.RuntimePatch{}, fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	data, err := json.Marshal(template)
	if err != nil {
		return trainer.RuntimePatch{}, err
	}
	spec.Template = &trainer.JobSetTemplatePatch{}
	if err := quantity.Unmarshal(data, spec.Template, json.Unmarshal); err != nil {
		return trainer.RuntimePatch{}, err
	}
	entry.TrainingRuntimeSpec = spec
	return entry, nil
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

// setField sets a field of a patch in JSON. It makes the objects and the items of lists that lead to the field. The encoding of a Go
// type never omits some fields. They take their values from the merged object have, so that the patch changes none.
func setField(t *schema.Type, object, have map[string]any, path fieldpath.Path, value any) error {
	name, isField := path[0].Name()
	if !isField {
		return fmt.Errorf("%s is not a field", path[0])
	}
	for _, f := range t.Fields {
		_, isSet := object[f.Name]
		isForced := f.Patch != nil && !f.Patch.OmitEmpty && !f.Patch.OmitZero && (f.Type.Kind != schema.Struct || f.Patch.IsPointer())
		if had := have[f.Name]; isForced && !isSet && had != nil {
			object[f.Name] = had
		}
	}
	if len(path) == 1 {
		object[name] = value
		return nil
	}
	inner := t.Inner(name)
	if inner == nil {
		return fmt.Errorf("%s has no fields", path[:1])
	}
	path = path[1:]
	if key, of, isItem := path[0].Item(); isItem && len(path) > 1 {
		items, item := itemByKey(object[name], key, of)
		if item == nil {
			item = map[string]any{key: of}
			items = append(items, item)
		}
		object[name] = items
		_, had := itemByKey(have[name], key, of)
		return setField(inner.Elem, item, had, path[1:], value)
	}
	within, _ := object[name].(map[string]any)
	if within == nil {
		within = map[string]any{}
		object[name] = within
	}
	had, _ := have[name].(map[string]any)
	return setField(inner, within, had, path, value)
}

// itemByKey returns the items of a list, and the one with a merge key, or nil.
func itemByKey(list any, key, of string) ([]any, map[string]any) {
	items, _ := list.([]any)
	for _, one := range items {
		if item, ok := one.(map[string]any); ok && item[key] == of {
			return items, item
		}
	}
	return items, nil
}
