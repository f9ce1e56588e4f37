package engine

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// Write records that a layer after the patches wrote the field at path. The origin from locates the input of the new value. The
// old and the new value of the field are before and now: a value of the field's Go type, a pointer to one, or nil for none.
//
// Write records each leaf of a struct. A leaf that before has and now lacks is recorded as emptied. An unclaimed part of before
// belonged to the base, or to the patch that added the item around it.
//
// Write only records: the caller changes the value that the Ownership came with. For a path to a field that the type lacks, it
// records nothing. For an object that merged by a definition, before and now are JSON, and nil is none.
func (o *Ownership) Write(layer Layer, from Origin, path fieldpath.Path, before, now any) {
	o = o.orEmpty()
	o.write(writer{log: o.log, layer: o.log.layerID(layer), from: from}, path, before, now)
}

// WriteChanges records a layer that fills in missing fields, as defaulting does. Unlike Write, it records only the leaves whose
// values differ in before and now.
func (o *Ownership) WriteChanges(layer Layer, path fieldpath.Path, before, now any) {
	o = o.orEmpty()
	o.write(writer{log: o.log, layer: o.log.layerID(layer), changes: true}, path, before, now)
}

func (o *Ownership) write(w writer, path fieldpath.Path, before, now any) {
	if o.isObject() {
		w.object(path, before, now)
		return
	}
	l := o.log
	at := rootNode
	var key *schema.StructField
	for _, step := range path {
		t := l.typ(at)
		key = nil
		if name, ok := step.Field(); ok {
			f := t.Field(name)
			if f == nil {
				return // the type lacks the field
			}
			at = l.child(at, f, "")
			continue
		}
		if t.Elem == nil {
			return
		}
		name, isKey := step.Key()
		if mergeKey, value, ok := step.Item(); ok {
			name, key = value, t.Elem.Field(mergeKey)
			if _, isText := step.Keys()[0].Value.(string); !isText {
				name = keyTypeOf(t).text(step.Keys()[0].Value)
			}
		} else if position, ok := step.Index(); ok {
			name = twinMark + strconv.Itoa(position)
		} else if !isKey {
			name, _ = step.Element()
		}
		at = l.child(at, nil, name)
	}
	w.field = at
	t := l.typ(at)
	b, n := indirect(reflect.ValueOf(before)), indirect(reflect.ValueOf(now))
	if len(path) > 0 {
		last := path[len(path)-1]
		_, isTwin := last.Index()
		_, isElement := last.Element()
		if isTwin || isElement {
			w.presence(at, b.IsValid(), n.IsValid())
		}
		if isElement {
			return
		}
	}
	w.value(t, key, at, b, n)
}

// layerID returns the number of a layer. It adds an unknown layer to the log.
func (l *log) layerID(layer Layer) int32 {
	i := slices.Index(l.layers, layer)
	if i < 0 {
		i = len(l.layers)
		l.layers, l.places = append(l.layers, layer), append(l.places, nil)
	}
	return int32(i)
}

// indirect returns the value that a pointer points to, invalid for nil.
func indirect(v reflect.Value) reflect.Value {
	if v.IsValid() && v.Kind() == reflect.Pointer {
		return v.Elem() // invalid for nil
	}
	return v
}

type writer struct {
	*log
	layer   int32
	from    Origin
	field   node // the written field
	changes bool // record only differences
	keep    bool // record only the earlier owners of removed fields
}

// say claims that the field is present or empty.
func (w writer) say(at node, kind valueKind) {
	last := w.nodes[at].last
	w.add(at, w.layer, kind, "")
	w.note(at, last)
}

// note records the source of the newest claim; last is the claim before it. It drops a claim that repeats the same layer's last
// claim. The TrainJob's variables are written once before the policies and once after them.
func (w writer) note(at node, last int32) {
	now := w.nodes[at].last
	if last >= 0 && w.claims[last].layer() == w.layer && w.equal(last, now) && w.firstWithin(at, last, now) == now {
		w.claims[last].next, w.nodes[at].last = -1, last
		return
	}
	if w.from.Path == nil {
		return
	}
	if w.sources == nil {
		w.log.sources = map[int32]fieldpath.Path{}
	}
	source := w.from.Path
	if !w.from.Computed {
		source = source.Append(w.pathWithin(w.field, at)...)
	}
	w.sources[now] = source
}

// value records a write of one field. before and now are invalid for a missing value.
func (w writer) value(t *schema.Type, key *schema.StructField, at node, before, now reflect.Value) {
	switch t.Kind {
	case schema.Struct:
		w.structure(t, key, at, before, now)
	case schema.Map:
		w.mapping(at, before, now)
	case schema.ListMap:
		w.list(t, at, before, now)
	case schema.Set:
		w.set(at, before, now)
	default:
		w.leaf(at, before, now)
	}
}

func (w writer) leaf(at node, before, now reflect.Value) {
	if w.changes && before.IsValid() && now.IsValid() && SameValue(before.Interface(), now.Interface()) {
		return
	}
	if w.nodes[at].first < 0 && before.IsValid() {
		w.addValue(at, baseLayer, before)
	}
	if w.keep {
		return
	}
	last := w.nodes[at].last
	if now.IsValid() {
		w.addValue(at, w.layer, now)
		w.note(at, last)
	} else if before.IsValid() {
		w.say(at, nullValue)
	}
}

