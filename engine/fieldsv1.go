package engine

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// FieldsV1 yields what each layer owns, in the form in which the API server keeps it in metadata.managedFields: what it
// would own if the base and then each patch, in the order of the list, had been applied server-side with force. A field
// belongs to every layer that set it to the value in force; a layer that was overwritten with another value has lost it. The
// layer that names an item also owns the field of its merge key. A layer that lost everything owns {}. The fields that ignored
// reports are left out; nil leaves out none.
//
// It is what the API server would record by the schema of the type's definition, wherever that merges as the type's struct
// tags do; docs/differences.md lists where it does not.
func (o *Ownership) FieldsV1(ignored func(fieldpath.Path) bool) iter.Seq2[Layer, []byte] {
	return func(yield func(Layer, []byte) bool) {
		o := o.orEmpty()
		names := o.Layers()
		if o.isObject() {
			for i, set := range o.objectFields(ignored) {
				if !yield(names[i], set.encode()) {
					return
				}
			}
			return
		}
		sets := make([]fieldSet, len(names))
		w := walk{log: o.log}
		w.yield = func(path fieldpath.Path, claims []Claim) bool {
			if w.emptiedAround || ignored != nil && ignored(path) {
				return true
			}
			last := claims[len(claims)-1]
			if last.Value == nil && !o.log.isManager(int32(slices.Index(names, last.Layer))) {
				return true // a later layer took it away
			}
			owned := true
			for i := len(claims) - 1; i >= 0 && owned; i-- {
				if layer := slices.Index(names, claims[i].Layer); layer >= 0 {
					sets[layer].insert(path)
				}
				owned = i > 0 && SameValue(claims[i-1].Value, claims[i].Value)
			}
			return true
		}
		w.value(o.log.root, nil, o.value, rootNode, nil)
		for i, name := range names {
			if !yield(name, sets[i].encode()) {
				return
			}
		}
	}
}

// fieldSet is a set of fields, as a tree of the steps that lead to them.
type fieldSet struct {
	member bool
	within map[string]*fieldSet
}

// insert adds a field; with an item, also the field of its merge key.
func (s *fieldSet) insert(path fieldpath.Path) {
	for _, step := range path {
		s = s.child(pathElement(step))
	}
	s.member = true
	if key, _, ok := path[len(path)-1].Item(); ok {
		s.child("f:" + key).member = true
	}
}

func (s *fieldSet) child(step string) *fieldSet {
	if s.within == nil {
		s.within = map[string]*fieldSet{}
	}
	if s.within[step] == nil {
		s.within[step] = &fieldSet{}
	}
	return s.within[step]
}

// encode writes the set: a field that is a member and has members within holds "." for itself.
func (s *fieldSet) encode() []byte {
	var b strings.Builder
	s.write(&b)
	return []byte(b.String())
}

func (s *fieldSet) write(b *strings.Builder) {
	b.WriteByte('{')
	separator := ""
	if s.member && len(s.within) > 0 {
		b.WriteString(`".":{}`)
		separator = ","
	}
	for _, step := range slices.Sorted(maps.Keys(s.within)) {
		b.WriteString(separator + quoted(step) + ":")
		s.within[step].write(b)
		separator = ","
	}
	b.WriteByte('}')
}

// pathElement is a step as FieldsV1 names it: f: a field or key, k: the merge key of an item, v: an element, i: a position.
func pathElement(step fieldpath.Step) string {
	if name, ok := step.Field(); ok {
		return "f:" + name
	}
	if key, ok := step.Key(); ok {
		return "f:" + key
	}
	if key, name, ok := step.Item(); ok {
		return "k:{" + quoted(key) + ":" + quoted(name) + "}"
	}
	if element, ok := step.Element(); ok {
		return "v:" + quoted(element)
	}
	position, _ := step.Index()
	return "i:" + strconv.Itoa(position)
}

func quoted(text string) string {
	data, _ := json.Marshal(text) // a string is always JSON
	return string(data)
}
