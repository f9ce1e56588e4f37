package merge

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file finds the fields of which the order of the patches decides. Patches that disagree are
// merged again in other orders, and the fields of the results are compared.

// A Dispute is a field of which the order of managers' patches decides.
type Dispute struct {
	Path fieldpath.Path
	// Claims are what the patches say of the field and within it, in their given order. Fields are
	// the places of the claims in the value.
	Claims []Claim
	Fields []fieldpath.Path
}

// said is what a patch says of a field.
type said struct {
	layer int32
	value any
	// deletes is set if the value lists the elements that a directive deletes from the field.
	deletes bool
}

// saying is a field with what the patches say of it.
type saying struct {
	typ   *schema.Type
	path  fieldpath.Path
	parts []said
}

// disputes finds disputes in a log.
type disputes struct {
	*log
	rivals   []saying // the fields about which managers say something different
	differ   map[string]fieldpath.Path
	order    []string // the keys of differ, in the order of finding
	results  []Object // of the orders that can be merged
	fails    bool     // whether an order cannot
	patchers []int32  // the managers, in the order of their patches
}

// Disputes returns the fields of which the order of the managers' patches decides, whatever the
// options of the merge. It merges again, so the base and the patches must be as they were.
//
// The patches are merged in reverse. Then, until each field about which managers say something
// different is known to differ, they are merged with each such manager last. A manager acts on
// others by a directive, by an item that is named twice or has no key, by a null that is free data,
// by a JSON patch, or by a second apply to a live object. If one does, all fields get these orders,
// and for each manager that acts, the patches are also merged with it last, first, and second
// behind each other one. An order that cannot be merged is a dispute.
func (o *History) Disputes() []Dispute {
	d := disputes{log: o.orEmpty().log}
	if d.again == nil || d.live || d.managers < 2 || !d.mayDiffer() {
		return nil
	}
	d.differ = map[string]fieldpath.Path{}
	root := saying{typ: d.root}
	var acting []int32
	for i, layer := range d.ids {
		if !slices.Contains(d.patchers, layer) {
			d.patchers = append(d.patchers, layer)
		}
		tree := d.again.trees[i]
		if tree != nil {
			root.parts = append(root.parts, said{layer: layer, value: tree})
		}
		if d.acts(i) && !slices.Contains(acting, layer) {
			acting = append(acting, layer)
		}
	}
	if len(d.patchers) < 2 {
		return nil
	}
	d.visit(root)
	d.tryOrders(acting)
	if len(d.order) == 0 {
		return nil
	}
	return d.report(root)
}

