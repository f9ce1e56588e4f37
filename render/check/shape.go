package check

import (
	"slices"
	"sync"

	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// structShape holds the fields of a struct that the walk visits.
type structShape struct {
	nested  []*schema.StructField   // list-maps, structs with a union, and those that reach one
	inside  []*schema.StructField   // nested, and what reaches a map
	members [][]*schema.StructField // those of each union
	names   []map[string]bool       // of these members
}

// shapes returns the shape of each struct in the spec of a JobSet's template.
var shapes = sync.OnceValue(func() map[*schema.Type]*structShape {
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
	add(runtimepatch.JobSetTemplate().Field("spec").Type)
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
	for _, t := range slices.DeleteFunc(types, func(t *schema.Type) bool { return !isStruct(t) }) {
		s := &structShape{members: make([][]*schema.StructField, len(t.Unions))}
		for range t.Unions {
			s.names = append(s.names, map[string]bool{})
		}
		for _, f := range t.Fields {
			if nested[f.Type] {
				s.nested = append(s.nested, f)
			}
			if inside[f.Type] {
				s.inside = append(s.inside, f)
			}
			for i, u := range t.Unions {
				if u.Has(f.Name) {
					s.members[i], s.names[i][f.Name] = append(s.members[i], f), true
				}
			}
		}
		of[t] = s
	}
	return of
})
