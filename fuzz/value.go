package fuzz

import (
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// source makes the random choices of one case.
type source struct {
	rng        *rand.Rand
	checked    bool
	tidy       bool
	directives bool
	least      int
	most       int
	inTemplate bool

	// focus records the fields that this case is about. A case is about few fields, so that its
	// managers meet in them.
	focus map[*fieldPlan]bool
	// hints record the union member that an item's name prefers in this case.
	hints map[string]int
	// theme are the main fields of this case, or nil. In a bare case the template has none of them,
	// so that only the managers set them.
	theme map[string]bool
	bare  bool
	// spread is set within a long list, whose items need many names.
	spread bool
}

// site is the place of a value: the struct that holds it and the field's name in JSON.
type site struct {
	parent reflect.Type
	field  string
}

func of[T any](p *T) reflect.Value { return reflect.ValueOf(p).Elem() }

func (s *source) chance(p float64) bool { return s.rng.Float64() < p }

func pick[T any](s *source, from ...T) T { return from[s.rng.IntN(len(from))] }

// weighted picks an index by weight.
func (s *source) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := s.rng.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

// value fills v, which must be settable.
func (s *source) value(v reflect.Value, at site) {
	if s.special(v, at) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.value(v.Elem(), at)
	case reflect.Struct:
		s.structure(v)
	case reflect.Slice:
		s.slice(v, at)
	case reflect.Map:
		s.mapping(v, at)
	case reflect.String:
		v.SetString(s.text(v.Type(), at))
	case reflect.Bool:
		v.SetBool(s.chance(0.5))
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(s.weighted(4, 6, 3)))
		if !s.checked && s.chance(0.02) {
			v.SetInt(pick[int64](s, -1, math.MaxInt32))
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(s.rng.IntN(3)))
	default:
		panic("fuzz: no rule for values of type " + v.Type().String())
	}
}

// structure fills the fields of a struct that this case is about, and leaves the others zero.
func (s *source) structure(v reflect.Value) {
	for i := range plans()[v.Type()] {
		f := &plans()[v.Type()][i]
		if f.name == "" || s.wants(f) {
			s.value(v.Field(f.index), site{v.Type(), f.name})
		}
	}
}

func (s *source) wants(f *fieldPlan) bool {
	switch {
	case f.spine:
		return s.tidy && f.key || s.chance(0.985)
	case f.key:
		return true
	case s.theme[f.name]:
		return !(s.bare && s.inTemplate) && s.chance(0.9)
	}
	on, known := s.focus[f]
	if !known {
		on = s.chance(f.likely)
		s.focus[f] = on
		if f.partner != nil {
			// The template and the patches of one case are about the same fields.
			s.focus[f.partner] = on
		}
	}
	if on {
		return s.chance(0.7)
	}
	return s.chance(0.02)
}

func (s *source) slice(v reflect.Value, at site) {
	elem := v.Type().Elem()
	n := s.weighted(12, 10, 40, 25, 11, 2) - 1
	if _, structs := mergeKeys[elem]; structs {
		n = s.weighted(3, 3, 34, 32, 20, 8) - 1
		switch elem {
		case reflect.TypeFor[jobset.ReplicatedJob]():
			n = s.weighted(0, 1, 60, 28, 10)
			if s.checked {
				n = max(n, 1)
			}
		case reflect.TypeFor[corev1.Container]():
			n = s.weighted(2, 4, 50, 34, 10) - 1
			if s.checked && at.field == "containers" {
				n = max(n, 1)
			}
		case reflect.TypeFor[trainer.ReplicatedJobPatch]():
			n = s.weighted(1, 2, 70, 22, 5) - 1
		}
		if n == 4 && s.chance(0.4) {
			n = 5 + s.rng.IntN(7)
			s.spread = true
			defer func() { s.spread = false }()
		}
	}
	if n < 0 {
		return // a nil list, which encodes as null if the field has no omitempty
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		s.value(v.Index(i), site{at.parent, at.field})
	}
	s.dedupe(v)
}

