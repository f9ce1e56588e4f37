// Package strategic answers: does the engine lay patches over a value of any Go type as the API
// machinery does?
//
// Bases and patches are random values of every kind of k8s.io/api and of some custom resources.
//
//	TRAINWELD_CASE=42 go test .            one case
//	TRAINWELD_SEED=7 go test .             another series of cases
//	TRAINWELD_CASES=1000000 go test .      a longer one
package strategic

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
)

// Case is a base and its patches. Each is a pointer to a value of the type, or an object.
type Case struct {
	Type    reflect.Type
	Base    any
	Patches []any
}

// NewCase is the case that a source of random numbers makes.
func NewCase(from rand.Source) *Case {
	m, g := newBase(from)
	for range 1 + g.rng.IntN(5) {
		switch g.rng.IntN(10) {
		case 0, 1, 2, 3:
			m.Patches = append(m.Patches, g.make(m.Type))
		case 4:
			m.Patches = append(m.Patches, g.object(m.Type, oddities{}))
		case 5, 6, 7:
			m.Patches = append(m.Patches, g.object(m.Type, oddities{directives: true}))
		default:
			m.Patches = append(m.Patches, g.object(m.Type, oddities{directives: true, wild: true}))
		}
	}
	return m
}

// newBase is a case without patches yet.
func newBase(from rand.Source) (*Case, *generator) {
	g := newGenerator(from)
	m := &Case{Type: pick(g, kinds()...)}
	if g.chance(0.1) {
		m.Type = edgesType
	}
	for range 4 { // lists and options have little that merges
		if fieldNamed(m.Type, "spec") == nil && m.Type != edgesType && g.chance(0.7) {
			m.Type = pick(g, kinds()...)
		}
	}
	// what a cluster or a file holds has been decoded
	base, err := Decode(m.Type, Encode(g.make(m.Type)))
	if err != nil {
		panic(err)
	}
	m.Base = base
	return m, g
}

// ForCases holds a law for as many cases as are asked for, and returns their number. It prints the
// smallest cases that break it.
func ForCases(t *testing.T, cases uint64, newCase func(rand.Source) *Case,
	law func(*Case) (broken string)) uint64 {
	cases = testenv.Cases(t, cases)
	first := testenv.Seed(t) * 1_000_003
	if only, ok := testenv.Number(t, "TRAINWELD_CASE"); ok {
		first, cases = only, 1
	}
	var failed, next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for failed.Load() < 10 {
				i := uint64(next.Add(1) - 1)
				if i >= cases {
					return
				}
				m := newCase(rand.NewPCG(first+i, 0x5eed))
				if broken := law(m); broken != "" {
					failed.Add(1)
					m, broken = shrink(m, broken, law)
					t.Errorf("TRAINWELD_CASE=%d: %s\n%s", first+i, broken, m)
				}
			}
		})
	}
	group.Wait()
	return min(uint64(next.Load()), cases)
}

func (m *Case) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n  base  %s\n", m.Type, Encode(m.Base))
	for _, patch := range m.Patches {
		fmt.Fprintf(&s, "  %-5s %s\n",
			map[bool]string{
				true: "patch", false: "typed"}[reflect.TypeOf(patch) == reflect.TypeFor[object]()],
			Encode(patch))
	}
	return s.String()
}

// canonical returns a value's JSON after decoding it once. A pointer to a zero time is encoded as
// null, which decodes as a nil pointer. Names in a raw extension come in any order.
func Canonical(t reflect.Type, value any) []byte {
	again, err := Decode(t, Encode(value))
	if err != nil {
		return []byte(err.Error())
	}
	return Encode(JSON(again))
}

// stricter reports whether the engine rejects a patch that upstream sometimes accepts. The reasons
// are in docs/differences.md, and TestStricter shows each of them.
func IsStricter(m *Case) bool {
	found := false
	for _, patch := range m.Patches {
		found = found || deletesNoList(JSON(patch))
		keyedLists(m.Type, "", JSON(patch), func(key string, list []any) {
			seen := map[any]bool{}
			for _, item := range list {
				item, ok := item.(object)
				value, hasKey := item[key]
				if !ok || !hasKey {
					continue
				}
				_, isObject := value.(object)
				found = found || value == nil || isObject || seen[fmt.Sprint(value)]
				seen[fmt.Sprint(value)] = true
			}
		})
	}
	return found
}

