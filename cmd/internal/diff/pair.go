package diff

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/schema"
)

// Pair holds two objects of one type. The zero value has neither.
type Pair struct {
	// Old and New are the objects as encoding/json decodes them from the output of package manifest,
	// masked if Options.Mask is set. Differing values still differ. A missing object is nil.
	Old, New any

	typ *schema.Type
}

// Read reads two objects, and does not change them. Both are values of one API type, or pointers to
// them. Examples are a JobSet, a Job, a Pod, a Service, a volume claim and a ConfigMap. An
// unstructured object is also valid; each of its lists is one value. Either object may be nil. Read
// returns an error for two different types, and for an object without an encoding.
func Read(old, new any, opts Options) (p Pair, err error) {
	oldType, newType := typeOf(old), typeOf(new)
	if oldType != nil && newType != nil && oldType != newType {
		return p, fmt.Errorf("diff: a %s cannot be compared with a %s", oldType, newType)
	}
	p.typ = schemaOf(oldType)
	if oldType == nil {
		p.typ = schemaOf(newType)
	}
	if p.Old, err = decode(old, oldType); err != nil {
		return Pair{}, fmt.Errorf("diff: the old object: %w", err)
	}
	if p.New, err = decode(new, newType); err != nil {
		return Pair{}, fmt.Errorf("diff: the new object: %w", err)
	}
	if opts.Mask {
		m := masking{isSecret(p.Old) || isSecret(p.New), opts.Before, opts.After}
		p.Old, p.New = m.value(p.typ, nil, p.Old, p.New)
	}
	return p, nil
}

// typeOf returns the type of an object, or nil for a missing one.
func typeOf(object any) reflect.Type {
	v := reflect.ValueOf(object)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		return v.Type().Elem()
	}
	return v.Type()
}

// The schemas of objects that occur often in a rendering, compiled once.
var compiled = map[reflect.Type]func() *schema.Type{
	reflect.TypeFor[jobset.JobSet]():                once[jobset.JobSet](),
	reflect.TypeFor[batchv1.Job]():                  once[batchv1.Job](),
	reflect.TypeFor[corev1.Pod]():                   once[corev1.Pod](),
	reflect.TypeFor[corev1.Service]():               once[corev1.Service](),
	reflect.TypeFor[corev1.PersistentVolumeClaim](): once[corev1.PersistentVolumeClaim](),
}

func once[T any]() func() *schema.Type {
	return sync.OnceValue(func() *schema.Type { return schema.TypeOf(reflect.TypeFor[T]()) })
}

// schemaOf returns the merge schema of a type, or nil for unstructured objects.
func schemaOf(t reflect.Type) *schema.Type {
	switch {
	case t == nil || t == reflect.TypeFor[unstructured.Unstructured]() || t.Kind() == reflect.Map:
		return nil
	case compiled[t] != nil:
		return compiled[t]()
	default:
		return schema.TypeOf(t)
	}
}

// decode returns the object as package manifest writes it, without nulls. The output has no status,
// and no empty structs without information, such as a container's resources.
func decode(object any, t reflect.Type) (any, error) {
	if t == nil {
		return nil, nil
	}
	var b bytes.Buffer
	if err := manifest.Encode(&b, manifest.JSON, object); err != nil {
		return nil, err
	}
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(b.Bytes(), &value); err != nil {
		return nil, err
	}
	dropNulls(value)
	return value, nil
}

func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil {
				delete(v, name)
				continue
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}
