package conflict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestOrders holds the given order, and then each that moves one manager to the end or to the front, once.
func TestOrders(t *testing.T) {
	for _, tc := range []struct{ given, want string }{
		{"", ""},
		{"a1", "a1"},
		{"a1 b1", "a1 b1, b1 a1"},
		{"a1 a2", "a1 a2"},
		{"a1 b1 a2 c1", "a1 b1 a2 c1, b1 c1 a1 a2, a1 a2 b1 c1, a1 a2 c1 b1, b1 a1 a2 c1, c1 a1 b1 a2"},
	} {
		var patches []merge.Layered[merge.Object]
		for _, name := range strings.Fields(tc.given) {
			patches = append(patches, merge.Layered[merge.Object]{Layer: merge.Manager(name[:1]), Patch: &merge.Object{"name": name}})
		}
		var got []string
		for _, order := range conflict.Orders(patches) {
			var names []string
			for _, p := range order {
				names = append(names, (*p.Patch)["name"].(string))
			}
			got = append(got, strings.Join(names, " "))
		}
		if strings.Join(got, ", ") != tc.want {
			t.Errorf("Orders(%q) = %q, want %q", tc.given, got, tc.want)
		}
	}
	layered := []merge.Layered[merge.Object]{{Layer: merge.Manager("b")}, {Layer: "runtime"}, {Layer: merge.Manager("a")}, {Layer: merge.Manager("b")}}
	if diff := cmp.Diff([]string{"b", "a"}, conflict.ManagersOf(layered)); diff != "" {
		t.Errorf("ManagersOf() (-want +got):\n%s", diff)
	}
}

