package objectmerge

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release/minor"
	"github.com/trainweld/trainweld/schema"
)

// Result is the merged object.
type Result struct {
	Fields  merge.Object // the fields of Value that the base or a patch sets
	Type    *schema.Type
	History *merge.History
	Notes   []merge.Note
	managed any // the new metadata.managedFields of a live object
}

// Apply merges the patches, unless reading has errors. If the merge fails, it returns nil and
// findings with the reasons.
func (m *Object) Apply(reading finding.List) (*Result, finding.List) {
	if reading.Err() != nil {
		return nil, nil
	}
	out, err := m.apply()
	if err != nil {
		if wrong := m.wrongTypes(); wrong != nil {
			return nil, wrong
		}
		return nil, finding.List{m.rejected(err)}
	}
	var found finding.List
	if m.typ == option.StrategicType {
		base, _ := m.base.Fields() // an error is that of the merge
		check := itemCheck{Object: m, base: base}
		found = check.items(out.Type, out.Fields, nil)
	}
	for _, note := range out.Notes {
		f := finding.Finding{Severity: finding.Error, Object: m.ID, Path: note.Path,
			Position: m.Position(note.Owner, note.Path)}
		switch note.Kind {
		case merge.Ignored:
			f.Code, f.Message = codes.UnknownField,
				fmt.Sprintf("unknown field %q",
					strings.TrimPrefix(note.Path[len(note.Path)-1:].String(), "."))
			f.Remedy.Text = "remove the field"
			if later := minor.LaterAt(note.Path); later != nil {
				f.Message, f.Remedy.Text = later.Beyond(), "remove it"
			}
		case merge.Duplicate:
			f.Code, f.Severity = codes.SameKey, finding.Warning
			f.Message = "duplicate merge key: a strategic merge patch changes the first of these " +
				"items only"
			f.Remedy.Text = "give each item a merge key of its own"
		default:
			continue
		}
		found = append(found, f)
	}
	return out, found
}

// merge merges patches into a base.
func (m *Object) merge(base merge.Object,
	patches []merge.Patch) (*merge.Result[merge.Object], error) {
	options := slices.Clone(m.Policies.Options)
	switch {
	case m.typ == option.StrategicType:
		return merge.StrategicObject(m.api, base, patches, append(options, m.rules)...)
	case m.typ != option.ApplyType:
		return merge.StrategicObject(nil, base, patches, options...)
	case m.managed:
		options = append(options, merge.Live())
	}
	return merge.Apply(m.schema, base, patches, options...)
}

// apply merges the patches.
func (m *Object) apply() (*Result, error) {
	base, err := m.base.Fields()
	if err != nil {
		return nil, err
	}
	patches := make([]merge.Patch, len(m.patches))
	for i, p := range m.patches {
		if patches[i] = (merge.Patch{Manager: p.manager, Value: p.fields}); p.json != nil {
			patches[i].Value = p.json
		}
	}
	result, err := m.merge(base, patches)
	if err != nil {
		return nil, err
	}
	out := &Result{Type: result.History.Type(), History: result.History, Notes: result.Notes,
		Fields: result.Value}
	if m.typ == option.StrategicType {
		inputs := []any{base}
		for _, p := range m.patches {
			inputs = append(inputs, p.fields)
		}
		dropUnset(tree.Structs{}, m.api, out.Fields, inputs)
	}
	if metadata, ok := out.Fields["metadata"].(merge.Object); ok && m.managed {
		out.managed = metadata["managedFields"]
		delete(metadata, "managedFields") // as kubectl get
	}
	return out, nil
}

// wrongTypes reports the values of the patches that the Go type cannot hold, as for the base.
func (m *Object) wrongTypes() (found finding.List) {
	if m.typ != option.StrategicType {
		return nil
	}
	for _, patch := range m.patches {
		_, more := manifest.DecodeAs(patch.document.File, patch.data, m.header(m.goType))
		for _, f := range more {
			if f.Severity == finding.Error &&
				(f.Code == codes.WrongType || f.Code == codes.AmbiguousWord) {
				f.Object = m.ID
				found = append(found, f)
			}
		}
	}
	return found
}

