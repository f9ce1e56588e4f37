package merge

import (
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file finds the fields of disputes by their paths, in as many steps as a path has.

// pathSet has fields by their paths. As in fieldpath.Path.HasPrefix, quotes do not count.
type pathSet struct{ at, around map[string]bool }

// textsOf returns the texts of a path and of those around it, from the whole value on.
func textsOf(path fieldpath.Path) []string {
	texts := make([]string, len(path)+1)
	for i, step := range path {
		texts[i+1] = texts[i] + strings.ReplaceAll(step.String(), `"`, "")
	}
	return texts
}

func (s *pathSet) add(path fieldpath.Path) {
	if s.at == nil {
		s.at, s.around = map[string]bool{}, map[string]bool{}
	}
	texts := textsOf(path)
	s.at[texts[len(path)]] = true
	for _, text := range texts {
		s.around[text] = true
	}
}

// covers reports whether the set has a field or one around it.
func (s *pathSet) covers(path fieldpath.Path) bool {
	for _, text := range textsOf(path) {
		if s.at[text] {
			return true
		}
	}
	return false
}

// hasWithin reports whether the set has a field or one within it.
func (s *pathSet) hasWithin(path fieldpath.Path) bool {
	return s.around[textsOf(path)[len(path)]]
}

// fewest is the number of children from which an index pays off.
const fewest = 8

// found remembers what was found in nodes and in patches.
type found struct {
	children map[*node]map[fieldpath.Step]*node
	parts    map[string]map[fieldpath.Step]patchPart // by the patch and the path of the value
}

// patchPart is a part of a patch, and its type.
type patchPart struct {
	t     *schema.Type
	value any
}

// nodeAt returns the node of the field at a path, or nil.
func (f *found) nodeAt(l *log, path fieldpath.Path) *node {
	at := l.top
	for _, step := range path {
		if at = f.child(at, step); at == nil {
			return nil
		}
	}
	return at
}

func (f *found) child(of *node, step fieldpath.Step) *node {
	children := of.within()
	if len(children) < fewest {
		for _, child := range children {
			if child.step() == step {
				return child
			}
		}
		return nil
	}
	known := f.children[of]
	if known == nil {
		known = make(map[fieldpath.Step]*node, len(children))
		for _, child := range children {
			if at := child.step(); known[at] == nil {
				known[at] = child
			}
		}
		if f.children == nil {
			f.children = map[*node]map[fieldpath.Step]*node{}
		}
		f.children[of] = known
	}
	return known[step]
}

// partsOf returns the parts of a value of a patch that merge, each with its step. The key names the
// value.
func (f *found) partsOf(key string, t *schema.Type, value any) map[fieldpath.Step]patchPart {
	known, isKnown := f.parts[key]
	if isKnown {
		return known
	}
	known = map[fieldpath.Step]patchPart{}
	for name, values := range partsIn(t, value) {
		if inner, step := partAt(t, name); inner != nil {
			known[step] = patchPart{inner, values[0]}
		}
	}
	if f.parts == nil {
		f.parts = map[string]map[fieldpath.Step]patchPart{}
	}
	f.parts[key] = known
	return known
}
