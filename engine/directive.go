package engine

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/schema"
)

// A strategic merge patch may carry directives, and upstream looks for them in every map, also in
// one of plain strings. So a label called "$patch" is obeyed, and can empty the base's labels.
// Apply does the same, to the letter. A directive claims what it takes away, as a null does.
const (
	patchDirective  = "$patch"
	retainDirective = "$retainKeys"
	orderDirective  = "$setElementOrder"
	deleteDirective = "$deleteFromPrimitiveList"
)

var patchKey = reflect.ValueOf(patchDirective)

// document merges an object of a patch, which may hold nulls and directives, into the struct dst.
func (m *merger) document(t *schema.Type, key *schema.StructField, dst, src reflect.Value, at node) (said bool, err error) {
	patch, ok := src.Interface().(Object)
	if !ok {
		return false, fmt.Errorf("must be an object, and is a map of %s", src.Type().Elem())
	}
	merging := !m.fresh && !m.verbatim
	if directive, ok := patch[patchDirective]; ok && merging {
		return true, m.replaceStruct(t, key, directive, dst, patch, at)
	}
	if _, ok := patch[retainDirective]; ok && merging {
		if err := m.retain(t, key, dst, patch, at); err != nil {
			return true, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		if merging && strings.HasPrefix(name, deleteDirective) {
			if err := m.deleteElements(t, dst, name, patch[name], at); err != nil {
				return true, err
			}
			said = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		f := t.Field(name)
		if f == nil || f.Patch == nil {
			if !strings.HasPrefix(name, "$") { // which is a directive
				m.ignore(at, name)
			}
			continue
		}
		said = true
		if f == key {
			continue
		}
		to, _ := f.Template.In(dst)
		before := keysBefore(f, to, merging && patch[orderDirective+"/"+name] != nil)
		if err := m.encoded(f, dst, reflect.ValueOf(patch[name]), at); err != nil {
			return true, within(schema.Field(name), err)
		}
		if order, ok := patch[orderDirective+"/"+name]; ok && merging {
			if err := m.setOrder(f, to, before, patch[name], order); err != nil {
				return true, within(schema.Field(name), err)
			}
		}
	}
	if !merging {
		return said, nil
	}
	for name, order := range sorted(patch) {
		if !strings.HasPrefix(name, orderDirective) {
			continue
		}
		said = true
		list, ok := strings.CutPrefix(name, orderDirective+"/")
		f := t.Field(list)
		if !ok || f == nil {
			return true, fmt.Errorf("%q names no list", name)
		}
		if _, merged := patch[list]; merged && f.Patch != nil {
			continue
		}
		to, present := f.Template.In(dst)
		if !present || isNil(to) {
			order = nil // there is nothing to order
		}
		if err := m.setOrder(f, to, keysBefore(f, to, true), nil, order); err != nil {
			return true, within(schema.Field(list), err)
		}
	}
	return said, nil
}

// sorted yields the entries of an object in the order of their names.
func sorted(o Object) func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if !yield(name, o[name]) {
				return
			}
		}
	}
}

// replaceStruct obeys $patch in an object: "replace" takes the rest of the patch as it stands for what the base has, and
// "delete" leaves an empty object.
func (m *merger) replaceStruct(t *schema.Type, key *schema.StructField, directive any, dst reflect.Value, patch Object, at node) error {
	if directive != "replace" && directive != "delete" {
		return fmt.Errorf("%s: unknown directive %q", patchDirective, fmt.Sprint(directive))
	}
	m.keepAll(t, key, at, dst)
	m.unseen = true
	m.said++
	m.claimNull(at)
	var name reflect.Value
	if key != nil {
		v, _ := key.Template.Of(dst)
		name = reflect.New(v.Type()).Elem()
		name.Set(v)
	}
	dst.SetZero()
	if key != nil && directive == "replace" {
		v, _ := key.Template.In(dst)
		v.Set(name)
	}
	if directive == "delete" {
		return nil
	}
	fresh, verbatim := m.fresh, m.verbatim
	m.fresh, m.verbatim = true, true
	_, err := m.document(t, key, dst, reflect.ValueOf(patch), at)
	m.fresh, m.verbatim = fresh, verbatim
	return err
}

