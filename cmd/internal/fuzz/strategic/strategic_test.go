// Package strategic_test answers: does the engine lay patches over a value of any Go type as the API machinery does?
//
// Bases and patches are random values of every kind of k8s.io/api and of some custom resources.
//
//	TRAINWELD_CASE=42 go test .            one case
//	TRAINWELD_SEED=7 go test .             another series of cases
//	TRAINWELD_CASES=1000000 go test .      a longer one
package strategic_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/fuzz"
	"github.com/trainweld/trainweld/schema"
)

// merging is a base and its patches. Each is a pointer to a value of the type, or an object.
type merging struct {
	typ     reflect.Type
	base    any
	patches []any
}

// plans are the plans of all kinds.
var plans = sync.OnceValue(func() map[reflect.Type]*merge.Plan[any, any] {
	plans := map[reflect.Type]*merge.Plan[any, any]{}
	for _, t := range kinds() {
		plan, err := merge.ForAny(t, schema.Rules{})
		if err != nil {
			panic(err)
		}
		plans[t] = plan
	}
	return plans
})

// newMerging is the case that a source of random numbers makes.
func newMerging(from rand.Source) *merging {
	m, g := newBase(from)
	for range 1 + g.rng.IntN(5) {
		switch g.rng.IntN(10) {
		case 0, 1, 2, 3:
			m.patches = append(m.patches, g.make(m.typ))
		case 4:
			m.patches = append(m.patches, g.object(m.typ, false, false))
		case 5, 6, 7:
			m.patches = append(m.patches, g.object(m.typ, true, false))
		default:
			m.patches = append(m.patches, g.object(m.typ, true, true))
		}
	}
	return m
}

// newBase is a case without patches yet.
func newBase(from rand.Source) (*merging, *generator) {
	g := newGenerator(from)
	m := &merging{typ: pick(g, kinds()...)}
	if g.chance(0.1) {
		m.typ = edgesType
	}
	for range 4 { // lists and options have little that merges
		if fieldNamed(m.typ, "spec") == nil && m.typ != edgesType && g.chance(0.7) {
			m.typ = pick(g, kinds()...)
		}
	}
	base, err := decode(m.typ, encode(g.make(m.typ))) // what a cluster or a file holds has been decoded
	if err != nil {
		panic(err)
	}
	m.base = base
	return m, g
}

// TestEqualsUpstream compares the engine with StrategicMergePatch, patch by patch.
func TestEqualsUpstream(t *testing.T) {
	var rejected, patches atomic.Int64
	n := forCases(t, 7_000, newMerging, func(m *merging) string {
		differs, isRejected := compare(m)
		patches.Add(int64(len(m.patches)))
		if isRejected {
			rejected.Add(1)
		}
		return differs
	})
	t.Logf("%d bases with %d patches, %d of them refused", n, patches.Load(), rejected.Load())
}

// TestEqualsUpstream_Cases are cases that random ones found, and few of them reach.
func TestEqualsUpstream_Cases(t *testing.T) {
	for reason, patches := range map[string][]any{
		"an empty patch drops twins": {
			object{"metadata": object{"finalizers": []any{"c", "c"}}}, object{"metadata": object{"finalizers": []any{}}},
		},
		"a null $patch, in an order": {
			object{"status": object{"$setElementOrder/conditions": []any{}, "conditions": []any{object{"$patch": nil}}}},
		},
		"a key that is empty": {
			object{"spec": object{"containers": []any{object{"name": ""}}}}, object{"spec": object{"containers": []any{object{"name": "", "image": "a"}}}},
		},
	} {
		if differs, rejected := compare(&merging{typ: reflect.TypeFor[corev1.Pod](), base: &corev1.Pod{}, patches: patches}); differs != "" || rejected {
			t.Errorf("%s: refused %v, %s", reason, rejected, differs)
		}
	}
	for reason, patch := range map[string]any{
		"an item without a key, in an order of none": object{"spec": object{"$setElementOrder/containers": []any{}, "containers": []any{object{"image": "a"}}}},
		"an item without a key, in an order":         object{"spec": object{"$setElementOrder/containers": []any{object{"name": "a"}}, "containers": []any{object{"image": "a"}}}},
	} {
		if differs, rejected := compare(&merging{typ: reflect.TypeFor[corev1.Pod](), base: &corev1.Pod{}, patches: []any{patch}}); differs != "" || !rejected {
			t.Errorf("%s: refused %v, %s", reason, rejected, differs)
		}
	}
}

// forCases holds a law for as many cases as are asked for, and returns their number. It prints the smallest cases that break it.
func forCases(t *testing.T, cases uint64, newCase func(rand.Source) *merging, law func(*merging) (broken string)) uint64 {
	cases = testenv.NumberOr(t, "TRAINWELD_CASES", cases)
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

func (m *merging) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n  base  %s\n", m.typ, encode(m.base))
	for _, patch := range m.patches {
		fmt.Fprintf(&s, "  %-5s %s\n", map[bool]string{true: "patch", false: "typed"}[reflect.TypeOf(patch) == reflect.TypeFor[object]()], encode(patch))
	}
	return s.String()
}

