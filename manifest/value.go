package manifest

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/manifest/internal/jsonfields"
)

// value is a JSON value on its way out, keys sorted.
type value struct {
	kind    valueKind
	text    string   // of a text, or of a literal as JSON writes it
	items   []*value // of an array
	entries []member // of an object
	note    *note    // how it was written before, nil for what is written anew
}

type valueKind uint8

const (
	literal valueKind = iota // a number, true, false, null
	text
	array
	object
)

type member struct {
	key   string
	value *value
}

// note is how a value and its key were written in a file: the comments, and the quotes of texts.
type note struct {
	head, foot      []string // lines before and after
	line            string   // behind the key, or behind a value on one line
	key, text       yaml.Style
	hasKey, hasText bool // the styles are known
}

func (v *value) isNull() bool { return v.kind == literal && v.text == "null" }

func null() *value { return &value{text: "null"} }

// encoder turns Go values into values by the rules of encoding/json, without what says nothing.
type encoder struct {
	structs jsonfields.Structs
	// empties keeps every field that encoding/json writes, empty structs too.
	empties bool
	// references keeps the names of references also where they are empty, as JobSet's definition fills them in.
	references bool
}

func (e *encoder) value(v reflect.Value) (*value, error) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return null(), nil
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return null(), nil
	}
	if out, ok, err := encodesItself(v); ok {
		return out, err
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[json.Number]() {
			return &value{text: v.String()}, nil
		}
		return &value{kind: text, text: strings.ToValidUTF8(v.String(), "\uFFFD")}, nil
	case reflect.Bool:
		return &value{text: strconv.FormatBool(v.Bool())}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &value{text: strconv.FormatInt(v.Int(), 10)}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &value{text: strconv.FormatUint(v.Uint(), 10)}, nil
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("JSON has no %v", f)
		}
		j, err := json.Marshal(v.Interface())
		return &value{text: string(j)}, err
	case reflect.Struct:
		return e.fields(v)
	case reflect.Map:
		return e.entries(v)
	case reflect.Slice:
		if v.IsNil() {
			return null(), nil
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return &value{kind: text, text: base64.StdEncoding.EncodeToString(v.Bytes())}, nil
		}
		return e.items(v)
	case reflect.Array:
		return e.items(v)
	}
	return nil, fmt.Errorf("JSON has no value for a %s", v.Type())
}

func (e *encoder) items(v reflect.Value) (*value, error) {
	out := &value{kind: array, items: make([]*value, v.Len())}
	for i := range v.Len() {
		item, err := e.value(v.Index(i))
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out.items[i] = item
	}
	return out, nil
}

func (e *encoder) entries(v reflect.Value) (*value, error) {
	if v.IsNil() {
		return null(), nil
	}
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("JSON has no value for a %s", v.Type())
	}
	out := &value{kind: object, entries: make([]member, 0, v.Len())}
	for it := v.MapRange(); it.Next(); {
		m, err := e.value(it.Value())
		if err != nil {
			return nil, fmt.Errorf("[%q]: %w", it.Key().String(), err)
		}
		out.entries = append(out.entries, member{strings.ToValidUTF8(it.Key().String(), "\uFFFD"), m})
	}
	slices.SortFunc(out.entries, func(a, b member) int { return strings.Compare(a.key, b.key) })
	return out, nil
}

func (e *encoder) fields(v reflect.Value) (*value, error) {
	fields := e.structs.Of(v.Type())
	switch v.Type() {
	case reflect.TypeFor[jobset.JobSet]():
		e = &encoder{structs: e.structs, references: true}
	case reflect.TypeFor[jobset.VolumeClaimPolicy]():
		// JobSet's definition compares these policies as they were stored (JobSet v0.12.0, self == oldSelf).
		// Without the empty status of its claims, an apply over a live JobSet fails.
		e = &encoder{structs: e.structs, empties: true, references: e.references}
	}
	out := &value{kind: object, entries: make([]member, 0, len(fields))}
	for i := range fields {
		f := &fields[i]
		fv, err := v.FieldByIndexErr(f.Index)
		if err != nil {
			continue // in a nil inlined struct
		}
		if f.OmitEmpty && isEmpty(fv) && !keepsEmpty(v.Type(), fv) && !(e.references && f.Reference) || f.OmitZero && isZero(fv) {
			continue
		}
		m, err := e.value(fv)
		if err != nil {
			return nil, fmt.Errorf(".%s: %w", f.Name, err)
		}
		isStruct, optional := fv.Kind() == reflect.Struct, f.OmitEmpty || f.OmitZero
		if m.isNull() && (isStruct || optional) || isStruct && optional && !e.empties && m.kind == object && len(m.entries) == 0 {
			// Read back, the object is the same with and without it. A pointer to the zero time is null, too.
			continue
		}
		out.entries = append(out.entries, member{f.Name, m})
	}
	return out, nil
}

