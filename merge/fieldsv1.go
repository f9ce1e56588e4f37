package merge

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
	owned "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// This file converts paths to those of structured-merge-diff, whose sets of fields the API server
// keeps in metadata.managedFields.

// FieldsV1Paths returns the fields that one entry of metadata.managedFields names. The input is its
// fieldsV1, a JSON object, as fieldpath.Set.FromJSON of structured-merge-diff v6 reads it:
//
//	f:NAME                  a field, or a key of a map
//	k:{"KEY":VALUE,...}     an item of a list-map
//	v:VALUE                 an element of a set
//	i:N                     a position
//	.                       the field around it
//
// An empty object names its field as well. History.FieldsV1 writes this format.
//
// The fields of an object come sorted, and before the fields within them. FieldsV1 does not
// distinguish a field from a key of a map. A name of letters, digits, "-", "_" and "$" becomes a
// fieldpath.Field, any other name a fieldpath.Key. The value itself has no path. Each path is valid
// until the next one; path.Append() copies it.
//
// An invalid input ends with a nil path and an error.
func FieldsV1Paths(data []byte) iter.Seq2[fieldpath.Path, error] {
	return func(yield func(fieldpath.Path, error) bool) {
		set, err := readFields(data)
		if err != nil {
			yield(nil, err)
			return
		}
		yieldPaths(set, nil, func(path fieldpath.Path) bool { return yield(path, nil) })
	}
}

// yieldPaths yields the fields of a set, and reports whether to go on.
func yieldPaths(set *owned.Set, path fieldpath.Path, yield func(fieldpath.Path) bool) bool {
	for element := range set.Members.All() {
		if !yield(append(path, stepOf(element))) {
			return false
		}
	}
	for element := range set.Children.All() {
		within, _ := set.Children.Get(element)
		if !yieldPaths(within, append(path, stepOf(element)), yield) {
			return false
		}
	}
	return true
}

// readFields reads the set of fields of an entry.
func readFields(data []byte) (*owned.Set, error) {
	set := &owned.Set{}
	if err := set.FromJSON(bytes.NewReader(data)); err != nil {
		message, _, _ := strings.Cut(err.Error(), ", error found in #") // the rest quotes the input
		return nil, errors.New("must be a set of fields: " + shortened(message))
	}
	return set, nil
}

// stepOf returns the step that an element of a path means.
func stepOf(element owned.PathElement) fieldpath.Step {
	switch {
	case element.FieldName != nil:
		return (*schema.Type)(nil).Step(*element.FieldName)
	case element.Key != nil:
		keys := make([]fieldpath.ItemKey, len(*element.Key))
		for i, key := range *element.Key {
			keys[i] = fieldpath.ItemKey{Name: key.Name, Value: withIntegers(key.Value.Unstructured())}
		}
		return fieldpath.ItemBy(keys...)
	case element.Value != nil:
		return fieldpath.ElementOf(withIntegers((*element.Value).Unstructured()))
	}
	return fieldpath.Index(*element.Index)
}

// withIntegers returns JSON with each whole number as an int64. The sets have read them as floats.
func withIntegers(v any) any {
	switch v := v.(type) {
	case float64:
		if i := int64(v); v == math.Trunc(v) && float64(i) == v && v < math.MaxInt64 {
			return i
		}
	case []any:
		for i := range v {
			v[i] = withIntegers(v[i])
		}
	case Object:
		for name := range v {
			v[name] = withIntegers(v[name])
		}
	}
	return v
}

// elementOf returns a step as an element of a path in a set.
func elementOf(step fieldpath.Step) owned.PathElement {
	if name, isName := step.Name(); isName {
		return owned.FieldNameElement(name)
	}
	if element, isElement := step.ElementValue(); isElement {
		return owned.ValueElement(value.NewValueInterface(element))
	}
	if position, isPosition := step.Index(); isPosition {
		return owned.IndexElement(position)
	}
	var keys value.FieldList
	for _, key := range step.Keys() {
		keys = append(keys, value.Field{Name: key.Name, Value: value.NewValueInterface(key.Value)})
	}
	return owned.KeyElement(keys...)
}

// element returns the step as elementOf does, without a detour by its path.
func (s *objectStep) element() owned.PathElement {
	if s.field != nil {
		return owned.PathElement{FieldName: &s.field.Name}
	}
	if !s.parent.HasItems() {
		return owned.FieldNameElement(s.key)
	}
	key, isTyped := typedOf(s.key)
	if !isTyped {
		key = s.key
	}
	if s.parent.Kind == schema.Set {
		return owned.ValueElement(value.NewValueInterface(key))
	}
	keys, areSeveral := key.(Object)
	if !areSeveral {
		return owned.KeyElement(value.Field{Name: s.parent.Key, Value: value.NewValueInterface(key)})
	}
	fields := make(value.FieldList, 0, len(keys))
	for name, of := range keys {
		fields = append(fields, value.Field{Name: name, Value: value.NewValueInterface(of)})
	}
	fields.Sort()
	return owned.KeyElement(fields...)
}

// A fieldSet is the set of fields of one layer. It keeps the parts of the set around the field that
// came last, since a walk inserts the fields of an object one after the other.
type fieldSet struct {
	all    owned.Set
	around []setPart
	// the last step of the field that came last, which may be around the next one
	last    objectStep
	element owned.PathElement
}

// A setPart is what a set has within a step.
type setPart struct {
	step   objectStep
	within *owned.Set
}

// insert adds a field of an object.
func (s *fieldSet) insert(steps []objectStep) {
	n, last := 0, len(steps)-1
	for n < min(len(s.around), last) && s.around[n].step == steps[n] {
		n++
	}
	set := &s.all
	if s.around = s.around[:n]; n > 0 {
		set = s.around[n-1].within
	}
	for _, step := range steps[n:last] {
		if step != s.last {
			s.last, s.element = step, step.element()
		}
		set = set.Children.Descend(s.element)
		s.around = append(s.around, setPart{step, set})
	}
	s.last, s.element = steps[last], steps[last].element()
	set.Members.Insert(s.element)
}

// insertPath adds a field. For an item by one key, it also adds the field of the merge key.
func (s *fieldSet) insertPath(path fieldpath.Path) {
	elements := make(owned.Path, len(path), len(path)+1)
	for i := range path {
		elements[i] = elementOf(path[i])
	}
	s.all.Insert(elements)
	if key, _, ok := path[len(path)-1].Item(); ok {
		s.all.Insert(append(elements, owned.FieldNameElement(key)))
	}
}

// longestQuote limits the input that an error repeats, in bytes.
const longestQuote = 128

// shortened removes the middle of a long string.
func shortened(text string) string {
	if len(text) <= longestQuote {
		return text
	}
	return strings.ToValidUTF8(text[:longestQuote/2], "") + "…" +
		strings.ToValidUTF8(text[len(text)-longestQuote/2:], "")
}