// retain obeys $retainKeys: every field that it does not name goes.
func (m *merger) retain(t *schema.Type, key *schema.StructField, dst reflect.Value, patch Object, at node) error {
	kept, err := retained(patch)
	if err != nil {
		return err
	}
	for _, f := range t.Fields {
		to, present := f.Template.Of(dst)
		if !present || kept[f.Name] {
			continue
		}
		if f == key {
			return fmt.Errorf("%s has no %q, by which the item merges", retainDirective, f.Name)
		}
		if to.IsZero() {
			continue
		}
		m.null(f.Type, to, present, m.field(at, f))
	}
	return nil
}

// retained are the keys of a $retainKeys directive, which has to name all that the patch sets.
func retained(patch Object) (map[string]bool, error) {
	list, ok := patch[retainDirective].([]any)
	if !ok {
		return nil, fmt.Errorf("%s must be a list", retainDirective)
	}
	kept := make(map[string]bool, len(list))
	for _, name := range list {
		if name, ok := name.(string); ok {
			kept[name] = true
		}
	}
	for name, value := range sorted(patch) {
		isOther := name == retainDirective || strings.HasPrefix(name, deleteDirective) || strings.HasPrefix(name, orderDirective)
		if !isOther && value != nil && !kept[name] {
			return nil, fmt.Errorf("%s does not name %q, which the patch sets", retainDirective, name)
		}
	}
	return kept, nil
}

// deleteElements obeys $deleteFromPrimitiveList: the elements that it names go from a list of scalars.
func (m *merger) deleteElements(t *schema.Type, dst reflect.Value, directive string, value any, at node) error {
	name, ok := strings.CutPrefix(directive, deleteDirective+"/")
	if !ok {
		return fmt.Errorf("%q names no list", directive)
	}
	f := t.Field(name)
	if f == nil {
		return nil
	}
	list, present := f.Template.In(dst)
	if !present || isNil(list) {
		return nil
	}
	deleted, ok := value.([]any)
	if !ok || list.Kind() != reflect.Slice {
		return fmt.Errorf("%q must be a list of a list's elements", directive)
	}
	if len(deleted) == 0 {
		return nil
	}
	if f.Type.Elem == nil || f.Type.Elem.Kind != schema.Scalar {
		return fmt.Errorf("%q is for lists of scalars only", directive)
	}
	named := reflect.New(list.Type()).Elem()
	if err := m.read(f.Type, named, value); err != nil {
		return within(schema.Field(name), err)
	}
	gone := map[string]bool{}
	for _, element := range texts(named) {
		gone[element] = true
	}
	child := m.field(at, f)
	if f.Type.Kind == schema.Atomic {
		m.keepOld(child, f.Type, list, true)
	} else {
		m.keepAll(f.Type, nil, child, list)
	}
	left := reflect.MakeSlice(list.Type(), 0, list.Len())
	for i, element := range texts(list) {
		if !gone[element] {
			left = reflect.Append(left, list.Index(i))
		}
	}
	list.Set(left)
	m.unseen = true
	m.said++
	if f.Type.Kind == schema.Atomic {
		m.claim(child, list)
		return nil
	}
	for _, element := range texts(named) {
		m.claimNull(m.keyed(child, element))
	}
	return nil
}

// keysBefore are the keys or elements of a list before a patch reaches it.
func keysBefore(f *schema.StructField, list reflect.Value, wanted bool) []string {
	if !wanted || list.Kind() != reflect.Slice {
		return nil
	}
	return keysOf(f.Type, list)
}

// keysOf are the keys of a list-map, or the elements of another list.
func keysOf(t *schema.Type, list reflect.Value) []string {
	if t.Kind != schema.ListMap {
		return texts(list)
	}
	names := keysIn(t, list, false)
	keys := make([]string, list.Len())
	for i := range keys {
		keys[i], _ = names.at(i)
	}
	return keys
}

// setOrder obeys $setElementOrder: the items that it names come in its order, the others in the order that they had.
func (m *merger) setOrder(f *schema.StructField, list reflect.Value, before []string, patch, order any) error {
	if f.Type.Kind == schema.Struct || f.Type.Kind == schema.Map {
		return fmt.Errorf("%s must name a list", orderDirective)
	}
	if order == nil {
		return nil
	}
	ordered, ok := order.([]any)
	if !ok {
		return fmt.Errorf("%s must be a list", orderDirective)
	}
	wanted, err := orderedKeys(f.Type, ordered)
	if err != nil {
		return err
	}
	if patch != nil {
		if err := followsOrder(f.Type, patch, wanted); err != nil {
			return err
		}
	}
	if list.Kind() != reflect.Slice || list.Len() == 0 {
		return nil
	}
	have := keysOf(f.Type, list)
	sortedList := reflect.MakeSlice(list.Type(), list.Len(), list.Len())
	for place, i := range arrange(len(have), ranks(have, before), ranks(have, wanted)) {
		sortedList.Index(place).Set(list.Index(int(i)))
	}
	list.Set(sortedList)
	return nil
}

