package merge

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file walks a merged tree and yields the claims on each field. A null on a struct empties the
// fields within it. The log records the null on the struct only; the walk adds it to the history of
// each field within.

// walk walks the tree and the log side by side.
type walk struct {
	log   *log
	yield func(fieldpath.Path, []Claim) bool
	nulls []null // the claims that emptied the structs around a field
	owner int32  // the layer that owns fields without claims
	// emptiedAround reports that the last claim on the current field is a claim on a struct around
	// it.
	emptiedAround bool
	decided       bool // whether a policy decided the current field
	reached       bool // omit what only the base set
	// yield the lists and maps that patches left without parts, which no set of fields names
	empties bool
}

// value visits one field. v is nil if only the log has the field. It returns false to stop.
func (w *walk) value(t *schema.Type, v any, at node, path fieldpath.Path) bool {
	switch t.Kind {
	case schema.Struct:
		if len(path) > 0 && !w.emptiable(false, -1, at, path) {
			return false
		}
	case schema.Map, schema.ListMap, schema.Set:
		remover, isEmptied := int32(-1), w.empties && v != nil && isEmpty(v)
		if isEmptied {
			remover = w.log.lastRemoval(at)
		}
		isTold := at != noNode && (remover >= 0 || isEmptied || len(w.log.nulls(at)) > 0)
		if isTold && !w.emptiable(false, remover, at, path) {
			return false
		}
	}
	return w.parts(t, nil, v, at, path)
}

// parts visits what is within a field, without the merge key of an item.
func (w *walk) parts(t *schema.Type, key *schema.StructField, v any, at node,
	path fieldpath.Path) bool {
	defer w.enter(at)()
	switch t.Kind {
	case schema.Struct:
		object, _ := v.(Object)
		return w.structure(t, key, object, at, path)
	case schema.Map:
		object, _ := v.(Object)
		return w.mapping(object, at, path)
	case schema.ListMap:
		list, _ := v.([]any)
		return w.list(t, list, at, path)
	case schema.Set:
		list, _ := v.([]any)
		return w.set(t, list, at, path)
	default:
		return w.leaf(v, at, path)
	}
}

func (w *walk) structure(t *schema.Type, key *schema.StructField, v Object, at node,
	path fieldpath.Path) bool {
	for _, f := range t.Sorted() {
		if f == key {
			continue
		}
		child := w.log.lookup(at, f, "")
		if w.isUnreached(child) || v[f.Name] == nil && child == noNode {
			continue
		}
		if !w.field(f, v[f.Name], child, path.Append(fieldpath.Field(f.Name))) {
			return false
		}
	}
	return true
}

// field visits a field of a struct. Only a pointer can hold an empty struct: a struct by value is
// always encoded.
func (w *walk) field(f *schema.StructField, v any, at node, path fieldpath.Path) bool {
	object, isObject := v.(Object)
	if f.Type.Kind != schema.Struct || !isObject || !f.Template.IsPointer() ||
		hasLeaf(f.Type, object) {
		return w.value(f.Type, v, at, path)
	}
	return w.emptiable(true, w.log.lastRemoval(at), at, path) && w.parts(f.Type, nil, v, at, path)
}

func (w *walk) list(t *schema.Type, v []any, at node, path fieldpath.Path) bool {
	key, find := t.KeyField(), w.log.finder(at)
	there := map[string]bool{}
	for i, value := range v {
		name, _ := itemName(t, value)
		text := itemKey(name, i, there)
		child, isKey, outer := find(text), key, w.owner
		if text != name {
			isKey = nil
			if first := find(name); first != noNode && w.log.nodes[first].createdBy != baseLayer {
				// the patch that made an item brought its duplicates as well
				w.owner = w.log.nodes[first].createdBy
			}
		}
		if w.isUnreached(child) {
			continue
		}
		item := path.Append(itemStep(t, text))
		if !w.presence(true, child, item) || !w.parts(t.Elem, isKey, value, child, item) {
			return false
		}
		w.owner = outer
	}
	for _, text := range w.log.childNames(at) {
		child := find(text)
		if there[text] || w.log.nodes[child].first < 0 || strings.HasPrefix(text, duplicateMark) {
			continue // the position has no meaning any more
		}
		item := path.Append(itemStep(t, text))
		if !w.presence(false, child, item) || !w.parts(t.Elem, key, nil, child, item) {
			return false
		}
	}
	return true
}

