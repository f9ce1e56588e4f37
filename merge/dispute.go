package merge

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file finds the fields of which the order of the patches decides. Patches that disagree are
// merged again in other orders, and the fields of the results are compared. The histories of the
// merges tell what each manager says.

// A Dispute is a field of which the order of managers' patches decides.
type Dispute struct {
	Path fieldpath.Path
	// Claims are what the patches say of the field and within it, in their given order. Fields are
	// the places of the claims in the value.
	Claims []Claim
	Fields []fieldpath.Path
}

// disputes finds disputes in a log.
type disputes struct {
	*log
	patchers []int32 // the managers, in the order of their patches
	// differ are the fields in which results differ, with their texts.
	differ []fieldpath.Path
	known  map[string]bool
	first  any     // the result of the first order that can be merged
	logs   []*log  // of these orders: of the first two if nobody acts, since each tells all
	acting []int32 // the managers who can change what another patch means
}

// Disputes returns the fields of which the order of the managers' patches decides, whatever the
// options of the merge. It merges again, so the base and the patches must be as they were.
//
// The patches are merged in reverse. Then, until each field about which managers say something
// different is known to differ, they are merged with each such manager last. A manager acts on
// others by a directive, by an item that is named twice or has no key, by a null that is free data,
// or by a JSON patch. If one does, all fields get these orders, and for each manager that acts, the
// patches are also merged with it last, first, and second behind each other one. An order that
// cannot be merged is a dispute. A merge into a live object has none: see PatchedField.Displaced.
func (o *History) Disputes() []Dispute {
	d := disputes{log: o.orEmpty().log}
	if d.again == nil || d.live || d.managers < 2 {
		return nil
	}
	for i, layer := range d.ids {
		if d.acts(i) && !slices.Contains(d.acting, layer) {
			d.acting = append(d.acting, layer)
		}
	}
	rivals := d.rivals()
	if len(rivals)+len(d.acting) == 0 {
		return nil
	}
	for _, layer := range d.ids {
		if !slices.Contains(d.patchers, layer) {
			d.patchers = append(d.patchers, layer)
		}
	}
	if len(d.patchers) < 2 {
		return nil
	}
	d.known = map[string]bool{}
	d.tryOrders(rivals)
	return d.report()
}

