package admission

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/equality"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/schema"
)

// createJobSet is the JobSet as stored when it is created: with the defaults of its definition and of its
// webhook. It is nil where it cannot be read.
func createJobSet(applied map[string]any, namespace string, found *findings) *object {
	o := jobSets().decode(applied, namespace, found)
	js := &jobset.JobSet{}
	if o.broken || o.as(js) != nil || o.reencode(mutated(js)) != nil {
		return nil
	}
	return o
}

// applyAgain is a server-side apply by one who has applied an object before: what he applies now is laid
// over what is stored, and what he had applied before and no longer applies is taken away. What others
// filled in stays. Lists merge by the keys that the schema gives them, and are replaced where it gives
// none.
func applyAgain(stored, before, now any, of *structuralschema.Structural) any {
	switch now := now.(type) {
	case map[string]any:
		was, ok := stored.(map[string]any)
		if !ok || of != nil && of.XMapType != nil && *of.XMapType == "atomic" {
			return now
		}
		owned, _ := before.(map[string]any)
		merged := map[string]any{}
		for key, value := range was {
			if _, mine := owned[key]; !mine {
				merged[key] = value
			}
		}
		for key, value := range now {
			merged[key] = applyAgain(was[key], owned[key], value, fieldOf(of, key))
		}
		return merged
	case []any:
		was, ok := stored.([]any)
		if !ok || of == nil || of.XListType == nil {
			return now
		}
		owned, _ := before.([]any)
		switch *of.XListType {
		case "map":
			return applyItems(was, owned, now, of)
		case "set":
			return append(slices.Clone(now), slices.DeleteFunc(slices.Clone(was), func(element any) bool {
				return slices.Contains(owned, element) || slices.Contains(now, element)
			})...)
		default:
			return now
		}
	default:
		return now
	}
}

func applyItems(was, owned, now []any, of *structuralschema.Structural) []any {
	find := func(list []any, key string) any {
		for _, item := range list {
			if keyOf(item, of) == key {
				return item
			}
		}
		return nil
	}
	var merged []any
	for _, item := range now {
		key := keyOf(item, of)
		merged = append(merged, applyAgain(find(was, key), find(owned, key), item, of.Items))
	}
	for _, item := range was {
		if key := keyOf(item, of); find(owned, key) == nil && find(now, key) == nil {
			merged = append(merged, item)
		}
	}
	return merged
}

// keyOf is what tells an item of a list-map from others. A key that has a default may be missing.
func keyOf(item any, of *structuralschema.Structural) string {
	fields, _ := item.(map[string]any)
	parts := make([]string, len(of.XListMapKeys))
	for i, key := range of.XListMapKeys {
		value, set := fields[key]
		if property := fieldOf(of.Items, key); !set && property != nil {
			value = property.Default.Object
		}
		parts[i] = fmt.Sprint(value)
	}
	return strings.Join(parts, "\x00")
}

func fieldOf(of *structuralschema.Structural, name string) *structuralschema.Structural {
	if of == nil {
		return nil
	}
	if property, ok := of.Properties[name]; ok {
		return &property
	}
	return valuesOf(of)
}

// differences finds the fields in which two values differ, as deep as items of lists can be told apart.
func differences(a, b reflect.Value, path schema.Path, add func(schema.Path)) {
	if equality.Semantic.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		differentFields(a, b, path, add)
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			add(path)
			return
		}
		differences(a.Elem(), b.Elem(), path, add)
	case reflect.Map:
		differentKeys(a, b, path, add)
	case reflect.Slice:
		differentItems(a, b, path, add)
	default:
		add(path)
	}
}

func differentFields(a, b reflect.Value, path schema.Path, add func(schema.Path)) {
	if a.NumField() == 0 || !a.Type().Field(0).IsExported() {
		add(path) // a quantity or a time
		return
	}
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := path
		if name != "" && options != "inline" {
			at = path.Append(schema.Field(name))
		}
		differences(a.Field(i), b.Field(i), at, add)
	}
}

func differentKeys(a, b reflect.Value, path schema.Path, add func(schema.Path)) {
	var keys []string
	for _, m := range []reflect.Value{a, b} {
		for _, key := range m.MapKeys() {
			keys = append(keys, key.String())
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		k := reflect.ValueOf(key).Convert(a.Type().Key())
		x, y := a.MapIndex(k), b.MapIndex(k)
		if !x.IsValid() || !y.IsValid() || !equality.Semantic.DeepEqual(x.Interface(), y.Interface()) {
			add(path.Append(schema.Key(key)))
		}
	}
}

// differentItems compares items of the same name; another order, or another list, is one difference.
func differentItems(a, b reflect.Value, path schema.Path, add func(schema.Path)) {
	item := a.Type().Elem()
	if _, named := fieldByName(item); !named {
		add(path)
		return
	}
	names := func(list reflect.Value) []string {
		all := make([]string, list.Len())
		for i := range all {
			all[i] = list.Index(i).FieldByName("Name").String()
		}
		return all
	}
	before, after := names(a), names(b)
	found := false
	for i, name := range after {
		at := path.Append(schema.Item("name", name))
		j := slices.Index(before, name)
		if j < 0 {
			add(at)
			found = true
			continue
		}
		differences(a.Index(j), b.Index(i), at, func(p schema.Path) { add(p); found = true })
	}
	for _, name := range before {
		if !slices.Contains(after, name) {
			add(path.Append(schema.Item("name", name)))
			found = true
		}
	}
	if !found {
		add(path)
	}
}

func fieldByName(t reflect.Type) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	return t.FieldByName("Name")
}
