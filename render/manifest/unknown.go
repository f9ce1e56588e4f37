package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
)

// lacks reports a field that the API's release lacks, but another release or, with typed, its Go
// type has. Any other field is a mistake in every release.
func (d *diagnosis) lacks(e source.Entry, typed bool) bool {
	names := d.fieldNames(d.shape.in, e.Name)
	having := d.api.having(d.shape.kind, names...)
	if !typed && (len(having) == 0 || having[0].Unread()) {
		return false // unknownField says more of a field that no compared release has
	}
	f := finding.Finding{
		Code: codes.UnknownField, Severity: finding.Error,
		Message: fmt.Sprintf("unknown field %s: no release of the Trainer has it here",
			quote(e.Name)), Remedy: finding.Remedy{Do: finding.Remove, Text: "remove it"},
	}
	if len(having) > 0 {
		f.Message = fmt.Sprintf("%s is a field of %s; Trainer %s has no such field",
			strings.Join(names, "."), release.Span(having), d.api.Release().Name)
		f.Remedy.Text = "remove it"
		if replaced := d.replacement(names); replaced != "" {
			f.Remedy = finding.Remedy{
				Text: fmt.Sprintf("use .spec.%s",
					replaced)}
			if replaced == release.RuntimePatches && slices.Contains(legacy.Fields(), e.Name) {
				f.Remedy = finding.Remedy{
					Do: finding.Migrate, Text: "rewrite it as .spec.runtimePatches"}
			}
		}
	}
	d.addTo(&d.lacking, f, e.Key, fieldpath.Field(e.Name))
	return true
}

// fieldNames returns the names that lead to a field of the current value, without the items of
// lists.
func (d *diagnosis) fieldNames(in []string, name string) []string {
	names := slices.Clone(in)
	for _, step := range d.path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		}
	}
	return append(names, name)
}

// later returns the unread release that adds a field to the current value, or "", and the names
// that lead to the field.
func (d *diagnosis) later(name string) (names []string, with string) {
	var in []string
	kind := d.object.Kind
	if kind == patchKind {
		kind, in = trainer.TrainJobKind, []string{"spec", string(release.RuntimePatches)}
	}
	names = d.fieldNames(in, name)
	return names, release.Later(kind, names...)
}

// ofLater completes a finding on a field of an unread release. It reports whether name is such a
// field.
func (d *diagnosis) ofLater(name string, f *finding.Finding) bool {
	names, with := d.later(name)
	if with != "" {
		f.Message = fmt.Sprintf("%s is a field of Trainer %s; Trainer %s has no such field",
			strings.Join(names, "."), with, d.api.Release().Or().Name)
		f.Remedy.Text = "remove it"
	}
	return with != ""
}

// ofLaterKubernetes completes a finding on a field of a Pod, a Job or a claim that only a later
// version of Kubernetes has. It reports whether name is such a field.
func (d *diagnosis) ofLaterKubernetes(name string, f *finding.Finding) bool {
	names := d.fieldNames(nil, name)
	later := minor.Later(names...)
	if later == nil {
		return false
	}
	f.Message = later.Beyond()
	f.Remedy = finding.Remedy{Do: finding.Remove, Text: "remove it"}
	return true
}

// replacement returns the field of the release that does what another release's field of the
// TrainJob does, or "".
func (d *diagnosis) replacement(names []string) release.Overrides {
	if d.shape.kind != trainer.TrainJobKind || len(names) != 2 || names[0] != "spec" {
		return ""
	}
	isOverride := func(r release.Release) bool { return names[1] == string(r.Overrides) }
	if slices.ContainsFunc(release.Known(), isOverride) ||
		slices.Contains(legacy.Fields(), names[1]) {
		return d.api.Release().Overrides
	}
	return ""
}

// mostFields is the largest number of fields that a remedy lists.
const mostFields = 12

// candidate is a place of a field with a name, as a path or, within lists, as text only.
type candidate struct {
	path   fieldpath.Path
	text   string
	typ    reflect.Type
	isOnly bool
}

