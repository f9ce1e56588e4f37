// Package diff compares two renderings of one object, and attributes the changes to layers.
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
// # Comparison
//
// Compare decodes the JSON of the objects. It follows the merge schema that package schema compiles
// from the struct tags of their Go type:
//
//   - Structs are compared field by field and maps key by key.
//   - The items of a list-map (containers, env, volumes) are matched by their merge key, and the
//     elements of a set by their value, never by position.
//   - The order of the common items matters: init containers run in it and variables refer to
//     earlier ones. As few items as possible count as moved, and the others keep their relative
//     order.
//   - Any other list is one value (tolerations, command), as in a merge.
//   - A list-map or set with a duplicate key is compared as one value.
//   - A field that JSON omits or that is null is missing. A struct on one side only is added or
//     removed as a whole. In maps, list-maps and sets, each entry is added or removed.
//
// # Laws
//
// Compare of an object with itself returns no changes. The changes say all: the tests apply them to
// the old object, and get the new one, with the order of its lists.
//
// The package is pure, and its functions do not change their arguments.
//
// Its first file to read is diff.go.
package diff

import (
	"maps"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// Kind is the kind of a change.
type Kind string

const (
	// Added fields are in the new object only.
	Added Kind = "added"
	// Removed fields are in the old object only.
	Removed Kind = "removed"
	// Changed fields have another value.
	Changed Kind = "changed"
	// Moved items have another position among the common items of both lists. Changes within such
	// an item are separate changes.
	Moved Kind = "moved"
)

// NoItem is the position of a value outside the list, or of a field that is not an item.
const NoItem = -1

// Change is one difference between two objects.
type Change struct {
	// Kind is the kind of the change.
	Kind Kind
	// Path is the field, the item, the entry or the element. Merge keys name items, so the path is
	// the same in both objects.
	Path fieldpath.Path
	// Old and New are the values as encoding/json decodes them, with integers as int64. They are
	// nil for a missing value and for a moved item. They may share memory with other changes, so do
	// not change them.
	Old, New any
	// From and To are the positions of an item or element in the old and in the new list. They are
	// NoItem for other fields.
	From, To int
	// Before and After are the claims in force on the field and within it, for both objects. They
	// have one claim per layer, in document order. Attribute sets them.
	Before, After []merge.Claim
}

// IsMasked reports whether Options.Mask hides the values of the change.
func (c Change) IsMasked() bool { return c.Old == maskedBefore || c.New == maskedAfter }

// Changes are all differences between two objects, in document order. Fields are sorted by name,
// and items have the order of the lists. Removed items precede new ones in the same place.
type Changes []Change

// Options configures a comparison. The zero value shows every value.
type Options struct {
	// Mask replaces the literal values of environment variables and the contents of Secrets by
	// asterisks. The result is "***" if both objects have the same value or only one has a value.
	// It is "*** (before)" and "*** (after)" for different values, so that the change still shows.
	Mask bool
	// Before and After are the owners of the old and of the new object, or nil. They exempt a
	// variable that a controller wrote from masking.
	Before, After *Owners
}

// Compare returns the changes from one object to the other. An object on one side only is nil on the
// other, and one change: of the root. Compare returns errors as Read does.
func Compare(old, new any, opts Options) (Changes, error) {
	if reflect.DeepEqual(old, new) {
		return nil, nil
	}
	p, err := Read(old, new, opts)
	return p.Changes(), err
}

// Changes returns the changes from the old object to the new one.
func (p Pair) Changes() Changes {
	c := comparison{}
	if p.Old == nil && p.New == nil {
		return nil
	}
	c.value(p.typ, Change{Old: p.Old, New: p.New, From: NoItem, To: NoItem})
	return c.changes
}

type comparison struct{ changes Changes }

func (c *comparison) report(kind Kind, at Change) {
	at.Kind = kind
	c.changes = append(c.changes, at)
}

// value compares one field with a value in at least one object; nil means a missing value.
func (c *comparison) value(t *schema.Type, at Change) {
	old, new := at.Old, at.New
	x, y, areFields := entriesOf[map[string]any](old, new)
	if t == nil || t.Kind == schema.Struct {
		areFields = x != nil && y != nil
	}
	if areFields && (t == nil || t.Merges()) {
		c.fields(t, at.Path, x, y)
		return
	}
	if before, after, ok := entriesOf[[]any](old, new); ok {
		if pairs := align(t, before, after); pairs != nil {
			c.list(t, at.Path, pairs, before, after)
			return
		}
	}
	switch {
	case old == nil:
		c.report(Added, at)
	case new == nil:
		c.report(Removed, at)
	case !reflect.DeepEqual(old, new):
		c.report(Changed, at)
	}
}

// fields compares the fields of a struct, or the entries of a map.
func (c *comparison) fields(t *schema.Type, path fieldpath.Path, old, new map[string]any) {
	for _, name := range unionOfKeys(old, new) {
		if old[name] != nil || new[name] != nil {
			c.value(t.Inner(name), Change{Path: path.Append(t.Step(name)), Old: old[name],
				New: new[name], From: NoItem, To: NoItem})
		}
	}
}

func (c *comparison) list(t *schema.Type, path fieldpath.Path, pairs []pair, old, new []any) {
	for _, p := range pairs {
		at := Change{Path: path.Append(p.step), From: p.old, To: p.new}
		switch {
		case p.old == NoItem:
			at.New = new[p.new]
			c.report(Added, at)
		case p.new == NoItem:
			at.Old = old[p.old]
			c.report(Removed, at)
		default:
			if p.moved {
				c.report(Moved, at)
			}
			at.Old, at.New = old[p.old], new[p.new]
			c.value(t.Elem, at)
		}
	}
}

// entriesOf returns two objects or lists, of which one may be missing. It reports whether their
// entries can show the change. A value that loses its last entry is missing.
func entriesOf[T map[string]any | []any](old, new any) (x, y T, ok bool) {
	x, isOld := old.(T)
	y, isNew := new.(T)
	return x, y, isNew && len(y) > 0 && (isOld || old == nil) || len(x) > 0 && new == nil
}

func entries(v any) map[string]any { m, _ := v.(map[string]any); return m }

func asList(v any) []any { l, _ := v.([]any); return l }

// unionOfKeys returns the keys of both maps, sorted.
func unionOfKeys(old, new map[string]any) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(new))
	slices.Sort(all)
	return slices.Compact(all)
}
