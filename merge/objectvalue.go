package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file reads the scalars and the keys of objects. It finds the kind of a value, compares
// values, and finds the keys of an item.

var scalarType = &schema.Type{Kind: schema.Scalar}

// deepest limits the nesting of values. It equals the limit of encoding/json.
const deepest = 10000

var (
	errTooDeep   = errors.New("nests more than " + strconv.Itoa(deepest) + " deep")
	errDuplicate = errors.New("duplicate: a patch names an item once")
)

// fieldOf returns a struct's field by name, and its type. For an entry or an unknown field it
// returns the type alone.
func fieldOf(t *schema.Type, name string) (*schema.StructField, *schema.Type, error) {
	if f := t.Field(name); f != nil {
		return f, f.Type, nil
	}
	if t.Elem == nil {
		return nil, nil, errors.New("the definition has no such field")
	}
	return nil, t.Elem, nil
}

// keyOfStep returns the log's key for the item or element of a step.
func keyOfStep(t *schema.Type, step fieldpath.Step) (string, bool) {
	if keys := step.Keys(); keys != nil {
		if text, ok := keys[0].Value.(string); ok && len(t.Keys) == 1 && len(keys) == 1 &&
			!strings.HasPrefix(text, typedMark) {
			return text, true
		}
		byName := map[string]any{}
		for _, key := range keys {
			byName[key.Name] = key.Value
		}
		return typedKey(byName), true
	}
	value, ok := step.ElementValue()
	key, err := keyOfScalar(value)
	return key, ok && err == nil
}

// granular returns how the parts of an emptied field merge.
func granular(t *schema.Type) *schema.Type {
	if t.Object != nil {
		return t.Object
	}
	return t
}

// presenceType is the type of an item of which only the presence counts.
var presenceType = &schema.Type{Kind: schema.Set}

// duplicateMark begins the log's key of an item whose merge key an earlier item has. The item's
// position follows. No merge key begins with it.
const duplicateMark = "\x00"

// itemKey returns the log's key for an item. there holds the keys of the earlier items.
func itemKey(text string, position int, there map[string]bool) string {
	if there[text] {
		text = duplicateMark + strconv.Itoa(position)
	}
	there[text] = true
	return text
}

// itemStep returns the step to the item of a list-map with the given log key.
func itemStep(t *schema.Type, key string) fieldpath.Step {
	if position, ok := strings.CutPrefix(key, duplicateMark); ok {
		i, _ := strconv.Atoi(position)
		return fieldpath.Index(i)
	}
	if f := t.KeyField(); f != nil && f.Type.GoType() != nil {
		if value, typed := typedOf(key); typed {
			return fieldpath.ItemBy(fieldpath.ItemKey{Name: t.Key, Value: value})
		}
	}
	return fieldpath.Item(t.Key, key)
}

// as returns how a value merges in a field of a type. If the definition leaves that open, the
// value's JSON decides. The error states that the field cannot hold the value.
func as(t *schema.Type, v any) (*schema.Type, error) {
	if v == nil {
		return t, nil
	}
	is := typeInJSON(v)
	if is == "" {
		return nil, fmt.Errorf("must be JSON, and is %T", v)
	}
	if t.Kind == schema.Untyped {
		switch is {
		case "object":
			return t.Object, nil
		case "list":
			return t.List, nil
		}
		return scalarType, nil
	}
	want := wantOf(t)
	switch want {
	case "integer":
		if is == "number" && isInteger(v) {
			return t, nil
		}
	case schema.IntOrString:
		if is == "string" || is == "number" && isInteger(v) {
			return t, nil
		}
	case anyScalar:
		if is != "object" && is != "list" {
			return t, nil
		}
	}
	if is != want {
		return nil, &TypeError{withArticle(want), withArticle(is)}
	}
	return t, nil
}

// anyScalar is what a scalar without a type takes.
const anyScalar = "scalar"

// wantOf returns the name of the JSON type that a type takes.
func wantOf(t *schema.Type) string {
	switch {
	case t.Kind == schema.Struct || t.Kind == schema.Map || t.Object != nil:
		return "object"
	case t.Kind != schema.Scalar:
		return "list"
	case t.JSON == "":
		return anyScalar
	}
	return t.JSON
}

// TypeError is the error of a value whose JSON type a field of a definition does not take, each
// with its article.
type TypeError struct{ Want, Is string }

func (e *TypeError) Error() string { return fmt.Sprintf("must be %s, and is %s", e.Want, e.Is) }

// isInteger reports whether a number is an integer for an API server (go-openapi/swag
// IsFloat64AJSONInteger).
func isInteger(v any) bool {
	const most = 1<<53 - 1
	n, _ := scalarOf(v)
	f, isFloat := n.(float64)
	return !isFloat && n != nil || isFloat && math.Abs(f) <= most &&
		(f == math.Trunc(f) || isNearly(f))
}

// isNearly reports whether a number differs from a whole one by rounding alone.
func isNearly(f float64) bool {
	const epsilon = 1e-9
	g := float64(uint64(f))
	diff, sum := math.Abs(f-g), math.Abs(f)+math.Abs(g)
	if f == 0 || g == 0 || diff < math.SmallestNonzeroFloat64 {
		return diff < epsilon*math.SmallestNonzeroFloat64
	}
	return diff/min(sum, math.MaxFloat64) < epsilon
}

// scalarOf converts a scalar to its form in objects: all numbers are int64 or float64.
func scalarOf(v any) (any, error) {
	switch n := v.(type) {
	case string, bool, int64:
		return v, nil
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("must be a number, and is %v", n)
		}
		return v, nil
	case float32:
		return scalarOf(float64(n))
	case json.Number:
		return scalarOf(convertNumbers(n))
	}
	switch n := reflect.ValueOf(v); {
	case n.CanInt():
		return n.Int(), nil
	case n.Uint() <= math.MaxInt64:
		return int64(n.Uint()), nil
	default:
		return float64(n.Uint()), nil
	}
}

