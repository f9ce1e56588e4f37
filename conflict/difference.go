package conflict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// difference is a field that two merges leave different. A value is missing if its merge leaves the field out.
type difference struct {
	path       fieldpath.Path
	one, other outcome
}

// outcome is a value or a part of one after a merge, as JSON.
type outcome struct {
	value any
	isSet bool
}

// valuesOf returns two values of one kind. A missing or null value counts as empty next to one that is not.
func valuesOf[T map[string]any | []any](one, other outcome) (x, y T, ok bool) {
	x, isX := one.value.(T)
	y, isY := other.value.(T)
	switch {
	case isX && isY:
		return x, y, true
	case isX:
		return x, nil, other.value == nil && len(x) > 0
	default:
		return nil, y, isY && one.value == nil && len(y) > 0
	}
}

// orders returns the outcomes of two orders.
func (d difference) orders(one, other []string) []finding.Order {
	return []finding.Order{
		{Writers: one, Path: d.path, Value: d.one.value, IsSet: d.one.isSet},
		{Writers: other, Path: d.path, Value: d.other.value, IsSet: d.other.isSet},
	}
}

// asJSON returns a merged value as JSON. Numbers keep their digits.
func asJSON(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// differencesOf returns the fields in which two values of a type differ, the outermost of each branch, sorted by name. It
// ignores the order inside list-maps and sets.
func differencesOf(t *schema.Type, one, other any) []difference {
	var c comparison
	c.compare(t, nil, outcome{one, true}, outcome{other, true})
	return c.found
}

type comparison struct{ found []difference }

func (c *comparison) compare(t *schema.Type, path fieldpath.Path, one, other outcome) {
	if one.isSet == other.isSet && reflect.DeepEqual(one.value, other.value) {
		return
	}
	if x, y, ok := valuesOf[map[string]any](one, other); ok && t.For(x).Merges() {
		c.objects(t.For(x), path, x, y)
		return
	}
	if x, _, ok := valuesOf[[]any](one, other); ok && t.For(x).Merges() {
		c.lists(t.For(x), path, one, other)
		return
	}
	c.found = append(c.found, difference{path, one, other})
}

func (c *comparison) objects(t *schema.Type, path fieldpath.Path, one, other map[string]any) {
	for _, name := range keysOfBoth(one, other) {
		x, isInOne := one[name]
		y, isInOther := other[name]
		c.compare(t.Inner(name), path.Append(t.Step(name)), outcome{x, isInOne}, outcome{y, isInOther})
	}
}

// lists compares two lists, of which one may be missing, without their order. Items of one merge key are compared as a group if there
// are several.
func (c *comparison) lists(t *schema.Type, path fieldpath.Path, one, other outcome) {
	before, _ := one.value.([]any)
	after, _ := other.value.([]any)
	x, y := groups(t, before), groups(t, after)
	if x == nil || y == nil { // a set, or an item without a key
		if !slices.Equal(sortedTexts(t.Elem, before), sortedTexts(t.Elem, after)) {
			c.found = append(c.found, difference{path, one, other})
		}
		return
	}
	for _, key := range keysOfBoth(x, y) {
		from, to := x[key], y[key]
		item := path.Append(cmp.Or(from.step, to.step))
		switch {
		case len(from.items) == 1 && len(to.items) == 1:
			c.compare(t.Elem, item, outcome{from.items[0], true}, outcome{to.items[0], true})
		case !slices.Equal(sortedTexts(t.Elem, from.items), sortedTexts(t.Elem, to.items)):
			c.found = append(c.found, difference{item, outcomeOf(from.items), outcomeOf(to.items)})
		}
	}
}

// keysOfBoth returns the keys of two maps, sorted.
func keysOfBoth[V any](one, other map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(one)), maps.Keys(other))
	return slices.Compact(slices.Sorted(slices.Values(keys)))
}

// group holds the items of a list-map with the same keys.
type group struct {
	step  fieldpath.Step
	items []any
}

