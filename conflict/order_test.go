package conflict_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestFind_Orders merges patches in every order. An overlap is reported if and only if two orders
// give different values, or one cannot be merged. The order inside list-maps and sets does not
// count. A patch with a directive, with several items of one key or without one, or with a null in
// free data may act on another one where it claims nothing.
func TestFind_Orders(t *testing.T) {
	base := `{"labels": {"b": "z"}, "args": ["b"], "holds": ["b"], "ports": [{"port": 1, "name": "old"}, {"port": 2}]}`
	for _, tc := range []struct {
		name, base string
		patches    []string
		want       string // the fields that managers overlap on
	}{
		{"two values", `{}`, []string{`{"labels": {"a": "x"}}`, `{"labels": {"a": "y"}}`},
			`.labels["a"]`},
		{"one value", `{}`, []string{`{"labels": {"a": "x"}}`, `{"labels": {"a": "x"}}`}, ``},
		{"two fields", `{}`,
			[]string{`{"labels": {"a": "x"}, "args": ["x"]}`,
				`{"labels": {"a": "y"}, "args": ["y"]}`}, `.args .labels["a"]`},
		{"lists that are replaced whole", `{}`, []string{`{"args": ["x"]}`, `{"args": ["y"]}`},
			`.args`},
		{"the last of three agrees with the first", `{}`,
			[]string{`{"args": ["x"]}`, `{"args": ["y"]}`, `{"args": ["x"]}`}, `.args`},
		{"a third manager of another field", `{}`,
			[]string{`{"labels": {"a": "x"}}`, `{"labels": {"a": "y"}}`, `{"args": ["z"]}`},
			`.labels["a"]`},
		{"three fields of three managers", `{}`,
			[]string{`{"args": ["x"], "labels": {"a": "p"}}`,
				`{"args": ["y"], "labels": {"a": "q"}}`, `{"labels": {"a": "p"}}`},
			`.args .labels["a"]`},
		{"items of other keys", `{}`,
			[]string{`{"ports": [{"port": 1}]}`, `{"ports": [{"port": 2}]}`}, ``},
		{"elements of a set", `{}`, []string{`{"holds": ["a", "b"]}`, `{"holds": ["b", "c"]}`}, ``},
		{"a null and a label", base, []string{`{"labels": null}`, `{"labels": {"a": "x"}}`},
			`.labels`},
		{"a null and an element", base, []string{`{"holds": null}`, `{"holds": ["a"]}`}, `.holds`},
		{"two nulls", base, []string{`{"labels": null}`, `{"labels": null}`}, ``},
		{"a replaced map", base,
			[]string{`{"labels": {"$patch": "replace", "c": "x"}}`,
				`{"labels": {"a": "x", "d": "y"}}`}, `.labels`},
		{"a list that a directive empties", base,
			[]string{`{"ports": [{"$patch": "replace"}]}`,
				`{"ports": [{"port": 2, "name": "n"}, {"port": 3}]}`}, `.ports`},
		{"$retainKeys and another field", base,
			[]string{`{"$retainKeys": ["labels"], "labels": {"a": "x"}}`, `{"args": ["y"]}`},
			`.args`},
		{"a deleted item", base,
			[]string{`{"ports": [{"$patch": "delete", "port": 1}]}`,
				`{"ports": [{"port": 1, "name": "new"}]}`}, `.ports[port="1"]`},
		{"a deleted item that the base lacks", `{}`,
			[]string{`{"ports": [{"$patch": "delete", "port": 1}]}`,
				`{"ports": [{"port": 1, "name": "new"}]}`}, `.ports[port="1"]`},
		{"elements that the other manager deletes", `{}`,
			[]string{`{"holds": ["a"], "$deleteFromPrimitiveList/holds": ["b"]}`,
				`{"holds": ["b"], "$deleteFromPrimitiveList/holds": ["a"]}`},
			`.holds[="a"] .holds[="b"]`},
		{"two items of one key, and a name", `{}`,
			[]string{`{"ports": [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}`, `{"ports": [{"port": 53, "name": "dns"}]}`},
			`.ports[port="53"]`},
		{"items of one key in another order of their lists", `{}`,
			[]string{`{"ports": [{"port": 1}, {"port": 1, "routes": [{"port": 1}, {"port": 2}]}]}`,
				`{"ports": [{"port": 1}, {"port": 1, "routes": [{"port": 2}, {"port": 1}]}]}`}, ``},
		{"an item without its key", `{}`,
			[]string{`{"ports": [{"name": "x"}]}`, `{"ports": [{"port": 1}]}`}, `.ports`},
		{"an item without its key within another", `{}`,
			[]string{`{"ports": [{"port": 1, "routes": [{"port": 2, "ends": [{}]}]}]}`,
				`{"ports": [{"port": 1, "routes": [{"port": 2, "ends": [{"id": "a"}]}]}]}`},
			`.ports[port="1"].routes[port="2"].ends`},
		{"an item without its key, and a null", `{}`,
			[]string{`{"ports": [{"port": 1, "routes": [{"name": "x"}]}]}`,
				`{"ports": [{"port": 1, "routes": null}]}`}, `.ports[port="1"].routes`},
		{"a null in free data of an item", `{}`,
			[]string{`{"ports": [{"port": 1}]}`, `{"ports": [{"port": 2, "free": [{"a": null}]}]}`},
			`.ports`},
		{"a null in a map of an item", `{}`,
			[]string{`{"ports": [{"port": 1}]}`, `{"ports": [{"port": 2, "marks": {"a": null}}]}`},
			`.ports`},
		{"an order that cannot be merged", `{}`,
			[]string{`{"labels": {"$setElementOrder/b": "c"}}`, `{"labels": {"a": "x"}}`}, `.labels`},
	} {
		rules := merge.Rules(schema.Rules{AllowDuplicateKeys: true})
		var base podLike
		if err := json.Unmarshal([]byte(tc.base), &base); err != nil {
			t.Fatal(err)
		}
		patches := objectPatches(t, tc.patches...)
		given, err := merge.Strategic(&base, patches, rules)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, c := range conflict.Find(given.History) {
			found = append(found, c.Path.String())
		}
		if got := strings.Join(found, " "); got != tc.want {
			t.Errorf("%s: Find = %s, want %s", tc.name, got, tc.want)
		}
		outcomes := map[string]bool{}
		everyOrder(patches, func(order []merge.Patch) {
			outcome := "the merge fails"
			if merged, err := merge.Strategic(&base, order, rules); err == nil {
				outcome = unordered(t, given.History.Type(), merged.Value)
			}
			outcomes[outcome] = true
		})
		if decides := len(outcomes) > 1; decides != (len(found) > 0) {
			t.Errorf("%s: the order decides: %t, overlaps %q; the outcomes are %v", tc.name,
				decides, found, outcomes)
		}
	}
}

// everyOrder calls try with every order of the patches.
func everyOrder(patches []merge.Patch, try func([]merge.Patch)) {
	var place func(order, left []merge.Patch)
	place = func(order, left []merge.Patch) {
		if len(left) == 0 {
			try(order)
		}
		for i := range left {
			place(append(slices.Clone(order), left[i]), slices.Delete(slices.Clone(left), i, i+1))
		}
	}
	place(nil, patches)
}

// unordered returns the JSON of a value, its list-maps and sets sorted.
func unordered(t *testing.T, typ *schema.Type, value any) string {
	t.Helper()
	var sorted func(t *schema.Type, v any) any
	sorted = func(typ *schema.Type, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				v[name] = sorted(typ.For(v).Inner(name), value)
			}
		case []any:
			if typ.For(v).Merges() {
				for i := range v {
					v[i] = text(t, sorted(typ.For(v).Elem, v[i]))
				}
				slices.SortFunc(v, func(a, b any) int {
					return strings.Compare(a.(string), b.(string))
				})
			}
		}
		return v
	}
	var tree any
	if err := json.Unmarshal([]byte(text(t, value)), &tree); err != nil {
		t.Fatal(err)
	}
	return text(t, sorted(typ, tree))
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
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
