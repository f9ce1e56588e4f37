package merge

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// Upstream searches every map of a strategic merge patch for directives, even a map of strings. So a label "$patch" is a
// directive, and can empty the base's labels. Apply does exactly the same. A directive claims each field that it removes, as a
// null does.
const (
	patchDirective  = "$patch"
	retainDirective = "$retainKeys"
	orderDirective  = "$setElementOrder"
	deleteDirective = "$deleteFromPrimitiveList"
)

// structure merges a patch's object into the struct dst. It skips the merge key of a list item.
func (m *merger) structure(t *schema.Type, key *schema.StructField, dst reflect.Value, patch Object, at node) error {
	if !holdsDirectives(patch) {
		return m.fieldsOf(t, key, dst, patch, nil, at)
	}
	// Upstream obeys no directive in an object that the base lacks. Such a directive still claims what it would remove.
	merging := !m.inNew
	if directive, ok := patch[patchDirective]; ok && merging {
		return m.replaceStruct(t, directive, dst, patch, at)
	}
	cleared := func(string) bool { return false }
	if _, ok := patch[retainDirective]; ok {
		kept, err := retained(patch)
		cleared = func(name string) bool { return !kept[name] }
		if err == nil {
			err = m.retainFields(t, key, dst, kept, at)
		}
		if merging && err != nil {
			return err
		}
		m.retain(at, kept)
	}
	if !merging { // the fields of the patch stay, so their claims come last
		if err := m.deletions(t, dst, patch, at); err != nil {
			return err
		}
		return m.fieldsOf(t, key, dst, patch, nil, at)
	}
	ordered := map[string]bool{}
	for name, order := range sorted(patch) {
		if !strings.HasPrefix(name, orderDirective) {
			continue
		}
		list := strings.TrimPrefix(name, orderDirective+"/")
		f := t.Field(list)
		if f == nil {
			return fmt.Errorf("%q names no list", name)
		}
		if err := m.ordered(f, dst, patch, order, cleared(list), at); err != nil {
			return within(fieldpath.Field(list), err)
		}
		ordered[list] = true
	}
	if err := m.fieldsOf(t, key, dst, patch, ordered, at); err != nil {
		return err
	}
	return m.deletions(t, dst, patch, at)
}

// fieldsOf merges the fields of a patch's object into the struct dst. It skips directives and the lists that are ordered already.
func (m *merger) fieldsOf(t *schema.Type, key *schema.StructField, dst reflect.Value, patch Object, ordered map[string]bool, at node) error {
	first := len(m.names)
	m.names = m.appendNames(t, patch)
	for i := first; i < len(m.names); i++ {
		name := m.names[i]
		f, value := t.Field(name), patch[name]
		if f == nil || f.Patch == nil {
			if !strings.HasPrefix(name, "$") { // a directive
				m.ignore(at, name)
			}
			continue
		}
		if f == key || ordered[name] {
			continue
		}
		if value == nil && m.ofValue && m.owners {
			m.noteZeroNull(f, dst, at)
		}
		if err := m.encoded(f, dst, value, at); err != nil {
			return within(fieldpath.Field(name), err)
		}
	}
	m.names = m.names[:first]
	return nil
}

// appendNames appends the names of the fields of a patch's object to m.names. An object has no order, so they are sorted. For
// a Go value, it appends only the fields that a patch may set, in the order of the type.
func (m *merger) appendNames(t *schema.Type, patch Object) []string {
	if m.ofValue {
		for _, f := range t.Patchable() {
			if _, ok := patch[f.Name]; ok {
				m.names = append(m.names, f.Name)
			}
		}
		return m.names
	}
	return appendSorted(m.names, patch)
}

// appendSorted appends the names of an object's entries, sorted.
func appendSorted(names []string, object Object) []string {
	first := len(names)
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names[first:])
	return names
}