// compare says how the engine differs from upstream, and whether upstream rejects the case.
func compare(m *merging) (differs string, rejected bool) {
	want, failedAt, wantErr := upstream(m)
	var wanted []byte
	if wantErr == nil {
		wanted = canonical(m.typ, want)
	}
	for _, o := range []merge.Options{{}, {Owners: true}} {
		got, err := apply(m, o)
		switch failed := (*merge.PatchError)(nil); {
		case errors.Is(err, errPanic):
			return fmt.Sprintf("the engine (%+v): %v", o, err), wantErr != nil
		case wantErr != nil && err == nil:
			return fmt.Sprintf("upstream refuses patch %d (%v), and the engine (%+v) does not", failedAt, wantErr, o), true
		case wantErr == nil && err != nil && stricter(m):
			return "", true
		case wantErr == nil && err != nil:
			return fmt.Sprintf("the engine (%+v) refuses it (%v), and upstream does not", o, err), false
		case wantErr != nil && errors.As(err, &failed) && failed.Index != failedAt && !stricter(m):
			return fmt.Sprintf("upstream refuses patch %d (%v), and the engine %v", failedAt, wantErr, err), true
		case wantErr == nil:
			if made := canonical(m.typ, got.Value); !bytes.Equal(made, wanted) && !(stricter(m) && directs(m)) {
				return fmt.Sprintf("the engine (%+v) makes\n  %s\nand upstream\n  %s", o, made, wanted), false
			}
		}
	}
	return "", wantErr != nil
}

// canonical returns a value's JSON after decoding it once. A pointer to a zero time is encoded as null, which decodes as a nil
// pointer. Names in a raw extension come in any order.
func canonical(t reflect.Type, value any) []byte {
	again, err := decode(t, encode(value))
	if err != nil {
		return []byte(err.Error())
	}
	return encode(jsonOf(again))
}

// stricter reports whether the engine rejects a patch that upstream sometimes accepts. The reasons are in docs/differences.md,
// and TestStricter shows each of them.
func stricter(m *merging) bool {
	found := false
	for _, patch := range m.patches {
		found = found || deletesNoList(jsonOf(patch))
		keyedLists(m.typ, "", jsonOf(patch), func(key string, list []any) {
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
			if strings.HasPrefix(name, "$deleteFromPrimitiveList/") && !isList || deletesNoList(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, deletesNoList)
	}
	return false
}

// directs reports whether a patch holds a directive.
func directs(m *merging) bool {
	return slices.ContainsFunc(m.patches, func(patch any) bool { return bytes.Contains(encode(patch), []byte(`"$`)) })
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

var errPanic = errors.New("panic")

// apply is the engine's result.
func apply(m *merging, o merge.Options) (result *merge.Result[any], err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, strings.Join(regexp.MustCompile(`engine/\w+\.go:\d+`).FindAllString(string(debug.Stack()), 5), " "))
		}
	}()
	return plans()[m.typ].Apply(&m.base, layered(m), o)
}

// layered is each patch as the patch of a manager of its own.
func layered(m *merging) []merge.Patch[any] {
	layers := make([]merge.Patch[any], len(m.patches))
	for i := range m.patches {
		layers[i] = merge.Patch[any]{Owner: merge.Manager(fmt.Sprint(i)), Value: &m.patches[i]}
	}
	return layers
}

// upstream is the API machinery's result, or which patch it rejects and why.
func upstream(m *merging) (result any, failedAt int, err error) {
	result = m.base
	for i, patch := range m.patches {
		if result, err = strategicMerge(m.typ, result, patch); err == nil {
			err = identityTaken(m, patch, result)
		}
		if err != nil {
			return nil, i, err
		}
	}
	return result, 0, nil
}

// identityTaken is the API server's answer to a patch that takes the kind or the name from an object: it cannot decode the result, or
// its name is not the request's.
func identityTaken(m *merging, patch, result any) error {
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if fieldNamed(m.typ, name) == nil {
			return nil // a part of an object
		}
	}
	was, _ := jsonOf(m.base).(object)
	is, _ := jsonOf(result).(object)
	wasMeta, _ := was["metadata"].(object)
	isMeta, _ := is["metadata"].(object)
	if said, _ := jsonOf(patch).(object); said["$patch"] == "delete" {
		return errors.New("the object is empty")
	}
	for _, of := range []struct {
		was, is object
		name    string
	}{{was, is, "apiVersion"}, {was, is, "kind"}, {wasMeta, isMeta, "name"}} {
		if text, _ := of.was[of.name].(string); text != "" && (of.is[of.name] == nil || of.is[of.name] == "") {
			return fmt.Errorf("the object has no %s", of.name)
		}
	}
	return nil
}

// strategicMerge lays one patch over a value. Upstream panics where it compares what cannot be compared; an API server answers
// with an error then.
func strategicMerge(t reflect.Type, value, patch any) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	merged, err := strategicpatch.StrategicMergePatch(encode(value), encode(patch), reflect.Zero(t).Interface())
	if err != nil {
		return nil, err
	}
	return decode(t, merged)
}

// shrink removes from a case what it does not take to break a law.
func shrink(m *merging, broken string, law func(*merging) string) (*merging, string) {
	small := func(base object, patches []object) *merging {
		value, err := decode(m.typ, encode(base))
		if err != nil {
			return nil
		}
		s := &merging{typ: m.typ, base: value}
		for _, patch := range patches {
			o, _ := jsonOf(patch).(object)
			typed := patch["\x00typed"] != nil
			if o == nil {
				return nil
			}
			delete(o, "\x00typed")
			if typed {
				value, err := decode(m.typ, encode(o))
				if err != nil {
					return nil
				}
				s.patches = append(s.patches, value)
			} else {
				s.patches = append(s.patches, o)
			}
		}
		return s
	}
	base, patches := jsonOf(m.base).(object), []object{}
	for _, patch := range m.patches {
		o := jsonOf(patch).(object)
		if reflect.TypeOf(patch) != reflect.TypeFor[object]() {
			o["\x00typed"] = true
		}
		patches = append(patches, o)
	}
	for n, tries := 0, 0; tries < 3000; tries++ {
		b, _ := jsonOf(base).(object)
		var p []object
		for _, patch := range patches {
			o, _ := jsonOf(patch).(object)
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
