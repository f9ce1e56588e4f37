package merge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file reads metadata.managedFields of a live object and writes them after a merge, as an API
// server does. The source is structured-merge-diff v6.4.2: merge.Updater, typed.Compare and
// typed.RemoveItems. The owners of the object claim its fields. An apply replaces the manager's
// earlier one: it removes the fields that the manager applied last time and that no manager owns
// any more.

const beforeFirstApply = "before-first-apply"

// liveOf reads the owners of a base, and returns a base without them.
func liveOf(base Object) (*live, Object, error) {
	metadata, _ := base["metadata"].(Object)
	l := &live{named: map[int32][]*node{}}
	list, ok := metadata["managedFields"].([]any)
	if !ok && metadata["managedFields"] != nil {
		return nil, nil,
			ownersError(-1, "", "must be a list, and is %s", jsonName(metadata["managedFields"]))
	}
	for i, v := range list {
		entry, _ := v.(Object)
		of, _ := entry["operation"].(string)
		version, _ := entry["apiVersion"].(string)
		kind, _ := entry["fieldsType"].(string)
		layer := []string{}
		switch {
		case entry == nil:
			return nil, nil, ownersError(i, "", "must be an object, and is %s", jsonName(v))
		case of == "Update":
			if layer = append(layer, of); version != base["apiVersion"] {
				layer = append(layer, version)
			}
		case of != "Apply":
			return nil, nil, ownersError(i, "operation", "must be Apply or Update, and is %q", of)
		}
		if version == "" {
			return nil, nil, ownersError(i, "apiVersion", "required")
		}
		if kind != "FieldsV1" {
			return nil, nil, ownersError(i, "fieldsType", "must be FieldsV1, and is %q", kind)
		}
		name, _ := entry["manager"].(string)
		if resource, _ := entry["subresource"].(string); resource != "" {
			layer = append(layer, resource)
		}
		if len(layer) > 0 {
			name += " (" + strings.Join(layer, " ") + ")"
		}
		l.entries, l.layers = append(l.entries, entry), append(l.layers, Manager(name))
	}
	if metadata["managedFields"] != nil {
		base, metadata = maps.Clone(base), maps.Clone(metadata)
		delete(metadata, "managedFields")
		base["metadata"] = metadata
	}
	l.owned = len(l.entries) > 0
	return l, base, nil
}

// ownersError returns an error on an entry of the managed fields. Its path is in reverse order.
func ownersError(i int, field, format string, args ...any) error {
	path := fieldpath.Fields("managedFields", "metadata")
	if i >= 0 {
		path = slices.Insert(path, 0, fieldpath.Index(i))
	}
	if field != "" {
		path = slices.Insert(path, 0, fieldpath.Field(field))
	}
	return &PatchError{Path: path, Err: fmt.Errorf(format, args...)}
}

// claimOwners records the claims of a live object's owners.
func (m *objects) claimOwners(t *schema.Type, object Object) error {
	known := map[*node]map[string]part{}
	for i, entry := range m.live.entries {
		m.layer = m.log.owners[i]
		fields, ok := entry["fieldsV1"].(Object)
		if !ok {
			return ownersError(i, "fieldsV1", "must be an object, and is %s",
				jsonName(entry["fieldsV1"]))
		}
		if err := m.recordEntry(t, object, fields, m.log.top, known); err != nil {
			return ownersError(i, "fieldsV1", "%w", err)
		}
	}
	return nil
}

