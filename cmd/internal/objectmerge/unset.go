package objectmerge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// directives are the names of fields that no object has. Some are the start of a longer name.
var directives = []string{"$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/"}

func isDirective(name string) bool {
	return slices.ContainsFunc(directives, func(d string) bool {
		return name == d || strings.HasSuffix(d, "/") && strings.HasPrefix(name, d)
	})
}

func keyIn(item any, key string) string {
	object, _ := item.(map[string]any)
	return fmt.Sprint(object[key])
}

func mergeKeyOf(t *schema.Type, item any) string { return keyIn(item, t.Key) }

// dropUnset removes the fields of a merged value that none of the inputs at its place sets. A merge
// by a Go type also has the empty values of required fields, such as a null selector.
func dropUnset(structs tree.Structs, t *schema.Type, value any, inputs []any) {
	switch value := value.(type) {
	case merge.Object:
		for name, field := range value {
			var within []any
			for _, in := range inputs {
				if fields, ok := in.(merge.Object); ok && fields[name] != nil {
					within = append(within, fields[name])
				}
			}
			dropUnset(structs, t.Inner(name), field, within)
			if f := fieldOf(structs, t, name); f != nil && (field == nil ||
				within == nil && isZero(field) && f.Kind() != reflect.Pointer) {
				delete(value, name) // a pointer has what an input or a default sets
			}
		}
	case []any:
		lists := make([]map[fieldpath.Step][]any, len(inputs))
		for i, in := range inputs {
			list, _ := in.([]any)
			lists[i] = itemsByStep(t, list)
		}
		for step, items := range itemsByStep(t, value) {
			for n, item := range items { // several may have one key
				var within []any
				for _, list := range lists {
					if n < len(list[step]) {
						within = append(within, list[step][n])
					}
				}
				dropUnset(structs, elemOf(t), item, within)
			}
		}
	}
}

// itemsByStep returns the items of a list by their keys, or by their positions without keys.
func itemsByStep(t *schema.Type, list []any) map[fieldpath.Step][]any {
	by := map[fieldpath.Step][]any{}
	for i, item := range list {
		step, ok := t.Item(item)
		if !ok {
			step = fieldpath.Index(i)
		}
		by[step] = append(by[step], item)
	}
	return by
}

func elemOf(t *schema.Type) *schema.Type {
	if t == nil {
		return nil
	}
	return t.Elem
}

// fieldOf returns the Go type of a struct's field, or nil for an entry of a map.
func fieldOf(structs tree.Structs, t *schema.Type, name string) reflect.Type {
	if t == nil || t.GoType() == nil || t.GoType().Kind() != reflect.Struct {
		return nil
	}
	f, _ := structs.Field(t.GoType(), name)
	return f.Type
}

// isZero reports whether a value may be the zero value of a Go type. "0" is that of a quantity.
func isZero(value any) bool {
	fields, isObject := value.(merge.Object)
	return value == nil || value == "0" || isObject && len(fields) == 0 ||
		!isObject && reflect.ValueOf(value).IsZero()
}