func (w *walk) set(t *schema.Type, v []any, at node, path fieldpath.Path) bool {
	there, find := map[string]bool{}, w.log.finder(at)
	for _, element := range elementTexts(t, v) {
		if there[element] {
			continue // a path cannot distinguish duplicates
		}
		there[element] = true
		child := find(element)
		if !w.isUnreached(child) &&
			!w.presence(true, child, path.Append(fieldpath.Element(element))) {
			return false
		}
	}
	for _, element := range w.log.childNames(at) {
		if !there[element] &&
			!w.presence(false, find(element), path.Append(fieldpath.Element(element))) {
			return false
		}
	}
	return true
}

func (w *walk) mapping(v Object, at node, path fieldpath.Path) bool {
	keys := w.log.childNames(at)
	if !w.isUnreached(noNode) {
		keys = slices.AppendSeq(keys, maps.Keys(v))
	}
	slices.Sort(keys)
	find := w.log.finder(at)
	for _, key := range slices.Compact(keys) {
		value, has := v[key]
		if child := find(key); (has || child != noNode) &&
			!w.entry(has, value, child, path.Append(fieldpath.Key(key))) {
			return false
		}
	}
	return true
}

// enter adds the nulls at a node for the fields within it. The returned function removes them.
func (w *walk) enter(at node) func() {
	nulls := w.log.nulls(at)
	if nulls == nil {
		return func() {}
	}
	outer := w.nulls
	w.nulls = append(w.nulls[:len(w.nulls):len(w.nulls)], nulls...)
	return func() { w.nulls = outer }
}

// leaf yields the claims of a field, or the owner's if no patch touched it.
func (w *walk) leaf(v any, at node, path fieldpath.Path) bool {
	return w.entry(v != nil, v, at, path)
}

// entry yields the claims of a field that may hold a null.
func (w *walk) entry(has bool, v any, at node, path fieldpath.Path) bool {
	if claims := w.claims(at, path); claims != nil {
		return w.yield(path, claims)
	}
	if !has {
		return true
	}
	return w.yield(path, []Claim{w.log.export(w.owner, v, path)})
}

// presence yields the claims on an item or an empty struct.
func (w *walk) presence(isThere bool, at node, path fieldpath.Path) bool {
	if claims := w.claims(at, path); claims != nil {
		return w.yield(path, claims)
	}
	if !isThere {
		return true
	}
	owner := w.owner
	if maker := w.log.creatorOf(at); maker != baseLayer {
		owner = maker // a patch that says nothing within it
	}
	return w.yield(path, []Claim{w.log.export(owner, Presence{}, path)})
}

// isUnreached reports whether to omit a field without a node.
func (w *walk) isUnreached(at node) bool {
	return w.reached && at == noNode && w.owner == baseLayer
}

// null records a claim that emptied a field.
type null struct {
	claim int32
	at    node
}

// nulls returns the claims that emptied a field.
func (l *log) nulls(at node) []null {
	var nulls []null
	if at != noNode {
		for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
			if l.claims[i].kind() == nullValue {
				nulls = append(nulls, null{i, at})
			}
		}
	}
	return nulls
}

// emptiable yields the claims on a struct: its presence without fields, and the nulls that emptied
// it. A later write to one of its fields makes it again. The layer of the claim remover left it
// without fields, unless remover is negative.
func (w *walk) emptiable(named bool, remover int32, at node, path fieldpath.Path) bool {
	nulls := w.log.nulls(at)
	if len(nulls) == 0 {
		if remover >= 0 {
			return w.yield(
				path, w.log.leftEmpty(w.claims(at, path), remover, emptyOf(w.log.typ(at)), path))
		}
		return w.presence(named, at, path)
	}
	events := slices.Clone(w.nulls)
	for i := w.log.nodes[at].first; i >= 0; i = w.log.claims[i].next {
		events = append(events, null{i, at})
	}
	slices.SortFunc(events, func(a, b null) int { return cmp.Compare(a.claim, b.claim) })
	var claims []Claim
	for k, event := range events {
		i := event.claim
		if event.at != at {
			claims = w.emptied(claims, event)
		} else {
			claims = append(claims, w.log.exportAt(i, path))
		}
		if w.log.claims[i].kind() != nullValue || claims == nil {
			continue
		}
		next := int32(math.MaxInt32)
		if k+1 < len(events) {
			next = events[k+1].claim
		}
		if made := w.log.firstWithin(at, i, next); made < next {
			c := w.log.exportAt(made, path)
			c.Value = Presence{}
			claims = append(claims, c)
		}
	}
	claims = w.log.decided(at, w.log.leftEmpty(claims, remover, emptyOf(w.log.typ(at)), path), path)
	w.noteOverruling(at)
	return w.yield(path, claims)
}