// mayDiffer reports whether a manager acts, or claims a null or another value than another one.
// It quickly dismisses nearly all merges.
func (d *disputes) mayDiffer() bool {
	for _, at := range d.reached {
		var before *claim
		for i := range at.claims {
			c := &at.claims[i]
			if c.kind == nullValue || c.kind == ineffectiveNull {
				return true
			}
			if !d.isManager(c.layer) {
				continue
			}
			if before != nil && !before.equals(c) {
				return true
			}
			before = c
		}
	}
	for i := range d.ids {
		if d.acts(i) {
			return true
		}
	}
	return false
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

// visit gathers the fields about which managers say something different. Work follows the fields
// that several managers name.
func (d *disputes) visit(f saying) {
	if !d.hasSeveral(f.parts) {
		return
	}
	t := f.typ
	f.typ = typeOf(t, f.parts)
	isWhole := func(s said) bool { return s.isWhole(f.typ) }
	if slices.ContainsFunc(f.parts, isWhole) {
		if slices.ContainsFunc(f.parts, func(s said) bool {
			return s.deletes != f.parts[0].deletes || !reflect.DeepEqual(s.value, f.parts[0].value)
		}) {
			d.rivals = append(d.rivals, f)
		}
		f.parts = slices.DeleteFunc(slices.Clone(f.parts), func(s said) bool {
			return !isComposite(s.value)
		})
		f.typ = typeOf(t, f.parts)
		if isWhole(said{value: emptyOf(f.typ)}) || !d.hasSeveral(f.parts) {
			return
		}
	}
	for _, inner := range f.inner() {
		d.visit(inner)
	}
}

func (d *disputes) hasSeveral(parts []said) bool {
	return slices.ContainsFunc(parts, func(s said) bool { return s.layer != parts[0].layer })
}

// typeOf returns how values of a field merge. If that depends on the values and they differ, it
// returns the type of a scalar.
func typeOf(t *schema.Type, parts []said) *schema.Type {
	if t == nil {
		return scalarType
	}
	if t.Kind != schema.Untyped {
		return t
	}
	var of *schema.Type
	for _, s := range parts {
		if s.value == nil {
			continue
		}
		is, err := as(t, s.value)
		if err != nil || of != nil && of != is {
			return scalarType
		}
		of = is
	}
	if of == nil {
		return scalarType
	}
	return of
}

// isWhole reports whether a patch says something of all parts of a field.
func (s said) isWhole(t *schema.Type) bool {
	switch v := s.value.(type) {
	case Object:
		if t.Kind != schema.Struct && t.Kind != schema.Map {
			return true
		}
		_, is := v[patchDirective]
		return is && (t.Kind == schema.Map || !isPureDirective(v)) && t.GoType() != nil
	case []any:
		return !t.HasItems() || s.deletes && t.Kind != schema.Set ||
			t.Kind == schema.ListMap && slices.ContainsFunc(v, func(item any) bool {
				object, isObject := item.(Object)
				return !isObject || object[patchDirective] == "replace"
			})
	default:
		return true
	}
}

// inner returns the fields directly within one, with what the patches say of each.
func (f saying) inner() []saying {
	parts := map[string][]said{}
	say := func(name string, s said) { parts[name] = append(parts[name], s) }
	var retained []said
	for _, s := range f.parts {
		switch v := s.value.(type) {
		case Object:
			for name, value := range v {
				of := said{layer: s.layer, value: value}
				if list, ok := strings.CutPrefix(name, deleteDirective+"/"); ok {
					of.deletes = true
					say(list, of)
				} else if list, ok := strings.CutPrefix(name, orderDirective+"/"); ok {
					if inner := f.typ.Field(list); inner != nil && isWhole(inner.Type) {
						say(list, of)
					}
				} else if f.typ.GoType() != nil && (name == retainDirective ||
					name == patchDirective && isPureDirective(v)) {
					if name == retainDirective || f.typ.Kind == schema.Struct {
						retained = append(retained, of)
					}
				} else if f.typ.GoType() != nil && (name == patchDirective ||
					v[patchDirective] != nil && isPureDirective(v)) {
					continue // a deletion says nothing else
				} else {
					say(name, of)
				}
			}
		case []any:
			for _, item := range v {
				of := said{layer: s.layer, value: item}
				object, _ := item.(Object)
				if s.deletes || object[patchDirective] == "delete" {
					of.value = nil
				}
				say(logKey(f.typ, item), of)
			}
		}
	}
	for _, s := range retained {
		kept, _ := s.value.([]any)
		for name, said := range parts {
			if !slices.Contains(kept, any(name)) && name != f.typ.Key {
				parts[name] = insertSaid(said, s.layer)
			}
		}
	}
	var inner []saying
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if of := f.at(name, parts[name]); of.typ != nil {
			inner = append(inner, of)
		}
	}
	return inner
}

// insertSaid adds a null of a layer to what is said of a field, unless the layer sets it.
func insertSaid(parts []said, layer int32) []said {
	at := len(parts)
	for i, s := range parts {
		if s.layer == layer {
			return parts
		}
		if s.layer > layer {
			at = min(at, i)
		}
	}
	return slices.Insert(slices.Clone(parts), at, said{layer: layer})
}

// at returns a field within by its name or key. Its type is nil if nothing merges there.
func (f saying) at(name string, parts []said) saying {
	inner := saying{parts: parts}
	switch {
	case f.typ.Kind == schema.Set:
		inner.typ = scalarType
	case f.typ.HasItems():
		inner.typ = f.typ.Elem
	case f.typ.Kind == schema.Map && f.typ.GoType() != nil:
		inner.typ = scalarType
	default:
		_, inner.typ, _ = fieldOf(f.typ, name)
	}
	inner.path = f.path.Append(partStep(f.typ, f.typ.Field(name), name))
	return inner
}