// groups returns the items of a list-map by their steps, or nil if one has no key, or for another list.
func groups(t *schema.Type, list []any) map[string]group {
	if t == nil || t.Kind == schema.Set {
		return nil
	}
	found := map[string]group{}
	for _, item := range list {
		step, ok := t.Item(item)
		if !ok {
			return nil
		}
		text := step.String()
		found[text] = group{step, append(found[text].items, item)}
	}
	return found
}

// outcomeOf returns the items of one key: the only item, or all of them.
func outcomeOf(items []any) outcome {
	if len(items) == 1 {
		return outcome{items[0], true}
	}
	return outcome{items, items != nil}
}

// sortedTexts returns the items of a list as text, sorted, without the order inside their own lists.
func sortedTexts(t *schema.Type, list []any) []string {
	all := make([]string, len(list))
	for i, item := range list {
		text, _ := json.Marshal(unordered(t, item)) // of JSON
		all[i] = string(text)
	}
	slices.Sort(all)
	return all
}

// unordered returns a value with its list-maps and sets sorted.
func unordered(t *schema.Type, value any) any {
	t = t.For(value)
	if !t.Merges() {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		sorted := make(map[string]any, len(v))
		for name, value := range v {
			sorted[name] = unordered(t.Inner(name), value)
		}
		return sorted
	case []any:
		return sortedTexts(t.Elem, v)
	default:
		return value
	}
}

// actsUnclaimed reports whether a patch may act on another one without a claim. Causes are a directive, several items of one key,
// and a null in free data of an item. Upstream drops such a null only where the base lacks the list.
func actsUnclaimed(t *schema.Type, value any, inItem bool) bool {
	t = t.For(value)
	switch v := value.(type) {
	case map[string]any:
		isFree := t == nil || t.Kind == schema.Map || t.Raw
		for name, value := range v {
			if strings.HasPrefix(name, "$") || value == nil && isFree && inItem || actsUnclaimed(t.Inner(name), value, inItem) {
				return true
			}
		}
	case []any:
		var within *schema.Type
		if t != nil {
			within = t.Elem
		}
		if t.Merges() && t.Kind != schema.Set && len(groups(t, v)) < len(v) {
			return true
		}
		return slices.ContainsFunc(v, func(item any) bool { return actsUnclaimed(within, item, true) })
	}
	return false
}

// branches are paths with numbers, of which the first of each path counts.
type branches struct{ at, within map[string]int }

func (b *branches) add(path fieldpath.Path, i int) {
	if b.at == nil {
		b.at, b.within = map[string]int{}, map[string]int{}
	}
	around := prefixes(path)
	last := len(around) - 1
	if _, known := b.at[around[last]]; !known {
		b.at[around[last]] = i
	}
	for _, text := range around {
		if _, known := b.within[text]; !known {
			b.within[text] = i
		}
	}
}

// related returns the first number of the paths at a path or within it. Without one, it returns that of a path around it.
func (b *branches) related(path fieldpath.Path) (int, bool) {
	around := prefixes(path)
	i, found := b.within[around[len(around)-1]]
	for n := 0; n < len(around) && !found; n++ {
		i, found = b.at[around[n]]
	}
	return i, found
}

// prefixes returns the texts of a path and of those around it, the longest last.
func prefixes(path fieldpath.Path) []string {
	texts := []string{""}
	for i, step := range path {
		texts = append(texts, texts[i]+step.String())
	}
	return texts
}

func (b *branches) has(path fieldpath.Path) bool {
	_, found := b.related(path)
	return found
}

// failedAt returns the field at which a merge failed, and whether it failed.
func failedAt(err error) (fieldpath.Path, bool) {
	var failed *merge.PatchError
	if errors.As(err, &failed) {
		return failed.Path, true
	}
	return nil, err != nil
}

// reasonOf returns the problem of a failed merge without its place.
func reasonOf(err error) string {
	var failed *merge.PatchError
	if errors.As(err, &failed) {
		return failed.Err.Error()
	}
	return err.Error()
}