// holdsDirectives reports whether a patch's object may hold a directive.
func holdsDirectives(patch Object) bool {
	for name := range patch {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	return false
}

// deletions obeys every $deleteFromPrimitiveList directive of a patch object.
func (m *merger) deletions(t *schema.Type, dst reflect.Value, patch Object, at node) error {
	for name, value := range sorted(patch) {
		if strings.HasPrefix(name, deleteDirective) {
			if err := m.deleteElements(t, dst, name, value, at); err != nil {
				return err
			}
		}
	}
	return nil
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

// replaceStruct obeys $patch in an object. The directive "replace" puts the rest of the patch, verbatim, in the base's place.
// The directive "delete" leaves an empty object.
func (m *merger) replaceStruct(t *schema.Type, directive any, dst reflect.Value, patch Object, at node) error {
	if directive != "replace" && directive != "delete" {
		return fmt.Errorf("%s: unknown directive %q", patchDirective, fmt.Sprint(directive))
	}
	m.claimed++ // upstream creates no object for a directive, so its presence is not claimed
	if isPureDirective(patch) {
		err := m.retainFields(t, nil, dst, nil, at)
		m.retain(at, nil)
		return err
	}
	m.recordRemoved(t, nil, at, dst)
	m.claimNull(at)
	dst.SetZero()
	inNew, ignoresDirectives := m.inNew, m.ignoresDirectives
	m.inNew, m.ignoresDirectives = true, true
	err := m.structure(t, nil, dst, patch, at)
	m.inNew, m.ignoresDirectives = inNew, ignoresDirectives
	return err
}

// isPureDirective reports whether a patch object empties another object and sets nothing.
func isPureDirective(patch Object) bool { return len(patch) == 1 || patch[patchDirective] == "delete" }

// retainFields obeys $retainKeys: it empties every field that the directive does not name.
func (m *merger) retainFields(t *schema.Type, key *schema.StructField, dst reflect.Value, kept map[string]bool, at node) error {
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

// retained returns the keys of a $retainKeys directive. The directive must name every key that the patch sets.
func retained(patch Object) (map[string]bool, error) {
	kept := map[string]bool{}
	list, ok := patch[retainDirective].([]any)
	if !ok {
		return kept, fmt.Errorf("%s must be a list", retainDirective)
	}
	for i, name := range list {
		if isComposite(name) {
			return kept, within(fieldpath.Index(i), fmt.Errorf("an item of %s must be a string", retainDirective))
		}
		if name, ok := name.(string); ok {
			kept[name] = true
		}
	}
	for name, value := range sorted(patch) {
		isOther := name == retainDirective || strings.HasPrefix(name, deleteDirective) || strings.HasPrefix(name, orderDirective)
		if !isOther && value != nil && !kept[name] {
			return kept, fmt.Errorf("%s does not name %q, which the patch sets", retainDirective, name)
		}
	}
	return kept, nil
}

// deleteElements obeys $deleteFromPrimitiveList: it removes the named elements from a list of scalars. In any other field, the
// directive's value merges like a patch's if the base's is of the same kind.
func (m *merger) deleteElements(t *schema.Type, dst reflect.Value, directive string, value any, at node) error {
	name, ok := strings.CutPrefix(directive, deleteDirective+"/")
	if !ok && !m.inNew {
		return fmt.Errorf("%q names no list", directive)
	}
	f := t.Field(name)
	if f == nil || f.Patch == nil {
		return nil
	}
	list, present := f.Template.In(dst)
	deleted, ok := value.([]any)
	switch {
	case m.inNew || value != nil && (!present || jsonKind(list) != jsonKind(reflect.ValueOf(value))):
		m.claimDeleted(f, deleted, at)
		return nil
	case !ok || f.Type.Kind == schema.ListMap && list.Kind() == reflect.Slice && (list.Len() > 0 || holdsObjects(deleted)):
		if err := m.encoded(f, dst, value, at); err != nil {
			return within(fieldpath.Field(name), err)
		}
		return nil
	case list.Kind() != reflect.Slice:
		return within(fieldpath.Field(name), fmt.Errorf("%s is for lists of scalars of one type", deleteDirective))
	case list.Len() == 0 && areAlike(deleted) && !holdsObjects(deleted):
		m.claimDeleted(f, deleted, at)
		return nil
	case !holdsScalars(f.Type, list, deleted):
		return within(fieldpath.Field(name), fmt.Errorf("%s is for lists of scalars of one type", deleteDirective))
	}
	if len(deleted) == 0 {
		return nil
	}
	named := reflect.New(list.Type()).Elem()
	if err := m.read(f.Type, named, value); err != nil {
		return within(fieldpath.Field(name), err)
	}
	gone := map[string]bool{}
	for _, element := range elementTexts(named) {
		gone[element] = true
	}
	child := m.field(at, f)
	m.recordBase(child, f.Type, list, true)
	left := reflect.MakeSlice(list.Type(), 0, list.Len())
	for i, element := range elementTexts(list) {
		if !gone[element] {
			left = reflect.Append(left, list.Index(i))
		}
	}
	list.Set(left)
	if f.Type.Kind == schema.Atomic {
		m.claim(child, list)
		return nil
	}
	for _, element := range elementTexts(named) {
		m.claimNull(m.keyed(child, element))
	}
	return nil
}

// claimDeleted claims the removals of $deleteFromPrimitiveList from an empty list: another patch may fill the list.
func (m *merger) claimDeleted(f *schema.StructField, deleted []any, at node) {
	switch {
	case f.Type.Kind == schema.Atomic && len(deleted) > 0:
		m.claimNull(m.field(at, f))
	case f.Type.Kind == schema.Set:
		for _, element := range deleted {
			m.claimNull(m.keyed(m.field(at, f), keyTypeOf(f.Type).text(element)))
		}
	}
}

// itemKeys returns the keys of a list-map, or the elements of another list.
func itemKeys(t *schema.Type, list reflect.Value) []string {
	if t.Kind != schema.ListMap {
		return elementTexts(list)
	}
	names := keysIn(t, list)
	keys := make([]string, list.Len())
	for i := range keys {
		keys[i], _ = names.at(i)
	}
	return keys
}

// special obeys $patch in the items of a patch's list, and returns the other items. The rest is nil if these items took the place
// of the base's.
func (m *merger) special(t *schema.Type, dst reflect.Value, items []any, at node) (rest []any, err error) {
	for i, item := range items {
		if _, ok := item.(Object); !ok {
			return rest, within(fieldpath.Index(i), errors.New("must be an object"))
		}
	}
	isSpecial := func(item any) bool {
		_, ok := item.(Object)[patchDirective]
		return ok
	}
	if !slices.ContainsFunc(items, isSpecial) {
		return items, nil
	}
	plain, replace := make([]any, 0, len(items)), false
	var deleted []string
	for i, item := range items {
		object := item.(Object)
		directive, ok := object[patchDirective]
		switch {
		case !ok:
			plain = append(plain, item)
		case directive == "replace":
			replace = true
		case directive == "delete":
			key, ok := object[t.Key]
			if !ok {
				return rest, errNoKey(i, t.Key)
			}
			deleted = append(deleted, keyTypeOf(t).text(key))
		default:
			return rest, within(fieldpath.Index(i), fmt.Errorf("%s: unknown directive %q for an item", patchDirective, fmt.Sprint(directive)))
		}
	}
	m.deleteItems(t, dst, deleted, at)
	if !replace {
		return plain, nil
	}
	for i, item := range plain {
		if item.(Object)[t.Key] == nil {
			return rest, errNoKey(i, t.Key)
		}
	}
	m.recordRemoved(t, nil, at, dst)
	m.claimNull(at)
	ignoresDirectives := m.ignoresDirectives
	m.ignoresDirectives = true
	if err = m.takeList(t, dst, plain, at); err == nil {
		keys := itemKeys(t, dst)
		first := ranks(keys, keys)
		none := slices.Repeat([]int32{-1}, len(keys))
		reorderList(dst, arrange(len(keys), first, none)) // duplicates go together
	}
	m.ignoresDirectives = ignoresDirectives
	return rest, err
}

// deleteItems removes all items of a list that have one of the keys.
func (m *merger) deleteItems(t *schema.Type, list reflect.Value, deleted []string, at node) {
	children := make(map[string]node, len(deleted))
	for _, name := range deleted {
		children[name] = m.keyed(at, name)
	}
	left := reflect.MakeSlice(list.Type(), 0, list.Len())
	names := keysIn(t, list)
	for i := range list.Len() {
		name, _ := names.at(i)
		child, gone := children[name]
		if !gone {
			left = reflect.Append(left, list.Index(i))
			continue
		}
		m.recordRemoved(t.Elem, t.KeyField(), child, pointee(list.Index(i)))
	}
	for _, name := range deleted {
		m.claimNull(children[name])
	}
	list.Set(left)
}

// directives merges a map, and obeys the directives in it.
func (m *merger) directives(t *schema.Type, dst reflect.Value, present bool, patch Object, at node) error {
	absent := dst.IsNil() || !present && !m.isJSONOnly(dst)
	m.noteLiterals(t, absent, patch, at)
	if absent || t.Plain || m.ignoresDirectives {
		if hasDirective(patch) && !m.ignoresDirectives && !t.Plain {
			m.null(t, dst, false, at) // the base lacks the map, so upstream drops it with all its keys
			return nil
		}
		return m.entries(t, dst, patch, at)
	}
	if directive, ok := patch[patchDirective]; ok {
		entries := maps.Clone(patch)
		delete(entries, patchDirective)
		switch directive {
		case "delete":
			clear(entries)
		case "replace":
		default:
			return fmt.Errorf("%s: unknown directive %q; no label, annotation or selector may be called %s", patchDirective, scalarText(reflect.ValueOf(directive)), patchDirective)
		}
		m.recordRemoved(t, nil, at, dst)
		m.claimNull(at)
		dst.Clear()
		m.jsonOnly = append(m.jsonOnly, dst.Pointer())
		ignoresDirectives := m.ignoresDirectives
		m.ignoresDirectives = true
		err := m.entries(t, dst, entries, at)
		m.ignoresDirectives = ignoresDirectives
		return err
	}
	if !holdsDirectives(patch) {
		return m.entries(t, dst, patch, at)
	}
	entries := make(Object, len(patch))
	if keys, ok := patch[retainDirective]; ok {
		if _, isList := keys.([]any); !isList {
			return fmt.Errorf("%q is a directive whose value must be a list; no label, annotation or selector may be called so", retainDirective)
		}
		kept, err := retained(patch)
		if err != nil {
			return err
		}
		m.retainEntries(dst, at, kept)
	}
	for key, value := range sorted(patch) {
		switch {
		case key == retainDirective:
		case strings.HasPrefix(key, orderDirective):
			return fmt.Errorf("%q is a directive whose value must be a list; no label, annotation or selector may be called so", key)
		case strings.HasPrefix(key, deleteDirective):
			name, ok := strings.CutPrefix(key, deleteDirective+"/")
			if !ok {
				return fmt.Errorf("%q is a directive that names no list; no label, annotation or selector may be called so", key)
			}
			old := dst.MapIndex(reflect.ValueOf(name).Convert(dst.Type().Key()))
			if is := jsonKind(reflect.ValueOf(value)); is == reflect.Invalid || is == jsonKind(old) {
				entries[name] = value
			}
		default:
			if _, isDeleted := entries[key]; !isDeleted {
				entries[key] = value
			}
		}
	}
	return m.entries(t, dst, entries, at)
}

// A literal is a directive in a patch's map that the base lacks. Upstream takes it for a key, unless another patch makes the map.
type literal struct {
	layer int32
	name  string
	value any
	isKey bool // whether this merge took it for a key
}

// noteLiterals records the directives of a patch's map. A directive that a key's type cannot hold fails in any order.
func (m *merger) noteLiterals(t *schema.Type, absent bool, patch Object, at node) {
	if !m.owners || t.Plain || t.Elem == nil || t.Elem.Kind == schema.Scalar && !t.Elem.Raw {
		return
	}
	if n := &m.log.nodes[at]; n.first < 0 && n.child == noNode {
		n.lacks = absent
	}
	if !m.log.nodes[at].lacks {
		return
	}
	for name, value := range sorted(patch) {
		if value != nil && strings.HasPrefix(name, "$") && name != patchDirective {
			if m.log.literals == nil {
				m.log.literals = map[node][]literal{}
			}
			if copied, err := jsonOf(reflect.ValueOf(value)); err == nil {
				m.log.literals[at] = append(m.log.literals[at], literal{m.layer, name, copied, absent || m.ignoresDirectives})
			}
		}
	}
}

// contestLiterals claims the directives that are keys, unless another layer's patch makes the map.
func (l *log) contestLiterals() {
	for _, at := range slices.Sorted(maps.Keys(l.literals)) {
		for _, d := range l.literals[at] {
			maker := l.otherWithin(at, d.layer)
			if maker < 0 {
				continue
			}
			entry := l.child(at, nil, d.name)
			if d.isKey {
				l.add(entry, maker, nullValue, "")
				l.addJSON(entry, d.layer, d.value)
			} else {
				l.addJSON(entry, d.layer, d.value)
				l.add(entry, maker, nullValue, "")
			}
		}
	}
}

// otherWithin returns the first other layer that sets a field, or a field directly within it. It returns -1 for none.
func (l *log) otherWithin(at node, layer int32) int32 {
	sets := func(at node) int32 {
		for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
			if c := &l.claims[i]; l.isManager(c.layer()) && c.layer() != layer && c.kind() != nullValue {
				return c.layer()
			}
		}
		return -1
	}
	first := sets(at)
	for child := l.nodes[at].child; child != noNode && first < 0; child = l.nodes[child].next {
		first = sets(child)
	}
	return first
}

// retainEntries obeys $retainKeys in a map: it removes every entry that the directive does not name.
func (m *merger) retainEntries(dst reflect.Value, at node, kept map[string]bool) {
	for _, key := range sortedKeys(dst) {
		if !kept[key] {
			k := reflect.ValueOf(key).Convert(dst.Type().Key())
			entry := m.keyed(at, key)
			m.recordBase(entry, scalarType, dst.MapIndex(k), true)
			dst.SetMapIndex(k, reflect.Value{})
			m.claimNull(entry)
		}
	}
	m.retain(at, kept)
}

func (m *merger) entries(t *schema.Type, dst reflect.Value, patch Object, at node) error {
	if dst.IsNil() {
		dst.Set(reflect.MakeMapWithSize(dst.Type(), len(patch)))
	}
	first := len(m.names)
	m.names = appendSorted(m.names, patch)
	for i := first; i < len(m.names); i++ {
		if err := m.entry(t, dst, m.names[i], patch[m.names[i]], at); err != nil {
			return err
		}
	}
	m.names = m.names[:first]
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

// withoutDirectives returns a patch's value as upstream sets it if the base has none. It removes nulls from objects, and
// objects that hold a $patch directive. If the value itself is such an object, keep is false.
func withoutDirectives(value any) (stripped any, keep bool) {
	switch value := value.(type) {
	case Object:
		if value[patchDirective] != nil {
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
