package merge

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file finds the fields of which the order of the patches decides. Patches that disagree are
// merged again in other orders, and the fields of the results are compared. The histories of the
// merges tell what each manager says.

// disputes finds disputes in a log.
type disputes struct {
	*log
	patchers []int32         // the managers, in the order of their patches
	places   map[Owner]int32 // of the managers in that order
	// differ are the fields in which results differ. known has their texts, and around those of the
	// fields around them.
	differ        []fieldpath.Path
	known, around map[string]bool
	first         any     // the result of the first order that can be merged
	logs          []*log  // of these orders: of the first two if nobody acts, since each tells all
	acting        []int32 // the managers who can change what another patch means
	// What the orders and the patches say of the fields, by their paths. A report asks for many.
	nodes   []map[string]*node
	emptied map[string]bool
	held    map[string][]holding
}

// A holding is what a patch holds at a field.
type holding struct {
	layer int32
	value any
}

// Disputes returns the fields about which managers disagree, in the order in which the patches
// reach them: the fields of which the order of their patches decides, whatever the options of the
// merge, and broken unions. It merges again, so the base and the patches must be as they were.
//
// The patches of each manager are merged together, in the given order of the managers, and in
// reverse; if others stand between them, also as they are given. Then, until each field about
// which managers say something different is known to differ, they are merged with each such
// manager last. A manager acts on others by a directive, by an item that is named twice or has no
// key, by a null that is free data, or by a JSON patch. If one does, all fields get these orders,
// and for each manager that acts, the patches are also merged with it last, first, and second
// behind each other one. An order that cannot be merged is a dispute. In a merge into a live
// object, a dispute is a field that an apply took from another owner: an apply without force is
// refused for it.
func (o *History) Disputes() []Dispute {
	l := o.orEmpty().log
	overlaps := l.overlaps()
	left := make(map[string]int, len(overlaps)) // their indexes, by path
	for i, one := range overlaps {
		left[one.Path.String()] = i
	}
	var found []Dispute
	for _, at := range l.reached {
		if claims := l.displaced(at); claims != nil {
			found = append(found, Dispute{Path: at.path(), Claims: claims,
				Fields: slices.Repeat([]fieldpath.Path{at.path()}, len(claims))})
		}
		if len(left) > 0 {
			path := at.path().String()
			if i, is := left[path]; is {
				found = append(found, overlaps[i])
			}
			delete(left, path)
		}
		found = append(found, l.unionsAt(at)...)
	}
	for i, one := range overlaps {
		if at, is := left[one.Path.String()]; is && at == i { // no patch reached the field
			found = append(found, one)
		}
	}
	return found
}

// overlaps returns the fields of which the order of the patches decides.
func (l *log) overlaps() []Dispute {
	d := disputes{log: l}
	if d.again == nil || d.live || d.managers < 2 {
		return nil
	}
	isActing := map[int32]bool{}
	for i, layer := range d.ids {
		if d.acts(i) && !isActing[layer] {
			isActing[layer], d.acting = true, append(d.acting, layer)
		}
	}
	rivals := d.rivals()
	if len(rivals)+len(d.acting) == 0 {
		return nil
	}
	d.places = map[Owner]int32{}
	for _, layer := range d.ids {
		if _, isThere := d.places[d.layers[layer]]; !isThere {
			d.places[d.layers[layer]] = int32(len(d.patchers))
			d.patchers = append(d.patchers, layer)
		}
	}
	if len(d.patchers) < 2 {
		return nil
	}
	d.known, d.around = map[string]bool{}, map[string]bool{}
	d.tryOrders(rivals)
	return d.report()
}

