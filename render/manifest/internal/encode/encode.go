// Package encode writes Go values as JSON and YAML. Equal values give equal bytes.
//
// An Encoder converts a Go value to a Value and omits values without information. The functions
// JSON and YAML write a Value. The file plain.go selects the strings that need no quotes for any
// reader of YAML.
//
// Its first file to read is encode.go.
package encode

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

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/merge/tree"
)

// Value is a JSON value to write, with sorted keys.
type Value struct {
	Kind    Kind
	Text    string   // of a Text, or the JSON of a Literal
	Items   []*Value // of an array
	Entries []Member // of an object
}

// Kind is the kind of a Value.
type Kind uint8

const (
	Literal Kind = iota // a number, true, false, null
	Text
	Array
	Object
)

// Member is a key of an object with its value.
type Member struct {
	Key   string
	Value *Value
}

func (v *Value) isNull() bool { return v.Kind == Literal && v.Text == "null" }

func null() *Value { return &Value{Text: "null"} }

// Encoder converts Go values by the rules of encoding/json, and omits values without information.
type Encoder struct {
	Structs tree.Structs
	// empties keeps every field that encoding/json writes, including empty structs.
	empties bool
	// references keeps empty names of references, because JobSet's definition sets them by default.
	references bool
}

// Value encodes a Go value.
func (e *Encoder) Value(v reflect.Value) (*Value, error) {
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
			return &Value{Text: v.String()}, nil
		}
		return &Value{Kind: Text, Text: strings.ToValidUTF8(v.String(), "\uFFFD")}, nil
	case reflect.Bool:
		return &Value{Text: strconv.FormatBool(v.Bool())}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &Value{Text: strconv.FormatInt(v.Int(), 10)}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &Value{Text: strconv.FormatUint(v.Uint(), 10)}, nil
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("JSON has no %v", f)
		}
		j, err := json.Marshal(v.Interface())
		return &Value{Text: string(j)}, err
	case reflect.Struct:
		return e.fields(v)
	case reflect.Map:
		return e.entries(v)
	case reflect.Slice:
		if v.IsNil() {
			return null(), nil
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return &Value{Kind: Text, Text: base64.StdEncoding.EncodeToString(v.Bytes())}, nil
		}
		return e.items(v)
	case reflect.Array:
		return e.items(v)
	}
	return nil, fmt.Errorf("JSON has no value for a %s", v.Type())
}

func (e *Encoder) items(v reflect.Value) (*Value, error) {
	out := &Value{Kind: Array, Items: make([]*Value, v.Len())}
	for i := range v.Len() {
		item, err := e.Value(v.Index(i))
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out.Items[i] = item
	}
	return out, nil
}

