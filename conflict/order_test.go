package conflict_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// counted counts how often a merge copies it.
type counted struct {
	Labels map[string]string `json:"labels,omitempty"`
	Args   []string          `json:"args,omitempty"`
	Holds  []string          `json:"holds,omitempty" patchStrategy:"merge"`
	Items  []boxedItem       `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"id"`
	merges *int
}

func (c *counted) DeepCopyInto(out *counted) {
	*c.merges++
	*out = counted{maps.Clone(c.Labels), slices.Clone(c.Args), slices.Clone(c.Holds), slices.Clone(c.Items), c.merges}
}

func TestOrderConflicts_Merges(t *testing.T) {
	plan, err := merge.For[counted, merge.Object](schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 3, 5, 50} {
		var patches []merge.Layered[merge.Object]
		for i := range n {
			name := fmt.Sprintf("m%d", i)
			patches = append(patches, merge.Layered[merge.Object]{
				Layer: merge.Manager(name), Patch: &merge.Object{"labels": map[string]any{"own-" + name: "x", "shared": name}},
			})
		}
		merges := 0
		found, err := conflict.OrderConflicts(plan, &counted{Labels: map[string]string{"a": "b"}, merges: &merges}, patches)
		if err != nil {
			t.Fatal(err)
		}
		// The first manager at the end shows the shared label.
		if want := min(n, 2); merges != want {
			t.Errorf("%d managers took %d merges, want %d", n, merges, want)
		}
		if want := min(n-1, 1); len(found) != want {
			t.Errorf("%d managers: %d dependences, want %d", n, len(found), want)
		}
	}
}

// TestOrderConflicts_Needed holds how many merges some patches take, with that of the given order.
func TestOrderConflicts_Needed(t *testing.T) {
	plan, err := merge.For[counted, merge.Object](schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		want    int
		patches []string
	}{
		{1, []string{`{"holds": ["a", "b"]}`, `{"holds": ["b", "c"]}`}},
		{1, []string{`{"items": [{"id": 1}, {"id": 2}]}`, `{"items": [{"id": 3}, {"id": 2}]}`}},
		{1, []string{`{"items": [{"id": 1, "out": null}]}`, `{"items": [{"id": 1, "box": {"marks": {"a": "x"}}}]}`}},
		{1, []string{`{"labels": {"a": null}}`, `{"labels": {"b": "x"}}`}},
		{2, []string{`{"args": ["x"]}`, `{"args": ["y"]}`, `{"args": ["x"]}`}},
		{2, []string{`{"args": ["x"]}`, `{"args": ["x"]}`, `{"args": ["y"]}`, `{"args": ["x"]}`}},
	} {
		merges := 0
		if _, err := conflict.OrderConflicts(plan, &counted{merges: &merges}, objectPatches(t, tc.patches...)); err != nil || merges != tc.want {
			t.Errorf("%v took %d merges, want %d: %v", tc.patches, merges, tc.want, err)
		}
	}
}

