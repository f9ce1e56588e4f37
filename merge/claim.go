package merge

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// add records a claim on a field. Only a plain one shows its value.
func (l *log) add(at *node, layer int32, kind valueKind, value any) {
	if at.claims == nil {
		at.claims = at.first[:0]
	}
	at.claims = append(at.claims, claim{number: l.claims, layer: layer, kind: kind, value: value})
	at.ruling = nil
	l.claims++
}

// addPlain records a claim on a field with a JSON value.
func (l *log) addPlain(at *node, layer int32, value any) { l.add(at, layer, plainValue, value) }

// rule records that an earlier claim is in force on a field, or none.
func (l *log) rule(at *node, of *claim, layer int32) { at.ruling = &ruling{of, layer, l.claims} }

// last returns the last claim on a field, nil for none.
func (n *node) last() *claim {
	if n == nil || len(n.claims) == 0 {
		return nil
	}
	return &n.claims[len(n.claims)-1]
}

// inForce returns the claim in force on a field, nil for none.
func (n *node) inForce() *claim {
	if n.ruling != nil {
		return n.ruling.claim
	}
	return n.last()
}

// decide records a decision about a field. Losers are distinct owners other than the winner.
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
		return plainValue
	}
	if _, list := v.([]any); named || !list && isEmpty(v) {
		return presenceValue
	}
	return unlistedPresence
}

// isManager reports whether the owner is a manager's patch. The runtime comes before the managers,
// and the layers that Record names come after them.
func (l *log) isManager(layer int32) bool { return layer > baseLayer && layer <= l.managers }

// agree reports whether two claims leave a field alike: with equal values, or both empty.
func (n *node) agree(c, d *claim) bool {
	return c.equals(d) || n.isEmpty(c.shown()) && n.isEmpty(d.shown())
}

// isEmpty reports whether a claimed value equals the value of an unset field.
func (n *node) isEmpty(value any) bool {
	return value == nil || n.field != nil && n.field.IsUnset(value)
}

// equals compares two claims. Values are in the normal form of their types, so 1Gi equals 1024Mi.
func (c *claim) equals(d *claim) bool {
	return c.kind == d.kind && (c.kind != plainValue || sameObject(c.value, d.value))
}

// shown returns the value that a claim shows to its readers.
func (c *claim) shown() any {
	switch c.kind {
	case plainValue:
		return c.value
	case presenceValue, unlistedPresence:
		return Presence{}
	default:
		return nil
	}
}
