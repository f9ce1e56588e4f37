package merge

import (
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// Ownership records the layers that set each field of a merged value. It reads the fields that only the base set from Result.Value
// itself. Read it before you change the value.
type Ownership struct {
	log   *log
	value reflect.Value
}

// orEmpty returns o, or an empty ownership if o is nil or zero.
func (o *Ownership) orEmpty() *Ownership {
	if o == nil || o.log == nil {
		return &Ownership{log: newLog(&schema.Type{Kind: schema.Struct}, 0, Options{})}
	}
	return o
}

// ZeroNulls returns the fields that a Go value omits and so removes. Its type encodes them as null, because they have no
// omitempty. If all fields of a type have omitempty, as in an apply configuration of client-go, an omitted field removes nothing.
func (o *Ownership) ZeroNulls() []Ignored { return o.orEmpty().log.zeroNulls }

// All yields every field that a layer set, with its claims in the order of writing. The last claim is in force. Fields come in
// the order of the encoded document: sorted by name, list items in list order.
//
// A field is a leaf: a scalar, an entry of a map, an atomic list, an element of a set. All also yields the presence of an item
// of a list-map and of an empty struct. The merge key of an item is not a leaf. A field that a null emptied has a nil as its
// last claim.
func (o *Ownership) All() iter.Seq2[fieldpath.Path, []Claim] { return o.walked(false) }

// Reached yields what All yields, without the fields and items of a Go type that only the base set.
func (o *Ownership) Reached() iter.Seq2[fieldpath.Path, []Claim] { return o.walked(true) }

func (o *Ownership) walked(reached bool) iter.Seq2[fieldpath.Path, []Claim] {
	return func(yield func(fieldpath.Path, []Claim) bool) {
		o := o.orEmpty()
		if o.isObject() {
			o.objectClaims(yield)
			return
		}
		w := walk{log: o.log, yield: yield, reached: reached}
		w.value(o.log.root, o.value, rootNode, nil)
	}
}

// isObject reports whether the value merged by a definition.
func (o *Ownership) isObject() bool { return o.log.root.GoType() == nil && o.value.IsValid() }

// Layers returns the layers in the order of writing. The base comes first, then the managers in the order of their patches,
// then the layers of Write.
func (o *Ownership) Layers() []Layer {
	o = o.orEmpty()
	layers := slices.Clone(o.log.layers)
	for i := range layers {
		layers[i] = o.log.layerName(layers[i])
	}
	return layers
}

// IsAlike reports whether two layers are one, or have equal patches that empty a field. Their order changes nothing there.
func (o *Ownership) IsAlike(a, b Layer) bool {
	l := o.orEmpty().log
	first := func(layer Layer) int32 {
		i := l.rankOf(layer)
		if i < 0 || i >= len(l.alike) {
			return int32(i)
		}
		return l.alike[i]
	}
	return a == b || first(a) > 0 && first(a) == first(b)
}

// Rename passes each claim through rename before All yields it, for patches from other sources than managers' entries. The new
// layer must depend on the old layer alone. Distinct layers must stay distinct.
func (o *Ownership) Rename(rename func(Claim) Claim) { o.orEmpty().log.rename = rename }

// layerName returns a layer as it appears in claims.
func (l *log) layerName(layer Layer) Layer {
	if l.rename == nil {
		return layer
	}
	return l.rename(Claim{Layer: layer}).Layer
}

// rankOf returns the place of a layer, by its name in claims, in the order of the patches.
func (l *log) rankOf(layer Layer) int {
	return slices.IndexFunc(l.layers, func(of Layer) bool { return l.layerName(of) == layer })
}

// walk walks the value and the log side by side.
type walk struct {
	log   *log
	yield func(fieldpath.Path, []Claim) bool
	nulls []null // the claims that emptied the structs around a field
	owner int32  // the layer that owns fields without claims
	// emptiedAround reports that the last claim on the current field is a claim on a struct around it.
	emptiedAround bool
	decided       bool // whether a policy decided the current field
	reached       bool // omit what only the base set
}

// value visits one field. v is invalid if only the log has the field. It returns false to stop.
func (w *walk) value(t *schema.Type, v reflect.Value, at node, path fieldpath.Path) bool {
	named := false
	if v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
		// Only a pointer can hold an empty struct: a struct by value is always encoded. If a patch made the struct, the patch's
		// claims record its presence.
		named = t.Kind == schema.Struct && !hasLeaf(t, v) && !w.log.isCreated(at)
	}
	switch t.Kind {
	case schema.Struct:
		if len(path) > 0 && !w.emptiable(named, at, path) {
			return false
		}
	case schema.Map, schema.ListMap, schema.Set:
		if (len(w.log.nulls(at)) > 0 || at != noNode && w.log.nodes[at].contested) && !w.emptiable(false, at, path) {
			return false
		}
	}
	defer w.enter(at)()
	switch t.Kind {
	case schema.Struct:
		return w.structure(t, nil, v, at, path)
	case schema.Map:
		return w.mapping(v, at, path)
	case schema.ListMap:
		return w.list(t, v, at, path)
	case schema.Set:
		return w.set(v, at, path)
	default:
		return w.leaf(v, at, path)
	}
}