// rivals returns the fields about which managers say something different: each another value, or
// one a null or a whole value where another sets something within.
func (d *disputes) rivals() []*node {
	var found []*node
	wholes := map[*node][]int32{} // by at most two layers
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

// saying returns the managers that say something of a field, one for each value, and those that say
// something within.
func (d *disputes) saying(at *node) []int32 {
	var layers []int32
	var different []*claim
	for i := range at.claims {
		c := &at.claims[i]
		if d.isManager(c.layer) && !slices.ContainsFunc(different, c.equals) {
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
		for _, layer := range d.patchers {
			if !slices.Contains(order, layer) {
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
	reverse := slices.Clone(d.patchers)
	slices.Reverse(reverse)
	try(reverse...) // which shows nearly every field at once
	for _, at := range rivals {
		path, isEmptied := at.path(), slices.ContainsFunc(at.claims, func(c claim) bool {
			return d.isManager(c.layer) && c.isNull()
		})
		isKnown := func() bool {
			return len(d.acting) == 0 && slices.ContainsFunc(d.differ, func(p fieldpath.Path) bool {
				return path.HasPrefix(p) || isEmptied && p.HasPrefix(path) // reported as one
			})
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

// try merges in an order, and compares the result with the first one.
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
	}
}

// report returns the disputes. Each is the field in which results differ, or the nearest one around
// it of which several managers say something. It is the outermost one that a manager empties.
func (d *disputes) report() []Dispute {
	var found []Dispute
	slices.SortStableFunc(d.differ, func(p, q fieldpath.Path) int { return len(p) - len(q) })
	for _, path := range d.differ {
		if slices.ContainsFunc(found, func(f Dispute) bool { return path.HasPrefix(f.Path) }) {
			continue
		}
		one := Dispute{}
		for n := range path {
			if d.isEmptied(path[:n]) {
				if one = d.dispute(path[:n]); one.hasSeveral() {
					break
				}
			}
		}
		for n := len(path); n >= 0 && !one.hasSeveral(); n-- {
			one = d.dispute(path[:n])
		}
		if !slices.ContainsFunc(found, func(f Dispute) bool { return one.Path.HasPrefix(f.Path) }) {
			found = append(found, one)
		}
	}
	return found
}

// hasSeveral reports whether several managers say something of the field.
func (d Dispute) hasSeveral() bool {
	return slices.ContainsFunc(d.Claims, func(c Claim) bool { return c.Owner != d.Claims[0].Owner })
}

// isEmptied reports whether a manager empties a field in one of the orders.
func (d *disputes) isEmptied(path fieldpath.Path) bool {
	return slices.ContainsFunc(d.logs, func(l *log) bool {
		return slices.ContainsFunc(l.nodeAt(path).made(), func(c claim) bool {
			return l.isManager(c.layer) && c.isNull()
		})
	})
}

// dispute returns a field with what the managers say of it: each what it claims in the first order
// in which it claims anything, or else what its patches hold.
func (d *disputes) dispute(path fieldpath.Path) Dispute {
	found := Dispute{Path: path}
	for _, layer := range d.patchers {
		before := len(found.Claims)
		for _, l := range d.logs {
			l.recorded(l.nodeAt(path), l.layerID(d.layers[layer]), func(at *node, c *claim) {
				path := at.path()
				found.Claims = append(found.Claims, d.export(layer, c.shown(), path))
				found.Fields = append(found.Fields, path)
			})
			if len(found.Claims) > before {
				break
			}
		}
		for i, tree := range d.again.trees {
			if len(found.Claims) > before || d.ids[i] != layer {
				continue
			}
			if value, has := d.valueAt(tree, path); has {
				found.Claims = append(found.Claims, d.export(layer, value, path))
				found.Fields = append(found.Fields, path)
			}
		}
	}
	return found
}

// valueAt returns what a patch holds at a path, and whether it holds anything there.
func (d *disputes) valueAt(tree any, path fieldpath.Path) (value any, has bool) {
	t := d.root
	for _, step := range path {
		of, err := as(t, tree)
		if err != nil {
			return nil, false
		}
		parts := partsIn(of, tree)
		has = false
		for name := range parts {
			if inner, is := partAt(of, name); is == step && inner != nil {
				t, tree, has = inner, parts[name][0], true
			}
		}
		if !has {
			return nil, false
		}
	}
	return tree, len(path) > 0
}

// nodeAt returns the node of the field at a path, or nil.
func (l *log) nodeAt(path fieldpath.Path) *node {
	at := l.top
	for _, step := range path {
		children := at.within()
		i := slices.IndexFunc(children, func(n *node) bool { return n.step() == step })
		if i < 0 {
			return nil
		}
		at = children[i]
	}
	return at
}

// recorded tells a layer's claims on a field and within it.
func (l *log) recorded(at *node, layer int32, tell func(*node, *claim)) {
	claims := at.made()
	for i := range claims {
		if claims[i].layer == layer {
			tell(at, &claims[i])
		}
	}
	for _, child := range at.within() {
		l.recorded(child, layer, tell)
	}
}

// merged merges the patches, those of each layer together.
func (a *again) merged(layers []int32) (*History, error) {
	var patches []layered
	for _, layer := range layers {
		for i := range a.patches {
			if a.of[i] == layer {
				patches = append(patches, a.patches[i])
			}
		}
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
	l, order := o.log, mergeOrder(patches, of)
	before := len(l.decisions)
	for _, d := range o.Disputes() {
		var layers []int32
		for _, c := range d.Claims {
			layers = append(layers, l.layerID(c.Owner))
		}
		for _, i := range slices.Backward(order) {
			if slices.Contains(layers, l.ids[i]) {
				l.decide(of.preceding(), d.Path, l.ids[i], layers)
				break
			}
		}
	}
	return l.decisions[before:]
}
