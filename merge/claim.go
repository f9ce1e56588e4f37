package merge

import (
	"cmp"
	"reflect"
	"slices"

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
		l.claims[n.last].next = i
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

// isManager reports whether the layer is a manager's patch. The runtime comes before the managers,
// and the layers that Write records come after them.
func (l *log) isManager(layer int32) bool { return layer > baseLayer && layer <= l.managers }

// agree reports whether two claims leave a field alike: with equal values, or both empty.
func (l *log) agree(at node, i, j int32) bool {
	return l.equal(i, j) || l.isEmpty(at, l.valueOf(i)) && l.isEmpty(at, l.valueOf(j))
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
