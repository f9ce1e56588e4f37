package fuzz_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestPlan holds the laws that runtimepatch.Minimal documents. One manager's patch is what it
// wants, and upstream's own merge judges the plan.
func TestPlan(t *testing.T) {
	t.Run("Checked", func(t *testing.T) {
		t.Parallel()
		lawFor(t, cases(t)/4, fuzz.Options{Checked: true, Least: 1}, plans)
	})
	t.Run("Wild", func(t *testing.T) {
		t.Parallel()
		lawFor(t, cases(t)/8, fuzz.Options{Tidy: true, Least: 1}, plansAnything)
	})
}

// plans: a plan gives the wanted fields, keeps all others, and is the smallest. In the last place
// it also keeps the order of items. Only a conflict in which the manager takes part prevents it.
func plans(c *fuzz.Case) string {
	if len(c.Patches) == 0 {
		return ""
	}
	want := c.Patches[c.Seed%uint64(len(c.Patches))]
	others := runtimepatch.Remove(c.Patches, want.Manager)
	before := encode(c.Patches)
	plan, err := runtimepatch.Minimal(c.Template, c.Patches, want)
	if !bytes.Equal(before, encode(c.Patches)) {
		return "Plan changes the patches that it is given"
	}
	found, broken := find(c)
	if broken != "" {
		return broken
	}
	if against := involving(found, want.Manager); err != nil {
		var prevents conflict.Conflicts
		if !errors.As(err, &prevents) {
			return fmt.Sprintf("Plan refuses it: %v", err)
		}
		for _, one := range prevents {
			if !slices.ContainsFunc(against, func(c conflict.Conflict) bool {
				return c.Path.String() == one.Path.String()
			}) {
				return fmt.Sprintf(
					"Plan reports %v, and the conflicts with the wanted patch are %v", one, against)
			}
		}
		return ""
	}
	kept, err := upstream(c.Template, others)
	if err != nil {
		return fmt.Sprintf("upstream refuses the other patches: %v", err)
	}
	wanted, err := upstream(c.Template, append(slices.Clone(others), want))
	if err != nil {
		return fmt.Sprintf("upstream refuses the wanted patch: %v", err)
	}
	got, err := upstream(c.Template, runtimepatch.Upsert(c.Patches, plan))
	if err != nil {
		return fmt.Sprintf("upstream refuses the plan: %v", err)
	}
	if x, y := unordered(wanted), unordered(got); x != y {
		return fmt.Sprintf("the plan gives (-wanted +got):\n%s",
			gocmp.Diff(decode([]byte(x)), decode([]byte(y))))
	}
	if text := changesOthers(kept, got, &want); text != "" {
		return text
	}
	if wanted, err = upstream(c.Template, append(others, plan)); err != nil {
		return fmt.Sprintf("upstream refuses the plan in the last place: %v", err)
	}
	if text := reorders(decode(typed(kept)), decode(typed(wanted)),
		reflect.TypeFor[trainer.JobSetTemplateSpec]()); text != "" {
		return text
	}
	return smallest(c, plan, unordered(got))
}

// changesOthers finds a field that the plan changes and the manager does not want.
func changesOthers(kept, got *trainer.JobSetTemplateSpec, want *trainer.RuntimePatch) string {
	had, has, mine := templateLeaves(kept), templateLeaves(got), patchLeaves(want)
	for text, leaf := range had {
		now, ok := has[text]
		if ok && now.value == leaf.value || leaf.value == perhaps {
			continue
		}
		isMine := false
		for _, own := range mine {
			isMine = isMine || leaf.path.HasPrefix(own.path) && own.value != present ||
				own.path.HasPrefix(leaf.path)
		}
		if !isMine {
			return fmt.Sprintf("the plan changes %s from %s to %q, and nothing of it is wanted",
				text, leaf.value, now.value)
		}
	}
	return ""
}

// reorders finds a list-map or a set whose items have another order.
func reorders(before, after any, t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	old, isObject := before.(map[string]any)
	now, isStill := after.(map[string]any)
	if !isObject || !isStill || t.Kind() != reflect.Struct || encodesItself(t) {
		return ""
	}
	for name, value := range old {
		f := mustField(t, name)
		list, isList := value.([]any)
		other, isOther := now[name].([]any)
		if !isList || !isOther || f.merge == "" {
			if text := reorders(value, now[name], f.typ); text != "" {
				return name + "." + text
			}
			continue
		}
		keyOf := func(item any) string {
			if object, ok := item.(map[string]any); ok {
				return fmt.Sprint(object[f.key])
			}
			return fmt.Sprint(item)
		}
		var names, others []string
		for _, item := range list {
			names = append(names, keyOf(item))
		}
		for _, item := range other {
			if at := slices.Index(names, keyOf(item)); at >= 0 {
				others = append(others, names[at])
				if text := reorders(list[at], item, f.typ.Elem()); text != "" {
					return name + "." + text
				}
			}
		}
		if !slices.Equal(names, others) {
			return fmt.Sprintf("%s had the order %q, and has %q", name, names, others)
		}
	}
	return ""
}

