package merge

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges the JSON of a patch into a Go value, as upstream's strategic merge patch does. The source is
// apimachinery v0.36.3 pkg/util/strategicpatch. Each kind has a function and a law:
//
//	struct    object     each field merges by itself; fields that the patch does not encode stay
//	map       mapping    each key merges by itself; a null removes its key
//	list-map  listMap    items of one merge key merge, new ones go in front, and the patch orders its own items
//	set       set        the union of both lists, each element once, in the order of a list-map
//	scalar    replace    the patch's value, even if it is equal; null empties the field
//	atomic    replace    like a scalar
//	raw       overlay    objects merge name by name, since upstream has no rules for their contents
//
// Each function decodes its input, so the result shares no memory with a patch. Each claims every leaf of the patch and records
// the base's earlier value. If a step fails, the patch fails with the path to that step. The file mapping.go merges maps and
// single values, set.go sets; directive.go obeys directives, order.go orders items, and merger.go records claims.

// patch merges a whole patch into the value.
func (m *merger) patch(dst reflect.Value, patch Object) error {
	at := noNode
	if m.owners {
		at = rootNode
	}
	return m.structure(m.plan.root, nil, dst, patch, at)
}

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

// encoded merges one field of a patch's object into the struct dst.
func (m *merger) encoded(f *schema.StructField, dst reflect.Value, from any, at node) error {
	to, present := f.Template.In(dst)
	child := m.field(at, f)
	if m.skips && m.skip(f, to, from, child) {
		return nil
	}
	if from == nil {
		m.null(f.Type, to, present, child)
		return nil
	}
	if list, ok := from.([]any); ok && len(list) == 0 && f.Type.Kind == schema.Set && f.Template.OmitEmpty && !f.Template.IsPointer() {
		m.noteSet(child, nil) // encoded, the set is not there, and the next patch's set is taken verbatim
	}
	return m.value(f.Type, to, present, from, child)
}

// noteZeroNull records a null that is a Go value's zero value, if it removes something. A pointer with omitempty was set: to an empty
// time, which encodes as null.
func (m *merger) noteZeroNull(f *schema.StructField, dst reflect.Value, at node) {
	if f.Patch.OmitEmpty && f.Patch.IsPointer() {
		return
	}
	if old, present := f.Template.Of(dst); present && !old.IsZero() {
		m.log.zeroNulls = append(m.log.zeroNulls, Ignored{Layer: m.of, Path: m.log.path(at).Append(fieldpath.Field(f.Name))})
	}
}

// value merges one non-null value of a patch into a field of the base. The flag present states that the base's encoding has the
// field.
func (m *merger) value(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	if t.Kind > schema.Struct && t.Kind < schema.Atomic {
		dst = allocated(dst)
	}
	if hasDirective(from) && t.Kind != schema.Struct && t.Kind != schema.Map && !t.Raw && !m.ignoresDirectives &&
		(!present || m.inNew || jsonKind(dst) != reflect.Map) {
		m.null(t, dst, present, at) // upstream drops the value with its directive
		return nil
	}
	switch t.Kind {
	case schema.Struct:
		return m.object(t, dst, present, from, at)
	case schema.Map:
		return m.mapping(t, dst, present, from, at)
	case schema.ListMap:
		return m.listMap(t, dst, present, from, at)
	case schema.Set:
		return m.set(t, dst, present, from, at)
	default:
		return m.replace(t, dst, present, from, at)
	}
}

