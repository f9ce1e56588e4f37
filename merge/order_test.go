package merge_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// lists has lists that merge, within each other.
type lists struct {
	Items []listItem `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Marks []string   `json:"marks,omitempty" patchStrategy:"merge"`
}

type listItem struct {
	Name  string     `json:"name,omitempty"`
	Value int        `json:"value,omitempty"`
	Items []listItem `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

// lister makes lists and patches to them.
type lister struct {
	*rand.Rand
	names int // how many names there are
}

// size is a length up to most, and often short.
func (l *lister) size(most int) int { return l.IntN(1 + l.IntN(1+most)) }

func (l *lister) marks(n int) []string {
	marks := make([]string, n)
	for i, name := range l.Perm(l.names)[:min(n, l.names)] {
		marks[i] = fmt.Sprint("n", name)
	}
	for i := range marks {
		if marks[i] == "" || l.IntN(20) == 0 {
			marks[i] = marks[l.IntN(len(marks))] // two of one name
		}
	}
	return marks
}

func (l *lister) items(n, depth int) []listItem {
	items := make([]listItem, n)
	for i, name := range l.marks(n) {
		items[i] = listItem{Name: name, Value: 1 + l.IntN(9)}
		if depth > 0 && l.IntN(3) == 0 {
			items[i].Items = l.items(l.size(4), depth-1)
		}
	}
	if n > 0 && l.IntN(40) == 0 {
		items[l.IntN(n)].Name = ""
	}
	return items
}

func (l *lister) lists(most int) *lists {
	return &lists{Items: l.items(l.size(most), 1), Marks: l.marks(l.size(most))}
}

// order is a patch in JSON that orders both lists, and deletes from them.
func (l *lister) order(most int) merge.Object {
	patch := merge.Object{}
	some := func(names []string) []any {
		chosen := []any{}
		for _, name := range names {
			if l.IntN(3) == 0 {
				chosen = append(chosen, name)
			}
		}
		return chosen
	}
	if order := l.marks(l.size(most)); l.IntN(3) > 0 {
		patch["$setElementOrder/marks"] = some(append(order, order...))
		if l.IntN(3) > 0 {
			patch["$setElementOrder/marks"] = anys(order)
		}
		if l.IntN(2) == 0 {
			patch["marks"] = some(order)
		}
	}
	if l.IntN(3) == 0 {
		patch["$deleteFromPrimitiveList/marks"] = anys(l.marks(l.size(most)))
	}
	keyed := func(names []any) []any {
		items := make([]any, len(names))
		for i, name := range names {
			items[i] = merge.Object{"name": name}
		}
		return items
	}
	order := l.marks(l.size(most))
	if l.IntN(3) > 0 {
		patch["$setElementOrder/items"] = keyed(anys(order))
	}
	if l.IntN(2) == 0 {
		items := keyed(some(order))
		for _, item := range keyed(anys(l.marks(l.size(3)))) {
			item.(merge.Object)["$patch"] = "delete"
			items = append(items, item)
		}
		patch["items"] = items
	}
	return patch
}

func anys(names []string) []any {
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = name
	}
	return all
}

// TestApply_Order compares lists with the results of the API machinery's strategic merge patch. The
// cases have short and long lists, new items, names that several items share, orders and deletions.
// A list of more than 32 items has an index.
func TestApply_Order(t *testing.T) {
	next := &lister{Rand: rand.New(rand.NewPCG(testenv.Seed(t), 1))}
	typed := must(planFor[lists](schema.Rules{AllowDuplicateKeys: true}))
	untyped := must(planFor[lists](schema.Rules{AllowDuplicateKeys: true}))
	rejected := 0
	for i := range int(testenv.Cases(t, 2000)) {
		most := 8
		if i%10 == 0 {
			most = 60
		}
		next.names = most * 3 / 2
		base := next.lists(most)
		if most > 8 {
			base.Items, base.Marks = next.items(25+next.IntN(15), 0), next.marks(25+next.IntN(15))
		}
		n := 1 + next.IntN(4)
		var patches []merge.Patch
		var objects []merge.Patch
		var all []any
		for k := range n {
			manager := fmt.Sprint("m", k)
			var patch any
			if i%2 == 0 {
				p := next.lists(most)
				patches, patch = append(patches, merge.Patch{Manager: manager, Value: p}), p
			} else {
				p := next.order(most)
				objects, patch = append(objects, merge.Patch{Manager: manager, Value: &p}), p
			}
			all = append(all, patch)
		}
		want, wantErr := strategicMerge(base, all...)
		var value lists
		var err error
		if i%2 == 0 {
			result, failed := typed.Apply(base, patches)
			if err = failed; err == nil {
				value = result.Value
			}
		} else {
			result, failed := untyped.Apply(base, objects)
			if err = failed; err == nil {
				value = result.Value
			}
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("Apply(%s, %s): error %v, want %v", asJSON(base), asJSON(all), err, wantErr)
		}
		if err != nil {
			rejected++
			continue
		}
		if diff := cmp.Diff(want, asJSON(value)); diff != "" {
			t.Fatalf("Apply(%s, %s) (-want +got):\n%s", asJSON(base), asJSON(all), diff)
		}
	}
	t.Logf("%d refused", rejected)
}

// TestApply_LongList counts the memory of patches that add items to a long list: it grows no faster
// than the patches, each of which needs an index of the list.
func TestApply_LongList(t *testing.T) {
	plan := must(planFor[lists](schema.Rules{}))
	base := &lists{Items: make([]listItem, 4000)}
	for i := range base.Items {
		base.Items[i].Name = fmt.Sprint("n", i)
	}
	layers := make([]merge.Patch, 64)
	for i := range layers {
		patch := &lists{}
		for k := range 4 {
			patch.Items = append(patch.Items, listItem{Name: fmt.Sprint("m", i, ".", k)})
		}
		for k := i - 1; k >= max(0, i-3); k-- { // the first items that earlier patches have added
			patch.Items = append(patch.Items, listItem{Name: fmt.Sprint("m", k, ".0"), Value: i})
		}
		layers[i] = merge.Patch{Manager: fmt.Sprint("m", i), Value: patch}
	}
	short := &lists{Items: base.Items[:1]}
	for range 2 { // the first merge also analyzes the types
		allocated(t, plan, short, layers[:1])
	}
	few, all := allocated(t, plan, base, layers[:16]), allocated(t, plan, base, layers)
	if all > 4*few {
		t.Errorf("%d patches to a long list take %d bytes, and 16 take %d", len(layers), all, few)
	}
}

// allocated returns the number of bytes that a merge allocates.
func allocated(t *testing.T, plan plan[lists], base *lists, patches []merge.Patch) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result, err := plan.Apply(base, patches)
	runtime.ReadMemStats(&after)
	if err != nil || len(result.Value.Items) != len(base.Items)+4*len(patches) {
		t.Fatalf("%d items and error %v, want four new items of each patch",
			len(result.Value.Items), err)
	}
	return after.TotalAlloc - before.TotalAlloc
}