// isEmpty is what omitempty leaves out (encoding/json).
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isZero is what omitzero leaves out: what a method IsZero says, else the zero value.
func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		return z.IsZero()
	}
	if v.CanAddr() {
		if z, ok := v.Addr().Interface().(interface{ IsZero() bool }); ok {
			return z.IsZero()
		}
	}
	return v.IsZero()
}

// keepsEmpty says whether an empty list of this struct differs from none: the command and args of a
// TrainJob, which clear the runtime's (Trainer v2.3.0 pkg/runtime/framework/plugins/jobset/builder.go).
func keepsEmpty(t reflect.Type, v reflect.Value) bool {
	return t == reflect.TypeFor[trainer.Trainer]() && v.Type() == reflect.TypeFor[[]string]() && !v.IsNil()
}

// encodesItself encodes values that bring their own encoding, as quantities and times do.
func encodesItself(v reflect.Value) (*value, bool, error) {
	candidate := v
	if v.CanAddr() {
		candidate = v.Addr()
	} else if p := reflect.PointerTo(v.Type()); p.Implements(reflect.TypeFor[json.Marshaler]()) {
		// Its method wants a pointer, and a value in a map has no address.
		candidate = reflect.New(v.Type())
		candidate.Elem().Set(v)
	}
	if !candidate.CanInterface() {
		return nil, false, nil
	}
	switch m := candidate.Interface().(type) {
	case json.Marshaler:
		j, err := m.MarshalJSON()
		if err != nil {
			return nil, true, err
		}
		out, err := fromJSON(j)
		return out, true, err
	case encoding.TextMarshaler:
		t, err := m.MarshalText()
		return &value{kind: text, text: strings.ToValidUTF8(string(t), "\uFFFD")}, true, err
	}
	return nil, false, nil
}

// fromJSON parses JSON and sorts its keys.
func fromJSON(j []byte) (*value, error) {
	if len(j) > 0 && j[0] != '{' && j[0] != '[' { // nearly always
		if j[0] == '"' {
			v := &value{kind: text}
			err := json.Unmarshal(j, &v.text)
			return v, err
		}
		if !json.Valid(j) {
			return nil, fmt.Errorf("%q is not JSON", j)
		}
		return &value{text: string(bytes.TrimSpace(j))}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(j))
	decoder.UseNumber()
	var generic any
	if err := decoder.Decode(&generic); err != nil {
		return nil, err
	}
	return (&encoder{structs: jsonfields.Structs{}}).value(reflect.ValueOf(generic))
}

// listOf is a v1 List.
func listOf(items []*value) *value {
	return &value{kind: object, entries: []member{
		{"apiVersion", &value{kind: text, text: "v1"}},
		{"items", &value{kind: array, items: items}},
		{"kind", &value{kind: text, text: "List"}},
	}}
}

// object encodes a whole object, without its status unless that is kept.
func (e *encoder) object(o any, status bool) (*value, error) {
	if o == nil {
		return nil, errors.New("there is no object")
	}
	v, err := e.value(reflect.ValueOf(o))
	if err != nil {
		return nil, err
	}
	if v.kind != object {
		return nil, errors.New("it is no object")
	}
	for i, m := range v.entries {
		if m.key == "status" && !status {
			v.entries = append(v.entries[:i:i], v.entries[i+1:]...)
			break
		}
	}
	return v, nil
}

func (v *value) member(name string) *value {
	for _, m := range v.entries {
		if m.key == name {
			return m.value
		}
	}
	return nil
}