// enter adds the nulls at a node for the fields within it. The returned function removes them.
func (w *walk) enter(at node) func() {
	nulls := w.log.nulls(at)
	if nulls == nil {
		return func() {}
	}
	outer := w.nulls
	w.nulls = append(w.nulls[:len(w.nulls):len(w.nulls)], nulls...)
	return func() { w.nulls = outer }
}

// leaf yields the claims of a field, or the owner's if no patch touched it.
func (w *walk) leaf(v reflect.Value, at node, path fieldpath.Path) bool {
	if claims := w.claims(at, path); claims != nil {
		return w.yield(path, claims)
	}
	if !v.IsValid() {
		return true
	}
	return w.yield(path, []Claim{w.log.export(w.owner, plainValue(v), path)})
}

// presence yields the claims on an item or an empty struct.
func (w *walk) presence(isThere bool, at node, path fieldpath.Path) bool {
	if claims := w.claims(at, path); claims != nil {
		return w.yield(path, claims)
	}
	if !isThere {
		return true
	}
	return w.yield(path, []Claim{w.log.export(w.owner, Presence{}, path)})
}

// isUnreached reports whether to omit a field without a node.
func (w *walk) isUnreached(at node) bool { return w.reached && at == noNode && w.owner == baseLayer }

func (w *walk) structure(t *schema.Type, key *schema.StructField, v reflect.Value, at node, path fieldpath.Path) bool {
	for _, f := range t.Sorted() {
		if f == key {
			continue
		}
		child := w.log.lookup(at, f, "")
		if w.isUnreached(child) {
			continue
		}
		var fv reflect.Value
		if v.IsValid() {
			if value, encoded := f.Template.Of(v); encoded && !isNil(value) {
				fv = value
			}
		}
		if !fv.IsValid() && child == noNode {
			continue
		}
		if !w.value(f.Type, fv, child, path.Append(fieldpath.Field(f.Name))) {
			return false
		}
	}
	return true
}

func (w *walk) mapping(v reflect.Value, at node, path fieldpath.Path) bool {
	keys := w.log.childNames(at)
	if v.IsValid() && !w.isUnreached(noNode) {
		keys = append(keys, sortedKeys(v)...)
	}
	slices.Sort(keys)
	find := w.log.finder(at)
	for _, key := range slices.Compact(keys) {
		var value reflect.Value
		if v.IsValid() {
			value = v.MapIndex(reflect.ValueOf(key).Convert(v.Type().Key()))
		}
		if !w.leaf(value, find(key), path.Append(fieldpath.Key(key))) {
			return false
		}
	}
	return true
}

func (w *walk) list(t *schema.Type, v reflect.Value, at node, path fieldpath.Path) bool {
	key, find := t.KeyField(), w.log.finder(at)
	there := map[string]bool{}
	for i := 0; v.IsValid() && i < v.Len(); i++ {
		name := keyText(key, v.Index(i))
		text := itemKey(name, i, there)
		child, isKey, outer := find(text), key, w.owner
		if text != name {
			isKey = nil
			if first := find(name); first != noNode && w.log.nodes[first].createdBy != baseLayer {
				w.owner = w.log.nodes[first].createdBy // the patch that made an item brought its duplicates as well
			}
		}
		if w.isUnreached(child) {
			continue
		}
		item := path.Append(itemStep(t, text))
		if !w.presence(true, child, item) || !w.fields(t.Elem, isKey, v.Index(i), child, item) {
			return false
		}
		w.owner = outer
	}
	for _, text := range w.log.childNames(at) {
		child := find(text)
		if there[text] || w.log.nodes[child].first < 0 || strings.HasPrefix(text, duplicateMark) {
			continue // the position has no meaning any more
		}
		item := path.Append(itemStep(t, text))
		if !w.presence(false, child, item) || !w.fields(t.Elem, key, reflect.Value{}, child, item) {
			return false
		}
	}
	return true
}

// fields visits the fields of an item.
func (w *walk) fields(t *schema.Type, key *schema.StructField, v reflect.Value, at node, path fieldpath.Path) bool {
	if v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	defer w.enter(at)()
	return w.structure(t, key, v, at, path)
}

// duplicateMark begins the log's key of an item whose merge key an earlier item has. The item's position follows. No merge key
// begins with it.
const duplicateMark = "\x00"