// rivals returns the fields about which managers say something different: each another value, or
// one a null or a whole value where another sets something within.
func (d *disputes) rivals() []*node {
	var found []*node
	wholes := map[*node][]int32{} // by at most two owners
	for _, at := range d.reached {
		var before *claim
		differ := false
		for i := range at.claims {
			c := &at.claims[i]
			if !d.isManager(c.layer) {
				continue
			}
			differ = differ || before != nil && !before.equals(c)
			before = c
			isWhole := c.isNull() || c.kind == plainValue && len(at.children) > 0
			if by := wholes[at]; isWhole && len(by) < 2 && !slices.Contains(by, c.layer) {
				wholes[at] = append(by, c.layer)
			}
		}
		if differ {
			found = append(found, at)
		}
	}
	isRival := map[*node]bool{}
	for _, at := range d.reached {
		for around := at.parent; len(wholes) > 0 && around != nil; around = around.parent {
			by := wholes[around]
			if len(by) == 0 || isRival[around] {
				continue
			}
			isRival[around] = slices.ContainsFunc(at.claims, func(c claim) bool {
				return d.isManager(c.layer) && (by[0] != c.layer || len(by) > 1)
			})
			if isRival[around] {
				found = append(found, around)
			}
		}
	}
	return found
}

// isNull reports whether a claim empties its field.
func (c *claim) isNull() bool { return c.kind == nullValue || c.kind == ineffectiveNull }

// saying returns the managers that say something of a field, one for each value, and those that
// empty it or say something within.
func (d *disputes) saying(at *node) []int32 {
	var layers []int32
	var different []*claim
	for i := range at.claims {
		c := &at.claims[i]
		isNew := c.isNull() || !slices.ContainsFunc(different, c.equals)
		if d.isManager(c.layer) && isNew && !slices.Contains(layers, c.layer) {
			different, layers = append(different, c), append(layers, c.layer)
		}
	}
	var within func(at *node)
	within = func(at *node) {
		for _, child := range at.children {
			for _, c := range child.claims {
				if d.isManager(c.layer) && !slices.Contains(layers, c.layer) {
					layers = append(layers, c.layer)
				}
			}
			within(child)
		}
	}
	within(at)
	return layers
}

// acts reports whether a patch can change what another one means.
func (d *disputes) acts(i int) bool {
	if d.again.patches[i].isUpdate() {
		return true
	}
	return !d.again.plan.objects && actsIn(d.root, d.again.trees[i])
}

func actsIn(t *schema.Type, v any) bool {
	isFree := t == nil || isWhole(t)
	switch v := v.(type) {
	case Object:
		for name, value := range v {
			if strings.HasPrefix(name, "$") ||
				value == nil && (isFree || t.Kind == schema.Map) ||
				actsIn(t.Inner(name), value) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if item == nil || actsIn(elemType(t), item) {
				return true
			}
		}
		return !isFree && t.HasItems() && hasOddItem(t, v)
	}
	return false
}

// hasOddItem reports whether a list has an item without a merge key, or one twice.
func hasOddItem(t *schema.Type, list []any) bool {
	keys := make(map[any]bool, len(list))
	for _, item := range list {
		key := item
		if t.Key != "" {
			key = item.(Object)[t.Key]
		}
		if whole, ok := key.(float64); ok && whole == math.Trunc(whole) {
			key = int64(whole)
		}
		if key == nil || isComposite(key) || keys[key] {
			return true
		}
		keys[key] = true
	}
	return false
}