// object merges a struct, each field by itself.
func (m *merger) object(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	patch, ok := from.(Object)
	if !ok {
		return wrongType(from, "an object")
	}
	inNew := m.inNew
	defer func() { m.inNew = inNew }()
	absent := !present || dst.Kind() == reflect.Pointer && dst.IsNil()
	if (absent || m.inNew) && !m.ignoresDirectives && hasDirective(patch) {
		if isPureDirective(patch) {
			m.retain(at, nil)
		} else {
			m.null(t, dst, false, at) // upstream drops the value with its directive
		}
		return nil
	}
	if absent {
		m.inNew = true
		m.markCreated(at)
	}
	isPointer := dst.Kind() == reflect.Pointer
	dst = allocated(dst)
	claimed := m.claimed
	err := m.structure(t, nil, dst, patch, at)
	if m.claimed == claimed && !t.Plain && isPointer { // a struct by value is encoded in any case
		m.presence(at, present)
	}
	return err
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
	case !ok || f.Type.Key != "" && list.Kind() == reflect.Slice && (list.Len() > 0 || holdsObjects(deleted)):
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

// special obeys $patch in the items of a patch's list, and returns the other items. The rest is nil if these items took the place
// of the base's, and after an error.
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

// ordered obeys $setElementOrder. It merges the list of the patch, if present. Then the items that the directive names follow
// its order, and the other items keep theirs. The flag cleared states that the patch's $retainKeys has removed the list.
func (m *merger) ordered(f *schema.StructField, dst reflect.Value, patch Object, order any, cleared bool, at node) error {
	wanted, ok := order.([]any)
	if !ok {
		return fmt.Errorf("%s must be a list", orderDirective)
	}
	list, inBase := f.Template.In(dst)
	inBase = inBase && !cleared
	if k := list.Kind(); k != reflect.Slice && k != reflect.Pointer || inBase && jsonKind(list) != reflect.Slice {
		return fmt.Errorf("%s must name a list", orderDirective)
	}
	value, inPatch := patch[f.Name]
	items, ok := value.([]any)
	if inPatch && !ok {
		return fmt.Errorf("must be a list beside %s", orderDirective)
	}
	if !inBase && !inPatch {
		return nil
	}
	if f.Type.Raw {
		return fmt.Errorf("%s must name a list: the type has no rules for one", orderDirective)
	}
	keys, err := orderedKeys(f.Type, wanted)
	if err != nil {
		return err
	}
	if err := followsOrder(f.Type, items, keys); err != nil {
		return err
	}
	var before []string
	if inBase {
		before = itemKeys(f.Type, pointee(list))
	}
	if len(before)+len(items) == 0 {
		return fmt.Errorf("%s orders a list without items", orderDirective)
	}
	if !inBase {
		child := m.field(at, f)
		for _, item := range items {
			m.claimSpecial(f.Type, item, child)
		}
		plain, err := plainItems(f.Type, items)
		if err != nil {
			return err
		}
		value = plain
		if len(plain) == 0 {
			items = nil
		}
	}
	if f.Type.Key == "" && !holdsScalars(f.Type, list, items) {
		return fmt.Errorf("%s is for lists with a merge key and for those of scalars of one type", orderDirective)
	}
	if inPatch {
		if err := m.encoded(f, dst, value, at); err != nil {
			return err
		}
	}
	if list = pointee(list); !list.IsValid() {
		return nil
	}
	if f.Type.Kind == schema.Set && inBase && inPatch {
		before, _ = dedupe(before, elementTexts(reflect.ValueOf(items)))
	}
	if err := allKeyed(f.Type, list); err != nil {
		return err
	}
	have := itemKeys(f.Type, list)
	if m.follows && f.Type.Kind != schema.Atomic {
		return nil
	}
	places := arrange(len(have), ranks(have, shifted(f.Type, before, items)), ranks(have, keys))
	if f.Type.Kind != schema.Atomic || slices.IsSorted(places) {
		reorderList(list, places)
		return nil
	}
	child := m.field(at, f)
	m.recordBase(child, f.Type, list, true)
	reorderList(list, places)
	m.claim(child, list)
	return nil
}

// listMap merges a list item by item, by merge key. It orders the result as upstream does (apimachinery v0.36.3
// pkg/util/strategicpatch, mergeSlice and normalizeElementOrder). If the base's encoding lacks the list, listMap takes the
// patch's list verbatim.
func (m *merger) listMap(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	items, ok := from.([]any)
	if !ok {
		return wrongType(from, "a list")
	}
	if !present || dst.IsNil() {
		if len(items) == 0 && m.ignoresDirectives {
			m.empty(at) // takeList claims it otherwise
		}
		return m.takeList(t, dst, items, at)
	}
	if len(m.jsonOnly) > 0 && m.isJSONOnly(dst) {
		return errNoKey(0, t.Key)
	}
	items, err := m.special(t, dst, items, at)
	if items == nil {
		return err
	}
	if len(items) == 0 {
		m.empty(at) // deletions alone make an empty list where there is none
	}
	base, names := keysIn(t, dst), m.keysOfPatch(t, items)
	if err := m.distinct(t, names); err != nil {
		return err
	}
	f, hasDuplicates, err := m.prependedOf(t, dst, &base)
	if err != nil {
		return err
	}
	if hasDuplicates && m.owners && len(items) > 0 {
		m.noteDuplicates(t, &base, dst.Len(), at)
	}
	first := len(m.targets)
	added, inOrder, err := m.findTargets(t, f, &base, names, dst.Len())
	if err != nil {
		return err
	}
	switch {
	case m.follows:
		f.extend(dst, added)
	case hasDuplicates || !inOrder:
		m.reorder(f, t, dst, m.targets[first:], hasDuplicates)
	default:
		f.prepend(dst, m.targets[first:], added, m.remaining)
	}
	for i, item := range items {
		target := m.targets[first+i]
		isNew := target < 0
		if isNew {
			target = ^target
		}
		if err := m.item(t, names[i].text, dst.Index(int(target)), at, item.(Object), isNew); err != nil {
			return within(itemStep(t, names[i].text), err)
		}
	}
	m.targets, m.keys = m.targets[:first], m.keys[:len(m.keys)-len(items)]
	return nil
}

// item merges one item of a patch into its place in the list at a node.
func (m *merger) item(t *schema.Type, name string, item reflect.Value, list node, from Object, isNew bool) error {
	if !isNew {
		at := m.keyed(list, name)
		m.presence(at, true)
		return m.fields(t, item, from, at)
	}
	ignoresDirectives, inNew := m.ignoresDirectives, m.inNew
	m.ignoresDirectives, m.inNew = true, true
	err := m.newItem(t, name, item, list, from)
	m.ignoresDirectives, m.inNew = ignoresDirectives, inNew
	return err
}

// newItem merges one item of a patch into an empty item.
func (m *merger) newItem(t *schema.Type, name string, item reflect.Value, list node, from Object) error {
	at := m.keyed(list, name)
	m.markCreated(at)
	m.presence(at, false)
	if err := m.setKey(t, item, from); err != nil {
		return err
	}
	return m.fields(t, item, from, at)
}

// fields merges the fields of an item except its merge key.
func (m *merger) fields(t *schema.Type, item reflect.Value, from Object, at node) error {
	return m.structure(t.Elem, t.KeyField(), allocated(item), from, at)
}

// takeList sets a list that the base lacks to the patch's items, verbatim. Two of them may share a key, and one may have none.
func (m *merger) takeList(t *schema.Type, dst reflect.Value, items []any, at node) error {
	inNew := m.inNew
	m.inNew = true
	defer func() { m.inNew = inNew }()
	if !m.ignoresDirectives {
		if slices.ContainsFunc(items, hasDirective) {
			items = slices.DeleteFunc(slices.Clone(items), func(item any) bool {
				m.claimSpecial(t, item, at)
				return hasDirective(item)
			})
		}
		if len(items) == 0 {
			m.empty(at)
		}
	}
	makeList(dst, len(items))
	list, key := dst, t.KeyField()
	names := m.keysOfPatch(t, items)
	if err := m.distinct(t, names); err != nil {
		return err
	}
	for i, item := range items {
		if item == nil {
			m.jsonOnly = append(m.jsonOnly, list.Pointer())
			child := m.keyed(at, keyText(key, list.Index(i)))
			m.markCreated(child)
			m.presence(child, false)
			continue
		}
		from, ok := item.(Object)
		if !ok {
			return within(fieldpath.Index(i), wrongType(item, "an object"))
		}
		name := names[i].text
		if !names[i].ok {
			m.jsonOnly = append(m.jsonOnly, list.Pointer())
			name = keyText(key, list.Index(i)) // that of the Go value
		}
		if err := m.newItem(t, name, list.Index(i), at, from); err != nil {
			return within(itemStep(t, name), err)
		}
	}
	m.keys = m.keys[:len(m.keys)-len(items)]
	return nil
}
