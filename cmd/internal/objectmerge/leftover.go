package objectmerge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	values        lookup
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
	l := leftovers{Object: m, before: base, after: merged.Fields, values: lookup{},
		explained: newPaths(others)}
	l.required(m.schema, base, merged.Fields, nil)
	owners := ownersIn(merged.managed)
	for _, list := range []finding.List{others, l.found} {
		for i := range list {
			if list[i].Severity == finding.Error {
				l.name(&list[i], owners)
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
func (l *leftovers) name(f *finding.Finding, owners []owner) {
	if l.values.at(l.before, f.Path) == nil || l.values.at(l.after, f.Path) != nil {
		return
	}
	item := f.Path[:len(f.Path)-1]
	for len(item) > 0 && l.values.at(l.after, item) == nil {
		item = item[:len(item)-1]
	}
	patch := slices.IndexFunc(l.patches, func(p Patch) bool {
		return p.json == nil && !p.document.Has(item)
	})
	if patch < 0 || len(item) == 0 {
		return
	}
	f.Position = l.Position(merge.Manager(l.patches[patch].manager), item)
	keepers, claims := l.keepers(item, owners, isWithin)
	if keepers == nil { // who owns only the item's keys keeps it as well
		keepers, claims = l.keepers(item, owners, func(path, item fieldpath.Path) bool {
			return len(path) == len(item)+1 && isAt(path, item)
		})
	}
	if keepers == nil {
		return
	}
	f.Claims = append(f.Claims, claims...)
	verb, names := "owns", strings.Join(keepers, " and ")
	if len(keepers) > 1 {
		verb = "own"
	}
	f.Message += fmt.Sprintf("; %s no longer applies %s, which stays because %s %s a part of it",
		l.patches[patch].manager, item, names, verb)
	f.Remedy.Text = fmt.Sprintf("set the field, or remove the fields of %s there", names)
}

// keepers returns the owners of a field of an item, and a claim of each.
func (l *leftovers) keepers(item fieldpath.Path, owners []owner,
	keeps func(path, item fieldpath.Path) bool) (names []string, claims []merge.Claim) {
	for _, o := range owners {
		at := slices.IndexFunc(o.fields, func(path fieldpath.Path) bool {
			return keeps(path, item)
		})
		if at >= 0 {
			path := o.fields[at]
			names = append(names, o.name)
			claims = append(claims, merge.Claim{Owner: merge.Manager(o.name),
				Value: l.values.at(l.after, path), At: path, Position: l.base.Position(path)})
		}
	}
	return names, claims
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
		text, _ := json.Marshal(fields["fieldsV1"])
		for path := range merge.FieldsV1Paths(text) {
			o.fields = append(o.fields, path.Append())
		}
		owners = append(owners, o)
	}
	return owners
}

// isWithin reports whether a path of managed fields leads into an item, and not to the item itself
// or its keys. Managed fields do not distinguish a field from a key of a map.
func isWithin(path, item fieldpath.Path) bool {
	if len(path) <= len(item) || !isAt(path, item) {
		return false
	}
	next, _ := path[len(item)].Name()
	return len(item) == 0 ||
		!slices.ContainsFunc(item[len(item)-1].Keys(), func(key fieldpath.ItemKey) bool {
			return key.Name == next
		})
}

// isAt reports whether a path begins with that of an item.
func isAt(path, item fieldpath.Path) bool {
	for i, step := range item {
		name, isNamed := step.Name()
		other, _ := path[i].Name()
		if step != path[i] && (!isNamed || name != other) {
			return false
		}
	}
	return true
}
