package objectmerge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/schema"
)

// Result is the merged object.
type Result struct {
	Value  any          // a pointer to an API struct, or an merge.Object
	Fields merge.Object // the fields of Value that the base or a patch sets
	Type   *schema.Type
	Owners *merge.History
	// Decisions are the decisions of the policies, and Protected are the protected fields that patches set.
	Decisions []merge.Decision
	Protected []merge.Ignored
	managed   any // the new metadata.managedFields of a live object
}

// Apply merges the patches, unless reading has errors. If the merge fails, it returns nil and findings with the reasons.
func (m *Object) Apply(reading finding.List) (*Result, finding.List) {
	if reading.Err() != nil {
		return nil, nil
	}
	var out Result
	var ignored []merge.Ignored
	var duplicates []fieldpath.Path
	var err error
	if m.typ == option.StrategicType {
		out, ignored, duplicates, err = m.applyStrategic()
	} else {
		out, err = m.applyObjects()
	}
	if err != nil {
		if wrong := m.wrongTypes(); wrong != nil {
			return nil, wrong
		}
		return nil, finding.List{m.rejected(err)}
	}
	var found finding.List
	if m.typ == option.StrategicType {
		base, _ := m.base.Fields() // an error is that of the merge
		inputs := []inputValue{{value: base}}
		for i := range m.patches {
			inputs = append(inputs, inputValue{&m.patches[i], m.patches[i].fields})
		}
		found = itemCheck{m}.items(out.Type, out.Fields, nil, inputs)
	}
	for _, field := range ignored {
		found = append(found, finding.Finding{
			Code: codes.UnknownField, Severity: finding.Error, Object: m.ID, Path: field.Path, Position: m.Position(field.Owner, field.Path),
			Message: fmt.Sprintf("unknown field %q", strings.TrimPrefix(field.Path[len(field.Path)-1:].String(), ".")), Remedy: finding.Remedy{Text: "remove the field, or correct its name"},
		})
	}
	for _, path := range duplicates {
		found = append(found, finding.Finding{
			Code: codes.SameKey, Severity: finding.Warning, Object: m.ID, Path: path, Position: m.base.Position(path),
			Message: "duplicate merge key: a strategic merge patch changes the first of these items only",
			Remedy:  finding.Remedy{Text: "use --type=merge with the whole list, or give each item a merge key of its own"},
		})
	}
	return &out, found
}

func (m *Object) applyStrategic() (out Result, ignored []merge.Ignored, duplicates []fieldpath.Path, err error) {
	plan := m.strategic
	result, err := plan.Apply(&m.object, m.strategicPatches(), m.options())
	if err != nil {
		return Result{}, nil, nil, err
	}
	fields, err := m.fieldsOf(result.Value, m.patches)
	return Result{result.Value, fields, plan.Type(), result.History, result.Decisions, result.Protected, nil}, result.Ignored, result.Duplicates, err
}

func (m *Object) applyObjects() (Result, error) {
	plan := m.objects
	base, patches, err := m.objectPatches()
	if err != nil {
		return Result{}, err
	}
	result, err := plan.Apply(&base, patches, m.options())
	if err != nil {
		return Result{}, err
	}
	out := Result{result.Value, result.Value, plan.Type(), result.History, result.Decisions, result.Protected, nil}
	if metadata, ok := result.Value["metadata"].(merge.Object); ok && m.managed {
		out.managed = metadata["managedFields"]
		delete(metadata, "managedFields") // as kubectl get
	}
	return out, nil
}

// strategicPatches returns the patches of a strategic merge.
func (m *Object) strategicPatches() []merge.Patch[any] {
	patches := make([]merge.Patch[any], len(m.patches))
	for i, p := range m.patches {
		patch := any(p.fields)
		patches[i] = merge.Patch[any]{Owner: merge.Manager(p.manager), Value: &patch}
	}
	return patches
}

// objectPatches returns the base and the patches of another merge.
func (m *Object) objectPatches() (merge.Object, []merge.Patch[merge.Object], error) {
	base, err := m.base.Fields()
	patches := make([]merge.Patch[merge.Object], len(m.patches))
	for i := range m.patches {
		patches[i] = merge.Patch[merge.Object]{Owner: merge.Manager(m.patches[i].manager), Value: &m.patches[i].fields, JSON: m.patches[i].json}
	}
	return base, patches, err
}

// wrongTypes reports the values of the patches that the Go type cannot hold, as for the base.
func (m *Object) wrongTypes() (found finding.List) {
	if m.typ != option.StrategicType {
		return nil
	}
	for _, patch := range m.patches {
		_, more := manifest.DecodeAs(patch.document.File, patch.data, m.header(m.goType))
		for _, f := range more {
			if f.Severity == finding.Error && (f.Code == codes.WrongType || f.Code == codes.AmbiguousWord) {
				f.Object = m.ID
				found = append(found, f)
			}
		}
	}
	return found
}