// smallest wants another result without any field of the plan.
func smallest(c *fuzz.Case, plan trainer.RuntimePatch, want string) (broken string) {
	if plan.TrainingRuntimeSpec == nil {
		return ""
	}
	full := encode(plan.TrainingRuntimeSpec.Template)
	document := decode(full)
	try := func(path string) bool {
		less := &trainer.JobSetTemplatePatch{}
		must(json.Unmarshal(encode(document), less))
		if !reflect.DeepEqual(decode(encode(less)), document) {
			return true // the Go types always encode the field
		}
		patch := trainer.RuntimePatch{
			Manager: plan.Manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
				Template: less}}
		got, err := upstream(c.Template, runtimepatch.Upsert(c.Patches, patch))
		if err == nil && unordered(got) == want {
			broken = fmt.Sprintf("the plan needs no %s:\n%s", path, full)
		}
		return broken == ""
	}
	template := document.(map[string]any)
	if spec, ok := template["spec"]; ok {
		withoutEach(spec, reflect.TypeFor[jobset.JobSetSpec](), "spec", try)
	}
	if metadata, ok := template["metadata"]; ok && broken == "" {
		withoutEach(metadata, reflect.TypeFor[templateMetadata](), "metadata", try)
	}
	return broken
}

// templateMetadata has the fields of the metadata that merge.
type templateMetadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// withoutEach removes each field and each item of a JSON value in turn, except merge keys, until
// try returns false.
func withoutEach(v any, t reflect.Type, path string, try func(path string) bool) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	object, ok := v.(map[string]any)
	if !ok || t.Kind() != reflect.Map && (t.Kind() != reflect.Struct || encodesItself(t)) {
		return true
	}
	for name, value := range object {
		at := path + "." + name
		delete(object, name)
		again := try(at)
		object[name] = value
		if !again {
			return false
		}
		if t.Kind() == reflect.Map {
			continue
		}
		f := mustField(t, name)
		list, isList := value.([]any)
		if !isList || f.merge == "" {
			if !withoutEach(value, f.typ, at, try) {
				return false
			}
			continue
		}
		for i, item := range list {
			object[name] = slices.Delete(slices.Clone(list), i, i+1)
			again := try(fmt.Sprintf("%s[%d]", at, i))
			object[name] = list
			inner, isObject := item.(map[string]any)
			if !again {
				return false
			}
			if !isObject {
				continue
			}
			key := inner[f.key]
			delete(inner, f.key)
			again = withoutEach(inner, f.typ.Elem(), fmt.Sprintf("%s[%d]", at, i),
				func(path string) bool {
					inner[f.key] = key
					defer delete(inner, f.key)
					return try(path)
				})
			inner[f.key] = key
			if !again {
				return false
			}
		}
	}
	return true
}

// plansAnything: whatever the patches are, Plan changes none of them, and gives what upstream gives
// for the wanted patch.
func plansAnything(c *fuzz.Case) string {
	if len(c.Patches) == 0 {
		return ""
	}
	want := c.Patches[c.Seed%uint64(len(c.Patches))]
	before := encode(c.Patches)
	plan, err := runtimepatch.Minimal(c.Template, c.Patches, want)
	if !bytes.Equal(before, encode(c.Patches)) {
		return "Plan changes the patches that it is given"
	}
	if err != nil {
		return ""
	}
	wanted, err := upstream(c.Template, append(runtimepatch.Remove(c.Patches, want.Manager), want))
	if err != nil {
		return fmt.Sprintf("upstream refuses the wanted patch, and Plan does not: %v", err)
	}
	got, err := upstream(c.Template, append(runtimepatch.Remove(c.Patches, want.Manager), plan))
	if err != nil {
		return fmt.Sprintf("upstream refuses the plan: %v", err)
	}
	if x, y := unordered(wanted), unordered(got); x != y {
		return fmt.Sprintf("the plan gives (-wanted +got):\n%s",
			gocmp.Diff(decode([]byte(x)), decode([]byte(y))))
	}
	return ""
}