func (e *Encoder) entries(v reflect.Value) (*Value, error) {
	if v.IsNil() {
		return null(), nil
	}
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("JSON has no value for a %s", v.Type())
	}
	out := &Value{Kind: Object, Entries: make([]Member, 0, v.Len())}
	for it := v.MapRange(); it.Next(); {
		m, err := e.Value(it.Value())
		if err != nil {
			return nil, fmt.Errorf("[%q]: %w", it.Key().String(), err)
		}
		out.Entries = append(
			out.Entries, Member{strings.ToValidUTF8(it.Key().String(), "\uFFFD"), m})
	}
	slices.SortFunc(out.Entries, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

func (e *Encoder) fields(v reflect.Value) (*Value, error) {
	fields := e.Structs.Of(v.Type())
	switch v.Type() {
	case reflect.TypeFor[jobset.JobSet]():
		e = &Encoder{Structs: e.Structs, references: true}
	case reflect.TypeFor[jobset.VolumeClaimPolicy]():
		// JobSet's definition compares these policies with their stored form (JobSet v0.12.0, self
		// == oldSelf). Without the empty status of the claims, an apply over a live JobSet fails.
		e = &Encoder{Structs: e.Structs, empties: true, references: e.references}
	}
	out := &Value{Kind: Object, Entries: make([]Member, 0, len(fields))}
	for i := range fields {
		f := &fields[i]
		fv, err := v.FieldByIndexErr(f.Index)
		if err != nil {
			continue // in a nil embedded struct
		}
		isReference := e.references && f.Name == "name" &&
			v.Type() == reflect.TypeFor[corev1.LocalObjectReference]()
		if f.OmitEmpty && tree.IsEmpty(fv) && !keepsEmpty(v.Type(), fv) && !isReference ||
			f.OmitZero && isZero(fv) {
			continue
		}
		m, err := e.Value(fv)
		if err != nil {
			return nil, fmt.Errorf(".%s: %w", f.Name, err)
		}
		if m.isNull() || fv.Kind() == reflect.Struct && (f.OmitEmpty || f.OmitZero) && !e.empties &&
			m.Kind == Object && len(m.Entries) == 0 {
			continue // decoding restores the nil and the empty struct
		}
		out.Entries = append(out.Entries, Member{f.Name, m})
	}
	return out, nil
}

// isZero reports whether omitzero omits a value, by its method IsZero if it has one.
func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok &&
		(v.Kind() != reflect.Pointer || !v.IsNil()) {
		return z.IsZero()
	}
	if v.CanAddr() {
		if z, ok := v.Addr().Interface().(interface{ IsZero() bool }); ok {
			return z.IsZero()
		}
	}
	return v.IsZero()
}

// keepsEmpty reports whether an empty list differs from a missing one. These are the command and
// args of a TrainJob, which clear the runtime's (Trainer v2.3.0
// pkg/runtime/framework/plugins/jobset/builder.go).
func keepsEmpty(t reflect.Type, v reflect.Value) bool {
	return t == reflect.TypeFor[trainer.Trainer]() && v.Type() == reflect.TypeFor[[]string]() &&
		!v.IsNil()
}

// encodesItself encodes a value with its own encoder, such as a quantity or a time.
func encodesItself(v reflect.Value) (*Value, bool, error) {
	candidate := v
	if v.CanAddr() {
		candidate = v.Addr()
	} else if p := reflect.PointerTo(v.Type()); p.Implements(reflect.TypeFor[json.Marshaler]()) {
		// Its method needs a pointer, but a map's value has no address.
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
		return &Value{Kind: Text, Text: strings.ToValidUTF8(string(t), "\uFFFD")}, true, err
	}
	return nil, false, nil
}

// fromJSON parses JSON and sorts its keys.
func fromJSON(j []byte) (*Value, error) {
	if len(j) > 0 && j[0] != '{' && j[0] != '[' { // the usual case
		if j[0] == '"' {
			v := &Value{Kind: Text}
			err := json.Unmarshal(j, &v.Text)
			return v, err
		}
		if !json.Valid(j) {
			return nil, fmt.Errorf("%q is not JSON", j)
		}
		return &Value{Text: string(bytes.TrimSpace(j))}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(j))
	decoder.UseNumber()
	var generic any
	if err := decoder.Decode(&generic); err != nil {
		return nil, err
	}
	return (&Encoder{Structs: tree.Structs{}}).Value(reflect.ValueOf(generic))
}

// List returns a v1 List.
func List(items []*Value) *Value {
	return &Value{Kind: Object, Entries: []Member{
		{"apiVersion", &Value{Kind: Text, Text: "v1"}},
		{"items", &Value{Kind: Array, Items: items}},
		{"kind", &Value{Kind: Text, Text: "List"}},
	}}
}

// Object encodes a whole object. It omits the status unless status is set.
func (e *Encoder) Object(o any, status bool) (*Value, error) {
	if o == nil {
		return nil, errors.New("there is no object")
	}
	v, err := e.Value(reflect.ValueOf(o))
	if err != nil {
		return nil, err
	}
	if v.Kind != Object {
		return nil, errors.New("it is no object")
	}
	for i, m := range v.Entries {
		if m.Key == "status" && !status {
			v.Entries = append(v.Entries[:i:i], v.Entries[i+1:]...)
			break
		}
	}
	return v, nil
}