// orderedKeys are the keys or elements that a $setElementOrder directive names.
func orderedKeys(t *schema.Type, order []any) ([]string, error) {
	keys := make([]string, len(order))
	for i, item := range order {
		if t.Kind != schema.ListMap {
			keys[i] = scalarText(reflect.ValueOf(item))
			continue
		}
		object, ok := item.(Object)
		if !ok || object[t.Key] == nil {
			return nil, within(schema.Index(i), fmt.Errorf("an item of %s has no %q", orderDirective, t.Key))
		}
		keys[i] = scalarText(reflect.ValueOf(object[t.Key]))
	}
	return keys, nil
}

// followsOrder reports an item of the patch that its own $setElementOrder does not name, or in another order.
func followsOrder(t *schema.Type, patch any, order []string) error {
	items, ok := patch.([]any)
	if !ok {
		return fmt.Errorf("must be a list beside %s", orderDirective)
	}
	if len(order) == 0 {
		return nil
	}
	next := 0
	for i, item := range items {
		key := ""
		if object, ok := item.(Object); ok {
			if object[patchDirective] != nil {
				continue
			}
			key = scalarText(reflect.ValueOf(object[t.Key]))
		} else {
			key = scalarText(reflect.ValueOf(item))
		}
		at := slices.Index(order[next:], key)
		if at < 0 {
			return within(schema.Index(i), fmt.Errorf("%s does not name %q at its place", orderDirective, key))
		}
		next += at + 1
	}
	return nil
}

// special obeys $patch in the items of a patch's list, and returns the items without it. replaced says that the patch's
// items have taken the place of the base's.
func (m *merger) special(t *schema.Type, dst, src reflect.Value, at node) (rest reflect.Value, replaced bool, err error) {
	items := src.Interface().([]any)
	plain, replace := make([]any, 0, len(items)), false
	for i, item := range items {
		object, ok := item.(Object)
		if !ok {
			return src, false, within(schema.Index(i), errors.New("must be an object"))
		}
		directive, ok := object[patchDirective]
		switch {
		case !ok:
			plain = append(plain, item)
		case directive == "replace":
			replace = true
		case directive == "delete":
			if object[t.Key] == nil {
				return src, false, errNoKey(i, t.Key)
			}
			m.deleteItem(t, dst, scalarText(reflect.ValueOf(object[t.Key])), at)
		default:
			return src, false, within(schema.Index(i), fmt.Errorf("%s: unknown directive %q for an item", patchDirective, fmt.Sprint(directive)))
		}
	}
	if !replace {
		return reflect.ValueOf(plain), false, nil
	}
	for i, item := range plain {
		if item.(Object)[t.Key] == nil {
			return src, false, errNoKey(i, t.Key)
		}
	}
	m.keepAll(t, nil, at, dst)
	m.unseen = true
	m.said++
	m.claimNull(at)
	dst.SetZero()
	verbatim := m.verbatim
	m.verbatim = true
	err = m.takeList(t, dst, reflect.ValueOf(plain), at)
	m.verbatim = verbatim
	return src, true, err
}

// deleteItem takes away all items of a list that have a key.
func (m *merger) deleteItem(t *schema.Type, list reflect.Value, name string, at node) {
	left := reflect.MakeSlice(list.Type(), 0, list.Len())
	child, names := m.keyed(at, name), keysIn(t, list, false)
	for i := range list.Len() {
		if key, _ := names.at(i); key != name {
			left = reflect.Append(left, list.Index(i))
			continue
		}
		if m.owners && m.log.nodes[child].whole {
			m.split(t, list.Index(i), child)
		}
		m.keepAll(t.Elem, t.KeyField(), child, pointee(list.Index(i)))
	}
	m.unseen = true
	m.said++
	m.claimNull(child)
	if left.Len() < list.Len() {
		list.Set(left)
	}
}

