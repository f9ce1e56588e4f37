package runtimepatch

import (
	"cmp"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
	"github.com/trainweld/trainweld/schema/walk"
)

// missingFields returns the part of a patch that changes a template, or nil if nothing does.
func missingFields(have *trainer.JobSetTemplateSpec, want *trainer.JobSetTemplatePatch) *trainer.JobSetTemplatePatch {
	missing := new(trainer.JobSetTemplatePatch)
	from := reflect.ValueOf(plan().CopyPatch(want)).Elem()
	if !missingInStruct(JobSetTemplate(), nil, reflect.ValueOf(missing).Elem(), from, reflect.ValueOf(have).Elem()) {
		return nil
	}
	return missing
}

// missingInStruct sets dst to the fields of want that have lacks, and reports whether there are any. It also sets the fields that
// the encoding never omits, since their empty values would be claims. An invalid have is an absent struct. The key of a list item
// is not missing.
func missingInStruct(t *schema.Type, key *schema.StructField, dst, want, have reflect.Value) bool {
	isMissing := false
	for _, f := range t.Patchable() {
		from, isSet := f.Patch.Of(want)
		if !isSet {
			continue
		}
		to, isForced := f.Patch.In(dst)
		if f == key {
			to.Set(from)
			continue
		}
		old, _ := f.Template.Of(have)
		switch {
		case missing(f.Type, nil, to, from, old):
			isMissing = true
		case !isForced:
			to.SetZero()
		case f.Type.Kind != schema.Struct:
			to.Set(from)
		}
	}
	return isMissing
}

// missing sets dst to the part of want that have lacks, and reports whether there is any. Otherwise dst may hold a struct without
// a missing part. The key is that of an item.
func missing(t *schema.Type, key *schema.StructField, dst, want, have reflect.Value) bool {
	have = reflect.Indirect(have)
	if want.Kind() == reflect.Pointer && !want.IsNil() && t.Kind == schema.Struct {
		dst.Set(reflect.New(want.Type().Elem()))
		return missingInStruct(t, nil, dst.Elem(), want.Elem(), have) || !have.IsValid()
	}
	switch {
	case t.Kind == schema.Struct && want.Kind() == reflect.Struct:
		return missingInStruct(t, key, dst, want, have)
	case t.Kind == schema.Map && want.Len() > 0:
		return missingEntries(dst, want, have)
	case t.Merges() && want.Kind() == reflect.Slice && want.Len() > 0:
		return missingItems(t, dst, want, have)
	case isSame(want, have):
		return false
	}
	dst.Set(want)
	return true
}

// isSame reports whether two values have the same encoding. An absent value is null.
func isSame(want, have reflect.Value) bool {
	var values [2]any
	for i, v := range []reflect.Value{reflect.Indirect(want), have} {
		if v.IsValid() {
			values[i] = v.Interface()
		}
	}
	return merge.SameValue(values[0], values[1])
}

func missingEntries(dst, want, have reflect.Value) bool {
	for entries := want.MapRange(); entries.Next(); {
		if have.IsValid() {
			if old := have.MapIndex(entries.Key()); old.IsValid() && isSame(entries.Value(), old) {
				continue
			}
		}
		if dst.IsNil() {
			dst.Set(reflect.MakeMap(dst.Type()))
		}
		dst.SetMapIndex(entries.Key(), entries.Value())
	}
	return dst.Len() > 0
}

// missingItems takes the items or elements that the list lacks, and the missing parts of the others in the list's order. A merge
// gives the items that it names the order of the patch.
func missingItems(t *schema.Type, dst, want, have reflect.Value) bool {
	type item struct {
		place int
		value reflect.Value
	}
	var taken []item
	items, there := walk.Value{Value: want, InPatch: true}.Items(t), walk.Value{Value: have}.Items(t)
	for i := range want.Len() {
		part, place := reflect.New(want.Type().Elem()).Elem(), there.Find(items.Key(i))
		if missing(t.Elem, t.KeyField(), part, want.Index(i), there.At(place).Value) || place < 0 {
			taken = append(taken, item{place, part})
		}
	}
	slices.SortStableFunc(taken, func(a, b item) int { return cmp.Compare(a.place, b.place) })
	for _, one := range taken {
		dst.Set(reflect.Append(dst, one.value))
	}
	return len(taken) > 0
}
