package strategic

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// newManagers is a case of two to five managers, with patches of all kinds.
func newManagers(from rand.Source) *Case {
	m, g := newBase(from)
	for range 2 + g.rng.IntN(4) {
		switch g.rng.IntN(10) {
		case 0, 1, 2:
			m.Patches = append(m.Patches, g.make(m.Type))
		case 3, 4, 5:
			m.Patches = append(m.Patches, g.object(m.Type, false, false))
		case 6, 7, 8:
			m.Patches = append(m.Patches, g.object(m.Type, true, false))
		default:
			m.Patches = append(m.Patches, g.object(m.Type, true, true))
		}
	}
	return m
}

// TestOverlapIsOrder checks that an overlap is reported if and only if two orders of the patches
// give another value, or one cannot be merged. The order inside list-maps and sets does not count.
// Patches with directives are counted apart.
func TestOverlapIsOrder(t *testing.T) {
	var plain, directed tally
	ForCases(t, 10_000, newManagers, func(m *Case) string {
		result, err := apply(m)
		if err != nil {
			return ""
		}
		count := &plain
		if Directs(m) {
			count = &directed
		}
		return count.overlapIsOrder(m, result.History)
	})
	t.Logf("plain patches: %v; with directives: %v", &plain, &directed)
}

// tally counts sets of patches of which overlaps are missed, or reported without a reason.
type tally struct{ sets, overlaps, missed, false atomic.Int64 }

func (c *tally) String() string {
	return fmt.Sprintf("%d sets, %d with overlaps, %d missed, %d false", c.sets.Load(),
		c.overlaps.Load(), c.missed.Load(), c.false.Load())
}

func (c *tally) overlapIsOrder(m *Case, history *merge.History) string {
	c.sets.Add(1)
	found := slices.DeleteFunc(conflict.Find(history), func(c conflict.Conflict) bool {
		return c.Kind != conflict.Overlap
	})
	one, other := "", ""
	permute(m.Patches, func(order []any) bool {
		outcome := "it cannot be merged"
		if again, err := apply(&Case{Type: m.Type, Base: m.Base, Patches: order}); err == nil {
			outcome = unordered(m.Type, again.Value)
		}
		if one == "" {
			one = outcome
		} else if outcome != one {
			other = outcome
		}
		return other == ""
	})
	switch {
	case len(found) == 0 && other != "":
		c.missed.Add(1)
		return fmt.Sprintf("no overlap is reported, and the order decides:\n  %s\n  %s", one, other)
	case len(found) > 0 && other == "":
		c.false.Add(1)
		return fmt.Sprintf("every order gives the same value, and overlaps are reported: %v", found)
	case len(found) > 0:
		c.overlaps.Add(1)
	}
	return ""
}

func overlapIsOrder(m *Case) string {
	result, err := apply(m)
	if err != nil {
		return ""
	}
	return new(tally).overlapIsOrder(m, result.History)
}

// TestIdenticalPatches: managers with the same patch do not conflict.
func TestIdenticalPatches(t *testing.T) {
	ForCases(t, 3_000, func(from rand.Source) *Case {
		m, g := newBase(from)
		patch := any(g.object(m.Type, true, g.chance(0.5)))
		if g.chance(0.2) {
			patch = g.make(m.Type)
		}
		m.Patches = append(m.Patches, patch, JSON(patch))
		if g.chance(0.3) {
			m.Patches = append(m.Patches, patch)
		}
		return m
	}, func(m *Case) string {
		for _, patch := range m.Patches {
			if !reflect.DeepEqual(JSON(patch), JSON(m.Patches[0])) {
				return "" // made smaller, they differ
			}
		}
		result, err := apply(m)
		if err != nil {
			return ""
		}
		if found := conflict.Find(result.History); len(found) > 0 {
			return fmt.Sprintf("identical patches overlap: %v", found)
		}
		return ""
	})
}

// permute tries every order of the patches until one is told to be enough.
func permute(patches []any, try func([]any) bool) bool {
	var place func(order []any, left []any) bool
	place = func(order, left []any) bool {
		if len(left) == 0 {
			return try(order)
		}
		for i := range left {
			if !place(append(slices.Clone(order), left[i]),
				slices.Delete(slices.Clone(left), i, i+1)) {
				return false
			}
		}
		return true
	}
	return place(nil, patches)
}

// unordered is a value's JSON, its list-maps and sets sorted.
func unordered(t reflect.Type, value any) string {
	var v any = JSON(value)
	sortLists(types()[t], v)
	return string(Encode(v))
}

