package merge

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// add records a claim on a field.
func (l *log) add(at node, layer int32, kind valueKind, text string) {
	delete(l.overrulings, at)
	n := &l.nodes[at]
	i := int32(len(l.claims))
	l.claims = append(l.claims, claimOf(layer, kind, text))
	if n.first < 0 {
		n.first = i
	} else {
		last := &l.claims[n.last]
		last.next = i
		switch {
		case !l.isManager(last.layer()) || !l.isManager(layer):
		case last.layer() == layer:
			n.contested = l.isContested(at, i)
		default:
			n.contested = n.contested || !l.agree(at, n.last, i)
		}
	}
	n.last = i
}

// addJSON records a claim on a field with a JSON value.
func (l *log) addJSON(at node, layer int32, v any) {
	switch v := v.(type) {
	case string:
		l.add(at, layer, textValue, v)
	case bool:
		l.add(at, layer, map[bool]valueKind{true: trueValue, false: falseValue}[v], "")
	default:
		l.values = append(l.values, anyValue{int32(len(l.claims)), v})
		l.add(at, layer, otherValue, "")
	}
}

// addAs records a claim on a field with a value of a kind.
func (l *log) addAs(at node, layer int32, kind valueKind, value any) {
	if kind == otherValue {
		l.addJSON(at, layer, value)
	} else {
		l.add(at, layer, kind, "")
	}
}

// overrule records that an earlier claim is in force on a field, or none.
func (l *log) overrule(at node, claim, layer int32) {
	if l.overrulings == nil {
		l.overrulings = map[node]overruling{}
	}
	l.overrulings[at] = overruling{claim, layer, int32(len(l.claims))}
}

// inForce returns the claim in force on a field, -1 for none.
func (l *log) inForce(at node) int32 {
	if v, ok := l.overrulings[at]; ok {
		return v.claim
	}
	return l.nodes[at].last
}

// decide records a decision about a field. Losers are distinct layers other than the winner.
func (l *log) decide(option string, path fieldpath.Path, winner int32, losers []int32) {
	slices.Sort(losers)
	d := Note{Kind: Decided, Option: option, Path: path, Owner: l.layers[winner]}
	for _, layer := range slices.Compact(losers) {
		if layer != winner {
			d.Losers = append(d.Losers, l.layers[layer])
		}
	}
	if d.Losers != nil {
		l.decisions = append(l.decisions, d)
	}
}

// claimedAs returns how a set of fields names a field with a value: by value, as null, or by
// presence. It returns unlistedPresence if no set names the field.
func claimedAs(t *schema.Type, v any, named bool) valueKind {
	if v == nil {
		return ineffectiveNull
	}
	of, err := as(t, v)
	if err != nil {
		return unlistedPresence
	}
	if of.Kind == schema.Scalar || of.Kind == schema.Atomic {
		return otherValue
	}
	if _, list := v.([]any); named || !list && isEmpty(v) {
		return presenceValue
	}
	return unlistedPresence
}

// isContested reports whether managers differ on a field whose newest claim replaces one of the
// same layer.
func (l *log) isContested(at node, newest int32) bool {
	n := &l.nodes[at]
	r, known := l.repeats[at]
	if !known || r.last != n.last {
		r = repeat{before: -1}
		for i := n.first; i != newest; i = l.claims[i].next {
			c := &l.claims[i]
			if !l.isManager(c.layer()) || l.claims[c.next].layer() == c.layer() {
				continue
			}
			r.contested = r.contested || r.before >= 0 && !l.agree(at, r.before, i)
			r.before = i
		}
	}
	r.last = newest
	if l.repeats == nil {
		l.repeats = map[node]repeat{}
	}
	l.repeats[at] = r
	return r.contested || r.before >= 0 && !l.agree(at, r.before, newest)
}

// isManager reports whether the layer is a manager's patch. The runtime comes before the managers,
// and the layers that Write records come after them.
func (l *log) isManager(layer int32) bool { return layer > baseLayer && layer <= l.managers }

// agree reports whether two claims leave a field alike: with equal values, or both empty.
func (l *log) agree(at node, i, j int32) bool {
	return l.equal(i, j) || l.isEmpty(at, l.valueOf(i)) && l.isEmpty(at, l.valueOf(j)) ||
		l.isSameClaim(at, i, j)
}

