package check

import (
	"slices"
	"sync"

	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// structShape holds the fields of a struct that the walk visits.
type structShape struct {
	*schema.Type
	nested  []part                  // list-maps, structs with a union, and those that reach one
	inside  []part                  // nested, and what reaches a map
	members [][]*schema.StructField // those of each union
	names   []map[string]bool       // of these members
}

// part is a field of a struct, with the shape of the structs in it, nil for none.
type part struct {
	*schema.StructField
	shape *structShape
}

// specShape returns the shape of the spec of a JobSet's template.
var specShape = sync.OnceValue(func() *structShape {
	of, types := map[*schema.Type]*structShape{}, []*schema.Type{}
	var add func(*schema.Type)
	add = func(t *schema.Type) {
		if t == nil || slices.Contains(types, t) {
			return
		}
		types = append(types, t)
		add(t.Elem)
		for _, f := range t.Fields {
			add(f.Type)
		}
	}
	spec := runtimepatch.JobSetTemplate().Field("spec").Type
	add(spec)
	// reaching returns the wanted types, and the types that lead to one by a field or an item.
	reaching := func(isWanted func(*schema.Type) bool,
		leads func(*schema.Type) bool) map[*schema.Type]bool {
		reach := map[*schema.Type]bool{}
		for changed := true; changed; {
			changed = false
			for _, t := range types {
				if !reach[t] &&
					(isWanted(t) ||
						leads(t) && (reach[t.Elem] ||
							slices.ContainsFunc(t.Fields, func(f *schema.StructField) bool {
								return reach[f.Type]
							}))) {
					reach[t], changed = true, true
				}
			}
		}
		return reach
	}
	isStruct := func(t *schema.Type) bool { return t.Kind == schema.Struct }
	isNested := func(t *schema.Type) bool { return t.KeyField() != nil || len(t.Unions) > 0 }
	nested := reaching(isNested, isStruct)
	maps := reaching(func(t *schema.Type) bool {
		return t.Kind == schema.Map
	}, func(*schema.Type) bool { return true })
	inside := reaching(func(t *schema.Type) bool {
		return isNested(t) || t.Kind == schema.Map || t.Kind == schema.Atomic && maps[t]
	}, isStruct)
	for _, t := range types {
		if isStruct(t) {
			of[t] = &structShape{Type: t, members: make([][]*schema.StructField, len(t.Unions))}
		}
	}
	for t, s := range of {
		for range t.Unions {
			s.names = append(s.names, map[string]bool{})
		}
		for _, f := range t.Fields {
			p := part{f, of[f.Type]}
			if f.Type.KeyField() != nil {
				p.shape = of[f.Type.Elem]
			}
			if nested[f.Type] {
				s.nested = append(s.nested, p)
			}
			if inside[f.Type] {
				s.inside = append(s.inside, p)
			}
			for i, u := range t.Unions {
				if u.Has(f.Name) {
					s.members[i], s.names[i][f.Name] = append(s.members[i], f), true
				}
			}
		}
	}
	return of[spec]
})