// tryOrders merges in other orders than the given one, and gathers the fields that differ.
func (d *disputes) tryOrders(rivals []*node) {
	tried := map[string]bool{}
	try := func(order ...int32) {
		isFirst := make(map[int32]bool, len(order))
		for _, layer := range order {
			isFirst[layer] = true
		}
		for _, layer := range d.patchers {
			if !isFirst[layer] {
				order = append(order, layer)
			}
		}
		if !tried[string(order)] {
			tried[string(order)] = true
			d.try(order)
		}
	}
	last := func(layer int32) {
		order := slices.DeleteFunc(slices.Clone(d.patchers), func(other int32) bool {
			return other == layer
		})
		try(append(order, layer)...)
	}
	try(d.patchers...)
	if len(slices.Compact(slices.Clone(d.ids))) > len(d.patchers) {
		d.try(nil) // other patches stand between those of a manager
	}
	reverse := slices.Clone(d.patchers)
	slices.Reverse(reverse)
	try(reverse...) // which shows nearly every field at once
	for _, at := range rivals {
		path, isEmptied := at.path(), slices.ContainsFunc(at.claims, func(c claim) bool {
			return d.isManager(c.layer) && c.isNull()
		})
		isKnown := func() bool {
			return len(d.acting) == 0 &&
				(anyAround(path, d.known) || isEmptied && d.around[path.String()]) // reported as one
		}
		if isKnown() {
			continue // where nothing acts, no other field can differ
		}
		for _, layer := range d.saying(at) {
			if last(layer); isKnown() {
				break
			}
		}
	}
	if len(d.logs) < 2 { // each rival may be why no other order can be merged
		for _, at := range rivals {
			d.add(at.path())
		}
	}
	for _, layer := range d.acting {
		last(layer)
		try(layer)
		for _, other := range d.patchers {
			if other != layer {
				try(other, layer)
			}
		}
	}
}

// try merges in an order, nil for the given one, and compares the result with the first one.
func (d *disputes) try(order []int32) {
	merged, err := d.again.merged(order)
	switch failed := (*PatchError)(nil); {
	case errors.As(err, &failed):
		d.add(failed.Path)
	case err != nil:
		d.add(nil)
	case len(d.logs) == 0:
		d.first = merged.value
		d.logs = append(d.logs, merged.log)
	default:
		compare(d.root, d.first, merged.value, nil, d.add)
		if len(d.logs) < 2 || len(d.acting) > 0 {
			d.logs = append(d.logs, merged.log)
		}
	}
}

func (d *disputes) add(path fieldpath.Path) {
	if text := path.String(); !d.known[text] {
		d.known[text], d.differ = true, append(d.differ, path)
		for n := range path {
			d.around[path[:n].String()] = true
		}
	}
}

// anyAround reports whether a field, or one around it, is among fields by their paths.
func anyAround(path fieldpath.Path, fields map[string]bool) bool {
	for n := range len(path) + 1 {
		if fields[path[:n].String()] {
			return true
		}
	}
	return false
}

// report returns the disputes. Each is the field in which results differ, or the nearest one around
// it of which several managers say something. It is the outermost one that a manager empties.
func (d *disputes) report() []Dispute {
	var found []Dispute
	isFound := map[string]bool{}
	d.gather()
	slices.SortStableFunc(d.differ, func(p, q fieldpath.Path) int { return len(p) - len(q) })
	for _, path := range d.differ {
		if anyAround(path, isFound) {
			continue
		}
		one := Dispute{}
		for n := range path {
			if d.emptied[path[:n].String()] {
				if one = d.dispute(path[:n]); one.hasSeveral() {
					break
				}
			}
		}
		for n := len(path); n >= 0 && !one.hasSeveral(); n-- {
			one = d.dispute(path[:n])
		}
		if !anyAround(one.Path, isFound) {
			isFound[one.Path.String()], found = true, append(found, one)
		}
	}
	return slices.DeleteFunc(found, func(one Dispute) bool { // a later one may be around it
		return len(one.Path) > 0 && anyAround(one.Path[:len(one.Path)-1], isFound)
	})
}

// gather gathers what the orders and the patches say of the fields.
func (d *disputes) gather() {
	d.emptied, d.held = map[string]bool{}, map[string][]holding{}
	for _, l := range d.logs {
		nodes := make(map[string]*node, len(l.reached))
		for _, at := range l.reached {
			text := at.path().String()
			nodes[text] = at
			d.emptied[text] = d.emptied[text] || slices.ContainsFunc(at.claims,
				func(c claim) bool { return l.isManager(c.layer) && c.isNull() })
		}
		d.nodes = append(d.nodes, nodes)
	}
	for i, tree := range d.again.trees {
		d.hold(d.ids[i], d.root, tree, nil)
	}
}

