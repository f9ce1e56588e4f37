package merge

import (
	"maps"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file compares two results of a merge.

// compare calls add for the leaves in which two values differ. The order in list-maps and sets does
// not count.
func compare(t *schema.Type, a, b any, path fieldpath.Path, add func(fieldpath.Path)) {
	of, err := as(t, firstOf(a, b))
	other, _ := as(t, firstOf(b, a))
	if err != nil || of != other || isWhole(of) || isEmpty(a) && isEmpty(b) {
		if !sameObject(a, b) {
			add(path)
		}
		return
	}
	parts, others := partsIn(of, a), partsIn(of, b)
	names := slices.AppendSeq(slices.Collect(maps.Keys(parts)), maps.Keys(others))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		one, other := parts[name], others[name]
		inner, step := partAt(of, name)
		within := path.Append(step)
		switch {
		case inner == nil:
		case len(one) == 1 && len(other) == 1:
			compare(inner, one[0], other[0], within, add)
		case len(one)+len(other) == 1 && anyOf(one) == nil && anyOf(other) == nil:
			add(within) // a null, and nothing
		case len(one)+len(other) == 1 && !of.HasItems():
			compare(inner, anyOf(one), anyOf(other), within, add)
		case len(one) != len(other) || !areAlikeItems(inner, one, other):
			add(within)
		}
	}
}

// anyOf returns the only value of a list, nil for an empty one.
func anyOf(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// partsIn returns the parts of an object or a list by name or key. Only items share their keys.
func partsIn(t *schema.Type, v any) map[string][]any {
	parts := map[string][]any{}
	switch v := v.(type) {
	case Object:
		for name, value := range v {
			parts[name] = []any{value}
		}
	case []any:
		for _, item := range v {
			key := keyOf(t, item)
			parts[key] = append(parts[key], item)
		}
	}
	return parts
}

// partAt returns the type of a part by its name or key, nil for one that merges nowhere, and the
// step to it.
func partAt(t *schema.Type, name string) (*schema.Type, fieldpath.Step) {
	step := partStep(t, t.Field(name), name)
	switch {
	case t.Kind == schema.Set, t.Kind == schema.Map && t.GoType() != nil:
		return scalarType, step
	case t.HasItems():
		return t.Elem, step
	}
	_, of, _ := fieldOf(t, name)
	return of, step
}

// areAlikeItems reports whether two lists hold the same items in any order.
func areAlikeItems(t *schema.Type, items, others []any) bool {
	left := slices.Clone(others)
	for _, item := range items {
		i := slices.IndexFunc(left, func(other any) bool {
			isAlike := true
			compare(t, item, other, nil, func(fieldpath.Path) { isAlike = false })
			return isAlike
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}