// deletesNoList reports whether a $deleteFromPrimitiveList holds something else than a list.
func deletesNoList(v any) bool {
	switch v := v.(type) {
	case object:
		for name, value := range v {
			_, isList := value.([]any)
			if strings.HasPrefix(name, "$deleteFromPrimitiveList/") && !isList ||
				deletesNoList(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, deletesNoList)
	}
	return false
}

// directs reports whether a patch holds a directive.
func Directs(m *Case) bool {
	return slices.ContainsFunc(m.Patches, func(patch any) bool {
		return bytes.Contains(Encode(patch), []byte(`"$`))
	})
}

// keyedLists visits the lists within a value of a type that merge by a key.
func keyedLists(t reflect.Type, key string, v any, visit func(key string, list []any)) {
	t = indirect(t)
	switch v := v.(type) {
	case object:
		for name, value := range v {
			switch t.Kind() {
			case reflect.Struct:
				if f := fieldNamed(t, name); f != nil {
					keyedLists(f.typ, f.tag.Get("patchMergeKey"), value, visit)
				}
			case reflect.Map:
				keyedLists(t.Elem(), "", value, visit)
			}
		}
	case []any:
		if key != "" {
			visit(key, v)
		}
		for _, item := range v {
			if t.Kind() == reflect.Slice {
				keyedLists(t.Elem(), "", item, visit)
			}
		}
	}
}

// upstream is the API machinery's result, or which patch it rejects and why.
func Upstream(m *Case) (result any, failedAt int, err error) {
	result = m.Base
	for i, patch := range m.Patches {
		if result, err = strategicMerge(m.Type, result, patch); err == nil {
			err = identityTaken(m, patch, result)
		}
		if err != nil {
			return nil, i, err
		}
	}
	return result, 0, nil
}

// identityTaken is the API server's answer to a patch that takes the kind or the name from an
// object: it cannot decode the result, or its name is not the request's.
func identityTaken(m *Case, patch, result any) error {
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if fieldNamed(m.Type, name) == nil {
			return nil // a part of an object
		}
	}
	was, _ := JSON(m.Base).(object)
	is, _ := JSON(result).(object)
	wasMeta, _ := was["metadata"].(object)
	isMeta, _ := is["metadata"].(object)
	if said, _ := JSON(patch).(object); said["$patch"] == "delete" {
		return errors.New("the object is empty")
	}
	for _, of := range []struct {
		was, is object
		name    string
	}{{was, is, "apiVersion"}, {was, is, "kind"}, {wasMeta, isMeta, "name"}} {
		if text, _ := of.was[of.name].(string); text != "" &&
			(of.is[of.name] == nil || of.is[of.name] == "") {
			return fmt.Errorf("the object has no %s", of.name)
		}
	}
	return nil
}

// strategicMerge lays one patch over a value. Upstream panics where it compares what cannot be
// compared; an API server answers with an error then.
func strategicMerge(t reflect.Type, value, patch any) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	merged, err := strategicpatch.StrategicMergePatch(Encode(value), Encode(patch),
		reflect.Zero(t).Interface())
	if err != nil {
		return nil, err
	}
	return Decode(t, merged)
}

// shrink removes from a case what it does not take to break a law.
func shrink(m *Case, broken string, law func(*Case) string) (*Case, string) {
	small := func(base object, patches []object) *Case {
		value, err := Decode(m.Type, Encode(base))
		if err != nil {
			return nil
		}
		s := &Case{Type: m.Type, Base: value}
		for _, patch := range patches {
			o, _ := JSON(patch).(object)
			typed := patch["\x00typed"] != nil
			if o == nil {
				return nil
			}
			delete(o, "\x00typed")
			if typed {
				value, err := Decode(m.Type, Encode(o))
				if err != nil {
					return nil
				}
				s.Patches = append(s.Patches, value)
			} else {
				s.Patches = append(s.Patches, o)
			}
		}
		return s
	}
	base, patches := JSON(m.Base).(object), []object{}
	for _, patch := range m.Patches {
		o := JSON(patch).(object)
		if reflect.TypeOf(patch) != reflect.TypeFor[object]() {
			o["\x00typed"] = true
		}
		patches = append(patches, o)
	}
	for n, tries := 0, 0; tries < 3000; tries++ {
		b, _ := JSON(base).(object)
		var p []object
		for _, patch := range patches {
			o, _ := JSON(patch).(object)
			p = append(p, o)
		}
		if !fuzz.Drop(n, &p, &b) {
			break
		}
		if s := small(b, p); s != nil {
			if now := law(s); now != "" {
				base, patches, m, broken, n = b, p, s, now, 0
				continue
			}
		}
		n++
	}
	return m, broken
}