// isSameClaim reports whether the patches of two layers are equal, or equal at a field with no
// directive around it. Their order then changes nothing, even if the claims differ. Upstream drops
// the nulls of a value that the base lacks. It keeps the nulls of the value that replaces it. Two
// different scalars are never equal in the patches.
func (l *log) isSameClaim(at node, i, j int32) bool {
	c, d := &l.claims[i], &l.claims[j]
	isScalar := func(k valueKind) bool { return textValue <= k && k <= falseValue }
	if l.patches == nil || isScalar(c.kind()) && isScalar(d.kind()) {
		return false
	}
	return l.partsOf(partsKey{at, c.layer(), d.layer()}).areEqual
}

func (l *log) partsOf(key partsKey) *parts {
	if known := l.parts[key]; known != nil {
		return known
	}
	p := &parts{}
	if key.at == rootNode {
		p.of = [2]any{l.patchOf(key.a), l.patchOf(key.b)}
	} else if above := l.partsOf(partsKey{l.nodes[key.at].parent, key.a, key.b}); above.areEqual {
		p = above
	} else {
		step := l.step(key.at)
		p.of = [2]any{above.plainStep(0, step), above.plainStep(1, step)}
	}
	p.areEqual = p.of[0] != nil && reflect.DeepEqual(p.of[0], p.of[1])
	if l.parts == nil {
		l.parts = map[partsKey]*parts{}
	}
	l.parts[key] = p
	return p
}

// patchOf returns a layer's only patch, or nil.
func (l *log) patchOf(layer int32) Object {
	if i := l.only[layer]; i > 0 {
		return l.patches[i-1]
	}
	return nil
}

// plainStep returns the part of a patch that a step leads to. It is nil for a step into an object
// or a list with directives. It is also nil for an item whose key another item shares.
func (p *parts) plainStep(i int, step fieldpath.Step) any {
	if list, ok := p.of[i].([]any); ok {
		keys := step.Keys()
		if len(keys) != 1 {
			return nil
		}
		if p.items[i] == nil {
			p.items[i] = unsharedItems(list, keys[0].Name)
		}
		return p.items[i][scalarText(keys[0].Value)]
	}
	object, _ := p.of[i].(Object)
	for name := range object {
		if strings.HasPrefix(name, "$") {
			return nil
		}
	}
	name, _ := step.Name()
	return object[name]
}

// unsharedItems returns the items of a list by the text of their key, without items that share a
// key. A list with directives has none.
func unsharedItems(list []any, key string) map[string]any {
	items := make(map[string]any, len(list))
	for _, item := range list {
		object, _ := item.(Object)
		if _, special := object[patchDirective]; special {
			return map[string]any{}
		}
		text := scalarText(object[key])
		if _, isShared := items[text]; isShared {
			item = nil
		}
		items[text] = item
	}
	return items
}

// isEmpty reports whether a claimed value equals the value of an unset field.
func (l *log) isEmpty(at node, value any) bool {
	f := l.nodes[at].field
	return value == nil || f != nil && isUnset(f, value)
}

// isUnset reports whether a value equals that of an unset field. That is null, or the empty value
// of a field that is not a pointer. The encoding of such a field does not distinguish the two.
func isUnset(f *schema.StructField, value any) bool {
	if f.Template.IsPointer() || encodesEmpty(f) {
		return false
	}
	list, isList := value.([]any)
	if value == "" && f.Template.Kind() == reflect.Slice && !f.Template.OmitEmpty {
		return false // bytes, which may be null
	}
	return value == nil || f.IsEmpty(value) || isList && len(list) == 0 ||
		reflect.ValueOf(value).IsZero()
}

// equal compares two claimed values as the cluster does: 1Gi equals 1024Mi.
func (l *log) equal(i, j int32) bool {
	c, d := &l.claims[i], &l.claims[j]
	if c.kind() != d.kind() {
		return false
	}
	switch c.kind() {
	case textValue:
		return c.text == d.text
	case otherValue:
		return SameValue(l.other(i), l.other(j))
	default:
		return true
	}
}

// other returns the value of a claim that is not a string.
func (l *log) other(claim int32) any {
	i, _ := slices.BinarySearchFunc(l.values, claim, func(v anyValue, claim int32) int {
		return cmp.Compare(v.claim, claim)
	})
	return l.values[i].value
}

// valueOf returns the value that a claim shows to its readers.
func (l *log) valueOf(i int32) any {
	switch c := &l.claims[i]; c.kind() {
	case textValue:
		return c.text
	case trueValue, falseValue:
		return c.kind() == trueValue
	case nullValue, ineffectiveNull, absentValue:
		return nil
	case presenceValue, unlistedPresence:
		return Presence{}
	default:
		return l.other(i)
	}
}