// filledOf returns how a field's value merges, if it merges in parts and has any; otherwise nil.
func filledOf(t *schema.Type, v any) *schema.Type {
	if isEmpty(v) {
		return nil
	}
	of, err := as(t, v)
	if err != nil || of.Kind == schema.Atomic {
		return nil
	}
	return of
}

// isEmpty reports whether a value has no members. A scalar has none.
func isEmpty(v any) bool {
	object, _ := v.(map[string]any)
	list, _ := v.([]any)
	return len(object)+len(list) == 0
}

// missing is the value of a field that an object lacks. No null and no other value equals it.
type missing struct{}

// valueIn returns the value of a field, missing{} for none.
func valueIn(fields Object, name string) any {
	if value, has := fields[name]; has {
		return value
	}
	return missing{}
}

// changes reports whether a value takes the place of another one.
func changes(old, value any) bool { return old != any(missing{}) && !sameObject(old, value) }

// sameObject reports whether two values are equal for an API server: 1 equals 1.0.
func sameObject(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !sameObject(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameObject)
	case int64:
		if b, ok := b.(float64); ok {
			return float64(a) == b
		}
		return a == b
	case float64:
		if b, ok := b.(int64); ok {
			return a == float64(b)
		}
		return a == b
	default:
		return a == b
	}
}

// typedMark begins a node's key that is JSON and not a plain string. Such a key holds several merge
// keys, or one that is not a string.
const typedMark = "\x01"

// itemKeyOf returns the log's key for an item of a list-map or of a set.
func itemKeyOf(t *schema.Type, item any) (string, error) {
	if t.Kind == schema.Set {
		return keyOfScalar(item)
	}
	fields, ok := item.(map[string]any)
	if !ok {
		return "", fmt.Errorf("must be an object, and is %s", jsonName(item))
	}
	var keys map[string]any
	for _, name := range t.Keys {
		v, ok := fields[name]
		if !ok {
			v = elemOf(t).Field(name).Default
			if v == nil {
				continue // an item that lacks one of several keys is an item of its own
			}
		}
		if text, ok := v.(string); ok && len(t.Keys) == 1 && !strings.HasPrefix(text, typedMark) {
			return text, nil
		}
		if v != nil {
			if !isScalar(v) {
				return "", inside(fieldpath.Field(name),
					fmt.Errorf("must be a scalar, as a merge key, and is %s", jsonName(v)))
			}
			var err error
			if v, err = scalarOf(v); err != nil {
				return "", inside(fieldpath.Field(name), err)
			}
		}
		if keys == nil {
			keys = make(map[string]any, len(t.Keys))
		}
		keys[name] = v
	}
	if keys == nil {
		return "", fmt.Errorf("an item without its merge key cannot be merged; give it a %s",
			strconv.Quote(strings.Join(t.Keys, ", ")))
	}
	return typedKey(keys), nil
}

// elemOf returns the struct of a list's items.
func elemOf(t *schema.Type) *schema.Type {
	if t.Elem.Object != nil {
		return t.Elem.Object
	}
	return t.Elem
}

// keyOfScalar returns the key of an element of a set.
func keyOfScalar(v any) (string, error) {
	if text, ok := v.(string); ok && !strings.HasPrefix(text, typedMark) {
		return text, nil
	}
	if !isScalar(v) {
		return "", fmt.Errorf("must be a scalar, as an element of a set, and is %s", jsonName(v))
	}
	v, err := scalarOf(v)
	if err != nil {
		return "", err
	}
	return typedKey(v), nil
}

// typedKey returns a key as JSON: a scalar, or several merge keys by name.
func typedKey(v any) string {
	b := append(make([]byte, 0, 64), typedMark...)
	keys, ok := v.(map[string]any)
	if !ok {
		return string(appendScalar(b, v))
	}
	names := make([]string, 0, 4)
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendEscaped(append(b, '"'), name), '"', ':')
		b = appendScalar(b, keys[name])
	}
	return string(append(b, '}'))
}

func appendScalar(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(appendEscaped(append(b, '"'), v), '"')
	case int64:
		return strconv.AppendInt(b, v, 10)
	}
	text, _ := json.Marshal(v) // v is JSON
	return append(b, text...)
}

// typedOf decodes a JSON key and reports whether the key is JSON.
func typedOf(key string) (any, bool) {
	text, typed := strings.CutPrefix(key, typedMark)
	if !typed {
		return nil, false
	}
	v, _ := decoded([]byte(text)) // typedKey wrote it
	return v, true
}

// partStep returns the step to a field, or to the part of a value with a key.
func partStep(of *schema.Type, field *schema.StructField, key string) fieldpath.Step {
	switch {
	case field != nil:
		return fieldpath.Field(field.Name)
	case of.HasItems():
		return itemStepOf(of, key)
	default:
		return of.Step(key)
	}
}

// itemStepOf returns the step to an item of a list-map, or to an element of a set.
func itemStepOf(t *schema.Type, key string) fieldpath.Step {
	v, typed := typedOf(key)
	switch keys, ok := v.(map[string]any); {
	case t.Kind == schema.Set && typed:
		return fieldpath.ElementOf(v)
	case t.Kind == schema.Set:
		return fieldpath.Element(key)
	case !ok:
		return itemStep(t, key)
	default:
		all := make([]fieldpath.ItemKey, 0, len(keys))
		for name, value := range keys {
			all = append(all, fieldpath.ItemKey{Name: name, Value: value})
		}
		return fieldpath.ItemBy(all...)
	}
}
