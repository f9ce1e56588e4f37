package merge

import (
	"maps"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file finds the nulls that an API server refuses in the result of an apply (apiserver v0.36.3
// pkg/endpoints/handlers/patch.go, applyPatcher). The server decodes the result of a JSON patch
// once more, and drops such nulls from its objects. It ignores the status.

// refuseNulls returns an error for the first null of a merged object that its definition refuses,
// unless the base has it. The error is that of the last patch with a claim on the field, or on the
// nearest one around it.
func (m *objects) refuseNulls(base Object, owned *History, patches []layered) error {
	if !m.hasNulls {
		return nil
	}
	m.allowDuplicates = true
	var before any = Object{}
	if base != nil {
		before, _ = m.copy(m.log.root, base) // the merge has copied it already
	}
	var found refusedNulls
	found.visit(m.log.root, before, owned.value, nil)
	for i, at := range found.paths {
		index := culpritOf(at, owned, patches, m.log)
		_, isItem := at[len(at)-1].Index()
		if patches[index].isUpdate() && !isItem {
			continue
		}
		return &PatchError{Owner: patches[index].Owner, Index: index, Path: at,
			Err: &TypeError{found.want[i], "null"}}
	}
	return nil
}

// culpritOf returns the index of the last patch with a claim on the field at a path, or on the
// nearest one around it.
func culpritOf(at fieldpath.Path, owned *History, patches []layered, l *log) int {
	last, nearest := len(patches)-1, -1
	for path, claims := range owned.All() {
		if len(path) < nearest || !at.HasPrefix(path) {
			continue
		}
		for i := range patches {
			isOf := func(c Claim) bool { return c.Owner == l.layers[l.ids[i]] }
			if slices.ContainsFunc(claims, isOf) {
				last, nearest = i, len(path)
			}
		}
	}
	return last
}

// refusedNulls are the nulls that a definition refuses, each with the type that it wants.
type refusedNulls struct {
	paths []fieldpath.Path
	want  []string
}

// visit adds the nulls of now that a definition refuses, except those that before has at the same
// path. Items of an atomic list have no key by which an API server could find them in before, so
// every null in a changed list counts.
func (r *refusedNulls) visit(t *schema.Type, before, now any, at fieldpath.Path) {
	if now == nil {
		if t.NonNull && before != nil {
			r.paths, r.want = append(r.paths, at), append(r.want, withArticle(wantOf(t)))
		}
		return
	}
	of, err := as(t, now)
	if err != nil {
		return // a value that the base has
	}
	if of.Kind == schema.Atomic && of.Object != nil {
		of = of.Object
	}
	switch now := now.(type) {
	case Object:
		fields, _ := before.(Object)
		for _, name := range slices.Sorted(maps.Keys(now)) {
			_, inner, err := fieldOf(of, name)
			if err != nil || len(at) == 0 && name == "status" {
				continue
			}
			r.visit(inner, valueIn(fields, name), now[name], at.Append(of.Step(name)))
		}
	case []any:
		r.items(of, before, now, at)
	}
}

// items adds the nulls of a list.
func (r *refusedNulls) items(t *schema.Type, before any, now []any, at fieldpath.Path) {
	if sameObject(before, now) {
		return
	}
	list, _ := before.([]any)
	items := make(Object, len(list))
	for _, item := range list {
		if key, err := itemKeyOf(t, item); t.HasItems() && err == nil {
			items[key] = item
		}
	}
	for i, item := range now {
		step, key := fieldpath.Index(i), ""
		if t.HasItems() {
			key, _ = itemKeyOf(t, item) // as the merge has found it
			step = itemStepOf(t, key)
		}
		r.visit(t.Elem, valueIn(items, key), item, at.Append(step))
	}
}
