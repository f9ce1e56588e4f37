// Package diff answers what changes between two renderings of one object, and who causes it.
//
//	changes, err := diff.Compare(before.JobSet, after.JobSet, diff.Options{})
//	if err != nil {
//		return err
//	}
//	changes.Attribute(diff.OwnersOf(before.Owners), diff.OwnersOf(after.Owners))
//	for _, c := range changes {
//		fmt.Println(c.Kind, c.Path, c.Before, c.After)
//	}
//
// # What is compared
//
// Objects are compared as their JSON says, along the merge schema that package schema compiles from
// the struct tags of their Go type:
//
//   - Structs are compared field by field and maps key by key.
//   - The items of a list-map (containers, env, volumes) are matched by their merge key, and the
//     elements of a set by their value, never by position.
//   - The order of the items that both lists have matters, for init containers run in it and variables
//     refer to earlier ones. As few items as possible are said to have moved; the others keep their
//     order among themselves.
//   - Any other list is one value (tolerations, command), as it is to a merge.
//   - A list-map or set in which two items share a key has nothing that tells them apart: it is compared
//     as one value.
//   - What JSON leaves out or writes as null is absent. A struct that one side lacks is added or
//     removed whole; of maps, list-maps and sets each entry is.
//
// # Laws
//
// Compare of an object with itself gives nothing, and the changes applied to the old object give the
// new one, the order of lists included: see [Changes.Apply].
//
// The package is pure, and none of its functions changes an argument.
package diff

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// Kind is what became of a field. The zero Kind is invalid.
type Kind uint8

const (
	// Added fields are in the new object only.
	Added Kind = iota + 1
	// Removed fields are in the old object only.
	Removed
	// Changed fields have another value.
	Changed
	// Moved items stand elsewhere among the items that both lists have. What changes within such an
	// item is reported apart.
	Moved
)

