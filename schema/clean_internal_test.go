package schema

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// TestCleanTemplates damages every field of the template in turn. Where the walk by the schema finds something,
// the template must not pass for clean.
func TestCleanTemplates(t *testing.T) {
	found := 0
	for path := range allPaths(templateSlot) {
		for _, d := range damagesOf(path[len(path)-1].Type, templateSlot) {
			template := &trainer.JobSetTemplateSpec{}
			d.do(build(reflect.ValueOf(&template.Spec).Elem(), path, templateSlot, "x"))
			c := checker{}
			if c.template(template); c.findings == nil {
				continue
			}
			found++
			if isCleanTemplate(&template.Spec) {
				t.Errorf("%s with %s passes for clean: %v", pathText(path), d.name, c.findings)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d templates had a finding", found)
	}
}

// TestCleanPatches does so with every field of a patch, over templates that lack its job, that have its jobs
// and containers, and that set something in the same field.
func TestCleanPatches(t *testing.T) {
	found, clean := 0, 0
	for path := range allPaths(patchSlot) {
		field := path[len(path)-1].Type
		for _, d := range damagesOf(field, patchSlot) {
			for _, name := range []string{"x", "node"} {
				var templates []*trainer.JobSetTemplateSpec
				below := func(path []*StructField) reflect.Value {
					template := &trainer.JobSetTemplateSpec{}
					templates = append(templates, template)
					return build(reflect.ValueOf(&template.Spec).Elem(), path, templateSlot, name)
				}
				below(nil)
				below(path[:named(path)])
				for _, d := range damagesOf(field, templateSlot) {
					d.do(below(path))
				}
				for _, template := range templates {
					patch := &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{}}
					d.do(build(reflect.ValueOf(patch.Spec).Elem(), path, patchSlot, name))
					patches := []trainer.RuntimePatch{{Manager: "a.example.com/x", TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: patch}}}
					isClean := isCleanPatch(&template.Spec, &patches[0])
					c := checker{}
					c.patch(template, patches, 0)
					switch {
					case c.findings != nil && isClean:
						t.Errorf("%s with %s passes for clean: %v", pathText(path), d.name, c.findings)
					case c.findings != nil:
						found++
					case isClean:
						clean++
					}
				}
			}
		}
	}
	if found < 1000 || clean < 1000 {
		t.Errorf("%d patches had a finding, and %d passed for clean", found, clean)
	}
}

// TestCleanMetadata sets each field of a patch's own metadata, which is no part of the walk.
func TestCleanMetadata(t *testing.T) {
	for _, f := range jobMetadata().Patchable() {
		patch := &trainer.JobSetTemplatePatch{Metadata: &metav1.ObjectMeta{}}
		value, _ := f.Patch.Of(reflect.ValueOf(patch.Metadata).Elem())
		fill(value, false)
		patches := []trainer.RuntimePatch{{Manager: "a.example.com/x", TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: patch}}}
		c := checker{}
		c.patch(&trainer.JobSetTemplateSpec{}, patches, 0)
		if isClean := isCleanPatch(&jobset.JobSetSpec{}, &patches[0]); isClean != (c.findings == nil) {
			t.Errorf("%s: clean is %v, and the findings are %v", f.Name, isClean, c.findings)
		}
	}
}

// TestPlainManagers spells names of letters of every sort. What passes for plain is a name.
func TestPlainManagers(t *testing.T) {
	plain := 0
	const letters = "a9-./A_ \x00ä"
	for n := range 200000 {
		var name []byte
		for ; n > 0; n /= len(letters) {
			name = append(name, letters[n%len(letters)])
		}
		if !isPlainManager(string(name)) {
			continue
		}
		plain++
		if errs := validation.IsDomainPrefixedPath(nil, string(name)); errs != nil {
			t.Errorf("%q passes for plain: %v", name, errs)
		}
	}
	if plain < 50 || !isPlainManager("kueue.x-k8s.io/manager") {
		t.Errorf("only %d names passed for plain", plain)
	}
}

