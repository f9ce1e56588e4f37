package objectmerge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/lookup"
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
	f.Remedy.Text = fmt.Sprintf("set the field, or remove the fields of %s there", names)
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
		text, _ := json.Marshal(fields["fieldsV1"])
		for path := range merge.FieldsV1Paths(text) {
			o.fields = append(o.fields, path.Append())
		}
		owners = append(owners, o)
	}
	return owners
}
