package runtimepatch

import (
	"cmp"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// missingFields returns the part of a patch that changes a template, or nil if nothing does.
func missingFields(have *trainer.JobSetTemplateSpec,
	want *trainer.JobSetTemplatePatch) *trainer.JobSetTemplatePatch {
	there, err := tree.Fields(have)
	if err != nil {
		return want
	}
	patch, err := tree.Fields(want)
	if err != nil {
		return want
	}
	part, isMissing := missingInStruct(JobSetTemplate(), nil, patch, there)
	if !isMissing {
		return nil
	}
	missing := new(trainer.JobSetTemplatePatch)
	if tree.Read(part, missing) != nil {
		return want
	}
	return missing
}

// missingInStruct returns the fields of want that have lacks, and reports whether there are any. It
// also returns the fields that the encoding never omits, since their empty values would be claims.
// The key of a list item is not missing.
func missingInStruct(t *schema.Type, key *schema.StructField, want,
	have merge.Object) (part merge.Object, isMissing bool) {
	part = merge.Object{}
	for _, f := range t.Patchable() {
		from, isSet := want[f.Name]
		if !isSet {
			continue
		}
		if f == key {
			part[f.Name] = from
			continue
		}
		within, is := missing(f.Type, nil, from, have[f.Name])
		if have[f.Name] == nil && from != nil {
			held := merge.Object{} // the template's type may omit what the patch's type holds
			f.Put(held, from)
			is = is && len(held) > 0 || f.IsPatchPointer() && f.Type.Kind == schema.Struct
		}
		switch {
		case is || f.Type.Kind == schema.Struct && f.IsAlways():
			part[f.Name] = within
		case f.IsAlways():
			part[f.Name] = from
		}
		isMissing = isMissing || is
	}
	return part, isMissing
}

// missing returns the part of want that have lacks, and reports whether there is any. Otherwise it
// may return a struct without a missing part. The key is that of an item.
func missing(t *schema.Type, key *schema.StructField, want, have any) (part any, isMissing bool) {
	switch from := want.(type) {
	case merge.Object:
		there, _ := have.(merge.Object)
		switch {
		case t.Kind == schema.Struct:
			return missingInStruct(t, key, from, there)
		case t.Kind == schema.Map && len(from) > 0:
			entries := merge.Object{}
			for name, value := range from {
				if old, has := there[name]; !has || !merge.SameValue(value, old) {
					entries[name] = value
				}
			}
			return entries, len(entries) > 0
		}
	case []any:
		if there, _ := have.([]any); t.HasItems() && len(from) > 0 {
			return missingItems(t, from, there)
		}
	}
	return want, !merge.SameValue(want, have)
}

// missingItems returns the items or elements that the list lacks, and the missing parts of the
// others in the list's order. A merge gives the items that it names the order of the patch.
func missingItems(t *schema.Type, want, have []any) (part []any, isMissing bool) {
	type item struct {
		place int
		value any
	}
	var taken []item
	places := make(map[string]int, len(have))
	for i, value := range slices.Backward(have) {
		step, _ := t.Item(value)
		places[step.String()] = i
	}
	for _, value := range want {
		step, _ := t.Item(value)
		place, is := places[step.String()]
		var there any
		if is {
			there = have[place]
		} else {
			place = -1
		}
		if within, isMissing := missing(t.Elem, t.KeyField(), value, there); isMissing || !is {
			taken = append(taken, item{place, within})
		}
	}
	slices.SortStableFunc(taken, func(a, b item) int { return cmp.Compare(a.place, b.place) })
	for _, one := range taken {
		part = append(part, one.value)
	}
	return part, len(taken) > 0
}