// rejected returns the error of a merge as a finding.
func (m *Object) rejected(err error) finding.Finding {
	f := finding.Finding{Code: codes.NoMerge, Severity: finding.Error, Object: m.ID, Message: err.Error(), Remedy: finding.Remedy{Text: "correct the value"}}
	var at *merge.PatchError
	if errors.As(err, &at) {
		f.Path, f.Message = at.Path, at.Err.Error()
		var wrong *merge.TypeError
		if errors.As(at.Err, &wrong) {
			f.Code, f.Message, f.Remedy.Text = codes.WrongType, fmt.Sprintf("must be %s, not %s", wrong.Want, wrong.Is), "set a value of that type"
		}
		f.Position = m.Position(at.Owner, at.Path)
		if wrong != nil && wrong.Is == "null" { // the patch may only have stopped to set what the field held
			f.Claims = []merge.Claim{{Owner: at.Owner, At: at.Path, Position: f.Position}}
		}
		if wrong == nil && m.typ == option.ApplyType && m.schema.Lookup(at.Path) == nil {
			f.Remedy.Text = "remove the field, or correct its name"
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

// Conflicts returns the disagreements of the managers, and the unions of which a patch and the base set two members.
func (m *Object) Conflicts(merged *Result, rule render.OnConflict) finding.List {
	var found finding.List
	reported := map[string]bool{}
	for _, c := range conflict.Find(merged.Owners) {
		if c.Kind == conflict.Union {
			reported[c.Path.String()] = true
		}
		f := m.located(c.Finding(m.ID), c)
		isDecided := m.Policies.Precedence != merge.LastPatch || len(m.Policies.Managers) > 0
		switch {
		case c.Kind == conflict.Overlap && (rule == render.Last || isDecided):
			f.Severity, f.Remedy.Text = finding.Warning, agreement
		case c.Kind == conflict.Union && m.Policies.Unions == merge.LastMember:
			f.Severity = finding.Warning
		}
		found = append(found, f)
	}
	found = append(found, m.decided(merged)...)
	if m.api != nil {
		c := unionCheck{Object: m, reported: reported, owners: merged.Owners}
		found = append(found, c.unions(m.api, merged.Fields, nil)...)
	}
	return slices.DeleteFunc(found, func(f finding.Finding) bool {
		return f.Code != codes.Overlap && slices.ContainsFunc(claimVolumes(merged.Fields), f.Path.HasPrefix)
	})
}

// claimVolumes returns the volumes of a StatefulSet that its controller replaces by those of its claims.
func claimVolumes(fields merge.Object) (paths []fieldpath.Path) {
	spec, _ := fields["spec"].(merge.Object)
	templates, _ := spec["volumeClaimTemplates"].([]any)
	for _, template := range templates {
		fields, _ := template.(merge.Object)
		metadata, _ := fields["metadata"].(merge.Object)
		if name, ok := metadata["name"].(string); ok {
			paths = append(paths, fieldpath.Fields("spec", "template", "spec", "volumes").Append(fieldpath.Item("name", name)))
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
	for _, d := range merged.Decisions {
		losers := make([]string, len(d.Losers))
		for i, layer := range d.Losers {
			losers[i] = name(layer)
		}
		if d.Policy == "protected" {
			continue // see below
		}
		found = append(found, finding.Finding{
			Code: codes.Forced, Severity: finding.Warning, Object: m.ID, Path: d.Path, Position: m.Position(d.Winner, d.Path),
			Message: fmt.Sprintf("%s overrides %s (%s)", name(d.Winner), strings.Join(losers, ", "), d.Policy),
			Remedy:  finding.Remedy{Text: "remove the field from the patch that is overridden"},
		})
	}
	for _, p := range merged.Protected {
		found = append(found, finding.Finding{
			Code: codes.Forced, Severity: finding.Warning, Object: m.ID, Path: p.Path, Position: m.Position(p.Owner, p.Path),
			Message: fmt.Sprintf("the field is protected from %s", name(p.Owner)),
			Remedy:  finding.Remedy{Text: "remove the field from the patch"},
		})
	}
	return found
}

const agreement = "set the field in one patch only, or set the same value in all"

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
	f.Remedy = finding.Remedy{Do: finding.ChooseOne, Text: "keep the one member that is meant, and remove the other from its patch"}
	if c.Kind == conflict.Overlap {
		last, _ := c.Claims[len(c.Claims)-1].Owner.Manager()
		f.Remedy = finding.Remedy{Text: fmt.Sprintf("%s; to let %s win, as in the cluster, use trainweld merge --on-conflict=last", agreement, last)}
	}
	return f
}