// hold gathers what a patch holds within a field.
func (d *disputes) hold(layer int32, t *schema.Type, v any, path fieldpath.Path) {
	of, err := as(t, v)
	if err != nil {
		return
	}
	for name, values := range partsIn(of, v) {
		if inner, step := partAt(of, name); inner != nil {
			within := path.Append(step)
			text := within.String()
			d.held[text] = append(d.held[text], holding{layer, values[0]})
			d.hold(layer, inner, values[0], within)
		}
	}
}

// hasSeveral reports whether several managers say something of the field.
func (d Dispute) hasSeveral() bool {
	return slices.ContainsFunc(d.Claims, func(c Claim) bool { return c.Owner != d.Claims[0].Owner })
}

// dispute returns a field with what the managers say of it: each what it claims in the first order
// in which it claims anything, or else what its patches hold.
func (d *disputes) dispute(path fieldpath.Path) Dispute {
	found, text := Dispute{Path: path}, path.String()
	type statement struct {
		value any
		at    fieldpath.Path
	}
	said := map[int32][]statement{} // by the place of the manager
	for i, l := range d.logs {
		now := map[int32][]statement{}
		l.recorded(d.nodes[i][text], func(at *node, c *claim) {
			place, isPatcher := d.places[l.layers[c.layer]]
			if isPatcher && said[place] == nil {
				now[place] = append(now[place], statement{c.shown(), at.path()})
			}
		})
		maps.Copy(said, now)
	}
	claimed := maps.Clone(said)
	for _, of := range d.held[text] {
		if place := d.places[d.layers[of.layer]]; claimed[place] == nil {
			said[place] = append(said[place], statement{of.value, path})
		}
	}
	for _, place := range slices.Sorted(maps.Keys(said)) {
		for _, one := range said[place] {
			found.Claims = append(found.Claims, d.export(d.patchers[place], one.value, one.at))
			found.Fields = append(found.Fields, one.at)
		}
	}
	return found
}

// recorded tells the claims on a field and within it.
func (l *log) recorded(at *node, tell func(*node, *claim)) {
	claims := at.made()
	for i := range claims {
		tell(at, &claims[i])
	}
	for _, child := range at.within() {
		l.recorded(child, tell)
	}
}

// merged merges the patches, those of each owner together, or without owners in the given order.
func (a *again) merged(layers []int32) (*History, error) {
	of := map[int32][]layered{}
	for i, layer := range a.of {
		of[layer] = append(of[layer], a.patches[i])
	}
	patches := a.patches
	if layers != nil {
		patches = nil
	}
	for _, layer := range layers {
		patches = append(patches, of[layer]...)
	}
	o := &options{base: a.options.base, rules: a.options.rules, skipsZero: a.options.skipsZero}
	history, _, err := a.plan.merge(a.base, patches, o)
	return history, err
}

// merge merges patches into a base, and returns the history of the result with its notes. The base
// is an Object or a pointer to a Go value.
func (p *plan) merge(base any, patches []layered, o *options) (*History, []Note, error) {
	if p.objects {
		return p.mergeObjects(base.(Object), patches, o)
	}
	return p.mergeValues(base, patches, o)
}

// precedence returns the fields in which the order of the patches decided.
func (o *History) precedence(patches []layered, of *options) []Note {
	if !of.precedes() {
		return nil
	}
	l, last := o.log, map[int32]int{}
	for place, i := range mergeOrder(patches, of) {
		last[l.ids[i]] = place
	}
	before, layer := len(l.decisions), l.byOwner()
	for _, d := range l.overlaps() {
		var layers []int32
		for _, c := range d.Claims {
			layers = append(layers, layer[c.Owner])
		}
		winner := slices.MaxFunc(layers, func(a, b int32) int { return last[a] - last[b] })
		l.decide(of.preceding(), d.Path, winner, layers)
	}
	return l.decisions[before:]
}
