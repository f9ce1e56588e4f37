package merge

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file gives fields the base's values again: protected ones, and all that the base sets if it wins. The history has the
// base's value of each field that patches reached.

// restoring is a part of the history whose fields get the base's values.
type restoring struct {
	*log
	policy  string
	removes bool // whether a field that the base lacks goes
}

// restore applies the policies of protected fields and of the base's precedence. Put gives the fields that a pattern names the base's
// values. Had reports whether the base has a field.
func (l *log) restore(o Options, had func(fieldpath.Path) bool, put func(r restoring, pattern fieldpath.Path)) (ignored []Ignored, err error) {
	if o.Precedence == BaseAlways {
		r := restoring{l, "precedence", false}
		put(r, nil)
		r.overruleWithin(rootNode, nil)
	}
	for _, pattern := range o.Protected {
		r := restoring{l, "protected", true}
		l.match(rootNode, l.root, pattern, nil, func(at node, rest fieldpath.Path, emptied []int32) {
			path, layers := l.path(at).Append(rest...), emptied
			if len(rest) == 0 {
				layers = append(l.setters(at, nil), emptied...)
				r.overruleWithin(at, emptied)
			} else if !had(path) {
				return
			}
			for _, layer := range slices.Compact(slices.Sorted(slices.Values(layers))) {
				ignored = append(ignored, Ignored{l.layers[layer], path})
			}
		})
		put(r, pattern)
	}
	if o.ProtectedError && len(ignored) > 0 {
		return nil, &PatchError{
			Layer: ignored[0].Layer, Index: slices.Index(l.ids, l.layerID(ignored[0].Layer)), Path: ignored[0].Path, Err: apiError("Forbidden", "the field is protected"),
		}
	}
	return ignored, nil
}

// match calls do for each field that a pattern names and that patches reached. The layers emptied a field around it. The history of
// an object lacks the fields within an emptied one: then a rest of the pattern is left.
func (l *log) match(at node, t *schema.Type, pattern fieldpath.Path, emptied []int32, do func(at node, rest fieldpath.Path, emptied []int32)) {
	if len(pattern) == 0 {
		do(at, nil, emptied)
		return
	}
	emptied = append(emptied[:len(emptied):len(emptied)], l.emptiers(at)...)
	t = granular(t)
	isThere := false
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		of := t.Elem
		if f := l.nodes[child].field; f != nil {
			of = f.Type
		}
		if rest, ok := l.leads(pattern, t, child); ok {
			isThere = true
			l.match(child, of, rest, emptied, do)
		}
	}
	if !isThere && len(emptied) > 0 {
		do(at, pattern, emptied)
	}
}

// leads reports whether a pattern leads into a child of a field of type t. It also returns the rest of the pattern. The name of a
// field leads into each item of a list.
func (l *log) leads(pattern fieldpath.Path, t *schema.Type, child node) (rest fieldpath.Path, ok bool) {
	if len(pattern) == 0 {
		return nil, true
	}
	if _, isField := pattern[0].Field(); isField && t.Kind == schema.ListMap {
		return pattern, true
	}
	return leadsTo(pattern, l.step(child))
}

// emptiers returns the managers that claim a null on a field.
func (l *log) emptiers(at node) (layers []int32) {
	for _, null := range l.nulls(at) {
		if layer := l.claims[null.claim].layer(); l.isManager(layer) {
			layers = append(layers, layer)
		}
	}
	return layers
}

// setters returns the manager of each claim on a field or within it.
func (l *log) setters(at node, layers []int32) []int32 {
	for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
		if l.isManager(l.claims[i].layer()) {
			layers = append(layers, l.claims[i].layer())
		}
	}
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		layers = l.setters(child, layers)
	}
	return layers
}

// overrule records that the base's claim on a field is in force, or that the field is removed. Emptied are the layers that emptied a
// field around it.
func (r restoring) overrule(at node, emptied []int32) {
	base := r.baseClaim(at)
	if r.nodes[at].first < 0 || base < 0 && !r.removes {
		return
	}
	losers := slices.Clone(emptied)
	for i := r.nodes[at].first; i >= 0; i = r.claims[i].next {
		if r.isManager(r.claims[i].layer()) && (base < 0 || !r.agree(at, base, i)) {
			losers = append(losers, r.claims[i].layer())
		}
	}
	r.log.overrule(at, base, baseLayer)
	if r.claims[r.nodes[at].first].kind() != presenceValue || base < 0 {
		r.decide(r.policy, r.path(at), baseLayer, losers)
	}
}

// overruleWithin records that the base's claims on a field and within it are in force.
func (r restoring) overruleWithin(at node, emptied []int32) {
	r.overrule(at, emptied)
	emptied = append(emptied[:len(emptied):len(emptied)], r.emptiers(at)...)
	for child := r.nodes[at].child; child != noNode; child = r.nodes[child].next {
		r.overruleWithin(child, emptied)
	}
}

// isForeign reports whether a patch made a field that goes.
func (r restoring) isForeign(at node) bool {
	return r.removes && r.nodes[at].createdBy != baseLayer && !r.hasBase(at)
}

// leadsTo reports whether a pattern leads into a step, and returns the rest of the pattern.
func leadsTo(pattern fieldpath.Path, step fieldpath.Step) (rest fieldpath.Path, ok bool) {
	if len(pattern) == 0 {
		return nil, true
	}
	return pattern[1:], fieldpath.Path{step}.Matches(pattern[:1])
}

// partAt returns the part of an object that a pattern names first, or nil.
func partAt(of any, pattern fieldpath.Path) any {
	if len(pattern) == 0 || of == nil {
		return of
	}
	switch of := of.(type) {
	case map[string]any:
		name, _ := pattern[0].Name()
		return partAt(of[name], pattern[1:])
	case []any:
		key, value, isItem := pattern[0].Item()
		for _, item := range of {
			object, _ := item.(map[string]any)
			rest := pattern
			if isItem {
				if rest = pattern[1:]; value != "" && object[key] != value {
					continue
				}
			}
			if part := partAt(item, rest); part != nil {
				return part
			}
		}
	}
	return nil
}