func sortLists(t *schema.Type, v any) {
	if t == nil {
		return
	}
	switch v := v.(type) {
	case object:
		for name, value := range v {
			if t.Kind == schema.Map {
				sortLists(t.Elem, value)
			} else if f := t.Field(name); f != nil {
				sortLists(f.Type, value)
			}
		}
	case []any:
		for _, item := range v {
			sortLists(t.Elem, item)
		}
		if t.Kind == schema.ListMap || t.Kind == schema.Set {
			slices.SortStableFunc(v, func(a, b any) int {
				if t.Kind == schema.ListMap {
					a, b = a.(object)[t.Key], b.(object)[t.Key]
				}
				return cmp.Compare(string(Encode(a)), string(Encode(b)))
			})
		}
	}
}

// TestOverlapIsOrder_Cases shows one by one what random cases have found.
func TestOverlapIsOrder_Cases(t *testing.T) {
	for _, c := range []struct {
		reason  string
		typ     reflect.Type
		base    string
		patches []string
		found   bool
	}{
		{"a null on an object that holds nothing but a null", reflect.TypeFor[corev1.Event](),
			`{}`, []string{`{"series":null}`, `{"series":{}}`}, true},
		{"a null in an item of a list that the base lacks", reflect.TypeFor[storagev1.CSINode](),
			`{}`,
			[]string{`{"spec":{"drivers":[{"name":"e","topologyKeys":null}]}}`,
				`{"spec":{"drivers":[{"name":"e","topologyKeys":["d"]}]}}`}, true},
		{"a struct by value is encoded in any case",
			reflect.TypeFor[flowcontrolv1.PriorityLevelConfiguration](), `{}`,
			[]string{`{"spec":{"limited":{"lendablePercent":80,"limitResponse":{}}}}`,
				`{"spec":{"limited":{"$patch":"replace","lendablePercent":80}}}`}, false},
		{"so is an empty string", reflect.TypeFor[flowcontrolv1.FlowSchema](), `{}`,
			[]string{`{"spec":{"priorityLevelConfiguration":{"name":""}}}`, `{"spec":null}`},
			false},
		{"but not in a pointer", reflect.TypeFor[flowcontrolv1.FlowSchema](), `{}`,
			[]string{`{"spec":{"distinguisherMethod":{"type":""}}}`, `{"spec":null}`}, true},
		{"the pointer that the null takes away", reflect.TypeFor[flowcontrolv1.FlowSchema](), `{}`,
			[]string{`{"spec":{"distinguisherMethod":{"type":""}}}`,
				`{"spec":{"distinguisherMethod":null}}`}, true},
		{"$patch that is dropped with its object, except after another patch",
			reflect.TypeFor[flowcontrolv1.PriorityLevelConfiguration](), `{}`,
			[]string{`{"spec":{"limited":{"limitResponse":{"type":""}}}}`,
				`{"spec":{"limited":{"$patch":"replace","lendablePercent":80}}}`}, true},
		{"a pointer that the manager of the null also sets",
			reflect.TypeFor[flowcontrolv1.PriorityLevelConfiguration](), `{"spec":{"limited":{}}}`,
			[]string{`{"spec":{"limited":{"limitResponse":{"type":""}}}}`,
				`{"spec":{"limited":{"$patch":"replace","lendablePercent":80}}}`}, false},
		{"a pointer to a struct in which only a null is said", reflect.TypeFor[appsv1.ReplicaSet](),
			`{}`,
			[]string{`{"spec":{"selector":null}}`,
				`{"spec":{"selector":{"matchLabels":{"c":null}}}}`}, true},
		{"an empty map that null does not mean", reflect.TypeFor[mpi.MPIJob](), `{}`,
			[]string{`{"spec":{"mpiReplicaSpecs":{}}}`, `{"spec":{"mpiReplicaSpecs":null}}`}, true},
		{"duplicates that an empty set removes, which its type omits",
			reflect.TypeFor[corev1.Pod](), `{}`,
			[]string{`{"metadata":{"finalizers":["c","c"]}}`, `{"metadata":{"finalizers":[]}}`},
			true},
		{"duplicates that go in any case, since an empty set is there", reflect.TypeFor[edges](),
			`{}`,
			[]string{`{"ends":["c","c"]}`, `{"ends":[]}`}, false},
		{"an empty list that null does not mean", reflect.TypeFor[storagev1.CSINode](), `{}`,
			[]string{`{"spec":{"drivers":[]}}`, `{"spec":{"drivers":null}}`}, true},
		{"an empty list that is replaced whole", reflect.TypeFor[corev1.PodExecOptions](), `{}`,
			[]string{`{"command":[]}`, `{"command":null}`}, true},
		{"bytes that are not null", reflect.TypeFor[certificatesv1.CertificateSigningRequest](),
			`{}`,
			[]string{`{"spec":{"request":null}}`, `{"spec":{"request":""}}`}, true},
		{"values of a type that reads its own JSON", reflect.TypeFor[appsv1.ControllerRevision](),
			`{}`,
			[]string{`{"data":false}`, `{"data":["a"]}`}, true},
		{"$patch in a map", reflect.TypeFor[corev1.Service](), `{"spec":{"selector":{"a":"b"}}}`,
			[]string{`{"spec":{"selector":{"$patch":"replace"}}}`,
				`{"spec":{"selector":{"d":"c"}}}`}, true},
		{"$patch in an object, and the object itself", reflect.TypeFor[corev1.PodList](), `{}`,
			[]string{`{"metadata":{"shardInfo":{"$patch":"replace"}}}`,
				`{"metadata":{"shardInfo":{}}}`}, false},
		{"$patch in an object that the base lacks", reflect.TypeFor[corev1.Pod](), `{}`,
			[]string{`{"spec":{"affinity":{"nodeAffinity":{"$patch":"delete"}}}}`,
				`{"spec":{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]}}}}`}, false},
		{"$patch in a map that the base lacks, and a part of the map",
			reflect.TypeFor[corev1.Pod](), `{}`,
			[]string{`{"metadata":{"annotations":{"c":"b"}}}`,
				`{"metadata":{"annotations":{"$patch":"replace","a":"c","c":"b"}}}`}, true},
		{"$patch in a list that the base lacks", reflect.TypeFor[corev1.Pod](), `{}`,
			[]string{`{"spec":{"volumes":[{"$patch":"replace"},{"name":"a"}]}}`,
				`{"spec":{"volumes":[{"name":"b"}]}}`}, true},
		{"a deletion in an empty list", reflect.TypeFor[storagev1.CSINode](),
			`{"spec":{"drivers":[]}}`,
			[]string{`{"spec":{"drivers":[{"$patch":"delete","name":"d"}]}}`,
				`{"spec":{"drivers":null}}`}, true},
		{"a deletion of an item that the list lacks", reflect.TypeFor[storagev1.CSINode](),
			`{"spec":{"drivers":[{"name":"e"}]}}`,
			[]string{`{"spec":{"drivers":[{"$patch":"delete","name":"d"}]}}`,
				`{"spec":{"drivers":null}}`}, true},
		{"$patch in a list, of which an empty one is left", reflect.TypeFor[storagev1.CSINode](),
			`{}`,
			[]string{`{"spec":{"drivers":[{"$patch":"delete"}]}}`, `{"spec":{"drivers":null}}`},
			true},
		{"a map of which nulls leave nothing", reflect.TypeFor[mpi.MPIJob](), `{}`,
			[]string{`{"spec":{"mpiReplicaSpecs":null}}`,
				`{"spec":{"mpiReplicaSpecs":{"b":null}}}`}, true},
		{"a list that is replaced whole, in an order of its own",
			reflect.TypeFor[metav1.PatchOptions](), `{}`,
			[]string{`{"dryRun":["b","c"]}`,
				`{"dryRun":["c","b"],"$setElementOrder/dryRun":["b","c","b"]}`}, false},
		{"the order alone of a list that is replaced whole", reflect.TypeFor[metav1.PatchOptions](),
			`{"dryRun":["c","b"]}`,
			[]string{`{"dryRun":["c","b"]}`, `{"$setElementOrder/dryRun":["b","c"]}`}, true},
		{"an item that is deleted and added", reflect.TypeFor[corev1.Pod](), `{}`,
			[]string{`{"spec":{"volumes":[{"$patch":"delete","name":"b"}]}}`,
				`{"spec":{"volumes":[{"name":"b"}]}}`}, true},
		{"an item that is deleted, and another one", reflect.TypeFor[corev1.Pod](), `{}`,
			[]string{`{"spec":{"volumes":[{"$patch":"delete","name":"a"}]}}`,
				`{"spec":{"volumes":[{"name":"b"}]}}`}, false},
		{"an item that one patch deletes and adds, and another adds", reflect.TypeFor[corev1.Pod](),
			`{}`,
			[]string{`{"spec":{"volumes":[{"$patch":"delete","name":"b"},{"name":"b","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"b"}]}}`}, false},
		{"$retainKeys and a field that the base lacks", reflect.TypeFor[corev1.Pod](), `{}`,
			[]string{`{"metadata":{"$retainKeys":["name"],"name":"a"}}`,
				`{"metadata":{"generateName":"b"}}`}, true},
		{"$retainKeys in an object that the base lacks", reflect.TypeFor[appsv1.Deployment](), `{}`,
			[]string{`{"spec":{"strategy":{"rollingUpdate":{"$retainKeys":["maxSurge"],"maxSurge":1}}}}`, `{"spec":{"strategy":{"rollingUpdate":{"maxUnavailable":1}}}}`}, true},
		{"$retainKeys and a field that it names", reflect.TypeFor[corev1.Pod](), `{}`,
			[]string{`{"metadata":{"$retainKeys":["name","generateName"],"name":"a"}}`,
				`{"metadata":{"generateName":"b"}}`}, false},
		{"$retainKeys in a map", reflect.TypeFor[corev1.Service](),
			`{"spec":{"selector":{"a":"b"}}}`,
			[]string{`{"spec":{"selector":{"$retainKeys":["a"],"a":"b"}}}`,
				`{"spec":{"selector":{"d":"c"}}}`}, true},
		{"elements that are deleted from a list that the base lacks",
			reflect.TypeFor[corev1.Namespace](), `{}`,
			[]string{`{"spec":{"$deleteFromPrimitiveList/finalizers":["c"]}}`,
				`{"spec":{"finalizers":["c"]}}`}, true},
		{"elements other than the deleted ones", reflect.TypeFor[corev1.Namespace](), `{}`,
			[]string{`{"metadata":{"$deleteFromPrimitiveList/finalizers":["c"]}}`,
				`{"metadata":{"finalizers":["d"]}}`}, false},
		{"elements of a list that is replaced whole", reflect.TypeFor[metav1.CreateOptions](), `{}`,
			[]string{`{"$deleteFromPrimitiveList/dryRun":["b"]}`, `{"dryRun":["c"]}`}, false},
		{"names in JSON of any shape", reflect.TypeFor[metav1.WatchEvent](), `{}`,
			[]string{`{"object":{}}`, `{"object":{"type":"object"}}`}, false},
		{"a directive in an item of a list that the base may lack", reflect.TypeFor[corev1.Pod](),
			`{}`,
			[]string{`{"spec":{"containers":[{"name":"a","env":[{"$patch":"delete"}]}]}}`,
				`{"spec":{"containers":[{"name":"b"}]}}`}, true},
		{"a deletion with an order, in a list that the base lacks", reflect.TypeFor[corev1.Pod](),
			`{}`,
			[]string{`{"spec":{"$setElementOrder/volumes":[{"name":"b"}],"volumes":[{"$patch":"delete","name":"b"}]}}`, `{"spec":{"volumes":[{"name":"b"}]}}`}, true},
		{"$retainKeys in a map of lists that the base lacks",
			reflect.TypeFor[certificatesv1.CertificateSigningRequest](), `{}`,
			[]string{`{"spec":{"extra":{"$retainKeys":["a"],"a":["b"]}}}`,
				`{"spec":{"extra":{"b":["c"]}}}`}, true},
		{"such a map, in the same patch of two managers",
			reflect.TypeFor[certificatesv1.CertificateSigningRequest](), `{}`,
			[]string{`{"spec":{"extra":{"$retainKeys":["a"]}}}`,
				`{"spec":{"extra":{"$retainKeys":["a"]}}}`}, false},
		{"a directive in a map of lists that the base may lack",
			reflect.TypeFor[certificatesv1.CertificateSigningRequest](), `{}`,
			[]string{`{"spec":{"extra":{"$deleteFromPrimitiveList/a":["a"]}}}`,
				`{"spec":{"extra":{"b":[]}}}`}, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := &Case{Type: c.typ}
			var err error
			if m.Base, err = Decode(c.typ, []byte(c.base)); err != nil {
				t.Fatal(err)
			}
			for _, patch := range c.patches {
				var o any
				if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(patch), &o); err != nil {
					t.Fatal(err)
				}
				m.Patches = append(m.Patches, o)
			}
			for i := range 2 {
				result, err := apply(m)
				if err != nil {
					t.Fatal(err)
				}
				if found := conflict.Find(result.History); i == 0 && len(found) > 0 != c.found {
					t.Errorf("Find = %v, want overlap %t", found, c.found)
				}
				if broken := overlapIsOrder(m); broken != "" {
					t.Error(broken)
				}
				slices.Reverse(m.Patches)
			}
		})
	}
}

// FuzzEngine compares what any bytes make with upstream, and holds the other laws.
func FuzzEngine(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, []byte{})
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		for _, law := range []func(*Case) string{
			func(m *Case) string { differs, _ := compare(m); return differs },
			overlapIsOrder, pure,
		} {
			m := NewCase(&fuzz.Choices{Data: data, Rest: rand.NewPCG(seed, 0)})
			if len(m.Patches) > 3 {
				m.Patches = m.Patches[:3]
			}
			if broken := law(m); broken != "" {
				t.Errorf("%s\n%s", broken, m)
			}
		}
	})
}
