package merge

import (
	"cmp"
	"maps"
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
	owner int32  // whose the fields without claims are
	// emptiedAround reports that the last claim on the current field is a claim on a struct around
	// it.
	emptiedAround bool
	decided       bool // whether a policy decided the current field
	// yield the lists and maps that patches left without parts, which no set of fields names
	empties bool
}

// value visits one field. v is nil if only the log has the field. It returns false to stop.
func (w *walk) value(t *schema.Type, v any, at *node, path fieldpath.Path) bool {
	switch t.Kind {
	case schema.Struct:
		if len(path) > 0 && !w.emptiable(false, nil, at, path) {
			return false
		}
	case schema.Map, schema.ListMap, schema.Set:
		var remover *claim
		isEmptied := w.empties && v != nil && isEmpty(v)
		if isEmptied {
			remover = w.log.lastRemoval(at)
		}
		isTold := at != nil && (isEmptied || len(at.nulls()) > 0)
		if isTold && !w.emptiable(false, remover, at, path) {
			return false
		}
	}
	return w.parts(t, nil, v, at, path)
}

// parts visits what is within a field, without the merge key of an item.
func (w *walk) parts(t *schema.Type, key *schema.StructField, v any, at *node,
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

func (w *walk) structure(t *schema.Type, key *schema.StructField, v Object, at *node,
	path fieldpath.Path) bool {
	for _, f := range t.Sorted() {
		if f == key {
			continue
		}
		child := at.find(f, "")
		if v[f.Name] == nil && child == nil {
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
func (w *walk) field(f *schema.StructField, v any, at *node, path fieldpath.Path) bool {
	object, isObject := v.(Object)
	if f.Type.Kind != schema.Struct || !isObject || !f.IsPointer() ||
		hasLeaf(f.Type, object) {
		return w.value(f.Type, v, at, path)
	}
	return w.emptiable(true, w.log.lastRemoval(at), at, path) && w.parts(f.Type, nil, v, at, path)
}

func (w *walk) list(t *schema.Type, v []any, at *node, path fieldpath.Path) bool {
	key, there := t.KeyField(), map[string]bool{}
	for i, value := range v {
		name, _ := itemName(t, value)
		text := itemKey(name, i, there)
		child, isKey, outer := at.find(nil, text), key, w.owner
		if text != name {
			isKey = nil
			if first := at.find(nil, name); first != nil && first.createdBy != baseLayer {
				w.owner = first.createdBy // of the patch that made the item, with its duplicates
			}
		}
		item := path.Append(itemStep(t, text))
		if !w.presence(true, child, item) || !w.parts(t.Elem, isKey, value, child, item) {
			return false
		}
		w.owner = outer
	}
	for _, text := range at.childNames() {
		child := at.find(nil, text)
		if there[text] || len(child.claims) == 0 || strings.HasPrefix(text, duplicateMark) {
			continue // the position has no meaning any more
		}
		item := path.Append(itemStep(t, text))
		if !w.presence(false, child, item) || !w.parts(t.Elem, key, nil, child, item) {
			return false
		}
	}
	return true
}

func (w *walk) set(t *schema.Type, v []any, at *node, path fieldpath.Path) bool {
	there := map[string]bool{}
	for _, element := range keysOf(t, v) {
		if there[element] {
			continue // a path cannot distinguish duplicates
		}
		there[element] = true
		child := at.find(nil, element)
		if !w.presence(true, child, path.Append(fieldpath.Element(element))) {
			return false
		}
	}
	for _, element := range at.childNames() {
		if !there[element] &&
			!w.presence(false, at.find(nil, element), path.Append(fieldpath.Element(element))) {
			return false
		}
	}
	return true
}

func (w *walk) mapping(v Object, at *node, path fieldpath.Path) bool {
	keys := slices.AppendSeq(at.childNames(), maps.Keys(v))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		value, has := v[key]
		if child := at.find(nil, key); (has || child != nil) &&
			!w.entry(has, value, child, path.Append(fieldpath.Key(key))) {
			return false
		}
	}
	return true
}

// enter adds the nulls at a node for the fields within it. The returned function removes them.
func (w *walk) enter(at *node) func() {
	nulls := at.nulls()
	if nulls == nil {
		return func() {}
	}
	outer := w.nulls
	w.nulls = append(w.nulls[:len(w.nulls):len(w.nulls)], nulls...)
	return func() { w.nulls = outer }
}

// leaf yields the claims of a field, or the owner's if no patch touched it.
func (w *walk) leaf(v any, at *node, path fieldpath.Path) bool {
	return w.entry(v != nil, v, at, path)
}

// entry yields the claims of a field that may hold a null.
func (w *walk) entry(has bool, v any, at *node, path fieldpath.Path) bool {
	if claims := w.claims(at, path); claims != nil {
		return w.yield(path, claims)
	}
	if !has {
		return true
	}
	return w.yield(path, []Claim{w.log.export(w.owner, v, path)})
}

// presence yields the claims on an item or an empty struct.
func (w *walk) presence(isThere bool, at *node, path fieldpath.Path) bool {
	if claims := w.claims(at, path); claims != nil {
		return w.yield(path, claims)
	}
	if !isThere {
		return true
	}
	owner := w.owner
	if maker := at.creator(); maker != baseLayer {
		owner = maker // a patch that says nothing within it
	}
	return w.yield(path, []Claim{w.log.export(owner, Presence{}, path)})
}

// null records a claim that emptied a field.
type null struct {
	claim *claim
	at    *node
}

// nulls returns the claims that emptied a field.
func (n *node) nulls() []null {
	var nulls []null
	for i, c := range n.made() {
		if c.kind == nullValue {
			nulls = append(nulls, null{&n.claims[i], n})
		}
	}
	return nulls
}

// emptiable yields the claims on a struct: its presence without fields, and the nulls that emptied
// it. A later write to one of its fields makes it again. The owner of the claim remover left it
// without fields, unless remover is nil.
func (w *walk) emptiable(named bool, remover *claim, at *node, path fieldpath.Path) bool {
	if len(at.nulls()) == 0 {
		if remover != nil {
			return w.yield(path, w.log.leftEmpty(w.claims(at, path), remover, emptyOf(at.typ), path))
		}
		return w.presence(named, at, path)
	}
	events := slices.Clone(w.nulls)
	for i := range at.claims {
		events = append(events, null{&at.claims[i], at})
	}
	slices.SortFunc(events, func(a, b null) int { return cmp.Compare(a.claim.number, b.claim.number) })
	var claims []Claim
	for k, event := range events {
		if event.at != at {
			claims = w.emptied(claims, event)
		} else {
			claims = append(claims, w.log.exportAt(event.claim, path))
		}
		if event.claim.kind != nullValue || claims == nil {
			continue
		}
		next := w.log.claims
		if k+1 < len(events) {
			next = events[k+1].claim.number
		}
		if made := at.firstWithin(event.claim.number, next); made != nil {
			c := w.log.exportAt(made, path)
			c.Value = Presence{}
			claims = append(claims, c)
		}
	}
	claims = w.log.decided(at, w.log.leftEmpty(claims, remover, emptyOf(at.typ), path), path)
	w.noteRuling(at)
	return w.yield(path, claims)
}

// lastRemoval returns the claim that removed the last part of a field that is empty now. It returns
// nil if the field has had no parts, or if a later claim is on the field itself.
func (l *log) lastRemoval(at *node) *claim {
	var last *claim
	var visit func(*node)
	visit = func(at *node) {
		before, isFilled := int32(-1), false
		for i := range at.claims {
			c := &at.claims[i]
			if c.kind != nullValue {
				isFilled = l.root.GoType() == nil || !at.isEmpty(c.shown())
				continue
			}
			if (isFilled || at.firstWithin(before, c.number) != nil) &&
				(last == nil || c.number > last.number) {
				last = c
			}
			before, isFilled = c.number, false
		}
		for _, child := range at.children {
			visit(child)
		}
	}
	if at != nil && at.ruling == nil {
		visit(at)
	}
	if own := at.last(); last != nil && own != nil && last.number < own.number {
		return nil
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

// withLast returns the claims with one more, which takes the place of the last one if that is of
// the same owner.
func withLast(claims []Claim, c Claim) []Claim {
	if n := len(claims); n > 0 && claims[n-1].Owner == c.Owner {
		claims = claims[:n-1]
	}
	return append(claims, c)
}

// leftEmpty appends the claim of the owner that left a field empty, with the value that is left. It
// appends none for a negative remover.
func (l *log) leftEmpty(claims []Claim, remover *claim, left any, path fieldpath.Path) []Claim {
	if remover == nil {
		return claims
	}
	return withLast(claims, l.export(remover.layer, left, path))
}

// claims returns the claims on a field, or nil if the log has none. A null on a struct around the
// field also empties the field, if an earlier claim on the field exists.
func (w *walk) claims(at *node, path fieldpath.Path) []Claim {
	if len(w.nulls) == 0 || at == nil {
		claims := w.log.decided(at, w.log.claimsOf(at, path), path)
		w.noteRuling(at)
		return claims
	}
	var claims []Claim
	next := 0
	emptiedBefore := func(number int32) {
		for ; next < len(w.nulls) && w.nulls[next].claim.number < number; next++ {
			claims = w.emptied(claims, w.nulls[next])
		}
	}
	for i := range at.claims {
		emptiedBefore(at.claims[i].number)
		claims = append(claims, w.log.exportAt(&at.claims[i], path))
	}
	if at.ruling != nil {
		emptiedBefore(at.ruling.after)
		claims = w.log.decided(at, claims, path)
	}
	own := len(claims)
	emptiedBefore(w.log.claims)
	w.noteRuling(at)
	w.emptiedAround = w.emptiedAround || len(claims) > own
	return claims
}

// noteRuling notes a policy's decision on a field. Nobody owns a field that a policy removed.
func (w *walk) noteRuling(at *node) {
	w.decided = at != nil && at.ruling != nil
	w.emptiedAround = w.decided && at.ruling.claim == nil
}

// emptied appends a null on a struct around a field to the claims on the field, if there are any.
func (w *walk) emptied(claims []Claim, n null) []Claim {
	if claims == nil || claims[len(claims)-1].Value == nil {
		return claims
	}
	return append(claims, w.log.exportAt(n.claim, n.at.path()))
}

// firstWithin returns the first value written within a field after one claim and before another,
// nil for none.
func (n *node) firstWithin(after, before int32) (first *claim) {
	for _, child := range n.children {
		for i := range child.claims {
			if c := &child.claims[i]; c.number > after && c.number < before && c.kind != nullValue {
				first, before = c, c.number
				break
			}
		}
		if c := child.firstWithin(after, before); c != nil {
			first, before = c, c.number
		}
	}
	return first
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
			case f.Type.Kind == schema.Struct && !f.IsPointer():
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
