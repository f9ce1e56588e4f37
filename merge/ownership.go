package merge

import (
	"maps"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// History records the owners that set each field of a merged value. It reads the fields that only
// the base set from Result.Value itself. Read it before you change the value.
type History struct {
	log    *log
	value  any            // the value, or a pointer to one of a Go type
	within fieldpath.Path // the part that the history is of
}

// nested returns JSON with a value at a path, and nothing else but the keys of items.
func nested(value any, path fieldpath.Path) any {
	if len(path) == 0 {
		return value
	}
	value, _ = tree.Value(value) // it has been merged
	for _, step := range slices.Backward(path) {
		if name, ok := step.Name(); ok {
			value = Object{name: value}
			continue
		}
		item, _ := value.(Object)
		if item = maps.Clone(item); item == nil {
			item = Object{}
		}
		for _, key := range step.Keys() {
			item[key.Name] = key.Value
		}
		value = []any{item}
	}
	return value
}

// tree returns the JSON of the value.
func (o *History) tree() Object {
	switch value := o.value.(type) {
	case nil:
		return nil
	case Object:
		return value
	default:
		made, _ := tree.Value(value)
		object, _ := made.(Object)
		return object
	}
}

// orEmpty returns o, or an empty ownership if o is nil or zero.
func (o *History) orEmpty() *History {
	if o == nil || o.log == nil {
		return &History{log: newLog(&schema.Type{Kind: schema.Struct}, 0, optionsOf(nil))}
	}
	return o
}

// Type returns how the value merges.
func (o *History) Type() *schema.Type { return o.orEmpty().log.root }

// IsLive reports whether the base was a live object with its owners. A merge into it then has the
// conflicts of its applies.
func (o *History) IsLive() bool { return o.orEmpty().log.live }

// isObject reports whether the value merged by a definition.
func (o *History) isObject() bool { return o.log.root.GoType() == nil && o.value != nil }

// Owners returns the owners in the order of writing. The base comes first, then the owners of a
// live object, the managers in the order of their patches, and the layers of Record.
func (o *History) Owners() []Owner {
	o = o.orEmpty()
	layers := slices.Clone(o.log.layers)
	for i := range layers {
		layers[i] = o.log.layerName(layers[i])
	}
	return layers
}

// Rename passes each claim through rename before All yields it, for patches from other sources than
// managers' entries. The new owner must depend on the old owner alone. Distinct owners must stay
// distinct.
func (o *History) Rename(rename func(Claim) Claim) { o.orEmpty().log.rename = rename }

// layerName returns an owner as it appears in claims.
func (l *log) layerName(layer Owner) Owner {
	if l.rename == nil {
		return layer
	}
	return l.rename(Claim{Owner: layer}).Owner
}

// rankOf returns the place of an owner, by its name in claims, in the order of the patches.
func (l *log) rankOf(layer Owner) int {
	return slices.IndexFunc(l.layers, func(of Owner) bool { return l.layerName(of) == layer })
}

// claimsOf returns the log's claims on a field, or nil.
func (l *log) claimsOf(at *node, path fieldpath.Path) []Claim {
	var claims []Claim
	for _, c := range at.made() {
		if c.kind != absentValue {
			claims = append(claims, l.exportAt(&c, path))
		}
	}
	return claims
}

// exportAt returns a claim for callers.
func (l *log) exportAt(c *claim, path fieldpath.Path) Claim {
	out := l.export(c.layer, c.shown(), path)
	if c.source != nil {
		out.At = c.source
	}
	return out
}

// export returns a claim for callers, with its source in the document of the base or a patch.
func (l *log) export(layer int32, value any, path fieldpath.Path) Claim {
	out := Claim{Owner: l.layers[layer], Value: value}
	if place := l.places[layer]; place != nil {
		out.At = place.Append(path...)
	}
	if l.rename != nil {
		return l.rename(out)
	}
	return out
}

// decided appends a ruling to the claims on a field, as the claim in force.
func (l *log) decided(at *node, claims []Claim, path fieldpath.Path) []Claim {
	switch {
	case at == nil || at.ruling == nil || claims == nil:
	case at.ruling.claim != nil:
		claims = append(claims, l.exportAt(at.ruling.claim, path))
	default:
		claims = append(claims, Claim{Owner: l.layerName(l.layers[at.ruling.layer])})
	}
	return claims
}
