package merge

import (
	"encoding/json"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	strict "k8s.io/apimachinery/pkg/util/json"

	"github.com/trainweld/trainweld/compose"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Compose returns the entry of a manager with the values that the rules give for all patches. An unchanged Trainer merges the entry to
// these values. [Upsert] puts it in the place of the manager's entry, or in the last one. The entry keeps the fields of the old one,
// whose values take part. Without an old entry it has only the fields that the other patches and the template do not hold as
// composed: there may be none.
//
// The error is a [finding.List] with each field for which a rule gives no value, or that a later patch than the manager's replaces. Compose
// also returns the errors of Apply.
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
			if i := slices.IndexFunc(c.Claims, func(claim engine.Claim) bool { return c.Rule.IsSame(claim.Value, c.Value) }); i >= 0 {
				c.Value = c.Claims[i].Value // keep the order of a list that is there
			}
			fields = append(fields, c)
		}
	}
	if err := failed.Err(); err != nil || fields == nil {
		return entry, err
	}
	if entry, err = withFields(entry, fields); err != nil {
		return trainer.RuntimePatch{}, err
	}
	if result, err = Apply(template, Upsert(patches, entry), Options{Owners: true}); err != nil {
		return trainer.RuntimePatch{}, err
	}
	for _, c := range compose.Find(result.Owners, rules) {
		if wanted(c) && !c.IsHeld() {
			f, managers := c.Finding(fieldpath.Object{}), c.Managers()
			f.Remedy = finding.Remedy{Text: fmt.Sprintf("move the patch of %s behind the one of %s", entry.Manager, managers[len(managers)-1])}
			failed = append(failed, f)
		}
	}
	return entry, failed.Err()
}

// withFields returns a patch that also sets the composed values. It goes through JSON: a composed value has no Go type.
func withFields(entry trainer.RuntimePatch, fields []compose.Composition) (trainer.RuntimePatch, error) {
	spec := entry.TrainingRuntimeSpec.DeepCopy()
	if spec == nil {
		spec = &trainer.TrainingRuntimeSpecPatch{}
	}
	template := map[string]any{}
	if spec.Template != nil {
		data, err := json.Marshal(spec.Template)
		if err == nil {
			err = strict.Unmarshal(data, &template)
		}
		if err != nil {
			return trainer.RuntimePatch{}, err
		}
	}
	for _, c := range fields {
		if err := setField(template, c.Path, c.Value); err != nil {
			return trainer.RuntimePatch{}, fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	data, err := json.Marshal(template)
	if err != nil {
		return trainer.RuntimePatch{}, err
	}
	spec.Template = &trainer.JobSetTemplatePatch{}
	if err := json.Unmarshal(data, spec.Template); err != nil {
		return trainer.RuntimePatch{}, err
	}
	entry.TrainingRuntimeSpec = spec
	return entry, nil
}

// setField sets a field of a patch in JSON. It makes the objects and the items of lists that lead to the field.
func setField(object map[string]any, path fieldpath.Path, value any) error {
	name, isField := path[0].Field()
	if key, ok := path[0].Key(); ok {
		name, isField = key, true
	}
	switch {
	case !isField:
		return fmt.Errorf("%s is not a field", path[0])
	case len(path) == 1:
		object[name] = value
		return nil
	}
	key, of, isItem := path[1].Item()
	if !isItem {
		inner, _ := object[name].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			object[name] = inner
		}
		return setField(inner, path[1:], value)
	}
	list, _ := object[name].([]any)
	for _, one := range list {
		if item, ok := one.(map[string]any); ok && engine.SameValue(item[key], of) {
			return setField(item, path[2:], value)
		}
	}
	item := map[string]any{key: of}
	object[name] = append(list, item)
	return setField(item, path[2:], value)
}
