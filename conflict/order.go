package conflict

import (
	"slices"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Dependence is a field whose value depends on the order of the patches, with two orders that show it.
type Dependence struct {
	// Conflict holds the claims that the order decides between. Its Kind is Overlap.
	Conflict Conflict
	// Orders are the given order and another one, with their different outcomes.
	Orders []finding.Order
}

// Finding returns the dependence as a finding on the rendered object: the overlap with its two orders.
func (d Dependence) Finding(object fieldpath.Object) finding.Finding {
	f := d.Conflict.Finding(object)
	if len(d.Conflict.Managers()) < 2 { // a directive acts on another patch without a claim
		f.Message = "the order of the patches decides"
		f.Remedy = finding.Remedy{Text: "remove the directive or the duplicate item from the patch"}
	}
	f.Orders = d.Orders
	return f
}

// OrderDependence returns every field whose value depends on the order of the managers. Each comes with the given order, with
// another one, and with what both merge to. An empty list means that all orders give the same value. The order inside list-maps
// and sets does not count: merge.OrderDependence shows where it carries meaning.
//
// An order matters only where claims oppose each other, so Find names the fields. For each manager, OrderDependence merges the
// patches with this manager first and with it last. So it makes at most two merges for each manager, instead of one for each
// order. It drops a conflict that no order shows. A patch with directives, or with two items of one key, may oppose another
// one without a claim. These merges show its effects, and an order in which a patch cannot be merged.
//
// OrderDependence changes neither the base nor the patches. It returns the error of the plan's Apply for the given order.
func OrderDependence[T, P any](plan *engine.Plan[T, P], base *T, patches []engine.Layered[P]) ([]Dependence, error) {
	given, err := plan.Apply(base, patches, engine.Options{Owners: true})
	if err != nil {
		return nil, err
	}
	all := Orders(patches)
	if len(all) < 2 {
		return nil, nil
	}
	t := trials{conflicts: Find(given.Owners), owners: given.Owners}
	value := jsonOf(given.Value)
	for _, order := range all[1:] {
		trial := trial{managers: ManagersOf(order)}
		if result, err := plan.Apply(base, order, engine.Options{}); err != nil {
			trial.failed = err
		} else {
			trial.differences = differencesOf(plan.Type(), value, jsonOf(result.Value))
		}
		t.all = append(t.all, trial)
	}
	return t.dependences(ManagersOf(patches)), nil
}

// Orders returns the given order of the patches. Each order that moves one manager to the end or to the front follows, once. The
// patches of one manager keep their order. There are at most twice as many orders as managers.
func Orders[P any](patches []engine.Layered[P]) [][]engine.Layered[P] {
	var layers []engine.Layer
	orders, seen := [][]engine.Layered[P]{patches}, [][]int{identity(len(patches))}
	for _, p := range patches {
		if !slices.Contains(layers, p.Layer) {
			layers = append(layers, p.Layer)
		}
	}
	add := func(order []int) {
		if slices.ContainsFunc(seen, func(other []int) bool { return slices.Equal(order, other) }) {
			return
		}
		seen = append(seen, order)
		moved := make([]engine.Layered[P], len(order))
		for to, from := range order {
			moved[to] = patches[from]
		}
		orders = append(orders, moved)
	}
	for _, layer := range layers {
		var own, others []int
		for i, p := range patches {
			if p.Layer == layer {
				own = append(own, i)
			} else {
				others = append(others, i)
			}
		}
		add(slices.Concat(others, own))
		add(slices.Concat(own, others))
	}
	return orders
}

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// ManagersOf returns the names of the managers in the order of their patches.
func ManagersOf[P any](patches []engine.Layered[P]) []string {
	var names []string
	for _, p := range patches {
		if name, ok := p.Layer.Manager(); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// trials are the merges of other orders than the given one.
type trials struct {
	conflicts Conflicts
	owners    *engine.Ownership
	all       []trial
}

// trial is the merge of one order: its differences from the given order, or its error.
type trial struct {
	managers    []string
	differences []difference
	failed      error
}

// dependences returns the conflicts that a trial shows, and the differences that no conflict explains.
func (t trials) dependences(given []string) []Dependence {
	var found []Dependence
	for _, c := range t.conflicts {
		if c.Kind != Overlap {
			continue
		}
		if orders := t.shown(c, given); orders != nil {
			found = append(found, Dependence{c, orders})
		}
	}
	for _, trial := range t.all {
		if path, isFailed := failedAt(trial.failed); isFailed && !isExplained(found, path) {
			orders := []finding.Order{{Writers: given, Path: path, Effect: "the patches merge"}, {Writers: trial.managers, Path: path, Effect: "the merge fails: " + reasonOf(trial.failed)}}
			found = append(found, Dependence{t.claimsAt(path), orders})
		}
		for _, d := range trial.differences {
			if !isExplained(found, d.path) {
				found = append(found, Dependence{t.claimsAt(d.path), d.orders(given, trial.managers)})
			}
		}
	}
	return found
}

// shown returns the given order and one in which the conflict ends differently, or nil. An order that lets another claim win
// comes before one that hides the conflict.
func (t trials) shown(c Conflict, given []string) []finding.Order {
	names := c.Managers()
	var best []finding.Order
	for _, trial := range t.all {
		for _, d := range trial.differences {
			if !d.path.HasPrefix(c.Path) && !c.Path.HasPrefix(d.path) {
				continue
			}
			orders := d.orders(given, trial.managers)
			for i := range orders {
				orders[i].Manager = c.winner(orders[i])
			}
			if slices.Contains(names, trial.managers[len(trial.managers)-1]) {
				return orders
			}
			if best == nil {
				best = orders
			}
		}
	}
	return best
}

// winner returns the last manager of an order whose claim is the outcome, or "".
func (c Conflict) winner(o finding.Order) string {
	last, name := -1, ""
	for i, claim := range c.Claims {
		manager, _ := claim.Layer.Manager()
		at := slices.Index(o.Writers, manager)
		if at > last && o.IsSet && len(c.Fields[i]) == len(o.Path) && c.Fields[i].HasPrefix(o.Path) && engine.SameValue(jsonOf(claim.Value), o.Value) {
			last, name = at, manager
		}
	}
	return name
}

// isExplained reports whether a dependence concerns the field, one within it or one around it.
func isExplained(found []Dependence, path fieldpath.Path) bool {
	return slices.ContainsFunc(found, func(d Dependence) bool {
		return path.HasPrefix(d.Conflict.Path) || d.Conflict.Path.HasPrefix(path)
	})
}

// claimsAt returns the managers' claims on a field and within it, or else those around it, as an overlap.
func (t trials) claimsAt(path fieldpath.Path) Conflict {
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
