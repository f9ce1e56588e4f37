package diff

import (
	"reflect"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/schema"
)

// What stands for a value that is not to be shown; the words are those of kubectl diff.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// Mask returns two objects, either of which may be nil, as encoding/json reads what package manifest writes,
// with everything hidden that Options.Mask hides, whether it is set or not. What differs between the objects still
// differs. Neither object is changed.
func Mask(old, new any, opts Options) (maskedOld, maskedNew any, err error) {
	opts.Mask = true
	s, err := newSides(old, new, opts, decodeShown)
	return s.old, s.new, err
}

func isSecret(object any) bool { return entries(object)["kind"] == "Secret" }

// masking hides values in two objects side by side. The values it returns share memory with those that it
// was given, which are the masking's own.
type masking struct {
	secret        bool
	before, after *Owners
}

func (m masking) value(t *schema.Type, path fieldpath.Path, old, new any) (any, any) {
	if m.hides(path, old, new) {
		return hide(old, new)
	}
	for _, name := range names(entries(old), entries(new)) {
		step, typ := fieldpath.Field(name), (*schema.Type)(nil)
		switch {
		case t != nil && t.Kind == schema.Map:
			step, typ = fieldpath.Key(name), t.Elem
		case t != nil && t.Field(name) != nil:
			typ = t.Field(name).Type
		}
		o, n := m.value(typ, path.Append(step), entries(old)[name], entries(new)[name])
		set(entries(old), name, o)
		set(entries(new), name, n)
	}
	m.items(t, path, list(old), list(new))
	return old, new
}

// items hides values in the items of two lists: item by item where keys tell them apart, and else
// position by position. Either way lists that differ still differ.
func (m masking) items(t *schema.Type, path fieldpath.Path, old, new []any) {
	var elem *schema.Type
	step := func(p pair) fieldpath.Step { return fieldpath.Index(max(p.old, p.new)) }
	pairs := byPosition(len(old), len(new))
	if t != nil {
		elem = t.Elem
		if t.Kind == schema.ListMap {
			if oldKeys, newKeys := keysOf(t, old), keysOf(t, new); oldKeys != nil && newKeys != nil {
				pairs = align(oldKeys, newKeys)
				step = func(p pair) fieldpath.Step { return p.step(t) }
			}
		}
	}
	for _, p := range pairs {
		var o, n any
		if p.old >= 0 {
			o = old[p.old]
		}
		if p.new >= 0 {
			n = new[p.new]
		}
		if p.moved && p.new == NoItem {
			continue // it is masked where it went
		}
		o, n = m.value(elem, path.Append(step(p)), o, n)
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
		pairs[i] = pair{old: i, new: i}
		if i >= old {
			pairs[i].old = NoItem
		}
		if i >= new {
			pairs[i].new = NoItem
		}
	}
	return pairs
}

// hides reports whether the field's values are not to be shown.
func (m masking) hides(path fieldpath.Path, old, new any) bool {
	if m.secret && len(path) == 2 {
		name, _ := path[0].Field()
		return name == "data" || name == "stringData"
	}
	return finding.IsSecret(path) && (old != nil && m.before.hide(path) || new != nil && m.after.hide(path))
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
