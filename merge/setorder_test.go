package merge_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// ordered has a field for each kind of list, and others that are not lists.
type ordered struct {
	Items    []orderedItem          `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Null     []orderedItem          `json:"null" patchStrategy:"merge" patchMergeKey:"name"`
	Ports    []*orderedPort         `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Tags     []string               `json:"tags,omitempty" patchStrategy:"merge"`
	Args     []string               `json:"args,omitempty"`
	Numbers  []int64                `json:"numbers"`
	Flags    *[]bool                `json:"flags,omitempty"`
	Structs  []orderedItem          `json:"structs,omitempty"`
	Raws     []runtime.RawExtension `json:"raws,omitempty"`
	Text     string                 `json:"text,omitempty"`
	Item     *orderedItem           `json:"item,omitempty"`
	Anything *runtime.RawExtension  `json:"anything,omitempty"`
}

type orderedItem struct {
	Name  string   `json:"name"`
	Value *string  `json:"value,omitempty"`
	Args  []string `json:"args,omitempty"`
}

type orderedPort struct {
	Port  int32  `json:"port"`
	Value string `json:"value,omitempty"`
}

// TestSetElementOrder compares lists, patches to them and their orders with the API machinery. It
// includes invalid ones.
func TestSetElementOrder(t *testing.T) {
	plan := must(planFor[ordered](schema.Rules{AllowDuplicateKeys: true}))
	next := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	fields := reflect.TypeFor[ordered]()
	rejected := 0
	cases := int(testenv.Cases(t, 12_000))
	for i := range cases {
		f := fields.Field(next.IntN(fields.NumField()))
		if next.IntN(2) == 0 {
			f = fields.Field(0)
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		g := listGenerator{next, name}
		base, patch := map[string]any{}, map[string]any{}
		if next.IntN(3) > 0 {
			base[name] = g.list(false)
		}
		if next.IntN(4) > 0 {
			patch[name] = g.list(true)
		}
		patch["$setElementOrder/"+name] = g.order(patch[name])
		from := fromJSON[*ordered](asJSON(base))
		want, wantErr := strategicMerge(from, patch)
		input := fromJSON[merge.Object](asJSON(patch))
		result, err := plan.Apply(from, []merge.Patch{{Manager: "a", Value: &input}})
		switch {
		case err != nil && wantErr == nil && name == "anything":
			// The engine has no rules for a list in JSON of any shape.
		case (err != nil) != (wantErr != nil):
			t.Fatalf("case %d: %s\nbase  %s\npatch %s\nthe engine returns %v\nupstream %v", i, name,
				asJSON(from), asJSON(patch), err, wantErr)
		case err == nil && asJSON(result.Value) != want:
			t.Fatalf("case %d: %s\nbase  %s\npatch %s\ngot   %s\nwant  %s", i, name, asJSON(from),
				asJSON(patch), asJSON(result.Value), want)
		}
		if wantErr != nil {
			rejected++
		}
	}
	if rejected < cases/10 || rejected > cases*9/10 {
		t.Errorf("upstream rejects %d of %d cases, want some", rejected, cases)
	}
}

// listGenerator generates values of one field of lists.
type listGenerator struct {
	*rand.Rand
	field string
}

func (g listGenerator) word() string { return string(rune('a' + g.IntN(4))) }

// list generates a list. One of a patch may hold directives, nulls and wrong types.
func (g listGenerator) list(patch bool) any {
	if patch && g.IntN(40) == 0 {
		return []any{nil, "a", int64(1), map[string]any{"name": "a"}}[g.IntN(4)]
	}
	switch g.field {
	case "text":
		return g.word()
	case "item":
		return g.item("name", g.word(), patch)
	case "anything":
		return []any{[]any{"a"}, []any{"b", "a"}, "a", map[string]any{"a": "b"}}[g.IntN(4)]
	}
	list := make([]any, g.IntN(5))
	for i := range list {
		list[i] = g.element(patch)
	}
	return list
}

// element generates an element of the field's list.
func (g listGenerator) element(patch bool) any {
	if patch && g.IntN(12) == 0 {
		return []any{nil, "a", int64(1), map[string]any{"name": "a"}, []any{"a"},
			map[string]any{"$patch": "delete"}, true}[g.IntN(7)]
	}
	switch g.field {
	case "ports":
		return g.item("port", int64(g.IntN(4)), patch)
	case "numbers":
		return int64(g.IntN(4))
	case "flags":
		return g.IntN(2) == 0
	case "tags", "args":
		return g.word()
	case "raws":
		return []any{g.word(), int64(g.IntN(2)), g.word(),
			g.item("name", g.word(), patch)}[g.IntN(4)]
	default:
		return g.item("name", g.word(), patch)
	}
}

func (g listGenerator) item(key string, value any, patch bool) map[string]any {
	item := map[string]any{key: value}
	if g.IntN(2) == 0 {
		item["value"] = g.word()
	}
	if !patch {
		return item
	}
	switch g.IntN(12) {
	case 0, 1, 2:
		item["$patch"] = "delete"
	case 3:
		item["$patch"] = []any{"replace", nil, "merge"}[g.IntN(3)]
	case 4:
		delete(item, key)
	}
	return item
}

// order generates an order, most often one that the patch's list follows.
func (g listGenerator) order(list any) any {
	if g.IntN(40) == 0 {
		return []any{nil, "a", map[string]any{}}[g.IntN(3)]
	}
	follows := g.IntN(5) > 0
	items, _ := list.([]any)
	var order []any
	for _, item := range items {
		if object, ok := item.(map[string]any); ok && object["$patch"] != nil && g.IntN(4) > 0 {
			continue
		}
		for g.IntN(4) == 0 {
			order = append(order, g.element(g.IntN(10) == 0))
		}
		if follows || g.IntN(2) == 0 {
			order = append(order, item)
		}
	}
	for g.IntN(3) > 0 {
		order = append(order, g.element(g.IntN(10) == 0))
	}
	if order == nil {
		return []any{}
	}
	return order
}