// TestOrderConflicts_Claims holds the claims of a dependence, the winners of both orders, and what its finding says.
func TestOrderConflicts_Claims(t *testing.T) {
	const empties, differ, directive = "one manager empties what another sets: m0, m1", "managers set different values: m0, m1", "the order of the patches decides"
	type object = merge.Object
	for _, tc := range []struct {
		name    string
		base    podLike
		patches []string
		want    []string
	}{
		{"two values", podLike{}, []string{`{"labels": {"a": "x"}}`, `{"labels": {"a": "y"}}`},
			[]string{`overlap .labels["a"]: m0 .labels["a"]="x", m1 .labels["a"]="y"; m0 m1: m1, m1 m0: m0; ` + differ}},
		{"a null over values", podLike{Labels: map[string]string{"b": "z"}}, []string{`{"labels": {"a": "x"}}`, `{"labels": null}`},
			[]string{`overlap .labels: m0 .labels["a"]="x", m1 .labels=null; m0 m1: , m1 m0: m0; ` + empties}},
		{"three values", podLike{}, []string{`{"args": ["x"]}`, `{"args": ["y"]}`, `{"args": ["z"]}`},
			[]string{`overlap .args: m0 .args=["x"], m1 .args=["y"], m2 .args=["z"]; m0 m1 m2: m2, m1 m2 m0: m0; managers set different values: m0, m1, m2`}},
		{"the last of three agrees with the first", podLike{}, []string{`{"args": ["x"]}`, `{"args": ["y"]}`, `{"args": ["x"]}`},
			[]string{`overlap .args: m0 .args=["x"], m1 .args=["y"], m2 .args=["x"]; m0 m1 m2: m2, m0 m2 m1: m1; managers set different values: m0, m1, m2`}},
		{"a directive and a value", podLike{Args: []string{"b"}}, []string{`{"$retainKeys": ["labels"], "labels": {"a": "x"}}`, `{"args": ["y"]}`},
			[]string{`overlap .args: m0 .args=null, m1 .args=["y"]; m0 m1: m1, m1 m0: ; ` + empties}},
		{"a deleted item", podLike{Ports: []portLike{{Port: 1, Name: "old"}}}, []string{`{"ports": [{"$patch": "delete", "port": 1}]}`, `{"ports": [{"port": 1, "name": "new"}]}`},
			[]string{`overlap .ports[port="1"]: m0 .ports[port="1"]=null, m1 .ports[port="1"]=present, m1 .ports[port="1"].name="new"; m0 m1: , m1 m0: ; ` + empties}},
		{"a replaced map", podLike{Labels: map[string]string{"b": "z"}}, []string{`{"labels": {"$patch": "replace", "c": "x"}}`, `{"labels": {"a": "x", "d": "y"}}`},
			[]string{`overlap .labels: m0 .labels=null, m0 .labels["c"]="x", m1 .labels["a"]="x", m1 .labels["d"]="y"; m0 m1: m1, m1 m0: ; ` + empties}},
		{"a deleted item that the base lacks", podLike{}, []string{`{"ports": [{"$patch": "delete", "port": 1}]}`, `{"ports": [{"port": 1, "name": "new"}]}`},
			[]string{`overlap .ports[port="1"]: m0 .ports[port="1"]=null, m1 .ports[port="1"]=present, m1 .ports[port="1"].name="new"; m0 m1: , m1 m0: ; ` + empties}},
		{"a deleted item of another's", podLike{}, []string{`{"ports": [{"port": 1, "name": "new"}]}`, `{"ports": [{"$patch": "delete", "port": 1}]}`},
			[]string{`overlap .ports[port="1"]: m0 .ports[port="1"]=present, m0 .ports[port="1"].name="new", m1 .ports[port="1"]=null; m0 m1: , m1 m0: ; ` + empties}},
		{"two items of one key, and a name", podLike{}, []string{`{"ports": [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}`, `{"ports": [{"port": 53, "name": "dns"}]}`},
			[]string{`overlap .ports[port="53"]: m0 .ports[port="53"]=present, m0 .ports[port="53"]=present, m0 .ports[port="53"].protocol="TCP", m0 .ports[port="53"].protocol="UDP", m1 .ports[port="53"]=present, m1 .ports[port="53"].name="dns"; m0 m1: , m1 m0: ; ` + differ}},
		{"an order of elements that is not a list", podLike{}, []string{`{"labels": {"$setElementOrder/b": "c"}}`, `{"labels": {"a": "x", "d": "y"}}`},
			[]string{`overlap .labels: m0 .labels["$setElementOrder/b"]="c", m1 .labels["a"]="x", m1 .labels["d"]="y"; m0 m1: , m1 m0: ; ` + differ}},
		{"a deleted list", podLike{Args: []string{"b"}, Ports: []portLike{{Port: 1}, {Port: 2}}}, []string{`{"ports": [{"$patch": "replace"}]}`, `{"ports": [{"port": 2, "name": "n"}, {"port": 3}]}`},
			[]string{`overlap .ports: m0 .ports=null, m1 .ports[port="2"]=present, m1 .ports[port="2"].name="n", m1 .ports[port="3"]=present; m0 m1: , m1 m0: ; ` + empties}},
		{"an item without its key, which only a new list takes", podLike{}, []string{`{"ports": [{"name": "x"}]}`, `{"ports": [{"port": 1}]}`},
			[]string{`overlap .ports[0]: ; m0 m1: , m1 m0: ; the order of the patches decides`}},
		{"an item without its key, and a null", podLike{}, []string{`{"ports": [{"port": 1, "routes": [{"name": "x"}]}]}`, `{"ports": [{"port": 1, "routes": null}]}`},
			[]string{`overlap .ports[port="1"].routes: m0 .ports[port="1"].routes[port="0"]=present, m0 .ports[port="1"].routes[port="0"].name="x", m1 .ports[port="1"].routes=null; m0 m1: , m1 m0: ; ` + empties}},
		{"an item without its key within others", podLike{}, []string{`{"args": ["x"], "ports": [{"port": 1, "routes": [{"port": 2, "ends": [{}]}]}]}`, `{"ports": [{"port": 1, "routes": [{"port": 2, "ends": [{"id": "a"}]}]}], "labels": {"a": "b"}}`},
			[]string{`overlap .ports[port="1"].routes[port="2"].ends[0]: m0 .ports[port="1"].routes[port="2"]=present, m1 .ports[port="1"].routes[port="2"]=present; m0 m1: , m1 m0: ; ` + differ}},
		{"two items of one key within another, and a name", podLike{}, []string{`{"ports": [{"port": 1, "routes": [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}]}`, `{"ports": [{"port": 1, "routes": [{"port": 53, "name": "dns"}]}]}`},
			[]string{`overlap .ports[port="1"].routes[port="53"]: m0 .ports[port="1"].routes[port="53"]=present, m0 .ports[port="1"].routes[port="53"]=present, m0 .ports[port="1"].routes[port="53"].protocol="TCP", m0 .ports[port="1"].routes[port="53"].protocol="UDP", m1 .ports[port="1"].routes[port="53"]=present, m1 .ports[port="1"].routes[port="53"].name="dns"; m0 m1: , m1 m0: ; ` + differ}},
		{"three managers, of which the first two agree", podLike{}, []string{`{"args": ["x"]}`, `{"args": ["x"]}`, `{"args": ["y"]}`},
			[]string{`overlap .args: m0 .args=["x"], m1 .args=["x"], m2 .args=["y"]; m0 m1 m2: m2, m1 m2 m0: m0; managers set different values: m0, m1, m2`}},
		{"a field that the first other order leaves", podLike{}, []string{`{"args": ["x"], "labels": {"a": "p"}}`, `{"args": ["y"], "labels": {"a": "q"}}`, `{"labels": {"a": "p"}}`},
			[]string{`overlap .args: m0 .args=["x"], m1 .args=["y"]; m0 m1 m2: m1, m1 m2 m0: m0; ` + differ,
				`overlap .labels["a"]: m0 .labels["a"]="p", m1 .labels["a"]="q", m2 .labels["a"]="p"; m0 m1 m2: m2, m0 m2 m1: m1; managers set different values: m0, m1, m2`}},
		{"an element that another manager deletes, for both", podLike{}, []string{`{"holds": ["a"], "$deleteFromPrimitiveList/holds": ["b"]}`, `{"holds": ["b"], "$deleteFromPrimitiveList/holds": ["a"]}`},
			[]string{`overlap .holds[="a"]: m0 .holds[="a"]=present, m1 .holds[="a"]=null; m0 m1: , m1 m0: ; ` + empties, `overlap .holds[="b"]: m0 .holds[="b"]=null, m1 .holds[="b"]=present; m0 m1: , m1 m0: ; ` + empties}},
		{"items of one key with the items of one order", podLike{}, []string{`{"ports": [{"port": 1}, {"port": 1, "routes": [{"port": 1}, {"port": 2}]}]}`, `{"ports": [{"port": 1}, {"port": 1, "routes": [{"port": 2}, {"port": 1}]}]}`}, nil},
		{"a null in a map of an item that only a new list takes", podLike{}, []string{`{"ports": [{"port": 1}]}`, `{"ports": [{"port": 2, "marks": {"a": null}}]}`},
			[]string{`overlap .ports[port="2"].marks["a"]: m1 .ports[port="2"]=present, m1 .ports[port="2"].marks["a"]=""; m0 m1: , m1 m0: ; ` + directive}},
		{"two fields, each once", podLike{}, []string{`{"labels": {"a": "x"}, "args": ["x"]}`, `{"labels": {"a": "y"}, "args": ["y"]}`},
			[]string{`overlap .args: m0 .args=["x"], m1 .args=["y"]; m0 m1: m1, m1 m0: m0; ` + differ, `overlap .labels["a"]: m0 .labels["a"]="x", m1 .labels["a"]="y"; m0 m1: m1, m1 m0: m0; ` + differ}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan, err := merge.For[podLike, object](schema.Rules{AllowDuplicateKeys: true})
			if err != nil {
				t.Fatal(err)
			}
			found, err := conflict.OrderConflicts(plan, &tc.base, objectPatches(t, tc.patches...))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range found {
				var orders []string
				for _, order := range d.Orders {
					orders = append(orders, strings.Join(order.Writers, " ")+": "+order.Manager)
				}
				f := d.Finding(fieldpath.Object{})
				got = append(got, fmt.Sprintf("%s; %s; %s", conflictText(d.Conflict), strings.Join(orders, ", "), f.Message))
				if isDirective := f.Message == directive; isDirective != strings.HasPrefix(f.Remedy.Text, "remove the directive") {
					t.Errorf("the remedy of %q is %q", f.Message, f.Remedy.Text)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("OrderConflicts() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOrderConflicts_Differences holds which parts of two results count as different, for a type that a definition describes.
func TestOrderConflicts_Differences(t *testing.T) {
	root, err := schema.ParseOpenAPI([]byte(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
		"byTwo": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "on"], "items": {"type": "object", "required": ["k", "on"], "properties": {"k": {"type": "string"}, "on": {"type": "boolean"}, "v": {"type": "integer"},
			"set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}, "part": {"x-kubernetes-preserve-unknown-fields": true, "properties": {"set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}}}},
		"byName": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "string"}}}},
		"byOne": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["on"], "items": {"type": "object", "required": ["on"], "properties": {"on": {"type": "boolean"}, "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}, "v": {"type": "string"}}}},
		"byAny": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"x-kubernetes-int-or-string": true}, "v": {"type": "string"}}}},
		"list": {"type": "array", "items": {"type": "string"}},
		"atom": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": {"type": "string"}}},
		"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	plan := merge.ForObject(root)
	for _, tc := range []struct {
		name    string
		base    string
		patches []string
		want    []string
	}{
		{"an item of a string key", `{}`, []string{`{"spec": {"byName": [{"name": "a", "v": "x"}, {"name": "b", "v": "x"}]}}`, `{"spec": {"byName": [{"name": "a", "v": "y"}]}}`}, []string{`.spec.byName[name="a"].v: .spec.byName[name="a"].v: m0 m1 = "y", m1 m0 = "x"; winners "m1" "m0"`}},
		{"the order of sets and of items", `{}`, []string{`{"spec": {"list": ["x"], "set": ["a", "b"], "byOne": [{"on": true, "set": [1, 2]}], "byTwo": [{"k": "a", "on": true, "set": ["x", "y"], "part": {"set": ["x", "y"]}}]}}`, `{"spec": {"list": ["y"], "set": ["c", "a"], "byOne": [{"on": false}, {"on": true, "set": [2, 3]}], "byTwo": [{"k": "a", "on": false, "v": 2}, {"k": "a", "on": true, "set": ["z"], "part": {"set": ["z"]}}]}}`}, []string{`.spec.list: .spec.list: m0 m1 = ["y"], m1 m0 = ["x"]; winners "m1" "m0"`}},
		{"two long numbers", `{}`, []string{`{"spec": {"free": {"a": 9007199254740992}}}`, `{"spec": {"free": {"a": 9007199254740993}}}`}, []string{`.spec.free["a"]: .spec.free["a"]: m0 m1 = 9007199254740993, m1 m0 = 9007199254740992; winners "m1" "m0"`}},
		{"an order among unknown fields of items of one key", `{"spec": {}}`, []string{`[{"op": "add", "path": "/spec/byTwo", "value": [{"k": "a", "on": true}, {"k": "a", "on": true, "part": {"set": ["x", "y"]}}]}]`, `[{"op": "add", "path": "/spec/byTwo", "value": [{"k": "a", "on": true}, {"k": "a", "on": true, "part": {"set": ["y", "x"]}}]}]`}, nil},
		{"an unknown object and a list", `{}`, []string{`{"spec": {"free": {"a": {"b": 1}}}}`, `{"spec": {"free": {"a": [1]}}}`}, []string{`.spec.free["a"]: .spec.free["a"]: m0 m1 = [1], m1 m0 = {"b":1}; winners "m1" ""`}},
		{"an unknown list and an object", `{}`, []string{`{"spec": {"free": {"a": [1]}}}`, `{"spec": {"free": {"a": {"b": 1}}}}`}, []string{`.spec.free["a"]: .spec.free["a"]: m0 m1 = {"b":1}, m1 m0 = [1]; winners "" "m0"`}},
		{"an empty object and none", `{}`, []string{`{"spec": {"free": {"a": {}}}}`, `{"spec": {"free": {"a": null}}}`}, []string{`.spec.free["a"]: .spec.free["a"]: m0 m1 = null, m1 m0 = {}; winners "m1" "m0"`}},
		{"no object and an empty one", `{}`, []string{`{"spec": {"free": {"a": null}}}`, `{"spec": {"free": {"a": {}}}}`}, []string{`.spec.free["a"]: .spec.free["a"]: m0 m1 = {}, m1 m0 = null; winners "m1" "m0"`}},
		{"an empty list and none", `{}`, []string{`{"spec": {"set": []}}`, `{"spec": {"set": null}}`}, []string{`.spec.set: .spec.set: m0 m1 = null, m1 m0 = []; winners "m1" ""`}},
		{"no list and an empty one", `{}`, []string{`{"spec": {"set": null}}`, `{"spec": {"set": []}}`}, []string{`.spec.set: .spec.set: m0 m1 = [], m1 m0 = null; winners "" "m0"`}},
		{"an item of two keys", `{}`, []string{`{"spec": {"byTwo": [{"k": "a", "on": true, "v": 1}]}}`, `{"spec": {"byTwo": [{"k": "a", "on": true, "v": 2}]}}`},
			[]string{`.spec.byTwo[k="a",on=true].v: .spec.byTwo[k="a",on=true].v: m0 m1 = 2, m1 m0 = 1; winners "m1" "m0"`}},
		{"an item of a boolean key", `{}`, []string{`{"spec": {"byOne": [{"on": true, "v": "x"}, {"on": false}]}}`, `{"spec": {"byOne": [{"on": true, "v": "y"}]}}`},
			[]string{`.spec.byOne[on=true].v: .spec.byOne[on=true].v: m0 m1 = "y", m1 m0 = "x"; winners "m1" "m0"`}},
		{"items of a number and of its text", `{}`, []string{`{"spec": {"byAny": [{"k": 1, "v": "x"}, {"k": "1", "v": "p"}]}}`, `{"spec": {"byAny": [{"k": 1, "v": "y"}, {"k": "1", "v": "q"}]}}`},
			[]string{`.spec.byAny[k=1].v: .spec.byAny[k=1].v: m0 m1 = "y", m1 m0 = "x"; winners "m1" "m0"`, `.spec.byAny[k="1"].v: .spec.byAny[k="1"].v: m0 m1 = "q", m1 m0 = "p"; winners "m1" "m0"`}},
		{"a list", `{}`, []string{`{"spec": {"list": ["x"]}}`, `{"spec": {"list": ["y"]}}`}, []string{`.spec.list: .spec.list: m0 m1 = ["y"], m1 m0 = ["x"]; winners "m1" "m0"`}},
		{"an atomic object", `{}`, []string{`{"spec": {"atom": {"x": "a"}}}`, `{"spec": {"atom": {"x": "b"}}}`}, []string{`.spec.atom: .spec.atom: m0 m1 = {"x":"b"}, m1 m0 = {"x":"a"}; winners "m1" "m0"`}},
		{"unknown fields", `{}`, []string{`{"spec": {"free": {"a": {"b": 1, "c": [1]}}}}`, `{"spec": {"free": {"a": {"b": 2, "c": [2]}}}}`}, []string{`.spec.free["a"].b: .spec.free["a"].b: m0 m1 = 2, m1 m0 = 1; winners "m1" "m0"`, `.spec.free["a"].c: .spec.free["a"].c: m0 m1 = [2], m1 m0 = [1]; winners "m1" "m0"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base := *objectPatches(t, tc.base)[0].Patch
			found, err := conflict.OrderConflicts(plan, &base, objectPatches(t, tc.patches...))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range found {
				got = append(got, fmt.Sprintf("%s: %s; winners %q %q", d.Conflict.Path, shown(d), d.Orders[0].Manager, d.Orders[1].Manager))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("OrderConflicts() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOrderConflicts_Twice moves a manager with the first patch and the last one. The order that shows a conflict moves one of its
// managers, unless a patch may act without a claim.
func TestOrderConflicts_Twice(t *testing.T) {
	root, err := schema.ParseOpenAPI([]byte(`{"type": "object", "properties": {"any": {"x-kubernetes-preserve-unknown-fields": true},
		"items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"], "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "free": {"x-kubernetes-preserve-unknown-fields": true}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ free, want string }{
		{`1`, `.any: m0 m1 m2 = [3], m0 m2 m1 = {"b":1}`},
		{`{"a": null}`, `.any: m0 m1 m2 = [3], m0 m1 m2 = {"b":2}`},
	} {
		patches := objectPatches(t, `{"items": [{"id": "a", "free": `+tc.free+`}]}`, `{"any": {"b": 1}}`, `{"any": {"b": 2}}`, `{"any": [3]}`)
		patches[3].Layer = patches[0].Layer
		found, err := conflict.OrderConflicts(merge.ForObject(root), &merge.Object{}, patches)
		if err != nil || len(found) != 2 || shown(found[1]) != tc.want {
			t.Errorf("with %s: OrderConflicts() = %v, %v, want %s as the second", tc.free, found, err, tc.want)
		}
	}
}
