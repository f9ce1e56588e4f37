package objectmerge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/builtin"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/schema"
)

// definitionKind is the kind CustomResourceDefinition.
var definitionKind = manifest.Kind{Group: "apiextensions.k8s.io", Version: "v1",
	Kind: "CustomResourceDefinition", New: func() any { return new(merge.Object) }}

// Definition is a CustomResourceDefinition of the inputs.
type Definition struct {
	Document    *manifest.Document
	Fields      merge.Object
	Group, Kind string // of the objects that it defines
}

// ReadDefinitions reads the definitions in paths, and returns an error if there is none. It reports
// no mistakes in objects of other kinds, and a directory may hold files without objects.
func ReadDefinitions(p *host.Program, in *workspace.Input,
	paths []string) ([]Definition, finding.List) {
	files, found := manifest.Files(p.Files, paths, false)
	var definitions []Definition
	for _, file := range files {
		data, unreadable := in.Open(p, file)
		if unreadable != nil {
			found = append(found, *unreadable)
			continue
		}
		more, wrong := DecodeDefinitions(file, data)
		named := slices.Contains(paths, file)
		found = append(found, slices.DeleteFunc(wrong, func(f finding.Finding) bool {
			return f.Code == codes.NotAnObject && !named
		})...)
		definitions = append(definitions, more...)
	}
	if len(definitions) == 0 && found == nil && len(paths) > 0 {
		found = append(found, finding.Finding{
			Code: codes.Unreadable, Severity: finding.Error,
			Position: fieldpath.Position{File: paths[0]},
			Message:  "holds no CustomResourceDefinition",
			Remedy:   finding.Remedy{Text: "name the files of definitions with --crd"},
		})
	}
	return definitions, found
}

// DecodeDefinitions returns the definitions in a file. It reports no mistakes in objects of other
// kinds.
func DecodeDefinitions(file string, data []byte) (definitions []Definition, found finding.List) {
	documents, found := manifest.DecodeKinds(file, data, []manifest.Kind{definitionKind})
	found = slices.DeleteFunc(found, func(f finding.Finding) bool {
		return f.Object.Kind != "" && !strings.EqualFold(f.Object.Kind, definitionKind.Kind)
	})
	for _, d := range documents {
		fields, err := d.Fields()
		if err != nil || d.ID.Kind != definitionKind.Kind || d.Broken {
			continue
		}
		group, kind := definedBy(fields)
		definitions = append(definitions, Definition{d, fields, group, kind})
	}
	return definitions, found
}

// definitionOf returns the schema of an object's kind from documents and definitions. Without these
// it returns the schema of the file's Trainer release, and for an apply that of the file's version
// of Kubernetes, or nil for other kinds. A beta version of Kubernetes merges as an apply.
func definitionOf(p *host.Program, in *workspace.Input, how option.Schema,
	of *manifest.Document) (Defined, finding.List) {
	if how.Names() == "" {
		d, found := Embedded(p, in, of)
		if d.Type == nil && found.Err() == nil && (how.MergeType == option.ApplyType ||
			how.MergeType == "" && builtin.Lacks(of.APIVersion)) {
			d.Type = builtin.SchemaOf(
				in.ReleaseOf(p.Files, of.File).Or().Kubernetes, of.APIVersion, of.ID.Kind)
		}
		return d, found
	}
	t, found, lacking := documentOf(p, in, how.Documents, of)
	if t != nil || len(how.Definitions) == 0 {
		return Defined{Type: t}, append(found, lacking...)
	}
	definitions, more := ReadDefinitions(p, in, how.Definitions)
	found = append(found, more...)
	group, version, _ := strings.Cut(of.APIVersion, "/")
	var kinds []string
	for _, d := range definitions {
		if d.Group == group && d.Kind == of.ID.Kind {
			defined, more := d.Version(version)
			return defined, append(found, more...)
		}
		kinds = append(kinds, d.Group+" "+d.Kind)
	}
	if found.Err() == nil {
		f := finding.Finding{
			Code: codes.NoSchema, Severity: finding.Error, Object: of.ID,
			Position: of.Position(fieldpath.Fields("kind")),
			Message:  fmt.Sprintf("no --crd defines %s %s", group, of.ID.Kind),
			Remedy: finding.Remedy{
				Text: "name the file of its CustomResourceDefinition with --crd"},
		}
		if len(kinds) > 0 {
			f.Message += "; they define " + strings.Join(kinds, ", ")
		}
		found = append(found, f)
	}
	return Defined{}, found
}