// logKey returns the log's key of an item or an element.
func logKey(t *schema.Type, item any) string {
	if t.GoType() != nil {
		return keyIn(t, item)
	}
	key, _ := itemKeyOf(t, item)
	return key
}

// tryOrders merges in other orders than the given one, and gathers the fields that differ.
func (d *disputes) tryOrders(acting []int32) {
	if len(d.rivals)+len(acting) == 0 {
		return
	}
	given, err := d.again.merged(d.patchers)
	if err != nil {
		return // it was merged
	}
	d.results = append(d.results, given)
	known := map[string]bool{string(d.patchers): true}
	try := func(order ...int32) {
		for _, layer := range d.patchers {
			if !slices.Contains(order, layer) {
				order = append(order, layer)
			}
		}
		d.try(given, order, known)
	}
	last := func(layer int32) {
		order := slices.DeleteFunc(slices.Clone(d.patchers), func(other int32) bool {
			return other == layer
		})
		try(append(order, layer)...)
	}
	reverse := slices.Clone(d.patchers)
	slices.Reverse(reverse)
	try(reverse...) // which shows nearly every field at once
	for _, f := range d.rivals {
		for i, s := range f.parts {
			if len(acting) == 0 && d.differs(f) {
				break // where nothing acts, no other field can differ
			}
			isSaid := slices.ContainsFunc(f.parts[:i], func(other said) bool {
				other.layer = s.layer
				return reflect.DeepEqual(s, other)
			})
			if !isSaid {
				last(s.layer)
			}
		}
	}
	for _, layer := range acting {
		last(layer)
		try(layer)
		for _, other := range d.patchers {
			if other != layer {
				try(other, layer)
			}
		}
	}
}

func (d *disputes) try(given Object, order []int32, known map[string]bool) {
	text := string(order)
	if known[text] {
		return
	}
	known[text] = true
	value, err := d.again.merged(order)
	if err != nil {
		d.fails = true
		at := fieldpath.Path{}
		if failed, ok := err.(*PatchError); ok {
			at = failed.Path
		}
		d.add(at)
		return
	}
	d.results = append(d.results, value)
	d.compare(d.root, given, value, nil)
}

// between returns the leaves in which two values differ.
func (d *disputes) between(t *schema.Type, a, b any, path fieldpath.Path) []string {
	probe := disputes{log: d.log, differ: map[string]fieldpath.Path{}}
	probe.compare(t, a, b, path)
	return probe.order
}

func (d *disputes) add(path fieldpath.Path) {
	text := path.String()
	if _, known := d.differ[text]; !known {
		d.differ[text] = path
		d.order = append(d.order, text)
	}
}

// compare gathers the leaves in which two values differ. The order in list-maps and sets does not
// count.
func (d *disputes) compare(t *schema.Type, a, b any, path fieldpath.Path) {
	if sameObject(a, b) || d.live && len(path) == 2 &&
		path.String() == ".metadata.managedFields" {
		return
	}
	f := saying{typeOf(t, []said{{value: firstOf(a, b)}, {value: firstOf(b, a)}}), path, nil}
	one, isObject := a.(Object)
	other, isAlso := b.(Object)
	first, isList := a.([]any)
	second, isListToo := b.([]any)
	switch {
	case isWhole(f.typ):
	case isObject && isAlso:
		for _, name := range slices.Compact(slices.Sorted(func(yield func(string) bool) {
			for name := range one {
				if !yield(name) {
					return
				}
			}
			maps.Keys(other)(yield)
		})) {
			if inner := f.at(name, nil); inner.typ != nil {
				d.compare(inner.typ, one[name], other[name], inner.path)
			}
		}
		return
	case isList && isListToo && f.typ.HasItems():
		d.compareItems(f, first, second)
		return
	}
	d.add(path)
}

