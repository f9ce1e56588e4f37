package conflict

import (
	"fmt"
	"iter"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// OrderConflict is a field whose value depends on the order of the patches, with two orders that show it.
type OrderConflict struct {
	// Conflict holds the claims that the order decides between. Its Kind is Overlap.
	Conflict Conflict
	// Orders are the given order and another one, with their different outcomes.
	Orders []finding.Order
}

// Finding returns the dependence as a finding on the rendered object: the overlap with its two orders.
func (d OrderConflict) Finding(object fieldpath.Object) finding.Finding {
	f := d.Conflict.Finding(object)
	if len(d.Conflict.Managers()) < 2 { // a directive acts on another patch without a claim
		f.Message = "the order of the patches decides"
		f.Remedy = finding.Remedy{Text: "remove the directive or the duplicate item from the patch"}
	}
	f.Orders = d.Orders
	return f
}

// OrderConflicts returns every field whose value depends on the order of the managers. Each comes with the given order, with
// another one, and with what both merge to. An empty list means that all orders give the same value. The order inside list-maps
// and sets does not count: OrderConflicts shows where it carries meaning.
//
// An order matters only where claims oppose each other, so Find names the fields. OrderConflicts merges the patches with a manager first
// and with it last, until each of these fields is shown. So it makes at most two merges for each manager, instead of one for each order. It
// makes none for a manager that opposes no other one. It drops a conflict that no order shows. A patch with directives, two items of one
// key, or a null in free data may oppose others without claims. Then these merges move every manager: they show its effects, and an order
// in which a patch cannot be merged.
//
// OrderConflicts changes neither the base nor the patches. It returns the error of the plan's Apply for the given order.
func OrderConflicts[T, P any](plan *merge.Plan[T, P], base *T, patches []merge.Layered[P]) ([]OrderConflict, error) {
	given, err := plan.Apply(base, patches, merge.Options{Owners: true})
	if err != nil {
		return nil, err
	}
	hasUnclaimed := slices.ContainsFunc(patches, func(p merge.Layered[P]) bool {
		return p.JSON != nil || actsUnclaimed(plan.Type(), asJSON(p.Patch), false)
	})
	t := newReorderings(given.Owners, ManagersOf(patches), hasUnclaimed)
	value := asJSON(given.Value)
	for moved, order := range reordered(patches, t.needs) {
		tried := reordering{managers: ManagersOf(order)}
		if result, err := plan.Apply(base, order, merge.Options{}); err != nil {
			tried.failed = err
		} else {
			tried.differences = differencesOf(plan.Type(), value, asJSON(result.Value))
		}
		t.add(moved, tried)
	}
	return t.orderConflicts(), nil
}

// Orders returns the given order of the patches. Each order that moves one manager to the end or to the front follows, once. The
// patches of one manager keep their order. There are at most twice as many orders as managers.
func Orders[P any](patches []merge.Layered[P]) [][]merge.Layered[P] {
	orders := [][]merge.Layered[P]{patches}
	for _, order := range reordered(patches, func(merge.Layer, bool) bool { return true }) {
		orders = append(orders, order)
	}
	return orders
}

// reordered yields the orders that move one manager to the end or to the front, each once, with the manager. It makes those only that
// are needed when their turn comes.
func reordered[P any](patches []merge.Layered[P], isNeeded func(layer merge.Layer, last bool) bool) iter.Seq2[merge.Layer, []merge.Layered[P]] {
	return func(yield func(merge.Layer, []merge.Layered[P]) bool) {
		own := map[merge.Layer][]int{}
		var layers []merge.Layer
		given := make([]int, len(patches))
		for i, p := range patches {
			if own[p.Layer] == nil {
				layers = append(layers, p.Layer)
			}
			given[i], own[p.Layer] = i, append(own[p.Layer], i)
		}
		seen := map[string]bool{fmt.Sprint(given): true}
		for _, layer := range layers {
			for _, last := range []bool{true, false} {
				if !isNeeded(layer, last) {
					continue
				}
				order := slices.DeleteFunc(slices.Clone(given), func(i int) bool { return patches[i].Layer == layer })
				if last {
					order = append(order, own[layer]...)
				} else {
					order = slices.Insert(order, 0, own[layer]...)
				}
				if seen[fmt.Sprint(order)] {
					continue
				}
				seen[fmt.Sprint(order)] = true
				moved := make([]merge.Layered[P], len(order))
				for to, from := range order {
					moved[to] = patches[from]
				}
				if !yield(layer, moved) {
					return
				}
			}
		}
	}
}

// ManagersOf returns the names of the managers in the order of their patches.
func ManagersOf[P any](patches []merge.Layered[P]) []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range patches {
		if name, ok := p.Layer.Manager(); ok && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// reorderings are the merges of other orders than the given one.
type reorderings struct {
	given        []string // the managers
	owners       *merge.Ownership
	hasUnclaimed bool // some patch acts on another one without a claim
	overlaps     []*overlapping
	of           map[merge.Layer][]opposing
	all          []reordering
}

// overlapping is a conflict with the orders that show it. It is shown by an order that lets another claim win. An order that hides the
// conflict counts until there is one.
type overlapping struct {
	Conflict
	managers []string
	orders   []finding.Order
	isShown  bool
}

// opposing is a claim of an overlap.
type opposing struct {
	*overlapping
	claim int
}

// reordering is the merge of one order: its differences from the given order, or its error.
type reordering struct {
	managers    []string
	differences []difference
	failed      error
}

func newReorderings(owners *merge.Ownership, given []string, hasUnclaimed bool) *reorderings {
	t := &reorderings{given: given, owners: owners, hasUnclaimed: hasUnclaimed, of: map[merge.Layer][]opposing{}}
	for _, c := range Find(owners) {
		if c.Kind != Overlap {
			continue
		}
		o := &overlapping{Conflict: c, managers: c.Managers()}
		t.overlaps = append(t.overlaps, o)
		for i, claim := range c.Claims {
			t.of[claim.Layer] = append(t.of[claim.Layer], opposing{o, i})
		}
	}
	return t
}

// needs reports whether an order may show an overlap that no earlier one does.
func (t *reorderings) needs(moved merge.Layer, last bool) bool {
	return t.hasUnclaimed || slices.ContainsFunc(t.of[moved], func(o opposing) bool { return !o.isShown && o.mayChange(last) })
}

// mayChange reports whether the outcome of an overlap may change if the manager of the claim moves. A claim on the field itself wins at
// the end if its value is another one than the winner's. The winner gives way at the front.
func (o opposing) mayChange(last bool) bool {
	winner := len(o.Claims) - 1
	switch {
	case slices.ContainsFunc(o.Fields, func(f fieldpath.Path) bool { return len(f) != len(o.Path) }):
		return true
	case last:
		return !merge.SameValue(asJSON(o.Claims[o.claim].Value), asJSON(o.Claims[winner].Value))
	default:
		return o.Claims[o.claim].Layer == o.Claims[winner].Layer
	}
}

// add adds the outcome of an order that moves a manager, and finds the overlaps that it shows.
func (t *reorderings) add(moved merge.Layer, result reordering) {
	t.all = append(t.all, result)
	if len(result.differences) == 0 {
		return
	}
	var differing branches
	for i, d := range result.differences {
		differing.add(d.path, i)
	}
	last := result.managers[len(result.managers)-1]
	show := func(o *overlapping) {
		i, found := differing.related(o.Path)
		if isBetter := slices.Contains(o.managers, last); found && !o.isShown && (isBetter || o.orders == nil) {
			o.orders, o.isShown = result.differences[i].orders(t.given, result.managers), isBetter
			for i := range o.orders {
				o.orders[i].Manager = o.winner(o.orders[i])
			}
		}
	}
	if !t.hasUnclaimed {
		for _, o := range t.of[moved] {
			show(o.overlapping)
		}
		return
	}
	for _, o := range t.overlaps {
		show(o)
	}
}

// orderConflicts returns the conflicts that an order shows, and the differences that no conflict explains.
func (t *reorderings) orderConflicts() []OrderConflict {
	var found []OrderConflict
	var explained branches
	add := func(c Conflict, orders []finding.Order) {
		explained.add(c.Path, len(found))
		found = append(found, OrderConflict{c, orders})
	}
	for _, o := range t.overlaps {
		if o.orders != nil {
			add(o.Conflict, o.orders)
		}
	}
	for _, tried := range t.all {
		if path, isFailed := failedAt(tried.failed); isFailed && !explained.has(path) {
			add(t.claimsAt(path), []finding.Order{
				{Writers: t.given, Path: path, Effect: "the patches merge"}, {Writers: tried.managers, Path: path, Effect: "the merge fails: " + reasonOf(tried.failed)},
			})
		}
		for _, d := range tried.differences {
			if !explained.has(d.path) {
				add(t.claimsAt(d.path), d.orders(t.given, tried.managers))
			}
		}
	}
	return found
}

// winner returns the last manager of an order whose claim is the outcome, or "".
func (c Conflict) winner(o finding.Order) string {
	at := make(map[string]int, len(o.Writers))
	for i, name := range o.Writers {
		at[name] = i
	}
	last, name := -1, ""
	for i, claim := range c.Claims {
		manager, _ := claim.Layer.Manager()
		if at, ok := at[manager]; ok && at > last && o.IsSet && len(c.Fields[i]) == len(o.Path) && c.Fields[i].HasPrefix(o.Path) && merge.SameValue(asJSON(claim.Value), o.Value) {
			last, name = at, manager
		}
	}
	return name
}

// claimsAt returns the managers' claims on a field and within it, or else those around it, as an overlap.
func (t reorderings) claimsAt(path fieldpath.Path) Conflict {
	c := Conflict{Kind: Overlap, Path: path}
	var around Conflict
	for f := range t.owners.Patched() {
		switch at := f.Path(); {
		case at.HasPrefix(path):
			c.add(at, managers(f.Claims()))
		case path.HasPrefix(at) && f.HasClaims():
			around = Conflict{}
			around.add(at, managers(f.Claims()))
		}
	}
	if len(c.Managers()) < 2 {
		c.Claims, c.Fields = append(around.Claims, c.Claims...), append(around.Fields, c.Fields...)
	}
	c.inOrder(t.owners.Layers())
	return c
}