// lastRemoval returns the claim that removed the last part of a field that is empty now. It returns
// -1 if the field has had no parts, or if a later claim is on the field itself.
func (l *log) lastRemoval(at node) int32 {
	if at == noNode {
		return -1
	}
	last := int32(-1)
	var visit func(node)
	visit = func(at node) {
		before, isFilled := int32(-1), false
		for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
			if l.claims[i].kind() != nullValue {
				isFilled = l.root.GoType() == nil || !l.isEmpty(at, l.valueOf(i))
				continue
			}
			if isFilled || l.firstWithin(at, before, i) < i {
				last = max(last, i)
			}
			before, isFilled = i, false
		}
		for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
			visit(child)
		}
	}
	visit(at)
	if _, ok := l.overrulings[at]; ok || last < l.nodes[at].last {
		return -1
	}
	return last
}

// emptyOf returns an empty value in JSON.
func emptyOf(t *schema.Type) any {
	if t.HasItems() {
		return []any{}
	}
	return Object{}
}

// leftNull records that a layer's apply took from a field of a live object all that it holds.
func (l *log) leftNull(at node, layer int32) {
	if l.nulled == nil {
		l.nulled = map[node]int32{}
	}
	l.nulled[at] = layer
}

// withLast returns the claims with one more, which takes the place of the last one if that is of
// the same layer.
func withLast(claims []Claim, c Claim) []Claim {
	if n := len(claims); n > 0 && claims[n-1].Owner == c.Owner {
		claims = claims[:n-1]
	}
	return append(claims, c)
}

// leftEmpty appends the claim of the layer that left a field empty, with the value that is left. It
// appends none for a negative remover.
func (l *log) leftEmpty(claims []Claim, remover int32, left any, path fieldpath.Path) []Claim {
	if remover < 0 {
		return claims
	}
	return withLast(claims, l.export(l.claims[remover].layer(), left, path))
}

// claims returns the claims on a field, or nil if the log has none. A null on a struct around the
// field also empties the field, if an earlier claim on the field exists.
func (w *walk) claims(at node, path fieldpath.Path) []Claim {
	if len(w.nulls) == 0 || at == noNode {
		claims := w.log.decided(at, w.log.claimsOf(at, path), path)
		w.noteOverruling(at)
		return claims
	}
	var claims []Claim
	next := 0
	for i := w.log.nodes[at].first; i >= 0; i = w.log.claims[i].next {
		for ; next < len(w.nulls) && w.nulls[next].claim < i; next++ {
			claims = w.emptied(claims, w.nulls[next])
		}
		claims = append(claims, w.log.exportAt(i, path))
	}
	if v, ok := w.log.overrulings[at]; ok {
		for ; next < len(w.nulls) && w.nulls[next].claim < v.after; next++ {
			claims = w.emptied(claims, w.nulls[next])
		}
		claims = w.log.decided(at, claims, path)
	}
	own := len(claims)
	for ; next < len(w.nulls); next++ {
		claims = w.emptied(claims, w.nulls[next])
	}
	w.noteOverruling(at)
	w.emptiedAround = w.emptiedAround || len(claims) > own
	return claims
}

// noteOverruling notes a policy's decision on a field. No layer owns a field that a policy removed.
func (w *walk) noteOverruling(at node) {
	v, ok := w.log.overrulings[at]
	w.decided, w.emptiedAround = ok, ok && v.claim < 0
}

// emptied appends a null on a struct around a field to the claims on the field, if there are any.
func (w *walk) emptied(claims []Claim, n null) []Claim {
	if claims == nil || claims[len(claims)-1].Value == nil {
		return claims
	}
	return append(claims, w.log.exportAt(n.claim, w.log.path(n.at)))
}

// firstWithin returns the first value written within a field after one claim and before another.
// Without such a value it returns the latter.
func (l *log) firstWithin(at node, after, before int32) int32 {
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		for i := l.nodes[child].first; i >= 0; i = l.claims[i].next {
			if i > after && l.claims[i].kind() != nullValue {
				before = min(before, i)
			}
		}
		before = l.firstWithin(child, after, before)
	}
	return before
}

// hasLeaf reports whether a struct contains a leaf, or an item or a struct whose presence counts. A
// required list that is null does not count, nor does an empty struct by value. The encoding always
// contains them.
func hasLeaf(t *schema.Type, v Object) bool {
	for _, f := range t.Fields {
		switch value := v[f.Name].(type) {
		case nil:
		case Object:
			switch {
			case f.Type.Kind == schema.Struct && !f.Template.IsPointer():
				if hasLeaf(f.Type, value) {
					return true
				}
			case f.Type.Kind != schema.Map || len(value) > 0:
				return true
			}
		case []any:
			if !f.Type.HasItems() || len(value) > 0 {
				return true
			}
		default:
			return true
		}
	}
	return false
}