// directives merges a map that holds directives, or values that are no strings.
func (m *merger) directives(t *schema.Type, dst, src reflect.Value, at node) error {
	patch := make(map[string]reflect.Value, src.Len())
	for entries := src.MapRange(); entries.Next(); {
		patch[entries.Key().String()] = entries.Value()
	}
	directive, hasPatch := patch[patchDirective]
	if hasPatch {
		directive = pointee(directive)
	}
	if t.Plain || m.verbatim || dst.Len() == 0 && !m.isRaw(dst) {
		if hasPatch && !m.verbatim && !t.Plain {
			return nil // the base lacks the map: it is lost with all its keys
		}
		return m.entries(t, dst, patch, at)
	}
	if hasPatch {
		delete(patch, patchDirective)
		switch text := scalarText(directive); text {
		case "delete":
			clear(patch)
		case "replace":
		default:
			return fmt.Errorf("%s: unknown directive %q; no label, annotation or selector may be called %s", patchDirective, text, patchDirective)
		}
		m.remove(dst, at, func(key string) bool { _, kept := patch[key]; return !kept })
		m.raw = append(m.raw, dst.Pointer())
		verbatim := m.verbatim
		m.verbatim = true
		err := m.entries(t, dst, patch, at)
		m.verbatim = verbatim
		return err
	}
	if keys, ok := patch[retainDirective]; ok {
		if pointee(keys).Kind() != reflect.Slice {
			return fmt.Errorf("%q is a directive whose value must be a list; no label, annotation or selector may be called so", retainDirective)
		}
		kept, err := retained(src.Interface().(Object))
		if err != nil {
			return err
		}
		delete(patch, retainDirective)
		m.remove(dst, at, func(key string) bool { return !kept[key] })
	}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		value := patch[key]
		switch {
		case strings.HasPrefix(key, orderDirective):
			return fmt.Errorf("%q is a directive whose value must be a list; no label, annotation or selector may be called so", key)
		case strings.HasPrefix(key, deleteDirective):
			name, ok := strings.CutPrefix(key, deleteDirective+"/")
			if !ok {
				return fmt.Errorf("%q is a directive that names no list; no label, annotation or selector may be called so", key)
			}
			delete(patch, key)
			if dst.MapIndex(reflect.ValueOf(name).Convert(dst.Type().Key())).IsValid() {
				patch[name] = value
			}
		}
	}
	return m.entries(t, dst, patch, at)
}

// remove takes entries of a map away.
func (m *merger) remove(dst reflect.Value, at node, goes func(key string) bool) {
	m.unseen = true
	m.said++
	for _, key := range sortedKeys(dst) {
		if goes(key) {
			k := reflect.ValueOf(key).Convert(dst.Type().Key())
			entry := m.keyed(at, key)
			m.keepOld(entry, scalarType, dst.MapIndex(k), true)
			dst.SetMapIndex(k, reflect.Value{})
			m.claimNull(entry)
		}
	}
}

func (m *merger) entries(t *schema.Type, dst reflect.Value, patch map[string]reflect.Value, at node) error {
	if dst.IsNil() {
		dst.Set(reflect.MakeMap(dst.Type()))
	}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		if err := m.entry(t, dst, reflect.ValueOf(key).Convert(dst.Type().Key()), patch[key], at); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys(m reflect.Value) []string {
	keys := make([]string, 0, m.Len())
	for entries := m.MapRange(); entries.Next(); {
		keys = append(keys, entries.Key().String())
	}
	slices.Sort(keys)
	return keys
}

// withoutDirectives is a patch's value as upstream takes it where the base has nothing: without nulls in objects, and
// without the objects that hold a $patch directive. keep is false for such an object itself.
func withoutDirectives(value any) (stripped any, keep bool) {
	switch value := value.(type) {
	case Object:
		if _, ok := value[patchDirective]; ok {
			return nil, false
		}
		kept := make(Object, len(value))
		for name, v := range value {
			if v == nil {
				continue
			}
			if v, keep := withoutDirectives(v); keep {
				kept[name] = v
			}
		}
		return kept, true
	case []any:
		kept := make([]any, 0, len(value))
		for _, v := range value {
			if v, keep := withoutDirectives(v); keep {
				kept = append(kept, v)
			}
		}
		return kept, true
	default:
		return value, true
	}
}
