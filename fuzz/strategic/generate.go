package strategic

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"
)

type object = map[string]any

// generator makes values of any Go type with Kubernetes' struct tags, and patches to them. Words
// are few, so that keys and values of a base and its patches meet.
type generator struct {
	rng *rand.Rand
	// focus has the fields that the base and the patches of one case are about.
	focus map[fieldID]bool
	// left is how many more values may be made.
	left int
}

type fieldID struct {
	of   reflect.Type
	name string
}

func newGenerator(from rand.Source) *generator {
	return &generator{rng: rand.New(from), focus: map[fieldID]bool{}}
}

func (g *generator) chance(p float64) bool { return g.rng.Float64() < p }

func pick[T any](g *generator, from ...T) T { return from[g.rng.IntN(len(from))] }

// field is a field as encoding/json sees it.
type field struct {
	name   string
	index  []int
	typ    reflect.Type
	tag    reflect.StructTag
	weight float64
}

var fieldsCache sync.Map

// fieldsOf are the fields of a struct type, inlined structs in place.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldsCache.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inlined := f.Anonymous && name == "" && indirect(f.Type).Kind() == reflect.Struct
		if name == "-" || !f.IsExported() || inlined || isHidden(t, f.Index) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		weight := 1.0
		switch k := indirect(f.Type).Kind(); {
		case f.Tag.Get("patchStrategy") != "":
			weight = 6
		case k == reflect.Struct || k == reflect.Slice || k == reflect.Map:
			weight = 3
		}
		fields = append(fields, field{name, f.Index, f.Type, f.Tag, weight})
	}
	fieldsCache.Store(t, fields)
	return fields
}

// isHidden reports whether a field stands in a struct that JSON does not inline, but names or
// omits.
func isHidden(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		name, _, _ := strings.Cut(t.FieldByIndex(index[:i]).Tag.Get("json"), ",")
		if name != "" {
			return true
		}
	}
	return false
}

func fieldNamed(t reflect.Type, name string) *field {
	for _, f := range fieldsOf(t) {
		if f.name == name {
			return &f
		}
	}
	return nil
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// about decides for a whole case whether it is about a field.
func (g *generator) about(of reflect.Type, f field) bool {
	id := fieldID{of, f.name}
	on, known := g.focus[id]
	if !known {
		sum := 0.0
		for _, other := range fieldsOf(of) {
			sum += other.weight
		}
		on = g.chance(5 * f.weight / sum)
		g.focus[id] = on
	}
	if on {
		return g.chance(0.75)
	}
	return g.chance(0.01)
}

// texts are JSON values of which each type that reads its own JSON takes some.
var texts = []string{
	`"a"`, `"b"`, `1`, `2`, `80`, `true`, `false`, `{}`, `null`, `"1s"`, `"1Gi"`, `"1024Mi"`,
	`"500m"`, `0.5`, `"0"`, `"8080"`, `"5%"`,
	`"2026-01-01T00:00:00Z"`, `"2026-01-02T00:00:00Z"`, `"2026-01-01T00:00:00.000001Z"`,
	`"10.0.0.0/8"`,
	`{"a":1}`, `{"a":2,"b":{"c":"x"}}`, `{"a":{"d":null},"l":[1,2]}`, `["a"]`, `[{"a":1}]`,
	`{"type":"object"}`, `{"type":"string","enum":["a"]}`,
	`{"f:metadata":{"f:labels":{}}}`,
}

// frees are JSON values for fields of any type. A float64 does not hold all of the integers.
var frees = append(
	[]string{`9007199254740993`, `-9007199254740993`, `{"a":9007199254740993}`,
		`[9007199254740993]`, `9007199254740993.0`}, texts...)

var textsCache sync.Map

// textsFor returns the entries of texts that a type takes. It returns nil if the type does not read
// its own JSON.
func textsFor(t reflect.Type) []string {
	if known, ok := textsCache.Load(t); ok {
		return known.([]string)
	}
	var taken []string
	pointer := reflect.PointerTo(t)
	if pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		for _, text := range texts {
			made := reflect.New(t).Interface()
			if json.Unmarshal([]byte(text), made) != nil {
				continue
			}
			if again, err := json.Marshal(made); err == nil &&
				json.Unmarshal(again, reflect.New(t).Interface()) == nil {
				taken = append(taken, text)
			}
		}
		if taken == nil {
			panic(fmt.Sprintf("no text is JSON of %s: add one to texts", t))
		}
	}
	textsCache.Store(t, taken)
	return taken
}

const deepest = 14