// String is "added", "removed", "changed" or "moved".
func (k Kind) String() string {
	switch k {
	case Added:
		return "added"
	case Removed:
		return "removed"
	case Changed:
		return "changed"
	case Moved:
		return "moved"
	default:
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
}

// MarshalText writes String.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// NoItem is the position of what is no item of a list, or is not in that list.
const NoItem = -1

// Change is one difference between two objects.
type Change struct {
	// Kind is what became of the field.
	Kind Kind
	// Path is the field, the item, the entry or the element. Items are named by their merge key, so
	// that the path is the same in both objects.
	Path fieldpath.Path
	// Old and New are the values as encoding/json makes them, with integers as int64; nil where there
	// is none, and for an item that moved. They may share memory with other changes: they are to be
	// read, never changed.
	Old, New any
	// From and To are the positions of an item or element in the old and in the new list; NoItem for
	// anything else.
	From, To int
	// Before and After are the claims in force on the field and on all within it, in the old and in the
	// new object: one a layer, in document order. Attribute fills them in.
	Before, After []engine.Claim
}

// Changes are all differences between two objects, in document order: fields by name, items as they stand
// in the lists, those that are gone before those that are new in their place.
type Changes []Change

// Options says how objects are compared. The zero value shows every value.
type Options struct {
	// Mask hides the literal values of environment variables, and what Secrets hold, behind asterisks:
	// "***" where both objects have the same value or only one has any, and "*** (before)" and
	// "*** (after)" where the values differ, so that a change still shows. Masked changes cannot be
	// applied.
	Mask bool
	// Before and After are the owners of the old and of the new object, which may be nil. A masked variable is shown
	// where they say that a controller wrote it.
	Before, After *Owners
}

// Compare returns what changes from one object to the other. Both are values of one API type, or
// pointers to such: a JobSet, a Job, a Pod, a Service, a volume claim, a ConfigMap, also an
// unstructured object, of which every list is one value.
//
// It refuses what is nil, of two types, or cannot be encoded. An object that is on one side only is
// created or removed: there is nothing to compare it with.
func Compare(old, new any, opts Options) (Changes, error) {
	s, err := newSides(old, new, opts, decode)
	if err != nil {
		return nil, err
	}
	if s.old == nil || s.new == nil {
		return nil, fmt.Errorf("diff: there is no %s object to compare with; an object that is on one side only is created or removed", s.missing())
	}
	c := comparison{}
	c.value(s.typ, nil, s.old, s.new, NoItem, NoItem)
	return c.changes, nil
}

type comparison struct{ changes Changes }

func (c *comparison) report(kind Kind, path fieldpath.Path, old, new any, from, to int) {
	c.changes = append(c.changes, Change{Kind: kind, Path: path, Old: old, New: new, From: from, To: to})
}

// value compares one field of which either object has a value, or both; nil is absent.
func (c *comparison) value(t *schema.Type, path fieldpath.Path, old, new any, from, to int) {
	switch shapeOf(t, old, new) {
	case schema.Struct:
		if old != nil && new != nil {
			c.structure(t, path, old.(map[string]any), new.(map[string]any))
			return
		}
	case schema.Map:
		if !endsEmpty(old, new) {
			c.mapping(t, path, entries(old), entries(new))
			return
		}
	case schema.ListMap, schema.Set:
		oldKeys, newKeys := keysOf(t, old), keysOf(t, new)
		if !endsEmpty(old, new) && oldKeys != nil && newKeys != nil {
			c.list(t, path, align(oldKeys, newKeys), list(old), list(new))
			return
		}
	}
	switch {
	case old == nil:
		c.report(Added, path, nil, new, from, to)
	case new == nil:
		c.report(Removed, path, old, nil, from, to)
	case !reflect.DeepEqual(old, new):
		c.report(Changed, path, old, new, from, to)
	}
}

func (c *comparison) structure(t *schema.Type, path fieldpath.Path, old, new map[string]any) {
	for _, name := range names(old, new) {
		var field *schema.Type
		if t != nil {
			if f := t.Field(name); f != nil {
				field = f.Type
			}
		}
		if old[name] != nil || new[name] != nil {
			c.value(field, path.Append(fieldpath.Field(name)), old[name], new[name], NoItem, NoItem)
		}
	}
}

func (c *comparison) mapping(t *schema.Type, path fieldpath.Path, old, new map[string]any) {
	for _, name := range names(old, new) {
		if old[name] != nil || new[name] != nil {
			c.value(t.Elem, path.Append(fieldpath.Key(name)), old[name], new[name], NoItem, NoItem)
		}
	}
}

func (c *comparison) list(t *schema.Type, path fieldpath.Path, pairs []pair, old, new []any) {
	for _, p := range pairs {
		switch at := path.Append(p.step(t)); {
		case p.moved && p.new == NoItem: // it is reported where it went
		case p.old == NoItem:
			c.report(Added, at, nil, new[p.new], NoItem, p.new)
		case p.new == NoItem:
			c.report(Removed, at, old[p.old], nil, p.old, NoItem)
		default:
			if p.moved {
				c.report(Moved, at, nil, nil, p.old, p.new)
			}
			c.value(t.Elem, at, old[p.old], new[p.new], p.old, p.new)
		}
	}
}

// shapeOf is how two values are compared: as the schema says, wherever they have that form. Without a
// schema, objects are compared field by field and all else as one value.
func shapeOf(t *schema.Type, values ...any) schema.Kind {
	kind := schema.Struct
	if t != nil {
		kind = t.Kind
	}
	for _, v := range values {
		_, isObject := v.(map[string]any)
		_, isList := v.([]any)
		switch kind {
		case schema.Struct, schema.Map:
			if v != nil && !isObject {
				return schema.Scalar
			}
		case schema.ListMap, schema.Set, schema.Atomic:
			if v != nil && !isList {
				return schema.Scalar
			}
		}
	}
	return kind
}

// endsEmpty says whether a list or map is there and empty, where its entries cannot say that: what loses
// its last entry is gone.
func endsEmpty(old, new any) bool {
	empty := func(v any) bool { return v != nil && len(entries(v)) == 0 && len(list(v)) == 0 }
	return empty(new) || empty(old) && new == nil
}

func entries(v any) map[string]any { m, _ := v.(map[string]any); return m }

func list(v any) []any { l, _ := v.([]any); return l }

// names are the keys of both, sorted.
func names(old, new map[string]any) []string {
	all := make([]string, 0, max(len(old), len(new)))
	for name := range old {
		all = append(all, name)
	}
	for name := range new {
		if _, both := old[name]; !both {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, cmp.Compare[string])
	return all
}