// dedupe removes the later of two items with one merge key, and of two equal strings. Without
// tidiness it sometimes keeps them.
func (s *source) dedupe(v reflect.Value) {
	elem := v.Type().Elem()
	name, isMap := mergeKeys[elem]
	if !isMap && elem.Kind() != reflect.String || !s.tidy && s.chance(0.07) {
		return
	}
	seen := map[any]bool{}
	kept := reflect.MakeSlice(v.Type(), 0, v.Len())
	for i := range v.Len() {
		item := v.Index(i)
		key := item
		if isMap {
			key = byName(item, name)
		}
		if k := key.Interface(); !seen[k] {
			seen[k] = true
			kept = reflect.Append(kept, item)
		}
	}
	v.Set(kept)
}

// byName returns the field with that JSON name, even in an inlined struct.
func byName(v reflect.Value, name string) reflect.Value {
	for _, f := range plans()[v.Type()] {
		switch f.name {
		case name:
			return v.Field(f.index)
		case "":
			if found := byName(v.Field(f.index), name); found.IsValid() {
				return found
			}
		}
	}
	return reflect.Value{}
}

func (s *source) mapping(v reflect.Value, at site) {
	n := s.weighted(4, 5, 45, 30, 16) - 1
	if n < 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key := reflect.New(v.Type().Key()).Elem()
		value := reflect.New(v.Type().Elem()).Elem()
		s.value(key, site{v.Type(), "key of " + at.field})
		s.value(value, site{v.Type(), "value of " + at.field})
		v.SetMapIndex(key, value)
	}
	if m, ok := v.Interface().(map[string]string); ok {
		s.direct(m)
	}
}

// direct puts a directive of strategic merge among the keys.
func (s *source) direct(m map[string]string) {
	if !s.directives || !s.chance(0.25) {
		return
	}
	switch s.weighted(6, 6, 1, 1, 1, 2, 1) {
	case 0:
		m["$patch"] = "replace"
	case 1:
		m["$patch"] = "delete"
	case 2:
		m["$patch"] = pick(s, "merge", "", "x")
	case 3:
		m["$retainKeys"] = "k1"
	case 4:
		m["$setElementOrder/k1"] = "x"
	case 5:
		// Next to the key that it names, upstream's result would depend on the order of a Go map.
		delete(m, "k1")
		m["$deleteFromPrimitiveList/k1"] = pick(s, "x", "y")
	case 6:
		m["$deleteFromPrimitiveList"] = "x"
	}
}

// quantities hold several spellings of equal values.
var quantities = []string{"1Gi", "1024Mi", "1Gi", "1024Mi", "2Gi", "1", "1000m", "0.5", "500m", "0",
	"1073741824"}

func (s *source) special(v reflect.Value, at site) bool {
	switch p := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*p = resource.MustParse(pick(s, quantities...))
	case *metav1.Time:
		*p = metav1.NewTime(time.Unix(1767225600+int64(s.rng.IntN(2))*86400, 0).UTC())
		if !s.inTemplate && at.parent == reflect.TypeFor[metav1.ObjectMeta]() && s.chance(0.1) {
			*p = metav1.Time{} // a pointer to it encodes as null
		}
	case *metav1.FieldsV1:
		p.SetRawString(pick(s, `{}`, `{"f:metadata":{"f:labels":{".":{},"f:k1":{}}}}`))
	case *intstr.IntOrString:
		*p = pick(s, intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("http"))
	case *corev1.Volume:
		s.value(of(&p.Name), site{v.Type(), "name"})
		s.volumeSource(&p.VolumeSource, p.Name)
	case *corev1.EnvVar:
		s.envVar(p)
	case *corev1.EnvVarSource:
		s.oneOf(v, s.favourite("valueFrom"), 0.1)
	case *corev1.VolumeMount:
		s.volumeMount(v, p)
	case *corev1.SeccompProfile:
		p.Type = pick(s, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeLocalhost,
			corev1.SeccompProfileTypeRuntimeDefault, "")
		p.LocalhostProfile = s.profile(p.Type == corev1.SeccompProfileTypeLocalhost)
	case *corev1.AppArmorProfile:
		p.Type = pick(s, corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeLocalhost,
			corev1.AppArmorProfileTypeRuntimeDefault, "")
		p.LocalhostProfile = s.profile(p.Type == corev1.AppArmorProfileTypeLocalhost)
	default:
		return false
	}
	return true
}