// itemKey returns the log's key for an item. there holds the keys of the earlier items.
func itemKey(text string, position int, there map[string]bool) string {
	if there[text] {
		text = duplicateMark + strconv.Itoa(position)
	}
	there[text] = true
	return text
}

// itemStep returns the step to the item of a list-map with the given log key.
func itemStep(t *schema.Type, key string) fieldpath.Step {
	if position, ok := strings.CutPrefix(key, duplicateMark); ok {
		i, _ := strconv.Atoi(position)
		return fieldpath.Index(i)
	}
	if f := t.KeyField(); f != nil && f.Type.GoType() != nil {
		if value, typed := typedOf(key); typed {
			return fieldpath.ItemBy(fieldpath.ItemKey{Name: t.Key, Value: value})
		}
	}
	return fieldpath.Item(t.Key, key)
}

// keyText returns an item's merge key as it appears in a path.
func keyText(key *schema.StructField, item reflect.Value) string {
	name, _ := keyOf(&key.Template, pointee(item))
	return name
}

func (w *walk) set(v reflect.Value, at node, path fieldpath.Path) bool {
	there, find := map[string]bool{}, w.log.finder(at)
	for i := 0; v.IsValid() && i < v.Len(); i++ {
		element := scalarText(v.Index(i))
		if there[element] {
			continue // a path cannot distinguish duplicates
		}
		there[element] = true
		child := find(element)
		if !w.isUnreached(child) && !w.presence(true, child, path.Append(fieldpath.Element(element))) {
			return false
		}
	}
	for _, element := range w.log.childNames(at) {
		if !there[element] && !w.presence(false, find(element), path.Append(fieldpath.Element(element))) {
			return false
		}
	}
	return true
}

// plainValue returns a field's value as it appears in claims: every string type becomes string.
func plainValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return v.Elem().Interface()
	case reflect.String:
		return v.String()
	default:
		return v.Interface()
	}
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return v.IsNil()
	default:
		return false
	}
}

// hasLeaf reports whether a struct contains a leaf, or an item or a struct whose presence counts. A required list that is null
// does not count, nor does an empty struct by value. The encoding always contains them.
func hasLeaf(t *schema.Type, v reflect.Value) bool {
	for _, f := range t.Fields {
		value, encoded := f.Template.Of(v)
		switch {
		case !encoded || isNil(value):
		case f.Type.Kind == schema.Struct && value.Kind() == reflect.Struct:
			if hasLeaf(f.Type, value) {
				return true
			}
		case (f.Type.Kind == schema.ListMap || f.Type.Kind == schema.Set || f.Type.Kind == schema.Map) && indirect(value).Len() == 0:
		default:
			return true
		}
	}
	return false
}

// childNames returns the names of the fields that the log has within a node. For entries and items, it returns their keys.
func (l *log) childNames(at node) []string {
	var names []string
	if at != noNode {
		for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
			names = append(names, l.name(child))
		}
	}
	return names
}

// claimsOf returns the log's claims on a field, or nil.
func (l *log) claimsOf(at node, path fieldpath.Path) []Claim {
	if at == noNode {
		return nil
	}
	var claims []Claim
	for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
		claims = append(claims, l.exportAt(i, path))
	}
	return claims
}

// exportAt returns the claim of an index for callers.
func (l *log) exportAt(i int32, path fieldpath.Path) Claim {
	out := l.export(l.claims[i].layer(), l.valueOf(i), path)
	if source, ok := l.sources[i]; ok {
		out.Source = source
	}
	return out
}

// export returns a claim for callers, with its source in the document of the base or a patch.
func (l *log) export(layer int32, value any, path fieldpath.Path) Claim {
	out := Claim{Layer: l.layers[layer], Value: value}
	if place := l.places[layer]; place != nil {
		out.Source = place.Append(path...)
	}
	if l.rename != nil {
		return l.rename(out)
	}
	return out
}

// path returns the path to a node in the template.
func (l *log) path(at node) fieldpath.Path { return l.pathWithin(rootNode, at) }

// pathWithin returns the path from an outer node to a node within it.
func (l *log) pathWithin(outer, at node) fieldpath.Path {
	var path fieldpath.Path
	for ; at != outer; at = l.nodes[at].parent {
		path = append(path, l.step(at))
	}
	slices.Reverse(path)
	return path
}

func (l *log) step(at node) fieldpath.Step {
	n := &l.nodes[at]
	parent := l.typ(n.parent)
	switch {
	case n.field != nil:
		return fieldpath.Field(n.field.Name)
	case parent.Kind == schema.ListMap && l.root.GoType() != nil:
		return itemStep(parent, n.key)
	case parent.Kind == schema.ListMap || parent.Kind == schema.Set:
		return itemStepOf(parent, n.key)
	default:
		return parent.Step(n.key)
	}
}
