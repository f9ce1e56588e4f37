// Package origins holds the law of the owners of a merged value, for tests.
package origins

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// Wrong describes each value of a merged object that a claim of the wrong layer is in force on. A
// value that differs from the base's, at the same identity, is a patch's. The others are the
// base's, unless a patch names them. The inputs are decoded JSON, and values are the scalars, the
// atomic values, and the objects and lists without members.
func Wrong(t *schema.Type, base, merged any, o *merge.History,
	patches map[merge.Owner]any) []string {
	claims := map[string][]merge.Claim{}
	for path, of := range o.All() {
		claims[path.String()] = of
	}
	before, after := newOriginValues(), newOriginValues()
	before.add(t, base, nil, true)
	after.add(t, merged, nil, true)
	var wrong []string
	for _, text := range slices.Sorted(maps.Keys(after.values)) {
		is, was := after.values[text], before.values[text]
		if is.made && was.path == nil || before.isTwice(is.path) {
			// a field that its Go type always encodes, or an item whose key the base has twice
			continue
		}
		of := claims[text]
		if was.text == is.text {
			if of == nil {
				continue // a value that the encoding alone makes
			}
			last := of[len(of)-1].Owner
			if isPatched(last) && !reaches(t, patches[last], is.path) {
				wrong = append(
					wrong, fmt.Sprintf("%s is the base's, and %s did not name it", text, last))
			}
			continue
		}
		if of == nil {
			wrong = append(
				wrong, fmt.Sprintf("%s was %q, is %s, and nobody claims it", text, was.text,
					is.text))
		} else if last := of[len(of)-1].Owner; !isPatched(last) {
			wrong = append(
				wrong, fmt.Sprintf("%s was %q, is %s, and the claim of %s is in force", text,
					was.text, is.text, last))
		}
	}
	return wrong
}

// reaches reports whether a patch names a field, or replaces one around it. A directive may do so.
func reaches(t *schema.Type, patch any, path fieldpath.Path) bool {
	for _, step := range path {
		t = t.For(patch)
		switch in := patch.(type) {
		case map[string]any:
			name, _ := step.Name()
			value, is := in[name]
			for other := range in {
				if strings.HasPrefix(other, "$") {
					return true
				}
			}
			if !is {
				return false
			}
			patch, t = value, t.Inner(name)
		case []any:
			at := slices.IndexFunc(in, func(item any) bool {
				named, ok := t.Item(item)
				return ok && named == step
			})
			isReplaced := slices.ContainsFunc(in, func(item any) bool {
				fields, _ := item.(map[string]any)
				return fields["$patch"] != nil
			})
			if at < 0 || isReplaced || t == nil {
				return isReplaced
			}
			patch, t = in[at], t.Elem
		default:
			return true
		}
	}
	return true
}

func isPatched(layer merge.Owner) bool {
	_, ok := layer.Manager()
	return ok
}

// originValues are the values of an object by the text of their path.
type originValues struct {
	values map[string]originValue
	twice  map[string]bool // the lists in which items share a key
}

func newOriginValues() originValues {
	return originValues{map[string]originValue{}, map[string]bool{}}
}

func (o originValues) isTwice(path fieldpath.Path) bool {
	for n := range path {
		if o.twice[path[:n].String()] {
			return true
		}
	}
	return false
}

type originValue struct {
	path fieldpath.Path
	text string
	made bool // whether it may be a zero that its Go type encodes
}

// add adds the values in v. The flag made states that v may be there for its Go type alone.
func (o originValues) add(t *schema.Type, v any, path fieldpath.Path, made bool) {
	t = t.For(v)
	leaf := func() {
		text, _ := json.Marshal(v)
		zero := v == nil || reflect.ValueOf(v).IsZero()
		if list, ok := v.([]any); ok {
			zero = len(list) == 0
		}
		if fields, ok := v.(map[string]any); ok {
			zero = len(fields) == 0
		}
		o.values[path.String()] = originValue{path, string(text), made && zero}
	}
	switch v := v.(type) {
	case nil:
		if !made && (t == nil || t.GoType() == nil) { // Go encodes a nil pointer as well
			leaf()
		}
	case map[string]any:
		if t != nil && t.Kind == schema.Map && t.GoType() != nil && len(v) > 0 {
			for name, value := range v { // an entry of a Go map merges whole
				o.add(nil, value, path.Append(t.Step(name)), false)
			}
			return
		}
		if t == nil || t.Kind != schema.Struct && t.Kind != schema.Map || len(v) == 0 {
			leaf()
			return
		}
		for name, value := range v {
			f := t.Field(name)
			always := f != nil && t.GoType() != nil && !f.IsPointer()
			if in := t.Inner(name); in != nil {
				o.add(in, value, path.Append(t.Step(name)), always)
			}
		}
	case []any:
		if t == nil || !t.HasItems() || len(v) == 0 {
			leaf()
			return
		}
		o.items(t, v, path)
	default:
		leaf()
	}
}

// items adds the values in the items of a list, unless items of a list-map share a key.
func (o originValues) items(t *schema.Type, list []any, path fieldpath.Path) {
	seen := map[string]bool{}
	for _, item := range list {
		step, ok := t.Item(item)
		if text := (fieldpath.Path{step}).String(); !ok || t.Kind == schema.ListMap && seen[text] {
			o.twice[path.String()] = true
			return
		} else {
			seen[text] = true
		}
	}
	for _, item := range list {
		step, _ := t.Item(item)
		at := path.Append(step)
		o.values[at.String()] = originValue{path: at, text: "there"}
		fields, ok := item.(map[string]any)
		if !ok || t.Kind == schema.Set {
			continue
		}
		of := t.Elem.For(item)
		for name, value := range fields {
			if in := of.Inner(name); in != nil && name != t.Key && !slices.Contains(t.Keys, name) {
				f := of.Field(name)
				o.add(in, value, at.Append(of.Step(name)), f != nil && of.GoType() != nil &&
					!f.IsPointer())
			}
		}
	}
}
