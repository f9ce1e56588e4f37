package merge

import (
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// Write records that a layer that comes after the patches wrote a field of the template: a policy, the
// TrainJob's own sections, a scheduler. before is what stood in the field and now is what stands
// there, each a value of the field's Go type or a pointer to one, nil where there was or is nothing.
// Of a struct each leaf is recorded: those that now lacks and before had are recorded as emptied.
// What before held and no one has claimed yet was the runtime's.
//
// It records only; the caller has written, or will, to the very template that the Ownership came with.
// A path that leads to no field of a JobSet template panics, since it is a mistake in the program.
func (o *Ownership) Write(layer schema.Layer, path schema.Path, before, now any) {
	o.write(writer{log: o.log, layer: o.log.layerID(layer)}, path, before, now)
}

// WriteChanges is Write for a layer that fills in what is missing, as defaulting does: only the leaves
// that before and now have in different values are recorded.
func (o *Ownership) WriteChanges(layer schema.Layer, path schema.Path, before, now any) {
	o.write(writer{log: o.log, layer: o.log.layerID(layer), changes: true}, path, before, now)
}

func (o *Ownership) write(w writer, path schema.Path, before, now any) {
	l := o.log
	at := rootNode
	var key *schema.StructField
	for _, step := range path {
		t := l.typ(at)
		key = nil
		if name, ok := step.Field(); ok {
			f := t.Field(name)
			if f == nil {
				panic("merge: " + path.String() + " is no field of a JobSet template")
			}
			at = l.child(at, f, "")
			continue
		}
		name, isKey := step.Key()
		if mergeKey, value, ok := step.Item(); ok {
			name, key = value, t.Elem.Field(mergeKey)
		} else if !isKey {
			name, _ = step.Element()
		}
		at = l.child(at, nil, name)
	}
	w.value(l.typ(at), key, at, indirect(reflect.ValueOf(before)), indirect(reflect.ValueOf(now)))
}

// layerID is the number of a layer, a new one where the log has not met it.
func (l *log) layerID(layer schema.Layer) int32 {
	i := slices.Index(l.layers, layer)
	if i < 0 {
		i = len(l.layers)
		l.layers = append(l.layers, layer)
	}
	return int32(i)
}

// indirect is the value that a pointer points to, invalid for nil.
func indirect(v reflect.Value) reflect.Value {
	if v.IsValid() && v.Kind() == reflect.Pointer {
		return v.Elem()
	}
	return v
}

type writer struct {
	*log
	layer   int32
	changes bool // record only what differs
}

// value records a write of one field; before and now are invalid where there is nothing.
func (w writer) value(t *schema.Type, key *schema.StructField, at node, before, now reflect.Value) {
	switch t.Kind {
	case schema.Struct:
		w.structure(t, key, at, before, now)
	case schema.Map:
		w.mapping(at, before, now)
	case schema.ListMap:
		w.list(t, at, before, now)
	default:
		w.leaf(at, before, now)
	}
}

func (w writer) leaf(at node, before, now reflect.Value) {
	if w.changes && before.IsValid() && now.IsValid() && sameValue(before.Interface(), now.Interface()) {
		return
	}
	if w.nodes[at].first < 0 && before.IsValid() {
		w.addValue(at, runtimeLayer, before)
	}
	if now.IsValid() {
		w.addValue(at, w.layer, now)
	} else if before.IsValid() {
		w.add(at, w.layer, nullValue, "")
	}
}

func (w writer) structure(t *schema.Type, key *schema.StructField, at node, before, now reflect.Value) {
	if key != nil || now.IsValid() && isEmpty(t, now) {
		w.presence(at, before.IsValid(), now.IsValid())
	}
	for _, f := range t.Fields {
		b, n := encodedField(f, before), encodedField(f, now)
		if f != key && (b.IsValid() || n.IsValid()) {
			w.value(f.Type, nil, w.child(at, f, ""), b, n)
		}
	}
}

// presence records that an item or an empty struct was written, or taken away.
func (w writer) presence(at node, before, now bool) {
	if w.changes && before == now {
		return
	}
	if before && w.nodes[at].first < 0 {
		w.add(at, runtimeLayer, presenceValue, "")
	}
	if now {
		w.add(at, w.layer, presenceValue, "")
	} else if before {
		w.add(at, w.layer, nullValue, "")
	}
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
	var keys []string
	for _, m := range []reflect.Value{before, now} {
		if m.IsValid() {
			keys = append(keys, sortedKeys(m)...)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		entry := func(m reflect.Value) reflect.Value {
			if !m.IsValid() {
				return m
			}
			return m.MapIndex(reflect.ValueOf(key).Convert(m.Type().Key()))
		}
		w.leaf(w.child(at, nil, key), entry(before), entry(now))
	}
}

func (w writer) list(t *schema.Type, at node, before, now reflect.Value) {
	key := t.KeyField()
	items := func(list reflect.Value) (names []string, byName map[string]reflect.Value) {
		byName = map[string]reflect.Value{}
		for i := 0; list.IsValid() && i < list.Len(); i++ {
			name := keyText(key, list.Index(i))
			names, byName[name] = append(names, name), list.Index(i)
		}
		return names, byName
	}
	had, old := items(before)
	has, new := items(now)
	for _, name := range has {
		w.value(t.Elem, key, w.child(at, nil, name), old[name], new[name])
	}
	for _, name := range had {
		if !new[name].IsValid() {
			w.value(t.Elem, key, w.child(at, nil, name), old[name], reflect.Value{})
		}
	}
}
