package objectmerge

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/lookup"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/schema"
)

// leftovers finds what applies leave of a live object's items: the parts that other managers own.
type leftovers struct {
	*Object
	before, after merge.Object
	values        lookup.Lists
	explained     paths
	found         finding.List
}

// Leftovers returns the required fields that applies take from items which stay because other
// managers own parts of them. It names these managers in the given errors on such items as well.
// The schema of an OpenAPI document says which fields are required; the rules of other kinds give
// the given errors.
func (m *Object) Leftovers(merged *Result, others finding.List) finding.List {
	base, err := m.base.Fields()
	if !m.managed || err != nil {
		return nil
	}
	l := leftovers{Object: m, before: base, after: merged.Fields,
		explained: newPaths(others)}
	l.required(m.schema, base, merged.Fields, nil)
	k := keepers{of: merged.managed}
	for _, list := range []finding.List{others, l.found} {
		for i := range list {
			if list[i].Severity == finding.Error {
				l.name(&list[i], &k)
			}
		}
	}
	return l.found
}

// required finds the required fields that a value had and lacks now.
func (l *leftovers) required(t *schema.Type, before, after any, path fieldpath.Path) {
	t = t.For(after)
	switch after := after.(type) {
	case merge.Object:
		before, _ := before.(merge.Object)
		for _, name := range slices.Sorted(maps.Keys(before)) {
			old := before[name]
			f, of := t.Field(name), t.Inner(name)
			at := path.Append(t.Step(name))
			switch now := after[name]; {
			case now != nil:
				l.required(of, old, now, at)
			case f != nil && f.Required && old != nil && !l.explained.near(at):
				l.found = append(l.found, finding.Finding{
					Code: codes.MissingField, Severity: finding.Error, Object: l.ID, Path: at,
					Message: "Required value", Remedy: finding.Remedy{Text: "set the field"},
				})
			}
		}
	case []any:
		if !t.HasItems() {
			return
		}
		old := map[fieldpath.Step]any{}
		list, _ := before.([]any)
		for _, item := range list {
			if step, ok := t.Item(item); ok {
				old[step] = item
			}
		}
		for _, item := range after {
			if step, ok := t.Item(item); ok && old[step] != nil {
				l.required(t.Elem, old[step], item, path.Append(step))
			}
		}
	}
}

// name names in an error the managers that keep an object or an item from which an apply has taken
// the field of the error.
func (l *leftovers) name(f *finding.Finding, k *keepers) {
	if l.values.At(l.before, f.Path) == nil || l.values.At(l.after, f.Path) != nil {
		return
	}
	item := f.Path[:len(f.Path)-1]
	for len(item) > 0 && l.values.At(l.after, item) == nil {
		item = item[:len(item)-1]
	}
	patch := slices.IndexFunc(l.patches, func(p Patch) bool {
		return p.json == nil && !p.document.Has(item)
	})
	if patch < 0 || len(item) == 0 {
		return
	}
	f.Position = l.Position(merge.Manager(l.patches[patch].manager), item)
	found := k.keep(item)
	if found == nil {
		return
	}
	var managers []string
	for _, o := range found {
		managers = append(managers, o.name)
		f.Claims = append(f.Claims, merge.Claim{Owner: merge.Manager(o.name),
			Value: l.values.At(l.after, o.path), At: o.path, Position: l.base.Position(o.path)})
	}
	verb, names := "owns", strings.Join(managers, " and ")
	if len(managers) > 1 {
		verb = "own"
	}
	f.Message += fmt.Sprintf("; %s no longer applies %s, which stays because %s %s a part of it",
		l.patches[patch].manager, item, names, verb)
	f.Remedy.Text = "set the field"
}

// keepers finds the managers that keep an item, by metadata.managedFields.
type keepers struct {
	of any
	// within are the first field of each manager in an item, and at the first one of its keys.
	within, at map[string][]keeper
}

// keeper is a manager, and a field that it owns.
type keeper struct {
	name string
	path fieldpath.Path
}

// keep returns the managers that keep an item from being removed: those that own fields of it or,
// if there are none, those that own only its keys.
func (k *keepers) keep(item fieldpath.Path) []keeper {
	if k.within == nil {
		k.read()
	}
	key := ""
	for _, step := range item {
		key += ownedStep(step)
	}
	if found := k.within[key]; found != nil {
		return found
	}
	return k.at[key]
}

