package diff

import (
	"reflect"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/schema"
)

// The replacements for hidden values, as in kubectl diff.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

func isSecret(object any) bool { return entries(object)["kind"] == "Secret" }

// masking hides values in two objects at once. Its results share memory with its arguments, which
// it owns.
type masking struct {
	secret        bool
	before, after *Owners
}

func (m masking) value(t *schema.Type, path fieldpath.Path, old, new any) (any, any) {
	if m.hides(path, old, new) {
		return hide(old, new)
	}
	for _, name := range unionOfKeys(entries(old), entries(new)) {
		o, n := m.value(t.Inner(name), path.Append(t.Step(name)), entries(old)[name],
			entries(new)[name])
		set(entries(old), name, o)
		set(entries(new), name, n)
	}
	m.items(t, path, asList(old), asList(new))
	return old, new
}

// items hides values in the items of two lists, by key if the keys are unique, else by position.
// Differing lists still differ.
func (m masking) items(t *schema.Type, path fieldpath.Path, old, new []any) {
	pairs := align(t, old, new)
	if pairs == nil {
		pairs = byPosition(len(old), len(new))
	}
	elem := elemOf(t)
	for _, p := range pairs {
		var o, n any
		if p.old >= 0 {
			o = old[p.old]
		}
		if p.new >= 0 {
			n = new[p.new]
		}
		o, n = m.value(elem, path.Append(p.step), o, n)
		if p.old >= 0 {
			old[p.old] = o
		}
		if p.new >= 0 {
			new[p.new] = n
		}
	}
}

func byPosition(old, new int) []pair {
	pairs := make([]pair, max(old, new))
	for i := range pairs {
		pairs[i] = pair{step: fieldpath.Index(i), old: i, new: i}
		if i >= old {
			pairs[i].old = NoItem
		}
		if i >= new {
			pairs[i].new = NoItem
		}
	}
	return pairs
}

// hides reports whether to hide the field's values.
func (m masking) hides(path fieldpath.Path, old, new any) bool {
	if m.secret && len(path) == 2 {
		name, _ := path[0].Field()
		return name == "data" || name == "stringData"
	}
	return finding.IsSecret(path) &&
		(old != nil && m.before.hide(path) || new != nil && m.after.hide(path))
}

func hide(old, new any) (any, any) {
	switch {
	case old == nil && new == nil:
		return nil, nil
	case old == nil:
		return nil, masked
	case new == nil:
		return masked, nil
	case reflect.DeepEqual(old, new):
		return masked, masked
	default:
		return maskedBefore, maskedAfter
	}
}

func set(m map[string]any, name string, v any) {
	if v != nil {
		m[name] = v
	}
}
