package migration

import (
	"reflect"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/internal/walk"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// order orders the lists of a patch so that a merge over the base gives the order of the result. A
// merge keeps the patch's order for its items, and puts new items in front. If that does not
// suffice, order adds items of the base to the patch, which changes only their positions.
func order(patch *trainer.PodTemplatePatch, base, result *corev1.PodTemplateSpec) {
	job := runtimepatch.JobSetTemplate().Field("spec").Type.Field("replicatedJobs").Type.Elem
	pod := job.Field("template").Type.Field("spec").Type.Field("template").Type
	orderValue(pod, walk.Value{Value: reflect.ValueOf(patch).Elem(), InPatch: true},
		walk.Value{Value: reflect.ValueOf(base).Elem()},
		walk.Value{Value: reflect.ValueOf(result).Elem()})
}

// orderValue orders the lists of one value. The base is absent if the template lacks the field.
func orderValue(t *schema.Type, patch, base, result walk.Value) {
	switch {
	case !patch.IsValid() || !result.IsValid():
	case t.Kind == schema.Struct:
		for _, f := range t.Patchable() {
			orderValue(f.Type, patch.At(f), base.At(f), result.At(f))
		}
	case t.Merges() && patch.Kind() == reflect.Slice:
		before, there := base.Items(t), result.Items(t)
		sortLike(t, patch, there.Keys())
		own := patch.Items(t)
		if keys := own.Keys(); t.KeyField() != nil &&
			!slices.Equal(mergedOrder(before.Keys(), keys), there.Keys()) {
			anchor(t, patch, keys, there)
			sortLike(t, patch, there.Keys())
		}
		items := patch.Items(t)
		for i := range items.Len() {
			key := items.Key(i)
			orderValue(t.Elem, items.At(i), before.Named(key), there.Named(key))
		}
	}
}

// mergedOrder returns the order of a list's items after a merge. The next item is the patch's next
// one, unless an item that only the list names precedes it there.
func mergedOrder(list, patch []string) []string {
	var out []string
	rest := slices.DeleteFunc(slices.Clone(list), func(name string) bool {
		return slices.Contains(patch, name)
	})
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

// anchor adds the items of the result that the patch does not name. It copies only their keys and
// the fields that cannot be omitted.
func anchor(t *schema.Type, patch walk.Value, own []string, there walk.Items) {
	for i := range there.Len() {
		if slices.Contains(own, there.Key(i)) {
			continue
		}
		item := reflect.New(patch.Type().Elem()).Elem()
		for _, f := range t.Elem.Patchable() {
			if f == t.KeyField() || !f.Patch.OmitEmpty && !f.Patch.OmitZero &&
				len(f.Patch.Index) == 1 {
				from, _ := f.Template.Of(there.At(i).Value)
				item.FieldByIndex(f.Patch.Index).Set(from)
			}
		}
		patch.Set(reflect.Append(patch.Value, item))
	}
}

// sortLike sorts a list by the positions of its items' keys.
func sortLike(t *schema.Type, list walk.Value, keys []string) {
	items := list.Items(t)
	places := make([]int, items.Len())
	for i := range places {
		places[i] = slices.Index(keys, items.Key(i))
	}
	swap := reflect.Swapper(list.Interface())
	sort.Stable(byPlace{places, func(i, j int) {
		swap(i, j)
		places[i], places[j] = places[j], places[i]
	}})
}

type byPlace struct {
	places []int
	swap   func(i, j int)
}

func (b byPlace) Len() int           { return len(b.places) }
func (b byPlace) Less(i, j int) bool { return b.places[i] < b.places[j] }
func (b byPlace) Swap(i, j int)      { b.swap(i, j) }