func (w writer) structure(t *schema.Type, key *schema.StructField, at node, before, now reflect.Value) {
	isBare := func(v reflect.Value) bool { return v.IsValid() && w.isPointer(at) && !hasLeaf(t, v) }
	isSaid := key != nil || isBare(now) || isBare(before) && !now.IsValid()
	if isSaid && now.IsValid() {
		w.presence(at, before.IsValid(), true)
	}
	w.fields(t, key, at, before, now)
	if isSaid && !now.IsValid() { // its null would empty the fields again
		w.presence(at, before.IsValid(), false)
	}
}

// fields records a write of the fields of a struct except its merge key.
func (w writer) fields(t *schema.Type, key *schema.StructField, at node, before, now reflect.Value) {
	for _, f := range t.Fields {
		b, n := encodedField(f, before), encodedField(f, now)
		if f == key || !b.IsValid() && !n.IsValid() {
			continue
		}
		child := w.child(at, f, "")
		w.value(f.Type, nil, child, b, n)
		if f.Type.Kind == schema.Struct && !w.keep && !n.IsValid() && b.IsValid() && w.isPointer(child) {
			w.say(child, nullValue)
		}
	}
}

// presence records that an item or an empty struct was written or removed.
func (w writer) presence(at node, before, now bool) {
	if w.changes && before == now {
		return
	}
	if before && w.nodes[at].first < 0 {
		w.add(at, w.maker(at), presenceValue, "")
	}
	if w.keep {
		return
	}
	if now {
		w.say(at, presenceValue)
	} else if before {
		w.say(at, nullValue)
	}
}

// maker returns the layer that owns the presence of a field without claims of its own: the patch that made it, or the base.
func (l *log) maker(at node) int32 {
	for made := at; made != noNode; made = l.nodes[made].parent {
		if l.nodes[made].made != baseLayer {
			return l.nodes[made].made
		}
	}
	return baseLayer
}

// isPointer reports whether a field is a pointer. Only a pointer can be empty, or be removed whole.
func (l *log) isPointer(at node) bool {
	return l.nodes[at].field != nil && l.nodes[at].field.Template.IsPointer()
}

func encodedField(f *schema.StructField, parent reflect.Value) reflect.Value {
	if !parent.IsValid() {
		return reflect.Value{}
	}
	v, encoded := f.Template.Of(parent)
	if !encoded || isNil(v) {
		return reflect.Value{}
	}
	return indirect(v)
}

func (w writer) mapping(at node, before, now reflect.Value) {
	keys := func(m reflect.Value) []string {
		if !m.IsValid() {
			return nil
		}
		return sortedKeys(m)
	}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(keys(before), keys(now))))) {
		entry := func(m reflect.Value) reflect.Value {
			if !m.IsValid() {
				return m
			}
			return m.MapIndex(reflect.ValueOf(key).Convert(m.Type().Key()))
		}
		w.leaf(w.child(at, nil, key), entry(before), entry(now))
	}
}

func (w writer) set(at node, before, now reflect.Value) {
	elements := func(set reflect.Value) []string {
		if !set.IsValid() {
			return nil
		}
		return texts(set)
	}
	had, has := elements(before), elements(now)
	for _, element := range has {
		w.presence(w.child(at, nil, element), slices.Contains(had, element), true)
	}
	for _, element := range had {
		if !slices.Contains(has, element) {
			w.presence(w.child(at, nil, element), true, false)
		}
	}
}

func (w writer) list(t *schema.Type, at node, before, now reflect.Value) {
	key := t.KeyField()
	items := func(list reflect.Value) (names []string, byName map[string]reflect.Value) {
		byName = map[string]reflect.Value{}
		there := map[string]bool{}
		for i := 0; list.IsValid() && i < list.Len(); i++ {
			name := itemKey(keyText(key, list.Index(i)), i, there)
			names, byName[name] = append(names, name), indirect(list.Index(i))
		}
		return names, byName
	}
	had, old := items(before)
	has, new := items(now)
	write := func(name string) {
		child, isKey := w.child(at, nil, name), key
		if strings.HasPrefix(name, twinMark) {
			isKey = nil // the path of a duplicate does not contain its key
			w.presence(child, old[name].IsValid(), new[name].IsValid())
		}
		w.value(t.Elem, isKey, child, old[name], new[name])
	}
	for _, name := range has {
		write(name)
	}
	for _, name := range had {
		if !new[name].IsValid() {
			write(name)
		}
	}
}

// Fork returns a copy of the ownership for another value of the same type, given as the value or a pointer to it. Later writes
// to one copy do not appear in the other. Objects made from a JobSet use it: their fields begin with the JobSet's history.
func (o *Ownership) Fork(value any) *Ownership {
	l := *o.orEmpty().log
	l.layers, l.places = slices.Clone(l.layers), slices.Clone(l.places)
	l.nodes, l.claims = slices.Clone(l.nodes), slices.Clone(l.claims)
	l.values, l.sources, l.wide = slices.Clone(l.values), maps.Clone(l.sources), nil // the index grows again
	l.repeats, l.verdicts = nil, maps.Clone(l.verdicts)
	return &Ownership{log: &l, value: indirect(reflect.ValueOf(value))}
}