// rejected returns the error of a merge as a finding.
func (m *Object) rejected(err error) finding.Finding {
	f := finding.Finding{Code: codes.NoMerge, Severity: finding.Error, Object: m.ID,
		Message: err.Error(), Remedy: finding.Remedy{Text: "correct the value"}}
	var at *merge.PatchError
	if errors.As(err, &at) {
		f.Path, f.Message = at.Path, at.Err.Error()
		var wrong *merge.TypeError
		if errors.As(at.Err, &wrong) {
			f.Code, f.Message, f.Remedy.Text = codes.WrongType,
				fmt.Sprintf("must be %s, not %s", wrong.Want, wrong.Is), "set a value of that type"
		}
		f.Position = m.Position(at.Owner, at.Path)
		// the patch may have done no more than stop setting a value that the field held
		if wrong != nil && wrong.Is == "null" {
			f.Claims = []merge.Claim{{Owner: at.Owner, At: at.Path, Position: f.Position}}
		}
		if wrong == nil && m.typ == option.ApplyType && m.schema.Lookup(at.Path) == nil {
			f.Remedy.Text = "remove the field"
		}
	}
	return f
}

// updated ends the name of a manager whose JSON patch updates a live object.
const updated = " (Update)"

// Position returns the position of a field in a layer.
func (m *Object) Position(layer merge.Owner, path fieldpath.Path) fieldpath.Position {
	if manager, ok := layer.Manager(); ok {
		at, ok := m.places[manager]
		if !ok {
			at, ok = m.places[strings.TrimSuffix(manager, updated)]
			ok = ok && m.patches[at].json != nil
		}
		switch {
		case ok && m.patches[at].json != nil:
			return fieldpath.Position{File: m.patches[at].document.File}
		case ok:
			return m.patches[at].document.Position(path)
		}
	}
	return m.base.Position(path)
}

// Conflicts returns the disagreements of the managers, and the unions of which a patch and the base
// set two members.
func (m *Object) Conflicts(merged *Result, rule render.OnConflict) finding.List {
	var found finding.List
	reported := map[string]bool{}
	for _, c := range conflict.Find(merged.History) {
		if c.Kind == conflict.Union {
			reported[c.Path.String()] = true
		}
		f := m.located(c.Finding(m.ID), c)
		switch {
		case c.Kind == conflict.Overlap && (rule == render.Last || m.Policies.Decides):
			f.Severity, f.Remedy.Text = finding.Warning, agreement
		case c.Kind == conflict.Union && m.Policies.LastMember:
			f.Severity = finding.Warning
		}
		found = append(found, f)
	}
	found = append(found, m.decided(merged)...)
	if m.api != nil {
		c := unionCheck{Object: m, reported: reported, owners: merged.History}
		found = append(found, c.unions(m.api, merged.Fields, nil)...)
	}
	return slices.DeleteFunc(found, func(f finding.Finding) bool {
		return f.Code != codes.Overlap &&
			slices.ContainsFunc(claimVolumes(merged.Fields), f.Path.HasPrefix)
	})
}

// claimVolumes returns the volumes of a StatefulSet that its controller replaces by those of its
// claims.
func claimVolumes(fields merge.Object) (paths []fieldpath.Path) {
	spec, _ := fields["spec"].(merge.Object)
	templates, _ := spec["volumeClaimTemplates"].([]any)
	for _, template := range templates {
		fields, _ := template.(merge.Object)
		metadata, _ := fields["metadata"].(merge.Object)
		if name, ok := metadata["name"].(string); ok {
			paths = append(
				paths, fieldpath.Fields("spec", "template", "spec", "volumes").Append(
					fieldpath.Item("name", name)))
		}
	}
	return paths
}

// decided reports the decisions of the policies.
func (m *Object) decided(merged *Result) (found finding.List) {
	name := func(layer merge.Owner) string {
		if manager, ok := layer.Manager(); ok {
			return manager
		}
		return "the " + string(layer)
	}
	for _, note := range merged.Notes {
		f := finding.Finding{Code: codes.Forced, Severity: finding.Warning, Object: m.ID,
			Path: note.Path, Position: m.Position(note.Owner, note.Path)}
		switch {
		case note.Kind == merge.Protected:
			f.Message, f.Remedy.Text = fmt.Sprintf("the field is protected from %s",
				name(note.Owner)), "remove the field from the patch"
		case note.Kind == merge.Decided && note.Option != "Protect":
			losers := make([]string, len(note.Losers))
			for i, layer := range note.Losers {
				losers[i] = name(layer)
			}
			f.Message = fmt.Sprintf("%s overrides %s (%s)", name(note.Owner),
				strings.Join(losers, ", "), policyOf(note.Option))
			f.Remedy.Text = "remove the field from the patch that is overridden"
		default:
			continue
		}
		found = append(found, f)
	}
	return found
}