// value sets v to a random value of its type.
func (g *generator) value(v reflect.Value, depth int) {
	g.left--
	if texts := textsFor(v.Type()); texts != nil {
		if err := json.Unmarshal([]byte(pick(g, texts...)), v.Addr().Interface()); err != nil {
			panic(err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(g.chance(0.5))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(pick[int64](g, 0, 1, 2, 80))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(pick[uint64](g, 0, 1, 2, 80))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(pick(g, 0, 0.5, 1))
	case reflect.String:
		v.SetString(pick(g, words...))
	case reflect.Pointer:
		if depth < deepest && g.left > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			g.value(v.Elem(), depth+1)
		}
	case reflect.Slice:
		g.slice(v, depth)
	case reflect.Map:
		g.mapping(v, depth)
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if depth < deepest && g.left > 0 && g.about(v.Type(), f) {
				g.value(fieldIn(v, f.index), depth+1)
			}
		}
	case reflect.Interface:
		if v.NumMethod() > 0 {
			return
		}
		var free any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(pick(g, frees...)),
			&free); err != nil {
			panic(err)
		}
		if free != nil {
			v.Set(reflect.ValueOf(free))
		}
	default:
		panic(fmt.Sprintf("no values of %s", v.Type()))
	}
}

// fieldIn is a field of a struct, with the embedded pointers on the way to it.
func fieldIn(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

var words = []string{"a", "b", "c", "d", "a", "b", "c", ""}

func (g *generator) slice(v reflect.Value, depth int) {
	n := pick(g, -1, 0, 1, 1, 2, 2, 2, 3, 3, 4)
	if g.chance(0.005) {
		n = 40 // long lists merge by an index
	}
	if n < 0 || depth >= deepest || g.left <= 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		g.value(v.Index(i), depth+1)
	}
	if v.Type().Elem().Kind() == reflect.Uint8 || g.chance(0.05) {
		return
	}
	v.Set(g.tidy(v, n))
}

// keysInUse are the fields by which lists of Kubernetes' APIs merge.
var keysInUse = []string{"name", "containerPort", "type", "mountPath", "devicePath", "topologyKey",
	"key", "ip", "uid", "port", "resourceName", "portNumber"}

// tidy gives each item of a list a key of its own, mostly.
func (g *generator) tidy(list reflect.Value, n int) reflect.Value {
	kept := reflect.MakeSlice(list.Type(), 0, n)
	seen := map[string]bool{}
	for i := range list.Len() {
		item := list.Index(i)
		var id string
		if e := indirect(item.Type()); e.Kind() == reflect.Struct && textsFor(e) == nil {
			if item.Kind() == reflect.Pointer && item.IsNil() {
				continue
			}
			for _, name := range keysInUse {
				f := fieldNamed(e, name)
				if f == nil {
					continue
				}
				key := fieldIn(reflect.Indirect(item), f.index)
				if key.Kind() == reflect.String && (n > 4 || !g.chance(0.02)) {
					key.SetString(pick(g, "a", "b", "c", "d", "e"))
					if n > 4 {
						key.SetString(fmt.Sprint("k", g.rng.IntN(60)))
					}
				} else if key.CanInt() {
					key.SetInt(pick[int64](g, 1, 2, 80, 443))
				}
				if port, ok := key.Interface().(intstr.IntOrString); ok {
					id = []string{"number ", "string "}[port.Type]
				}
				id += fmt.Sprint(key.Interface(), "|")
				break
			}
			if id == "" {
				id = fmt.Sprint(i)
			}
		} else {
			id = fmt.Sprint(item.Interface())
		}
		if !seen[id] {
			seen[id] = true
			kept = reflect.Append(kept, item)
		}
	}
	return kept
}

func (g *generator) mapping(v reflect.Value, depth int) {
	n := pick(g, -1, 0, 1, 1, 2, 2, 3)
	if n < 0 || depth >= deepest || g.left <= 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		g.value(key, depth+1)
		g.value(value, depth+1)
		v.SetMapIndex(key, value)
	}
}

// make is a random value of a type, as a pointer to it.
func (g *generator) make(t reflect.Type) any {
	g.left = 400
	made := reflect.New(t)
	g.value(made.Elem(), 0)
	return made.Interface()
}

// oddities are what a patch may have besides fields: nulls and directives, and invalid values if it
// is wild.
type oddities struct{ directives, wild bool }

// object returns a random patch as an object: a value of the type with few fields.
func (g *generator) object(t reflect.Type, with oddities) object {
	o := JSON(g.make(t)).(object)
	g.thin(o)
	if with != (oddities{}) {
		g.twist(t, "", o, with)
	}
	return o
}

// thin removes most empty values. They are encoded only because their tags have no omitempty.
func (g *generator) thin(v any) {
	switch v := v.(type) {
	case object:
		for _, name := range sortedNames(v) {
			g.thin(v[name])
			empty := v[name] == nil || v[name] == "" || v[name] == int64(0) || v[name] == false
			if inner, ok := v[name].(object); ok && len(inner) == 0 {
				empty = true
			}
			if empty && g.chance(0.8) && !slices.Contains(keysInUse, name) {
				delete(v, name)
			}
		}
	case []any:
		for _, item := range v {
			g.thin(item)
		}
	}
}

// JSON returns a value's JSON, decoded without a type.
func JSON(v any) any {
	var o any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(Encode(v), &o); err != nil {
		panic(err)
	}
	return o
}

func Encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// decode reads a value of a type as the API machinery does: names have to be spelled as they are.
func Decode(t reflect.Type, text []byte) (any, error) {
	made := reflect.New(t).Interface()
	return made, kjson.UnmarshalCaseSensitivePreserveInts(text, made)
}
