package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/legacy"
	"github.com/trainweld/trainweld/manifest/internal/jsonfields"
	"github.com/trainweld/trainweld/manifest/internal/source"
	"github.com/trainweld/trainweld/release"
)

// unknownField reports a key that is not a field of the struct, and suggests a similar field.
func (d *diagnosis) unknownField(e source.Entry, t reflect.Type) {
	written := source.Target(e.Key).Value
	f := finding.Finding{
		Code: finding.CodeUnknownField, Severity: finding.Error,
		Message: fmt.Sprintf("unknown field %s", quote(written)),
	}
	switch {
	case formerField(t, e.Name, &f):
	case d.unpatchable(e.Name, t, &f):
	default:
		f.Remedy = d.suggest(e.Name, t)
	}
	d.add(f, e.Key, fieldpath.Field(e.Name))
}

// lacks reports a field that the API's release lacks, if another release or its Go type, as typed says, has it. Any other field
// is a mistake in every release.
func (d *diagnosis) lacks(e source.Entry, typed bool) bool {
	names := slices.Clone(d.shape.in)
	for _, step := range d.path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		}
	}
	names = append(names, e.Name)
	having := d.api.having(d.shape.kind, names...)
	if len(having) == 0 && !typed {
		return false
	}
	f := finding.Finding{
		Code: finding.CodeUnknownField, Severity: finding.Error,
		Message: fmt.Sprintf("unknown field %s: no release of the Trainer has it here", quote(e.Name)), Remedy: finding.Remedy{Do: finding.Remove, Text: "remove it"},
	}
	if len(having) > 0 {
		f.Message = fmt.Sprintf("%s is a field of %s; Trainer %s has no such field", strings.Join(names, "."), release.Span(having), d.api.Release().Name)
		f.Remedy.Text = "remove it, or deploy to a release that has it"
		if replaced := d.replaced(names); replaced != "" {
			f.Remedy = finding.Remedy{Text: fmt.Sprintf("use .spec.%s, or deploy to a release that has the field", replaced)}
			if replaced == release.RuntimePatches && slices.Contains(legacy.Fields(), e.Name) {
				f.Remedy = finding.Remedy{Do: finding.Migrate, Text: "rewrite it as .spec.runtimePatches"}
			}
		}
	}
	d.addTo(&d.lacking, f, e.Key, fieldpath.Field(e.Name))
	return true
}

// replaced returns the field of the release that does what another release's field of the TrainJob does, or "".
func (d *diagnosis) replaced(names []string) release.Overrides {
	if d.shape.kind != trainer.TrainJobKind || len(names) != 2 || names[0] != "spec" {
		return ""
	}
	isOverride := func(r release.Release) bool { return names[1] == string(r.Overrides) }
	if slices.ContainsFunc(release.Known(), isOverride) || slices.Contains(legacy.Fields(), names[1]) {
		return d.api.Release().Overrides
	}
	return ""
}

// longestName is the longest key that is compared with field names.
const longestName = 64

// suggest returns the remedy for an unknown field. It suggests a similar field of the struct, or a field of the same name
// nearby, or removal.
func (d *diagnosis) suggest(name string, t reflect.Type) finding.Remedy {
	if len(name) > longestName {
		return finding.Remedy{Do: finding.Remove, Text: "remove it"}
	}
	names := slices.DeleteFunc(d.structs.Names(t), func(name string) bool { return d.definition != nil && d.definition.Fields[name] == nil })
	near := finding.Nearest(name, names)
	if near != "" && (strings.EqualFold(strings.TrimSuffix(near, "s"), strings.TrimSuffix(name, "s")) || len(near) > 5) {
		return rename(near)
	}
	if where := d.nearby(name, t); where != "" {
		return finding.Remedy{Text: fmt.Sprintf("did you mean %s?", where)}
	}
	if mirror := mirrored(t); mirror != nil {
		if meant := finding.Nearest(name, d.structs.Names(mirror)); meant != "" && !slices.Contains(names, meant) {
			return finding.Remedy{Text: fmt.Sprintf("did you mean %q? No patch may set that: %s", meant, d.setter(meant, mirror))}
		}
	}
	if near != "" {
		return rename(near)
	}
	for _, known := range names { // such as resources for resourcesPerNode
		if len(name) > 3 && (strings.HasPrefix(known, name) || strings.HasPrefix(name, known)) {
			return rename(known)
		}
	}
	if len(names) <= 12 {
		return finding.Remedy{Do: finding.Remove, Text: "remove it; the fields here are " + strings.Join(names, ", ")}
	}
	return finding.Remedy{Do: finding.Remove, Text: "remove it"}
}

// rename returns the remedy to rename a field.
func rename(meant string) finding.Remedy {
	return finding.Remedy{Do: finding.Rename, Options: []string{meant}, Text: fmt.Sprintf("did you mean %q?", meant)}
}

// nearby returns the path of a field with this name, in the nearest surrounding struct or below the current one.
func (d *diagnosis) nearby(name string, t reflect.Type) string {
	for i := len(d.around) - 2; i >= 0; i-- {
		f := d.around[i]
		if _, ok := d.structs.Field(f.typ, name); ok {
			return d.path[:f.deep].Append(fieldpath.Field(name)).String()
		}
	}
	if way := d.under(name, t); way != "" {
		return d.path.String() + way
	}
	return ""
}

// under returns the shortest path down to a field of this name, at most six levels deep.
func (d *diagnosis) under(name string, t reflect.Type) string {
	type place struct {
		typ reflect.Type
		way string
	}
	seen := map[reflect.Type]bool{t: true}
	level := []place{{t, "."}}
	for range 6 {
		var next []place
		for _, p := range level {
			for _, f := range d.structs.Of(p.typ) {
				way := p.way + f.Name
				child := jsonfields.Concrete(f.Type)
				if child.Kind() == reflect.Slice {
					child = jsonfields.Concrete(child.Elem())
					way += "[]"
				}
				if child.Kind() != reflect.Struct || jsonfields.DecodesItself(child) || seen[child] || f.Name == "status" || f.Name == "metadata" {
					continue
				}
				seen[child] = true
				if _, ok := d.structs.Field(child, name); ok {
					return way + "." + name
				}
				next = append(next, place{child, way + "."})
			}
		}
		level = next
	}
	return ""
}

// formerField completes a finding on a field of an earlier Trainer (CHANGELOG/CHANGELOG-2.2.md, breaking changes). It reports
// whether name is such a field.
func formerField(t reflect.Type, name string, f *finding.Finding) bool {
	switch t {
	case reflect.TypeFor[trainer.TrainJobSpec](), reflect.TypeFor[legacy.TrainJobSpec]():
		if name == "podSpecOverrides" {
			f.Message = "podSpecOverrides is gone since Trainer 2.1"
			f.Remedy = finding.Remedy{Do: finding.Migrate, Text: "use .spec.runtimePatches; or write podTemplateOverrides, with what stands beside targetJobs in a spec, and rewrite them"}
			return true
		}
	case reflect.TypeFor[trainer.TorchMLPolicySource]():
		if name == "numProcPerNode" {
			f.Message = "numProcPerNode of torch is gone since Trainer 2.2"
			f.Remedy.Text = "set .spec.trainer.numProcPerNode of the TrainJob, or leave it to the number of its devices"
			return true
		}
	}
	return false
}
