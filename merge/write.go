package merge

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// Record records what a layer wrote after the patches, by comparing the value before and after.
// Each is a value of the Go type of the history's field, a pointer to one, JSON, or nil for none.
//
// Record records each leaf of a struct that differs. A leaf that before has and after lacks is
// recorded as emptied. An unclaimed part of before belonged to the base, or to the patch that added
// the item around it. The function origin locates the input of a new value by the path of its field
// in after; nil locates nothing.
//
// Record only records: the caller changes the value that the History came with. In a part that the
// type lacks, it records nothing.
func (o *History) Record(owner Owner, before, after any, origin func(fieldpath.Path) Origin) {
	o = o.orEmpty()
	if origin == nil {
		origin = func(fieldpath.Path) Origin { return Origin{} }
	}
	w := writer{log: o.log, layer: o.log.layerID(owner), origin: origin}
	if o.isObject() {
		w.object(o.within, before, after)
		return
	}
	l := o.log
	at := l.top
	for _, step := range o.within {
		f, name, ok := stepIn(at.typ, step)
		if !ok {
			return // the type lacks the field
		}
		at = l.child(at, f, name)
	}
	w.field = at
	b, n := jsonIn(before), jsonIn(after)
	if len(o.within) > 0 {
		last := o.within[len(o.within)-1]
		_, isDuplicate := last.Index()
		_, isElement := last.Element()
		switch isNamed := isDuplicate || isElement; {
		case isNamed && n != nil:
			w.appears(at, b != nil)
		case isNamed && b != nil:
			w.vanishes(at)
		}
		if isElement {
			return
		}
	}
	w.value(at, b, n)
}

// jsonIn returns the JSON of a Go value, which may be JSON already. A value without any is nil.
func jsonIn(value any) any {
	if _, isText := value.(string); isText || value == nil {
		return value
	}
	made, _ := tree.Value(value)
	return made
}

type writer struct {
	*log
	layer       int32
	origin      func(fieldpath.Path) Origin
	field       *node // the written field
	onlyRemoved bool  // record only the earlier owners of removed fields
}

// isWritten reports whether a field whose value stays was written all the same.
func (w writer) isWritten(at *node) bool {
	return !w.onlyRemoved && w.origin(at.pathWithin(w.field)).Always
}

// write claims a field for the layer, with the source of its value. A claim that would repeat the
// same layer's last one is not made: the TrainJob's variables are written once before the policies
// and once after them.
func (w writer) write(at *node, kind valueKind, value any) {
	now := claim{layer: w.layer, kind: kind, value: value}
	if last := at.last(); last != nil && last.layer == w.layer && last.equals(&now) &&
		at.firstWithin(last.number, w.claims) == nil {
		return
	}
	w.add(at, w.layer, kind, value)
	at.last().source = w.origin(at.pathWithin(w.field)).Path
}

// value records a write of one field. before and now are nil for a missing value.
func (w writer) value(at *node, before, now any) {
	switch at.typ.Kind {
	case schema.Struct:
		b, had := before.(Object)
		n, has := now.(Object)
		if had || has {
			w.structure(at, b, n)
		}
	case schema.Map:
		b, _ := before.(Object)
		n, _ := now.(Object)
		w.mapping(at, b, n)
	case schema.ListMap:
		b, _ := before.([]any)
		n, _ := now.([]any)
		w.list(at, b, n)
	case schema.Set:
		b, _ := before.([]any)
		n, _ := now.([]any)
		w.set(at, keysOf(at.typ, b), keysOf(at.typ, n))
	default:
		w.leaf(at, before, now)
	}
}

// stepIn returns the field or the key of a node's child for a step in a type.
func stepIn(t *schema.Type, step fieldpath.Step) (field *schema.StructField, key string, ok bool) {
	if name, isField := step.Field(); isField {
		field = t.Field(name)
		return field, "", field != nil
	}
	if t.Elem == nil {
		return nil, "", false
	}
	key, isKey := step.Key()
	if mergeKey, value, isItem := step.Item(); isItem {
		key = value
		if step != fieldpath.Item(mergeKey, value) { // the key is not a string
			key = keyTypeOf(t).text(step.Keys()[0].Value)
		}
	} else if position, isIndex := step.Index(); isIndex {
		key = duplicateMark + strconv.Itoa(position)
	} else if !isKey {
		key, _ = step.Element()
	}
	return nil, key, true
}