func (k *keepers) read() {
	k.within, k.at = map[string][]keeper{}, map[string][]keeper{}
	for _, o := range ownersIn(k.of) {
		within, at := map[string]bool{}, map[string]bool{}
		for _, path := range o.fields {
			item := ""
			for n := 1; n < len(path); n++ {
				item += ownedStep(path[n-1])
				name, _ := path[n].Name()
				isKey := slices.ContainsFunc(path[n-1].Keys(), func(key fieldpath.ItemKey) bool {
					return key.Name == name
				})
				if !isKey && !within[item] {
					within[item] = true
					k.within[item] = append(k.within[item], keeper{o.name, path})
				} else if isKey && len(path) == n+1 && !at[item] {
					at[item] = true
					k.at[item] = append(k.at[item], keeper{o.name, path})
				}
			}
		}
	}
}

// ownedStep returns a step as text. Managed fields do not distinguish a field from a key of a map.
func ownedStep(step fieldpath.Step) string {
	if name, ok := step.Name(); ok {
		return "." + name
	}
	return step.String()
}

// owner is an entry of metadata.managedFields.
type owner struct {
	name   string
	fields []fieldpath.Path
}

func ownersIn(managed any) (owners []owner) {
	entries, _ := managed.([]any)
	for _, entry := range entries {
		fields, _ := entry.(merge.Object)
		o := owner{name: fmt.Sprint(fields["manager"])}
		if fields["operation"] == "Update" {
			o.name += updated
		}
		named, _ := fields["fieldsV1"].(merge.Object)
		for path := range merge.FieldsV1Paths(named) {
			o.fields = append(o.fields, path.Append())
		}
		owners = append(owners, o)
	}
	return owners
}

// isIdentity reports whether the API server omits a field from all sets: the identity of an object
// has no owner.
func isIdentity(path fieldpath.Path) bool {
	switch path.String() {
	case ".apiVersion", ".kind", ".metadata.name", ".metadata.namespace":
		return true
	}
	return false
}

// AddManagedFields adds metadata.managedFields to the merged object. A live object has them as the
// API server writes them. Another object has an update by the base and by each JSON patch, and an
// apply by each other patch. A layer without fields has no entry.
func (m *Object) AddManagedFields(merged *Result) error {
	entries := merged.managed
	if !m.managed {
		var err error
		if entries, err = m.entries(merged); err != nil {
			return err
		}
	}
	metadata, _ := merged.Fields["metadata"].(merge.Object)
	if metadata == nil {
		metadata = merge.Object{}
		merged.Fields["metadata"] = metadata
	}
	metadata["managedFields"] = entries
	return nil
}

// All yields the claims on what an input sets. The Go type also has the empty values of required
// fields.
func (m *Object) All(merged *Result) iter.Seq2[fieldpath.Path, []merge.Claim] {
	if m.typ != option.StrategicType {
		return merged.History.All()
	}
	base, _ := m.base.Fields() // Apply has read them
	return func(yield func(fieldpath.Path, []merge.Claim) bool) {
		var values lookup.Lists
		for path, claims := range merged.History.All() {
			if first := claims[0]; first.Owner == merge.BaseLayer && isEmpty(first.Value) &&
				values.At(base, path) == nil {
				claims = claims[1:]
			}
			isUnset := !slices.ContainsFunc(claims, func(c merge.Claim) bool {
				return c.Value == nil || !isEmpty(c.Value)
			})
			if len(claims) > 0 && (!isUnset || values.At(merged.Fields, path) != nil) &&
				!yield(path, claims) {
				return
			}
		}
	}
}

// isEmpty reports whether a claim's value is null or the zero value of its type.
func isEmpty(value any) bool {
	return value == nil || value != merge.Presence{} && reflect.ValueOf(value).IsZero()
}

// FieldsV1 returns the fields that each layer owns, as in metadata.managedFields. A layer without
// fields is omitted.
func (m *Object) FieldsV1(merged *Result) iter.Seq2[merge.Owner, []byte] {
	return func(yield func(merge.Owner, []byte) bool) {
		var values lookup.Lists
		ignored := func(path fieldpath.Path) bool {
			if _, isElement := path[len(path)-1].Element(); isElement ||
				m.typ != option.StrategicType {
				return isIdentity(path)
			}
			return isIdentity(path) || values.At(merged.Fields, path) == nil
		}
		for layer, data := range merged.History.FieldsV1(ignored) {
			if string(data) != "{}" && !yield(layer, data) {
				return
			}
		}
	}
}

func (m *Object) entries(merged *Result) (entries any, err error) {
	list := []any{}
	for layer, data := range m.FieldsV1(merged) {
		var fields merge.Object
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
		manager, isManager := layer.Manager()
		operation := "Apply"
		if !isManager {
			manager, operation = string(layer), "Update"
		}
		if at, ok := m.places[manager]; ok && m.patches[at].json != nil {
			operation = "Update"
		}
		list = append(list, merge.Object{
			"manager": manager, "operation": operation, "apiVersion": m.base.APIVersion,
			"fieldsType": "FieldsV1", "fieldsV1": fields,
		})
	}
	return list, nil
}