// TestOrderConflicts_Cases holds the orders and outcomes that show a dependence.
func TestOrderConflicts_Cases(t *testing.T) {
	type object = merge.Object
	plan, err := merge.For[podLike, merge.Object](schema.Rules{AllowDuplicateKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		base    podLike
		patches []object
		want    []string
	}{
		{"one label with two values", podLike{}, []object{{"labels": object{"a": "x"}}, {"labels": object{"a": "y"}}},
			[]string{`.labels["a"]: m0 m1 = "y", m1 m0 = "x"`}},
		{"one label with one value", podLike{}, []object{{"labels": object{"a": "x"}}, {"labels": object{"a": "x"}}}, nil},
		{"an atomic list", podLike{}, []object{{"args": []any{"x"}}, {"args": []any{"y"}}},
			[]string{`.args: m0 m1 = ["y"], m1 m0 = ["x"]`}},
		{"new items of a list by key", podLike{}, []object{{"ports": []any{object{"port": int64(1)}}}, {"ports": []any{object{"port": int64(2)}}}}, nil},
		{"a null and a label", podLike{Labels: map[string]string{"b": "z"}}, []object{{"labels": nil}, {"labels": object{"a": "x"}}},
			[]string{`.labels["a"]: m0 m1 = "x", m1 m0 = not set`}},
		{"a null and an element of a set", podLike{Holds: []string{"b"}}, []object{{"holds": nil}, {"holds": []any{"a"}}},
			[]string{`.holds: m0 m1 = ["a"], m1 m0 = not set`}},
		{"an element of a set and a null", podLike{Holds: []string{"b"}}, []object{{"holds": []any{"a"}}, {"holds": nil}},
			[]string{`.holds: m0 m1 = not set, m1 m0 = ["a"]`}},
		{"two numbers of twice two ports, and names for them", podLike{},
			[]object{{"ports": []any{object{"port": int64(53), "protocol": "TCP"}, object{"port": int64(53), "protocol": "UDP"}, object{"port": int64(80), "protocol": "TCP"}, object{"port": int64(80), "protocol": "UDP"}}},
				{"ports": []any{object{"port": int64(80), "name": "http"}, object{"port": int64(53), "name": "dns"}}}},
			[]string{`.ports[port="53"]: m0 m1 = [{"name":"dns","port":53,"protocol":"TCP"},{"port":53,"protocol…, m1 m0 = {"name":"dns","port":53,"protocol":"UDP"}`,
				`.ports[port="80"]: m0 m1 = [{"name":"http","port":80,"protocol":"TCP"},{"port":80,"protoco…, m1 m0 = {"name":"http","port":80,"protocol":"UDP"}`}},
		{"two nulls", podLike{Labels: map[string]string{"b": "z"}}, []object{{"labels": nil}, {"labels": nil}}, nil},
		{"$patch: replace and a label", podLike{Labels: map[string]string{"b": "z"}}, []object{{"labels": object{"$patch": "replace", "c": "x"}}, {"labels": object{"a": "x"}}},
			[]string{`.labels["a"]: m0 m1 = "x", m1 m0 = not set`}},
		{"$retainKeys and another field", podLike{Args: []string{"b"}}, []object{{"$retainKeys": []any{"labels"}, "labels": object{"a": "x"}}, {"args": []any{"y"}}},
			[]string{`.args: m0 m1 = ["y"], m1 m0 = not set`}},
		{"a deleted item and the same item", podLike{Ports: []portLike{{Port: 1, Name: "old"}}},
			[]object{{"ports": []any{object{"$patch": "delete", "port": int64(1)}}}, {"ports": []any{object{"port": int64(1), "name": "new"}}}},
			[]string{`.ports[port="1"]: m0 m1 = {"name":"new","port":1}, m1 m0 = not set`}},
		{"two ports of one number, and a name for it", podLike{},
			[]object{{"ports": []any{object{"port": int64(53), "protocol": "TCP"}, object{"port": int64(53), "protocol": "UDP"}}}, {"ports": []any{object{"port": int64(53), "name": "dns"}}}},
			[]string{`.ports[port="53"]: m0 m1 = [{"name":"dns","port":53,"protocol":"TCP"},{"port":53,"protocol…, m1 m0 = {"name":"dns","port":53,"protocol":"UDP"}`}},
		{"three items of one key, and the order of a list in the second", podLike{},
			[]object{{"ports": []any{object{"port": int64(1)}, object{"port": int64(1), "free": []any{"a", "b"}}, object{"port": int64(1), "free": []any{}}}}, {"ports": []any{object{"port": int64(1)}, object{"port": int64(1), "free": []any{"b", "a"}}, object{"port": int64(1), "free": []any{}}}}},
			[]string{`.ports[port="1"]: m0 m1 = [{"port":1},{"free":["a","b"],"port":1},{"port":1}], m1 m0 = [{"port":1},{"free":["b","a"],"port":1},{"port":1}]`}},
		{"a null in free data of an item, and another item", podLike{}, []object{{"ports": []any{object{"port": int64(1)}}}, {"ports": []any{object{"port": int64(2), "free": []any{object{"a": nil}}}}}},
			[]string{`.ports[port="2"].free: m0 m1 = [{"a":null}], m1 m0 = [{}]`}},
		{"three managers, one of which agrees", podLike{}, []object{{"labels": object{"a": "x"}}, {"labels": object{"a": "x"}}, {"labels": object{"a": "y"}}},
			[]string{`.labels["a"]: m0 m1 m2 = "y", m1 m2 m0 = "x"`}},
		{"a third manager after two that disagree", podLike{}, []object{{"labels": object{"a": "x"}}, {"labels": object{"a": "y"}}, {"args": []any{"z"}}},
			[]string{`.labels["a"]: m0 m1 m2 = "y", m1 m2 m0 = "x"`}},
		{"two that disagree, in the only other order that can be merged", podLike{}, []object{{"args": []any{"x"}, "labels": object{"$setElementOrder/b": "c"}}, {"args": []any{"y"}}, {"labels": object{"a": "x"}}},
			[]string{`.args: m0 m1 m2 = ["y"], m1 m0 m2 = ["x"]`,
				`.labels: m0 m1 m2 = the patches merge, m1 m2 m0 = the merge fails: "$setElementOrder/b" is a directive whose value must be a list; no label, annotation or selector may be called so`}},
		{"an order that cannot be merged", podLike{}, []object{{"labels": object{"$setElementOrder/b": "c"}}, {"labels": object{"a": "x"}}},
			[]string{`.labels: m0 m1 = the patches merge, m1 m0 = the merge fails: "$setElementOrder/b" is a directive whose value must be a list; no label, annotation or selector may be called so`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var patches []merge.Layered[merge.Object]
			for i := range c.patches {
				patches = append(patches, merge.Layered[merge.Object]{Layer: merge.Manager(fmt.Sprintf("m%d", i)), Patch: &c.patches[i]})
			}
			found, err := conflict.OrderConflicts(plan, &c.base, patches)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range found {
				got = append(got, shown(d))
				if f := d.Finding(fieldpath.Object{}); f.Message == "" || f.Remedy.Text == "" || len(f.Orders) != 2 || strings.HasSuffix(f.Message, ": ") {
					t.Errorf("Finding() = %+v, want a message, a remedy and two orders", f)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("OrderConflicts() = %q, want %q", got, c.want)
			}
		})
	}
}

// shown returns the field of a dependence, and the outcome of each order.
func shown(d conflict.OrderConflict) string {
	var b strings.Builder
	for i, order := range d.Orders {
		separator := ", "
		if i == 0 {
			separator = order.Path.String() + ": "
		}
		b.WriteString(separator + strings.Join(order.Writers, " ") + " = " + order.Outcome(false))
	}
	return b.String()
}

type podLike struct {
	Labels map[string]string `json:"labels,omitempty"`
	Args   []string          `json:"args,omitempty"`
	Ports  []portLike        `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Holds  []string          `json:"holds,omitempty" patchStrategy:"merge"`
}

type portLike struct {
	Port     int               `json:"port"`
	Name     string            `json:"name,omitempty"`
	Protocol string            `json:"protocol,omitempty"`
	Routes   []routeLike       `json:"routes,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Free     []any             `json:"free,omitempty"`
	Marks    map[string]string `json:"marks,omitempty"`
}

type routeLike struct {
	Port     int       `json:"port,omitempty"`
	Name     string    `json:"name,omitempty"`
	Protocol string    `json:"protocol,omitempty"`
	Ends     []endLike `json:"ends,omitempty" patchStrategy:"merge" patchMergeKey:"id"`
}

type endLike struct {
	ID string `json:"id"`
}