// allPaths yields the way to each field of the template that the side can set.
func allPaths(slot func(*StructField) *Slot) iter.Seq[[]*StructField] {
	return func(yield func([]*StructField) bool) {
		var visit func(*Type, []*StructField) bool
		visit = func(t *Type, path []*StructField) bool {
			if t.Kind == ListMap {
				t = t.Elem
			}
			for _, f := range t.Fields {
				if slot(f) == nil {
					continue
				}
				inner := append(slices.Clip(path), f)
				if !yield(inner) || (f.Type.Kind == Struct || f.Type.Kind == ListMap) && !visit(f.Type, inner) {
					return false
				}
			}
			return true
		}
		visit(JobSetTemplate().Field("spec").Type, nil)
	}
}

// named is the length of the part of a path that leads to the item of a list which the runtime has to have.
func named(path []*StructField) int {
	last := 0
	for i, f := range path {
		if f.Name == "replicatedJobs" || f.Name == "containers" || f.Name == "initContainers" {
			last = i + 1
		}
	}
	return last
}

// build makes whatever leads to a field, one item of the given name in each list, and returns the field.
func build(v reflect.Value, path []*StructField, slot func(*StructField) *Slot, name string) reflect.Value {
	for i, f := range path {
		v = v.FieldByIndex(slot(f).Index)
		last := i == len(path)-1
		if v.Kind() == reflect.Pointer && !last {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		if f.Type.Kind == ListMap && !last {
			item(v, f.Type, slot, name)
			v = v.Index(0)
		}
	}
	return v
}

// item adds an item to a list. One that has a name besides its key gets a name of its own.
func item(list reflect.Value, t *Type, slot func(*StructField) *Slot, key string) {
	list.Set(reflect.Append(list, reflect.Zero(list.Type().Elem())))
	added := list.Index(list.Len() - 1)
	if f := t.Elem.Field("name"); f != nil {
		added.FieldByIndex(slot(f).Index).SetString(fmt.Sprint("name-", list.Len()))
	}
	if field := added.FieldByIndex(slot(t.key).Index); field.Kind() == reflect.String {
		field.SetString(key)
	}
}

// damage is something that may be wrong in a field.
type damage struct {
	name string
	do   func(reflect.Value)
}

// damagesOf are ways to fill in a field, most of which break a rule.
func damagesOf(t *Type, slot func(*StructField) *Slot) []damage {
	damages := []damage{
		{"a value", func(v reflect.Value) { fill(v, false) }},
		{"directives", poison},
	}
	inside := func(v reflect.Value) reflect.Value {
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		return v
	}
	if t.Kind == ListMap {
		list := t
		for _, keys := range [][]string{{"x"}, {""}, {"x", "x"}, {"x", "y"}, {"y", "x"}, {"x", "node"}, {"ghost"}} {
			damages = append(damages, damage{fmt.Sprintf("items %q", keys), func(v reflect.Value) {
				for _, key := range keys {
					item(v, list, slot, key)
				}
			}})
		}
		inside = func(v reflect.Value) reflect.Value {
			item(v, list, slot, "x")
			return v.Index(0)
		}
		t = t.Elem
	}
	for _, u := range t.Unions {
		choices := []string{u.When}
		if u.Discriminator != "" {
			choices = append(choices, "RuntimeDefault")
		}
		for i := range u.Members {
			for _, members := range [][]string{u.Members[i : i+1], u.Members[i:min(i+2, len(u.Members))]} {
				for _, choice := range choices {
					damages = append(damages, damage{fmt.Sprint(choice, members), func(v reflect.Value) {
						v = inside(v)
						if u.Discriminator != "" {
							v.FieldByIndex(slot(t.Field(u.Discriminator)).Index).SetString(choice)
						}
						for _, member := range members {
							fill(v.FieldByIndex(slot(t.Field(member)).Index), false)
						}
					}})
				}
			}
		}
	}
	return damages
}

// poison puts a directive into every map of strings within a value.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("$patch").Convert(v.Type().Key()), reflect.New(v.Type().Elem()).Elem())
	case reflect.Struct:
		if !encodesItself(v.Type()) {
			for i := range v.NumField() {
				poison(v.Field(i))
			}
		}
	}
}

func pathText(path []*StructField) string {
	names := make([]string, len(path))
	for i, f := range path {
		names[i] = f.Name
	}
	return strings.Join(names, ".")
}