func (d *disputes) compareItems(f saying, a, b []any) {
	items := map[string][2][]any{}
	for side, list := range [][]any{a, b} {
		for _, item := range list {
			key := logKey(f.typ, item)
			both := items[key]
			both[side] = append(both[side], item)
			items[key] = both
		}
	}
	for _, key := range slices.Sorted(maps.Keys(items)) {
		both, inner := items[key], f.at(key, nil)
		if len(both[0]) != len(both[1]) {
			d.add(inner.path)
			continue
		}
		if f.typ.Kind == schema.Set {
			continue
		}
		if len(both[0]) == 1 {
			d.compare(f.typ.Elem, both[0][0], both[1][0], inner.path)
		} else if !d.areAlike(f.typ.Elem, both[0], both[1]) {
			d.add(inner.path)
		}
	}
}

// areAlike reports whether two lists hold the same items in any order.
func (d *disputes) areAlike(t *schema.Type, items, others []any) bool {
	left := slices.Clone(others)
	for _, item := range items {
		i := slices.IndexFunc(left, func(other any) bool {
			return len(d.between(t, item, other, nil)) == 0
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// report returns the disputes: the fields of rivals that differ, and then what else differs, where
// at least two managers say something.
func (d *disputes) report(root saying) []Dispute {
	var found []Dispute
	isKnown := func(path fieldpath.Path) bool {
		return slices.ContainsFunc(found, func(f Dispute) bool { return path.HasPrefix(f.Path) })
	}
	for _, f := range d.rivals {
		if d.differs(f) {
			found = append(found, d.dispute(f))
		}
	}
	for _, text := range d.order {
		path := d.differ[text]
		if isKnown(path) || slices.ContainsFunc(found, func(f Dispute) bool {
			return f.Path.HasPrefix(path)
		}) {
			continue
		}
		for n := len(path); n >= 0; n-- {
			one := d.dispute(root.lead(path[:n]))
			if n == 0 || slices.ContainsFunc(one.Claims, func(c Claim) bool {
				return c.Owner != one.Claims[0].Owner
			}) {
				if !isKnown(one.Path) {
					found = append(found, one)
				}
				break
			}
		}
	}
	return found
}

// differs reports whether the results that have what is around a field differ in it. Without a
// second result, the field may be why the order cannot be merged.
func (d *disputes) differs(f saying) bool {
	var first any
	isFirst := true
	for _, result := range d.results {
		value, has := d.valueAt(result, f.path)
		if !has {
			continue
		}
		if isFirst {
			first, isFirst = value, false
			continue
		}
		if len(d.between(f.typ, first, value, f.path)) > 0 {
			return true
		}
	}
	return d.fails && len(d.results) == 1
}

// valueAt returns the value at a path in a result, and whether the result has what is around it.
func (d *disputes) valueAt(value any, path fieldpath.Path) (at any, has bool) {
	t := d.root
	for _, step := range path {
		f := saying{typ: typeOf(t, []said{{value: value}})}
		if value == nil && (f.typ.Kind == schema.Map || f.typ.HasItems()) {
			return nil, true // an empty one is left out
		}
		switch v := value.(type) {
		case Object:
			name, _ := step.Name()
			value, t = v[name], f.at(name, nil).typ
		case []any:
			if !f.typ.HasItems() {
				return nil, false
			}
			value, t = nil, f.typ.Elem
			for _, item := range v {
				if itemStepOf(f.typ, logKey(f.typ, item)) == step {
					value = item
					break
				}
			}
		default:
			return nil, false
		}
	}
	return value, true
}

// lead returns the field at a path within f, with what the patches say of it.
func (f saying) lead(path fieldpath.Path) saying {
	for _, step := range path {
		next := saying{typ: scalarType, path: f.path.Append(step)}
		f.typ = typeOf(f.typ, f.parts)
		for _, inner := range f.inner() {
			if inner.path[len(inner.path)-1] == step {
				next = inner
			}
		}
		f = next
	}
	return f
}

// dispute returns a field with what the patches say of it.
func (d *disputes) dispute(f saying) Dispute {
	found := Dispute{Path: f.path}
	of := func(layer int32) func(fieldpath.Path, any) {
		return func(path fieldpath.Path, value any) {
			found.Claims = append(found.Claims, d.export(layer, value, path))
			found.Fields = append(found.Fields, path)
		}
	}
	for i, layer := range d.ids {
		if slices.Index(d.ids, layer) < i {
			continue
		}
		parts := slices.Clone(f.parts) // what is said of the field itself comes first
		slices.SortStableFunc(parts, func(a, b said) int {
			switch {
			case isComposite(a.value) == isComposite(b.value):
				return 0
			case isComposite(b.value):
				return -1
			}
			return 1
		})
		for _, s := range parts {
			if s.layer == layer {
				one := saying{typeOf(f.typ, []said{s}), f.path, []said{s}}
				d.say(one, of(layer))
			}
		}
		if d.again.patches[i].isUpdate() {
			d.recorded(d.nodeAt(f.path), layer, of(layer))
		}
	}
	return found
}

// say tells what a patch says within a field, leaf by leaf.
func (d *disputes) say(f saying, tell func(fieldpath.Path, any)) {
	s, isTold := f.parts[0], false
	one := func(path fieldpath.Path, value any) {
		isTold = true
		tell(path, value)
	}
	object, isObject := s.value.(Object)
	list, isList := s.value.([]any)
	switch {
	case isObject && (f.typ.Kind == schema.Struct || f.typ.Kind == schema.Map):
		if _, is := object[patchDirective]; is && f.typ.GoType() != nil {
			one(f.path, nil)
		}
		if object[patchDirective] == "delete" {
			return
		}
	case isList && f.typ.HasItems():
		if slices.ContainsFunc(list, func(item any) bool {
			object, _ := item.(Object)
			return object[patchDirective] == "replace"
		}) {
			one(f.path, nil)
		}
	default:
		one(f.path, d.normal(f.typ, s))
		return
	}
	for _, inner := range f.inner() {
		name, _ := inner.path[len(inner.path)-1].Name()
		if strings.HasPrefix(name, "$") {
			continue
		}
		for _, s := range inner.parts {
			of := saying{typeOf(inner.typ, []said{s}), inner.path, []said{s}}
			if f.typ.HasItems() && s.value != nil {
				one(inner.path, Presence{})
				if f.typ.Kind == schema.Set {
					continue
				}
				item := maps.Clone(s.value.(Object))
				delete(item, f.typ.Key)
				if of.parts[0].value = item; len(item) == 0 {
					continue
				}
			}
			d.say(of, one)
		}
	}
	if !isTold {
		tell(f.path, Presence{})
	}
}

// normal returns a value as its type encodes it.
func (d *disputes) normal(t *schema.Type, s said) any {
	if t.GoType() == nil || s.deletes {
		return s.value
	}
	m := merger{plan: d.again.plan}
	if value, err := m.read(t, s.value); err == nil {
		return value
	}
	return s.value
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
func (l *log) recorded(at *node, layer int32, tell func(fieldpath.Path, any)) {
	for _, c := range at.made() {
		if c.layer == layer {
			tell(at.path(), c.shown())
		}
	}
	for _, child := range at.within() {
		l.recorded(child, layer, tell)
	}
}

// merged merges the patches, those of each layer together.
func (a *again) merged(layers []int32) (Object, error) {
	var patches []layered
	for _, layer := range layers {
		for i := range a.patches {
			if a.of[i] == layer {
				patches = append(patches, a.patches[i])
			}
		}
	}
	o := &options{base: a.options.base, rules: a.options.rules, live: a.options.live,
		skipsZero: a.options.skipsZero}
	merging := a.plan.mergeValues
	if a.plan.objects {
		merging = func(base any, patches []layered, o *options) (*History, []Note, error) {
			return a.plan.mergeObjects(base.(Object), patches, o)
		}
	}
	history, _, err := merging(a.base, patches, o)
	if err != nil {
		return nil, err
	}
	return history.value.(Object), nil
}
