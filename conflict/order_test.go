package conflict_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestFind_Orders merges patches in every order of their managers. An overlap is reported if and
// only if two orders give different values, or one cannot be merged. The order inside list-maps and
// sets does not count. A patch with a directive, with several items of one key or without one, or
// with a null in free data may act on another one where it claims nothing. Each patch has a manager
// of its own unless the case names them.
func TestFind_Orders(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name, Base, Managers string
		Patches              []string
		Want                 string // the fields that managers overlap on
	}](t, "testdata/orders.yaml") {
		rules := merge.Rules(schema.Rules{AllowDuplicateKeys: true})
		var base podLike
		if err := json.Unmarshal([]byte(tc.Base), &base); err != nil {
			t.Fatal(err)
		}
		patches := objectPatches(t, tc.Patches...)
		for i, name := range strings.Fields(tc.Managers) {
			patches[i].Manager = name
		}
		given, err := merge.Strategic(&base, patches, rules)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, c := range conflict.Find(given.History) {
			found = append(found, c.Path.String())
		}
		if got := strings.Join(found, " "); got != tc.Want {
			t.Errorf("%s: Find = %s, want %s", tc.Name, got, tc.Want)
		}
		outcomes := map[string]bool{unordered(t, given.History.Type(), given.Value): true}
		everyOrder(patches, func(order []merge.Patch) {
			outcome := "the merge fails"
			if merged, err := merge.Strategic(&base, order, rules); err == nil {
				outcome = unordered(t, given.History.Type(), merged.Value)
			}
			outcomes[outcome] = true
		})
		if decides := len(outcomes) > 1; decides != (len(found) > 0) {
			t.Errorf("%s: the order decides: %t, overlaps %q; the outcomes are %v", tc.Name,
				decides, found, outcomes)
		}
	}
}

// everyOrder calls try with every order of the managers. The patches of one follow each other.
func everyOrder(patches []merge.Patch, try func([]merge.Patch)) {
	var place func(order, left []merge.Patch)
	place = func(order, left []merge.Patch) {
		if len(left) == 0 {
			try(order)
		}
		tried := map[string]bool{}
		for _, first := range left {
			if tried[first.Manager] {
				continue
			}
			tried[first.Manager] = true
			longer, others := slices.Clone(order), []merge.Patch(nil)
			for _, p := range left {
				if p.Manager == first.Manager {
					longer = append(longer, p)
				} else {
					others = append(others, p)
				}
			}
			place(longer, others)
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
