package migration

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/internal/items"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// order orders the lists of a patch so that a merge over the base gives the order of the result. A
// merge keeps the patch's order for its items, and puts new items in front. If that does not
// suffice, order adds items of the base to the patch, which changes only their positions. It leaves
// a patch that has no JSON.
func order(patch *trainer.PodTemplatePatch, base, result *corev1.PodTemplateSpec) {
	job := runtimepatch.JobSetTemplate().Field("spec").Type.Field("replicatedJobs").Type.Elem
	pod := job.Field("template").Type.Field("spec").Type.Field("template").Type
	own, err := tree.Fields(patch)
	if err != nil {
		return
	}
	before, _ := tree.Fields(base)
	there, _ := tree.Fields(result)
	orderFields(pod, own, before, there)
	var ordered trainer.PodTemplatePatch
	if tree.Read(own, &ordered) == nil {
		*patch = ordered
	}
}

// orderFields orders the lists within a struct. The base is nil if the template lacks the field.
func orderFields(t *schema.Type, patch, base, result merge.Object) {
	for _, f := range t.Patchable() {
		switch value := patch[f.Name].(type) {
		case merge.Object:
			before, _ := base[f.Name].(merge.Object)
			if there, isThere := result[f.Name].(merge.Object); isThere {
				orderFields(f.Type, value, before, there)
			}
		case []any:
			if there := result[f.Name]; f.Type.HasItems() && there != nil {
				patch[f.Name] = orderItems(f.Type, value, base[f.Name], there)
			}
		}
	}
}

// orderItems returns the items of a list in order, with the lists within them ordered.
func orderItems(t *schema.Type, patch []any, base, result any) []any {
	before, there := items.Of(t, base), items.Of(t, result)
	patch = sortedLike(t, patch, there.Keys())
	own := items.Of(t, patch)
	if keys := own.Keys(); t.Key != "" &&
		!slices.Equal(mergedOrder(before.Keys(), keys), there.Keys()) {
		patch = sortedLike(t, append(patch, anchors(t, keys, there)...), there.Keys())
		own = items.Of(t, patch)
	}
	for i := range own.Len() {
		key := own.Key(i)
		if now := there.Named(key); now != nil {
			orderFields(t.Elem, own.At(i), before.Named(key), now)
		}
	}
	return patch
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

// anchors returns the items of the result that the patch does not name, with only their keys and
// the fields that cannot be omitted.
func anchors(t *schema.Type, own []string, there items.List) []any {
	var added []any
	for i := range there.Len() {
		if slices.Contains(own, there.Key(i)) {
			continue
		}
		item := merge.Object{}
		for _, f := range t.Elem.Patchable() {
			if value, has := there.At(i)[f.Name]; has && (f == t.KeyField() || f.IsAlways()) {
				item[f.Name] = value
			}
		}
		added = append(added, item)
	}
	return added
}

// sortedLike returns a list sorted by the positions of its items' keys.
func sortedLike(t *schema.Type, list []any, keys []string) []any {
	own := items.Of(t, list)
	places := make([]int, len(list))
	order := make([]int, len(list))
	for i := range places {
		places[i], order[i] = slices.Index(keys, own.Key(i)), i
	}
	slices.SortStableFunc(order, func(i, j int) int { return places[i] - places[j] })
	sorted := make([]any, len(list))
	for place, i := range order {
		sorted[place] = list[i]
	}
	return sorted
}
