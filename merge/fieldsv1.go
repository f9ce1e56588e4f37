package merge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// fieldSet is a set of fields, as a tree of path steps. Fields are inserted in the order of the
// document: the fields within a field follow it directly.
type fieldSet struct {
	nodes []setNode // the first node is the whole object
}

type setNode struct {
	setStep
	member            bool
	first, tail, next int32 // the first and last child, and the next sibling; 0 for none
}

// setStep is a path step in FieldsV1, before and after the colon. A field or an entry is f:NAME. An
// item is k:JSON by its merge keys, an element v:JSON, and a position i:NUMBER.
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
		slices.SortFunc(within, func(i, j int32) int {
			return s.nodes[i].compare(s.nodes[j].setStep)
		})
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