// recordEntry records the fields of an object or a list that one entry names. Fields that the
// object lacks keep their owners. The entries share the known parts of the object's fields.
func (m *objects) recordEntry(t *schema.Type, v any, fields Object, at *node,
	known map[*node]map[string]part) error {
	parts := known[at]
	if parts == nil {
		parts = partsOf(t, nil, v)
		known[at] = parts
	}
	for name, value := range byName(fields).all {
		if name == "." {
			continue
		}
		step, within, err := readKey(name, value)
		if err != nil {
			return err
		}
		key, isItem := keyOfStep(t, step)
		if !isItem {
			key = name[2:]
		}
		p, has := parts[key]
		if isItem != t.HasItems() {
			continue
		}
		if !has {
			if err := m.recordAbsent(t, step, within, at); err != nil {
				return err
			}
			continue
		}
		child := m.log.child(at, p.field, key)
		_, itself := within["."]
		of := filledOf(p.typ, p.now)
		if itself || len(within) == 0 || of == nil && !isEmpty(p.now) {
			m.claimNow(child, p.typ, p.now)
		}
		switch {
		case of != nil:
			err = m.recordEntry(of, p.now, within, child, known)
		case isEmpty(p.now):
			err = m.recordAbsentIn(p.typ, within, child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recordAbsent records an owner of a field that the object lacks, such as a list that was applied
// empty and is not stored.
func (m *objects) recordAbsent(t *schema.Type, step fieldpath.Step, within Object, at *node) error {
	key, isItem := keyOfStep(t, step)
	var field *schema.StructField
	of := t.Elem
	if !isItem {
		var err error
		key, _ = step.Name()
		if field, of, err = fieldOf(t, key); err != nil {
			return nil // a field of an earlier definition
		}
	}
	child := m.log.child(at, field, key)
	if _, itself := within["."]; itself || len(within) == 0 {
		m.claimValue(child, absentValue, nil)
	}
	return m.recordAbsentIn(of, within, child)
}

// recordAbsentIn records the owners of the fields in an object or a list that the object lacks.
func (m *objects) recordAbsentIn(t *schema.Type, fields Object, at *node) error {
	if m.depth++; m.depth > deepest {
		return errTooDeep
	}
	defer func() { m.depth-- }()
	t = granular(t)
	for name, value := range byName(fields).all {
		if name == "." {
			continue
		}
		step, within, err := readKey(name, value)
		if err != nil {
			return err
		}
		if _, isItem := keyOfStep(t, step); isItem != t.HasItems() {
			continue
		}
		if err := m.recordAbsent(t, step, within, at); err != nil {
			return err
		}
	}
	return nil
}

// claimNow records a claim on a field with its value, or on its presence.
func (m *objects) claimNow(at *node, t *schema.Type, value any) {
	m.claimValue(at, claimedAs(t, value, true), value)
}

// update records an update of a field by an owner. A value is missing{} where there is none. The
// owner has the fields that it adds or changes, and the fields around an added one. A removed field
// has no owner. named has the meaning that it has in a merge.
func (m *objects) update(t *schema.Type, old, now any, at *node, named bool) {
	before, after := filledOf(t, old), filledOf(t, now)
	isLeaf := func(v any) bool { return claimedAs(t, v, true) == plainValue }
	switch {
	case now == any(missing{}):
		m.recordBase(at, t, old, named)
		m.revokeEarlier(at)
		m.claimValue(at, nullValue, nil)
		at.active = m.log.claims
	case old == any(missing{}):
		m.revokeEarlier(at)
		m.claimNow(at, t, now)
	case before == nil && after == nil && !sameObject(old, now),
		(before == nil) != (after == nil) && (isLeaf(old) || isLeaf(now)):
		m.recordBase(at, t, old, named)
		m.revokeEarlier(at)
		m.claimNow(at, t, now)
	}
	if before == nil && after == nil {
		return
	}
	parts := partsOf(t, old, now)
	were, are := duplicatesOf(before, old), duplicatesOf(after, now)
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		p, hasDuplicates := parts[key], len(are[key]) > 1
		if len(were[key]) < 2 && !hasDuplicates && sameObject(p.before, p.now) ||
			hasDuplicates && sameObject(were[key], are[key]) {
			continue
		}
		child := m.log.child(at, p.field, key)
		if len(were[key]) > 1 { // of which only the presence has owners
			m.update(presenceType, []any{}, missing{}, child, true)
			p.before = missing{}
		}
		if hasDuplicates {
			p.now = missing{}
		}
		if p.before != any(missing{}) || p.now != any(missing{}) {
			m.update(p.typ, p.before, p.now, child, p.field == nil)
		}
		if hasDuplicates {
			m.update(presenceType, missing{}, []any{}, child, true)
		}
	}
}

// duplicatesOf returns the items of a list by key, if some share theirs.
func duplicatesOf(t *schema.Type, v any) map[string][]any {
	list, isList := v.([]any)
	if t == nil || !isList {
		return nil
	}
	items, are := map[string][]any{}, false
	for _, item := range list {
		key, _ := itemKeyOf(t, item)
		items[key] = append(items[key], item)
		are = are || len(items[key]) > 1
	}
	if !are {
		return nil
	}
	return items
}

// holds reports whether the owner has a field, or for -1 whether anybody has.
func (n *node) holds(layer int32) bool {
	return slices.ContainsFunc(n.claims, func(c claim) bool {
		return c.number >= n.active && c.kind != unlistedPresence && (layer < 0 || c.layer == layer)
	})
}

// displaced returns the claims of the owners from which applies took the field of a live object,
// and those of the applies, in the order of writing. An apply without force is refused for each. It
// returns nil if no apply took the field.
func (l *log) displaced(at *node) []Claim {
	if len(at.displaced) == 0 {
		return nil
	}
	var in []claim
	var claims, absent []Claim
	path := at.path()
	for _, d := range at.displaced {
		in = append(in, d.claim)
		i := slices.IndexFunc(at.claims, func(c claim) bool {
			return c.number >= d.after && c.layer == d.by
		})
		if i >= 0 {
			in = append(in, at.claims[i])
			continue
		}
		by := l.export(d.by, Presence{}, path)
		if !slices.ContainsFunc(absent, func(c Claim) bool { return c.Owner == by.Owner }) {
			absent = append(absent, by) // it sets a part of the field alone
		}
	}
	slices.SortFunc(in, func(c, d claim) int { return cmp.Compare(c.number, d.number) })
	for i := range in {
		if i == 0 || in[i].number != in[i-1].number {
			claims = append(claims, l.exportAt(&in[i], path))
		}
	}
	return append(claims, absent...)
}

// managedFields returns the entries of the merged object. An entry that the patches have not
// replaced keeps its time. A replaced entry has no time. It comes after the entries with a time, as
// if it had the time of the merge.
func (m *objects) managedFields(o *History, patches []layered, version string) ([]any, error) {
	sets := make([]fieldSet, len(m.log.layers))
	o.objectFields(sets, nil)
	entries, order := map[int32]Object{},
		[]string{"operation", "time", "manager", "apiVersion", "subresource"}
	for i, id := range m.log.owners {
		entries[id] = Object{}
		for _, name := range order {
			if text, ok := m.live.entries[i][name].(string); ok {
				entries[id][name] = text
			}
		}
	}
	if len(m.live.entries) == 0 {
		entries[baseLayer] = Object{"manager": beforeFirstApply, "operation": "Update",
			"apiVersion": version}
	}
	for i := range patches {
		if name, ok := patches[i].Owner.Manager(); ok {
			of := "Apply"
			if patches[i].isUpdate() {
				of = "Update"
			}
			entries[m.log.ids[i]] = Object{"manager": name, "operation": of, "apiVersion": version}
		}
	}
	var list []any
	for id := range m.log.layers {
		entry, ok := entries[int32(id)]
		text := sets[id].encode()
		if !ok || string(text) == "{}" {
			continue
		}
		var fields Object
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil, err
		}
		entry["fieldsType"], entry["fieldsV1"] = "FieldsV1", fields
		list = append(list, entry)
	}
	text := func(entry any, name string) string {
		value, _ := entry.(Object)[name].(string)
		if name == "time" && value == "" {
			return "~" // after each digit
		}
		return value
	}
	slices.SortStableFunc(list, func(a, b any) int {
		for _, name := range order {
			if c := cmp.Compare(text(a, name), text(b, name)); c != 0 {
				return c
			}
		}
		return 0
	})
	return list, nil
}

var errManaged = errors.New("must not be set in a patch of an object with owners")