func (w writer) leaf(at *node, before, now any) {
	if before != nil && now != nil && SameValue(before, now) && !w.isWritten(at) {
		return
	}
	if len(at.claims) == 0 && before != nil {
		w.addPlain(at, baseLayer, before)
	}
	switch {
	case w.onlyRemoved:
	case now != nil:
		w.write(at, plainValue, now)
	case before != nil:
		w.write(at, nullValue, nil)
	}
}

// structure records a write of a struct. A nil object is none.
func (w writer) structure(at *node, before, now Object) {
	t, key := at.typ, at.keyField()
	isBare := func(v Object) bool { return v != nil && at.isPointer() && !hasLeaf(t, v) }
	isClaimed := key != nil || isBare(now) || isBare(before) && now == nil
	if isClaimed && now != nil {
		w.appears(at, before != nil)
	}
	for _, f := range t.Fields {
		b, n := before[f.Name], now[f.Name]
		if f == key || b == nil && n == nil {
			continue
		}
		child := w.child(at, f, "")
		w.value(child, b, n)
		if f.Type.Kind == schema.Struct && !w.onlyRemoved && n == nil && b != nil &&
			child.isPointer() {
			w.write(child, nullValue, nil)
		}
	}
	if isClaimed && now == nil { // its null would empty the fields again
		w.vanishes(at)
	}
}

// appears records that an item or an empty struct is there. The flag before states that it was
// there before the write.
func (w writer) appears(at *node, before bool) {
	if before && !w.isWritten(at) {
		return
	}
	if before {
		w.wasThere(at)
	}
	if !w.onlyRemoved {
		w.write(at, presenceValue, nil)
	}
}

// vanishes records that an item or an empty struct was removed.
func (w writer) vanishes(at *node) {
	w.wasThere(at)
	if !w.onlyRemoved {
		w.write(at, nullValue, nil)
	}
}

// wasThere records who made an item or an empty struct without claims.
func (w writer) wasThere(at *node) {
	if len(at.claims) == 0 {
		w.add(at, at.creator(), presenceValue, nil)
	}
}

func (w writer) mapping(at *node, before, now Object) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(now))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		w.leaf(w.child(at, nil, key), before[key], now[key])
	}
}

func (w writer) set(at *node, had, has []string) {
	for _, element := range has {
		w.appears(w.child(at, nil, element), slices.Contains(had, element))
	}
	for _, element := range had {
		if !slices.Contains(has, element) {
			w.vanishes(w.child(at, nil, element))
		}
	}
}

func (w writer) list(at *node, before, now []any) {
	items := func(list []any) (names []string, byName map[string]any) {
		byName = make(map[string]any, len(list))
		there := map[string]bool{}
		for i, item := range list {
			name, _ := itemName(at.typ, item)
			name = itemKey(name, i, there)
			names, byName[name] = append(names, name), item
		}
		return names, byName
	}
	had, old := items(before)
	has, new := items(now)
	write := func(name string) {
		child := w.child(at, nil, name)
		switch isDuplicate := strings.HasPrefix(name, duplicateMark); {
		case isDuplicate && new[name] != nil:
			w.appears(child, old[name] != nil)
		case isDuplicate && old[name] != nil:
			w.vanishes(child)
		}
		w.value(child, old[name], new[name])
	}
	for _, name := range has {
		write(name)
	}
	for _, name := range had {
		if new[name] == nil {
			write(name)
		}
	}
}

// object records that a later layer wrote the value at a path of an object.
func (w writer) object(path fieldpath.Path, before, now any) {
	at, of := w.top, w.root
	var named bool
	for i, step := range path {
		t := granular(of)
		name, ok := step.Name()
		switch key, item := keyOfStep(t, step); {
		case ok && (t.Kind == schema.Struct || t.Kind == schema.Map):
			f, member, err := fieldOf(t, name)
			if err != nil {
				return
			}
			at, of, named = w.child(at, f, name), member, f == nil
		case item && t.Kind == schema.ListMap:
			at, of, named = w.child(at, nil, key), t.Elem, true
		case item && t.Kind == schema.Set && i == len(path)-1:
			at, of, named = w.child(at, nil, key), presenceType, true
			before, now = present(before), present(now)
		default:
			return
		}
	}
	w.field = at
	w.json(of, at, before, now, named)
}