// errAliases is the error for YAML that is not expanded.
var errAliases = errors.New(
	"has aliases, and is not one document that they expand to at most 3 MiB")

// documentOf returns the schema of an object's kind from the first OpenAPI document that has it.
// Without one, lacking has the error of each document.
func documentOf(p *host.Program, in *workspace.Input, files []string,
	of *manifest.Document) (t *schema.Type, found, lacking finding.List) {
	for _, file := range files {
		data, unreadable := in.Open(p, file)
		if unreadable != nil {
			found = append(found, *unreadable)
			continue
		}
		t, err := (*schema.Type)(nil), errAliases
		if manifest.IsBounded(data) {
			t, err = schema.ParseOpenAPI(
				data, runtimeschema.FromAPIVersionAndKind(of.APIVersion, of.ID.Kind))
		}
		if err == nil {
			return t, found, nil
		}
		lacking = append(lacking, finding.Finding{
			Code: codes.NoSchema, Severity: finding.Error, Object: of.ID,
			Position: fieldpath.Position{File: file},
			Message:  err.Error(),
			Remedy:   finding.Remedy{Text: "name the document of the kind's group with --openapi"},
		})
	}
	return nil, found, lacking
}

// Defined is a version of a kind in a definition: how its objects merge, and which ones it admits.
// The second is nil for a kind of an OpenAPI document.
type Defined struct {
	Type   *schema.Type
	Admits *admission.Kind
}

// defined returns a version in the JSON of a definition.
func defined(text []byte, version string) (d Defined, err error) {
	if d.Type, err = schema.ParseOpenAPI(
		text, runtimeschema.GroupVersionKind{Version: version}); err != nil {
		return Defined{}, err
	}
	var fields merge.Object
	if err := json.Unmarshal(text, &fields); err != nil {
		return Defined{}, err
	}
	kinds, err := admission.Kinds(fields)
	if err != nil {
		return Defined{}, err
	}
	if i := slices.IndexFunc(kinds, func(k *admission.Kind) bool {
		return k.Version == version
	}); i >= 0 {
		d.Admits = kinds[i]
	}
	return d, nil
}

// Embedded returns the definition of a TrainJob, a runtime or a JobSet, or none for an object of
// another kind.
func Embedded(p *host.Program, in *workspace.Input, of *manifest.Document) (Defined, finding.List) {
	group, version, _ := strings.Cut(of.APIVersion, "/")
	if !workspace.IsTrainer(of) && group != jobset.SchemeGroupVersion.Group {
		return Defined{}, nil
	}
	text, err := in.ReleaseOf(p.Files, of.File).Definition(of.ID.Kind)
	if err != nil {
		return Defined{}, in.Findings // a kind that no release defines
	}
	t, err := defined(text, version)
	if err != nil {
		return Defined{}, append(in.Findings, finding.Finding{
			Code: codes.UnknownVersion, Severity: finding.Error, Object: of.ID,
			Position: of.Position(fieldpath.Fields("apiVersion")),
			Message:  err.Error(),
			Remedy: finding.Remedy{
				Text: "use a version that the definition serves"},
		})
	}
	return t, in.Findings
}

// definedBy returns the group and kind that a definition defines.
func definedBy(definition merge.Object) (group, kind string) {
	spec, _ := definition["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	return fmt.Sprint(spec["group"]), fmt.Sprint(names["kind"])
}

// Version returns a version of the kind.
func (definition Definition) Version(version string) (Defined, finding.List) {
	data, err := json.Marshal(definition.Fields)
	if err != nil {
		return Defined{}, definition.Unusable(err)
	}
	d, err := defined(data, version)
	if err != nil {
		return Defined{}, definition.Unusable(err)
	}
	return d, nil
}

// Unusable reports each error in a definition.
func (definition Definition) Unusable(err error) finding.List {
	d := definition.Document
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	var found finding.List
	for _, err := range errs {
		f := finding.Finding{
			Code: codes.NoSchema, Severity: finding.Error, Object: d.ID, Position: d.Position(nil),
			Message: err.Error(),
			Remedy:  finding.Remedy{Text: "use a definition that an API server accepts"},
		}
		if at, problem, ok := strings.Cut(err.Error(), ": "); ok {
			if path, err := fieldpath.ParsePath(at); err == nil {
				f.Path, f.Message, f.Position = path, problem, d.Position(path)
			}
		}
		found = append(found, f)
	}
	return found
}
