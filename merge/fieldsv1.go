package merge

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// FieldsV1 yields the fields that each layer owns, in the format of metadata.managedFields. Server-side applies with force of
// the base and then of each patch in order would give the layer these fields.
//
// A field belongs to every layer that set it to the value in force. A layer loses a field to a layer that sets another value.
// The layer that names an item also owns the field of its merge key. A layer without fields yields {}. FieldsV1 omits the
// fields for which ignored returns true; a nil ignored omits none.
//
// The API server would record the same by the definition's schema if it merges as the struct tags do. The differences are
// listed in docs/differences.md.
func (o *Ownership) FieldsV1(ignored func(fieldpath.Path) bool) iter.Seq2[Layer, []byte] {
	return func(yield func(Layer, []byte) bool) {
		o := o.orEmpty()
		names := o.Layers()
		sets := make([]fieldSet, len(names))
		if o.isObject() {
			o.objectFields(sets, ignored)
		} else {
			o.valueFields(sets, names, ignored)
		}
		for i, name := range names {
			if !yield(name, sets[i].encode()) {
				return
			}
		}
	}
}

// valueFields fills the sets of a value of a Go type. A layer's number is the index of its set.
func (o *Ownership) valueFields(sets []fieldSet, names []Layer, ignored func(fieldpath.Path) bool) {
	w := walk{log: o.log}
	w.yield = func(path fieldpath.Path, claims []Claim) bool {
		if w.emptiedAround || ignored != nil && ignored(path) {
			return true
		}
		last := claims[len(claims)-1]
		if last.Value == nil && !o.log.isManager(int32(slices.Index(names, last.Layer))) {
			return true // a later layer removed it
		}
		owned := true
		for i := len(claims) - 1; i >= 0 && owned; i-- {
			if layer := slices.Index(names, claims[i].Layer); layer >= 0 && (!w.decided || SameValue(claims[i].Value, last.Value)) {
				sets[layer].insertPath(path)
			}
			owned = i > 0 && (w.decided || SameValue(claims[i-1].Value, claims[i].Value))
		}
		return true
	}
	w.value(o.log.root, o.value, rootNode, nil)
}

// fieldSet is a set of fields, as a tree of path steps. Fields are inserted in the order of the document: the fields within a
// field follow it directly.
type fieldSet struct {
	nodes []setNode // the first node is the whole object
}

type setNode struct {
	setStep
	member            bool
	first, tail, next int32 // the first and last child, and the next sibling; 0 for none
}

// setStep is a path step in FieldsV1, before and after the colon. A field or an entry is f:NAME. An item is k:JSON by its
// merge keys, an element v:JSON, and a position i:NUMBER.
type setStep struct {
	kind byte
	text string
}

func (s setStep) compare(other setStep) int {
	return cmp.Or(cmp.Compare(s.kind, other.kind), strings.Compare(s.text, other.text))
}

func (s *fieldSet) insert(steps []setStep) {
	if s.nodes == nil {
		s.nodes = make([]setNode, 1, 64)
	}
	at := int32(0)
	for _, step := range steps {
		if tail := s.nodes[at].tail; tail != 0 && s.nodes[tail].setStep == step {
			at = tail
		} else {
			at = s.add(at, step)
		}
	}
	s.nodes[at].member = true
}

func (s *fieldSet) add(parent int32, step setStep) int32 {
	child := int32(len(s.nodes))
	s.nodes = append(s.nodes, setNode{setStep: step})
	if tail := s.nodes[parent].tail; tail != 0 {
		s.nodes[tail].next = child
	} else {
		s.nodes[parent].first = child
	}
	s.nodes[parent].tail = child
	return child
}

// insertPath adds a field. For an item, it also adds the field of the merge key.
func (s *fieldSet) insertPath(path fieldpath.Path) {
	steps := make([]setStep, len(path), len(path)+1)
	for i := range path {
		steps[i] = setStepOf(path[i])
	}
	s.insert(steps)
	if key, _, ok := path[len(path)-1].Item(); ok {
		s.insert(append(steps, setStep{'f', key}))
	}
}

// encode returns the set as JSON. A member that has members within it holds "." for itself.
func (s *fieldSet) encode() []byte {
	if s.nodes == nil {
		return []byte("{}")
	}
	return s.appendTo(make([]byte, 0, 24*len(s.nodes)), 0)
}

func (s *fieldSet) appendTo(b []byte, at int32) []byte {
	n := &s.nodes[at]
	b = append(b, '{')
	if n.member && n.first != 0 {
		b = append(b, `".":{},`...)
	}
	sorted := true
	for child := n.first; child != 0; child = s.nodes[child].next {
		next := s.nodes[child].next
		sorted = sorted && (next == 0 || s.nodes[child].compare(s.nodes[next].setStep) < 0)
	}
	if sorted {
		for child := n.first; child != 0; child = s.nodes[child].next {
			b = s.appendChild(b, child)
		}
	} else {
		var within []int32
		for child := n.first; child != 0; child = s.nodes[child].next {
			within = append(within, child)
		}
		slices.SortFunc(within, func(i, j int32) int { return s.nodes[i].compare(s.nodes[j].setStep) })
		for _, child := range within {
			b = s.appendChild(b, child)
		}
	}
	if n.first != 0 {
		b = b[:len(b)-1] // the comma
	}
	return append(b, '}')
}

func (s *fieldSet) appendChild(b []byte, child int32) []byte {
	b = append(b, '"', s.nodes[child].kind, ':')
	b = append(appendEscaped(b, s.nodes[child].text), '"', ':')
	return append(s.appendTo(b, child), ',')
}

// setStepOf converts a step of a path to FieldsV1.
func setStepOf(step fieldpath.Step) setStep {
	if name, ok := step.Field(); ok {
		return setStep{'f', name}
	}
	if key, ok := step.Key(); ok {
		return setStep{'f', key}
	}
	if key, name, ok := step.Item(); ok {
		value := quoted(name)
		if _, isText := step.Keys()[0].Value.(string); !isText {
			value = name
		}
		return setStep{'k', "{" + quoted(key) + ":" + value + "}"}
	}
	if element, ok := step.Element(); ok {
		return setStep{'v', quoted(element)}
	}
	position, _ := step.Index()
	return setStep{'i', strconv.Itoa(position)}
}

// quoted returns a string as JSON.
func quoted(text string) string {
	return string(append(appendEscaped(append(make([]byte, 0, len(text)+2), '"'), text), '"'))
}

// appendEscaped appends a string as JSON, without the quotes.
func appendEscaped(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '<' || c == '>' || c == '&' {
			data, _ := json.Marshal(text) // a string is always JSON
			return append(b, data[1:len(data)-1]...)
		}
	}
	for i := range len(text) {
		if c := text[i]; c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return b
}