// nearby returns the place of a field with this name, in the nearest surrounding struct or below
// the current one.
func (d *diagnosis) nearby(name string, t reflect.Type) candidate {
	var found candidate
	under, path, typ, isOnly := d.under(name, t)
	for i := len(d.around) - 2; i >= 0; i-- {
		around := d.around[i]
		f, ok := d.structs.Field(around.typ, name)
		switch {
		case ok && found.path == nil:
			found = candidate{path: d.path[:around.pathLength].Append(fieldpath.Field(name)),
				typ: f.Type, isOnly: under == ""}
			found.text = found.path.String()
		case ok:
			found.isOnly = false
		}
	}
	if found.path == nil && under != "" {
		found = candidate{path: d.path.Append(path...), text: d.path.String() + under, typ: typ,
			isOnly: isOnly}
	}
	return found
}

// under returns the shortest path down to a field of this name, at most six levels deep, with its
// type. It is the only one if its name is unique at that depth, and no list is on the way.
func (d *diagnosis) under(name string,
	t reflect.Type) (text string, path fieldpath.Path, typ reflect.Type, isOnly bool) {
	type place struct {
		typ    reflect.Type
		path   fieldpath.Path
		text   string
		isList bool
	}
	seen := map[reflect.Type]bool{t: true}
	level := []place{{typ: t}}
	for range 6 {
		var next []place
		found := 0
		for _, p := range level {
			for _, f := range d.structs.Of(p.typ) {
				at := place{tree.Concrete(f.Type), p.path.Append(fieldpath.Field(f.Name)),
					p.text + "." + f.Name, p.isList}
				if at.typ.Kind() == reflect.Slice {
					at.typ, at.text, at.isList = tree.Concrete(at.typ.Elem()),
						at.text+"[]", true
				}
				if at.typ.Kind() != reflect.Struct || tree.DecodesItself(at.typ) ||
					seen[at.typ] || f.Name == "status" || f.Name == "metadata" {
					continue
				}
				if field, ok := d.structs.Field(at.typ, name); ok {
					if found++; found == 1 {
						text, path, typ, isOnly = at.text+"."+name,
							at.path.Append(fieldpath.Field(name)), field.Type, !at.isList
					}
				}
				if !slices.ContainsFunc(next, func(other place) bool {
					return other.typ == at.typ
				}) {
					next = append(next, at)
				}
			}
		}
		if found > 0 {
			return text, path, typ, isOnly && found == 1
		}
		for _, p := range next {
			seen[p.typ] = true
		}
		level = next
	}
	return "", nil, nil, false
}

// formerField completes a finding on a field of an earlier Trainer (CHANGELOG/CHANGELOG-2.2.md,
// breaking changes). It reports whether the entry is such a field.
func formerField(t reflect.Type, e source.Entry, f *finding.Finding) bool {
	if t != reflect.TypeFor[trainer.TorchMLPolicySource]() || e.Name != "numProcPerNode" {
		return false
	}
	f.Message = "numProcPerNode of torch is gone since Trainer 2.2"
	f.Remedy.Text = "set .spec.trainer.numProcPerNode of the TrainJob"
	if source.Target(e.Value).Value == "auto" {
		f.Remedy = finding.Remedy{
			Do:   finding.Remove,
			Text: "remove it: the policy counts the node's devices, as for auto"}
	}
	return true
}

// fieldless returns a finding if an object has no field of its assumed kind, not even at a wrong
// place. The file may be any, such as one of passwords, so the finding repeats no key.
func (d *diagnosis) fieldless(kind string, object any, keys []string) *finding.Finding {
	t := tree.Concrete(reflect.TypeOf(object))
	if d.isAny = t.Kind() != reflect.Struct; d.isAny || len(keys) == 0 {
		return nil
	}
	fields := d.structs.Names(t)
	isMisplaced := func(key string) bool {
		under, _, _, _ := d.under(key, t)
		return under != "" || key == string(release.RuntimePatches)
	}
	if nearest.Any(keys, fields) || slices.ContainsFunc(keys, isMisplaced) {
		return nil
	}
	f := notAnObject("has no field of a " + kind)
	if f.Remedy.Text = "name another file"; len(fields) <= mostFields {
		f.Remedy.Text = "set one of its fields, which are " + strings.Join(fields, ", ") +
			", or name another file"
	}
	return f
}