// json records a write of one field of an object. before and now are nil for a missing value.
func (w writer) json(t *schema.Type, at *node, before, now any, named bool) {
	was, is := unlistedPresence, unlistedPresence
	if before != nil {
		was = claimedAs(t, before, named)
	}
	if now != nil {
		is = claimedAs(t, now, named)
	}
	stays := was == is && (was != plainValue || sameObject(before, now))
	if was != unlistedPresence && len(at.claims) == 0 {
		w.add(at, baseLayer, was, before)
	}
	if !stays {
		at.active = w.claims
	}
	if is == unlistedPresence && was != unlistedPresence {
		is = ineffectiveNull
	}
	if is != unlistedPresence && !(stays && !w.isWritten(at)) {
		w.write(at, is, now)
	}
	parts := partsOf(t, before, now)
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		p := parts[key]
		w.json(p.typ, w.child(at, p.field, key), nonMissing(p.before), nonMissing(p.now),
			p.field == nil)
	}
}

// nonMissing returns a value, nil for none.
func nonMissing(v any) any {
	if v == any(missing{}) {
		return nil
	}
	return v
}

// part is a member of an object or a list before a write and now, missing{} for none.
type part struct {
	field       *schema.StructField
	typ         *schema.Type
	before, now any
}

// partsOf returns the members of two values by their names or keys.
func partsOf(t *schema.Type, before, now any) map[string]part {
	parts := map[string]part{}
	add := func(v any, set func(p *part, value any)) {
		for key, p := range membersOf(t, v) {
			known, is := parts[key]
			if !is {
				known = part{p.field, p.typ, missing{}, missing{}}
			}
			set(&known, p.now)
			parts[key] = known
		}
	}
	add(before, func(p *part, value any) { p.before = value })
	add(now, func(p *part, value any) { p.now = value })
	return parts
}

// membersOf yields the members of a value by their names or keys.
func membersOf(t *schema.Type, v any) iter.Seq2[string, part] {
	return func(yield func(string, part) bool) {
		of := filledOf(t, v)
		if of == nil {
			return
		}
		if fields, ok := v.(Object); ok {
			for name, value := range fields {
				f, typ, err := fieldOf(of, name)
				if err == nil && !yield(name, part{field: f, typ: typ, now: value}) {
					return
				}
			}
			return
		}
		for _, item := range v.([]any) {
			key, err := itemKeyOf(of, item)
			p := part{typ: of.Elem, now: item}
			if of.Kind == schema.Set {
				p = part{typ: presenceType, now: []any{}}
			}
			// a definition forbids an item without a key
			if err == nil && !yield(key, p) {
				return
			}
		}
	}
}

// present returns a value of presenceType for an element of a set, and nil for none.
func present(element any) any {
	if element == nil {
		return nil
	}
	return []any{}
}

// Within returns the history of a part of the value. Its paths begin at the part, and what it
// records is in the history of the whole value, too.
func (o *History) Within(path fieldpath.Path) *History {
	part := History{}
	if o != nil {
		part = *o
	}
	part.within = joined(part.within, path)
	return &part
}

// joined returns a path within another one.
func joined(outer, inner fieldpath.Path) fieldpath.Path {
	if len(outer) == 0 {
		return inner
	}
	return outer.Append(inner...)
}

// On returns the history for another place of its value, which a caller copied: what the caller
// changes there is the value that the fields without claims come from.
func (o *History) On(value any) *History {
	moved := *o.orEmpty()
	moved.value = value
	return &moved
}

// Fork returns a copy of the history for another value of the same type, or a pointer to it. Later
// records of one copy do not appear in the other. A Job begins so with the history of its template
// in the JobSet. A copy of a part has the claims within the part, and no other ones.
func (o *History) Fork(value any) *History {
	o = o.orEmpty()
	l := *o.log
	l.layers, l.places = slices.Clone(l.layers), slices.Clone(l.places)
	l.reached, l.room = nil, nil
	l.top = l.copyNode(o.log.top, nil)
	to, from := l.top, o.log.top
	for _, step := range o.within {
		field, key, ok := stepIn(from.typ, step)
		if from = from.find(field, key); !ok || from == nil {
			break
		}
		to = l.copyNode(from, to)
	}
	l.copyWithin(to, from)
	return &History{log: &l, value: nested(value, o.within), within: o.within}
}

// copyNode copies a node of another log without the fields within it. Both share the claims so far.
func (l *log) copyNode(n, parent *node) *node {
	to := *n
	to.parent, to.children, to.byKey, to.claims = parent, nil, nil, slices.Clip(n.claims)
	return l.grow(to)
}

// copyWithin copies the fields within a node of another log, nil for none.
func (l *log) copyWithin(to, from *node) {
	for _, child := range from.within() {
		l.copyWithin(l.copyNode(child, to), child)
	}
}
