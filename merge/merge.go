// Package merge merges patches of named managers into a value and records who set each field.
//
// [Strategic] merges into a value of a Go type as a strategic merge patch does in the cluster, by
// the type's struct tags. [Apply] merges objects of a definition as forced server-side applies do.
// [StrategicObject] merges objects by a Go type, or without one as JSON merge patches. Without
// options, each does what the cluster does.
//
//	result, err := merge.Strategic(&deployment, []merge.Patch{{Manager: "user", Value: patch}},
//		merge.SkipZero(), merge.Protect(fieldpath.Fields("spec", "replicas")))
//
// A [Patch] is a Go value, an [Object] that can also hold nulls and directives, or a [JSONPatch]. A
// base and each patch are encoded once, merged as trees of JSON, and the result is decoded once.
//
// The [History] of a result has the claims on each field, in the order of writing. Package conflict
// finds in it the fields on which patches disagree. [Note] lists what a merge made of fields that a
// patch may not have meant.
//
// Some names serve other packages of the project. Package conflict reads [History.Disputes] and
// [History.Type]. Package render shows its history on the JobSet and on each Job and Pod by
// [History.On], [History.Fork] and [History.Rename], reads [History.Changed] for its warnings, and
// hands in what it has encoded by [Trees].
// The program reads the fields of live objects by [FieldsV1Paths], asks for [History.IsLive], names
// the flag of an [OptionError], and explains a [TypeError].
//
// Its first file to read is patch.go.
package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/trainweld/trainweld/internal/yamltext"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// ReadPatch reads a manager's patch from YAML or JSON: an object, or the list of operations of a
// JSON patch. Aliases may expand it to 3 MiB.
func ReadPatch(manager string, text []byte) (Patch, error) {
	if !json.Valid(text) {
		converted, err := yamltext.ToJSON(text)
		if err != nil {
			return Patch{}, fmt.Errorf("patch of manager %q: %w", manager, err)
		}
		text = converted
	}
	var value any
	var err error
	if text = bytes.TrimSpace(text); bytes.HasPrefix(text, []byte("[")) {
		value, err = parseJSONPatch(text)
	} else if value, err = decoded(text); err == nil {
		if _, isObject := value.(Object); !isObject {
			err = wrongType(value, "an object or a list of operations")
		}
	}
	if err != nil {
		return Patch{}, fmt.Errorf("patch of manager %q: %w", manager, err)
	}
	return Patch{Manager: manager, Value: value}, nil
}

// Result is the result of a merge. It aliases neither the base nor the patches.
type Result[T any] struct {
	// Value is the merged value.
	Value T
	// History records who set each field of Value.
	History *History
	// Notes are what a patch may not have meant, by kinds, each kind in the order of the merge.
	Notes []Note
}

// Strategic merges patches into a base in the given order, as strategic merge patches do. It
// changes neither. T is a struct, and a nil base is an empty one. T may also be any: the base then
// holds a pointer to a struct, and so does the result. Go values among its patches are of this
// struct.
//
// The error is a [*PatchError], which names the manager and the field at which a patch cannot be
// merged. There is then no result. If several patches cannot be merged, the error names the first
// in the order of the merge: with First or Prefer, the winner is merged last. It is an
// [*OptionError] for options that do not go together.
func Strategic[T any](base *T, patches []Patch, options ...Option) (*Result[T], error) {
	result := new(Result[T])
	value, of := any(base), reflect.TypeFor[T]()
	isAny := of.Kind() == reflect.Interface
	switch {
	case isAny:
		if base == nil {
			return nil, errors.New("merge: the base is <nil>, and must be a pointer to a struct")
		}
		value = *base
		from := reflect.ValueOf(value)
		if from.Kind() != reflect.Pointer || from.IsNil() || structOf(value) == nil {
			return nil, fmt.Errorf("merge: the base is %T, and must be a pointer to a struct",
				value)
		}
		of = from.Type().Elem()
	case base == nil:
		value = new(T)
	}
	layers, err := layersOf(patches)
	if err != nil {
		return nil, err
	}
	o := optionsOf(options)
	var p *plan
	if isAny {
		p, err = o.rules.plan(of, of)
	} else {
		p, err = o.rules.planOf(of, layers)
	}
	if err != nil {
		return nil, err
	}
	if err = o.check(p); err != nil {
		return nil, err
	}
	if result.History, result.Notes, err = p.merge(value, layers, o); err != nil {
		return nil, err
	}
	result.Notes = append(result.Notes, result.History.precedence(layers, o)...)
	into := any(&result.Value)
	if isAny {
		into = reflect.New(of).Interface()
		result.Value = into.(T)
	}
	merged := result.History.value.(Object)
	if !o.defaults { // otherwise the owners are those of the value without defaults
		result.History.value = into
	}
	if err := p.decodeResult(merged, into, o.defaults); err != nil {
		return nil, err
	}
	return result, nil
}

// StrategicObject merges as [Strategic] does, into an object by a type that schema.Compile returns.
// Without a type, a patch merges as a JSON merge patch does (RFC 7386): objects merge by key, a
// null removes its key, and every other value replaces the old one, lists included. A patch of
// another apiVersion or kind than its base is an error.
func StrategicObject(t *schema.Type, base Object, patches []Patch,
	options ...Option) (*Result[Object], error) {
	o := optionsOf(options)
	p, err := o.rules.objectPlan(t)
	if err != nil {
		return nil, err
	}
	return p.mergeObject(base, patches, o)
}

// Apply merges patches as server-side applies with force do, into an object of a definition that
// schema.ParseOpenAPI has read. A JSON patch is an update. A field that the definition lacks is an
// error in the base or a patch.
func Apply(t *schema.Type, base Object, patches []Patch,
	options ...Option) (*Result[Object], error) {
	if t == nil || t.GoType() != nil {
		return nil, errors.New(
			"merge: an apply needs the type of a definition: see schema.ParseOpenAPI")
	}
	return (&plan{root: t, objects: true}).mergeObject(base, patches, optionsOf(options))
}

// mergeObject merges patches into an object.
func (p *plan) mergeObject(base Object, patches []Patch, o *options) (*Result[Object], error) {
	layers, err := layersOf(patches)
	if err != nil {
		return nil, err
	}
	if err = o.check(p); err != nil {
		return nil, err
	}
	result := new(Result[Object])
	if result.History, result.Notes, err = p.merge(base, layers, o); err != nil {
		return nil, err
	}
	result.Notes = append(result.Notes, result.History.precedence(layers, o)...)
	merged := result.History.value.(Object)
	if p.objects {
		result.Value = merged
		return result, nil
	}
	if result.Value = tree.Copy(merged); o.defaults {
		into := reflect.New(p.of).Interface()
		if err = p.decodeResult(merged, into, true); err != nil {
			return nil, err
		}
		made, err := tree.Value(into)
		if err != nil {
			return nil, err
		}
		result.Value = made.(Object)
	}
	return result, nil
}
