package fuzz_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
)

// This file reads claims off JSON, with nothing but the struct tags of the API's types. This
// account of claims shares no code with the engine.

// present is the value of a claim on mere presence. The encoding always names a struct that stands
// in its parent by value. So its patch may claim its presence or not: perhaps.
const (
	present = "present"
	perhaps = "perhaps present"
)

// leaves are the claims of one value: what each leaf is set to, by path.
type leaves map[string]leaf

type leaf struct {
	path  fieldpath.Path
	value string // canonical JSON, present or perhaps
}

func (l leaves) put(path fieldpath.Path, value string) {
	l[path.String()] = leaf{path, value}
}

// sorted are the paths in an order that does not change from run to run.
func (l leaves) sorted() []string { return slices.Sorted(maps.Keys(l)) }

// templateLeaves are the leaves of a whole template.
func templateLeaves(t *trainer.JobSetTemplateSpec) leaves {
	out := leaves{}
	walk(decode(typed(t)), reflect.TypeFor[trainer.JobSetTemplateSpec](), nil, out)
	return out
}

// patchLeaves are the claims of one patch. Of the template's metadata only labels and annotations
// count.
func patchLeaves(p *trainer.RuntimePatch) leaves {
	out := leaves{}
	if spec := specOf(p); spec != nil {
		walk(decode(encode(spec)), reflect.TypeFor[jobset.JobSetSpec](),
			fieldpath.Fields("spec"), out)
	}
	if metadata := metadataOf(p); metadata != nil {
		for field, m := range map[string]map[string]string{
			"labels": metadata.Labels, "annotations": metadata.Annotations} {
			for key, value := range m {
				out.put(fieldpath.Fields("metadata", field).Append(fieldpath.Key(key)),
					canonical(value))
			}
		}
	}
	return out
}

// walk records the leaves of a JSON value of the given Go type.
func walk(v any, t reflect.Type, path fieldpath.Path, out leaves) {
	byPointer := t.Kind() == reflect.Pointer
	if byPointer {
		t = t.Elem()
	}
	object, isObject := v.(map[string]any)
	switch {
	case v == nil || !isObject || encodesItself(t):
		out.put(path, canonical(v))
	case len(object) == 0:
		out.put(path, perhaps)
		if byPointer {
			out.put(path, present)
		}
	case t.Kind() == reflect.Map:
		for key, value := range object {
			walk(value, t.Elem(), path.Append(fieldpath.Key(key)), out)
		}
	default:
		for name, value := range object {
			f := mustField(t, name)
			list, isList := value.([]any)
			at := path.Append(fieldpath.Field(name))
			if !isList || f.merge == "" {
				walk(value, f.typ, at, out)
				continue
			}
			for _, item := range list {
				if f.key == "" {
					out.put(at.Append(fieldpath.Element(item.(string))), present)
					continue
				}
				fields := maps.Clone(item.(map[string]any))
				name := fields[f.key]
				delete(fields, f.key)
				step := at.Append(fieldpath.Item(f.key, fmt.Sprint(name)))
				if len(fields) > 0 {
					walk(fields, f.typ.Elem(), step, out)
				}
				out.put(step, present)
			}
		}
	}
}

// encodesItself says whether the type is a struct that writes its own JSON, such as a quantity.
func encodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}

type jsonField struct {
	typ        reflect.Type
	merge, key string
}

// mustField finds a field by its name in JSON, and how strategic merge treats it.
func mustField(t reflect.Type, name string) jsonField {
	f, ok := findField(t, name)
	if !ok {
		panic(fmt.Sprintf("%v has no field %q", t, name))
	}
	return f
}

func findField(t reflect.Type, name string) (jsonField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == name && tag != "":
			found := jsonField{typ: f.Type, key: f.Tag.Get("patchMergeKey")}
			if slices.Contains(strings.Split(f.Tag.Get("patchStrategy"), ","), "merge") {
				found.merge = "merge"
			}
			return found, true
		case tag == "" && f.Anonymous:
			if found, ok := findField(f.Type, name); ok {
				return found, true
			}
		}
	}
	return jsonField{}, false
}

// unordered returns the template's JSON with every list-map sorted by its key and every set by its
// elements. So the order inside them does not count.
func unordered(t *trainer.JobSetTemplateSpec) string {
	v := decode(typed(t))
	sortLists(v, reflect.TypeFor[trainer.JobSetTemplateSpec]())
	return string(encode(v))
}

func sortLists(v any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	object, ok := v.(map[string]any)
	if !ok || t.Kind() != reflect.Struct || encodesItself(t) {
		return
	}
	for name, value := range object {
		f := mustField(t, name)
		list, isList := value.([]any)
		if !isList || f.merge == "" {
			sortLists(value, f.typ)
			continue
		}
		for _, item := range list {
			sortLists(item, f.typ.Elem())
		}
		slices.SortStableFunc(list, func(a, b any) int {
			return strings.Compare(sortKey(a, f.key), sortKey(b, f.key))
		})
	}
}

func sortKey(item any, key string) string {
	if object, ok := item.(map[string]any); ok {
		return canonical(object[key])
	}
	return canonical(item)
}
