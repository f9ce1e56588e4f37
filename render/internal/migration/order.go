package migration

import (
	"reflect"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// order orders the lists of a patch so that a merge over the base gives the order of the result. A merge keeps the
// patch's order for its items, and puts new items in front. If that does not suffice, order adds items of the base to
// the patch, which changes only their positions.
func order(patch *trainer.PodTemplatePatch, base, result *corev1.PodTemplateSpec) {
	job := runtimepatch.JobSetTemplate().Field("spec").Type.Field("replicatedJobs").Type.Elem
	pod := job.Field("template").Type.Field("spec").Type.Field("template").Type
	orderValue(pod, reflect.ValueOf(patch), reflect.ValueOf(base), reflect.ValueOf(result))
}

// orderValue orders the lists of one value. The base is invalid if the template lacks the field.
func orderValue(t *schema.Type, patch, base, result reflect.Value) {
	patch, base, result = pointedTo(patch), pointedTo(base), pointedTo(result)
	if !patch.IsValid() || !result.IsValid() {
		return
	}
	switch t.Kind {
	case schema.Struct:
		for _, f := range t.Patchable() {
			if from, encoded := f.Patch.Of(patch); encoded {
				to, _ := f.Template.Of(result)
				orderValue(f.Type, from, fieldOf(base, f), to)
			}
		}
	case schema.ListMap:
		key := t.Elem.Field(t.Key)
		there, before := namesOfItems(result, key), namesOfItems(base, key)
		named := func(item reflect.Value) string { return stringOf(key.Patch.Of(item)) }
		sortLike(patch, there, named)
		if !slices.Equal(mergedOrder(before, namesBy(patch, named)), there) {
			anchor(t, patch, result, there)
			sortLike(patch, there, named)
		}
		for i := range patch.Len() {
			name := named(patch.Index(i))
			item, at := reflect.Value{}, slices.Index(before, name)
			if at >= 0 {
				item = base.Index(at)
			}
			if at = slices.Index(there, name); at >= 0 {
				orderValue(t.Elem, patch.Index(i), item, result.Index(at))
			}
		}
	case schema.Set:
		sortLike(patch, namesBy(result, reflect.Value.String), reflect.Value.String)
	}
}

func fieldOf(base reflect.Value, f *schema.StructField) reflect.Value {
	if !base.IsValid() {
		return base
	}
	v, _ := f.Template.Of(base)
	return v
}

// mergedOrder returns the order of a list's items after a merge. The next item is the patch's next one, unless an item
// that only the list names precedes it there.
func mergedOrder(list, patch []string) []string {
	var out []string
	rest := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(patch, name) })
	for len(patch)+len(rest) > 0 {
		at := -1
		if len(patch) > 0 {
			at = slices.Index(list, patch[0])
		}
		if len(rest) == 0 || len(patch) > 0 && (at < 0 || at < slices.Index(list, rest[0])) {
			out, patch = append(out, patch[0]), patch[1:]
		} else {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return out
}

// anchor adds the items of the result that the patch does not name. It copies only their keys and the fields that
// cannot be omitted.
func anchor(t *schema.Type, patch, result reflect.Value, there []string) {
	key := t.Elem.Field(t.Key)
	own := namesBy(patch, func(item reflect.Value) string { return stringOf(key.Patch.Of(item)) })
	for i, name := range there {
		if slices.Contains(own, name) {
			continue
		}
		item := reflect.New(patch.Type().Elem()).Elem()
		for _, f := range t.Elem.Patchable() {
			if f == key || !f.Patch.OmitEmpty && !f.Patch.OmitZero && len(f.Patch.Index) == 1 {
				from, _ := f.Template.Of(result.Index(i))
				item.FieldByIndex(f.Patch.Index).Set(from)
			}
		}
		patch.Set(reflect.Append(patch, item))
	}
}

func namesOfItems(list reflect.Value, key *schema.StructField) []string {
	if !list.IsValid() {
		return nil
	}
	return namesBy(list, func(item reflect.Value) string { return stringOf(key.Template.Of(item)) })
}

func namesBy(list reflect.Value, name func(reflect.Value) string) []string {
	names := make([]string, list.Len())
	for i := range names {
		names[i] = name(list.Index(i))
	}
	return names
}

func stringOf(v reflect.Value, _ bool) string { return v.String() }

func pointedTo(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

// sortLike sorts a list by the positions of its items' names.
func sortLike(list reflect.Value, names []string, name func(reflect.Value) string) {
	places := make([]int, list.Len())
	for i := range places {
		places[i] = slices.Index(names, name(list.Index(i)))
	}
	swap := reflect.Swapper(list.Interface())
	sort.Stable(byPlace{places, func(i, j int) { swap(i, j); places[i], places[j] = places[j], places[i] }})
}

type byPlace struct {
	places []int
	swap   func(i, j int)
}

func (b byPlace) Len() int           { return len(b.places) }
func (b byPlace) Less(i, j int) bool { return b.places[i] < b.places[j] }
func (b byPlace) Swap(i, j int)      { b.swap(i, j) }