// policyOf returns what decided, by the option of package merge.
func policyOf(option string) string {
	switch option {
	case "First", "BaseWins":
		return "precedence"
	case "Prefer":
		return "managers"
	}
	return strings.ToLower(option)
}

const agreement = "set the field in one patch only"

// located returns a conflict with the positions of its claims, and without the values of a Secret.
func (m *Object) located(f finding.Finding, c conflict.Conflict) finding.Finding {
	for i := range f.Claims {
		if m.ID.Kind == "Secret" && f.Claims[i].Value != nil {
			f.Claims[i].Value = "***"
		}
		f.Claims[i].Position = m.Position(f.Claims[i].Owner, f.Claims[i].At)
	}
	f.Position = workspace.LastPlace(f.Claims)
	if len(c.Managers()) < 2 {
		return f
	}
	f.Remedy = finding.Remedy{
		Do:   finding.ChooseOne,
		Text: "keep one member, and remove the other from its patch"}
	if c.Kind == conflict.Overlap {
		f.Remedy = finding.Remedy{Text: agreement}
	}
	return f
}

// directives are the names of fields that no object has. Some are the start of a longer name.
var directives = []string{"$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/"}

func isDirective(name string) bool {
	return slices.ContainsFunc(directives, func(d string) bool {
		return name == d || strings.HasSuffix(d, "/") && strings.HasPrefix(name, d)
	})
}

func keyIn(item any, key string) string {
	object, _ := item.(map[string]any)
	return fmt.Sprint(object[key])
}

func mergeKeyOf(t *schema.Type, item any) string { return keyIn(item, t.Key) }

// dropUnset removes the fields of a merged value that none of the inputs at its place sets. A merge
// by a Go type also has the empty values of required fields, such as a null selector.
func dropUnset(structs tree.Structs, t *schema.Type, value any, inputs []any) {
	switch value := value.(type) {
	case merge.Object:
		for name, field := range value {
			var within []any
			for _, in := range inputs {
				if fields, ok := in.(merge.Object); ok && fields[name] != nil {
					within = append(within, fields[name])
				}
			}
			dropUnset(structs, t.Inner(name), field, within)
			if f := fieldOf(structs, t, name); f != nil && (field == nil ||
				within == nil && isZero(field) && f.Kind() != reflect.Pointer) {
				delete(value, name) // a pointer has what an input or a default sets
			}
		}
	case []any:
		lists := make([]map[fieldpath.Step][]any, len(inputs))
		for i, in := range inputs {
			list, _ := in.([]any)
			lists[i] = itemsByStep(t, list)
		}
		for step, items := range itemsByStep(t, value) {
			for n, item := range items { // several may have one key
				var within []any
				for _, list := range lists {
					if n < len(list[step]) {
						within = append(within, list[step][n])
					}
				}
				dropUnset(structs, elemOf(t), item, within)
			}
		}
	}
}

// itemsByStep returns the items of a list by their keys, or by their positions without keys.
func itemsByStep(t *schema.Type, list []any) map[fieldpath.Step][]any {
	by := map[fieldpath.Step][]any{}
	for i, item := range list {
		step, ok := t.Item(item)
		if !ok {
			step = fieldpath.Index(i)
		}
		by[step] = append(by[step], item)
	}
	return by
}

func elemOf(t *schema.Type) *schema.Type {
	if t == nil {
		return nil
	}
	return t.Elem
}

// fieldOf returns the Go type of a struct's field, or nil for an entry of a map.
func fieldOf(structs tree.Structs, t *schema.Type, name string) reflect.Type {
	if t == nil || t.GoType() == nil || t.GoType().Kind() != reflect.Struct {
		return nil
	}
	f, _ := structs.Field(t.GoType(), name)
	return f.Type
}

// isZero reports whether a value may be the zero value of a Go type. "0" is that of a quantity.
func isZero(value any) bool {
	fields, isObject := value.(merge.Object)
	return value == nil || value == "0" || isObject && len(fields) == 0 ||
		!isObject && reflect.ValueOf(value).IsZero()
}
