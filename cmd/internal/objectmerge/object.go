// Package objectmerge merges the patches of several managers into one object of any kind.
//
// Its first file to read is object.go.
package objectmerge

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/builtin"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/schema"
)

// Applies reports whether a command for TrainJobs gets the inputs of merge. These are one object of
// another kind with patches, or a flag for such objects. The returned program can read standard
// input again.
func Applies(p *host.Program, flags workspace.Flags, how option.Schema) (*host.Program, bool) {
	if flags.Builds() {
		return p, false
	}
	if how.MergeType != "" || how.Names() != "" {
		return p, true
	}
	if len(flags.Files) != 1 || len(flags.Runtimes) > 0 || len(flags.Patches) == 0 {
		return p, false
	}
	copied := *p
	files, _ := manifest.Files(p.Files, flags.Files, false)
	if !slices.Equal(files, flags.Files) {
		return &copied, false
	}
	var seen bytes.Buffer
	data, unreadable := manifest.Read(p.Files, io.TeeReader(p.Stdin, &seen), files[0])
	copied.Stdin = io.MultiReader(&seen, p.Stdin)
	if unreadable != nil {
		return &copied, false
	}
	documents, _ := manifest.Decode(files[0], data)
	if len(documents) != 1 {
		return &copied, false
	}
	group, _, _ := strings.Cut(documents[0].APIVersion, "/")
	return &copied, !workspace.IsTrainer(documents[0]) &&
		group != jobset.SchemeGroupVersion.Group && !documents[0].Broken
}

// Object is a base of any kind with its patches.
type Object struct {
	base    *manifest.Document
	ID      fieldpath.Object
	patches []Patch
	places  map[string]int // of the patches, by their managers
	*Kind
	managed bool             // whether the base is a live object, whose owners an apply respects
	release *release.Release // of the base's file; nil means the latest one
	// Policies are the options of the merge.
	Policies option.Policies
}

// Kind says how the objects of one kind merge.
type Kind struct {
	apiVersion, kind string
	typ              string       // strategic, apply or merge
	goType           reflect.Type // of a kind of Kubernetes itself, or nil
	api              *schema.Type // of the Go type
	schema           *schema.Type // of an apply
	admits           *admission.Kind
	rules            merge.Option // of a strategic merge
}

// NewKind returns a kind by its definition, or without one by its Go type, or nil if it has
// neither.
func NewKind(apiVersion, kind string, definition Defined) (*Kind, error) {
	k, err := newKind(apiVersion, kind, definition, option.Schema{})
	if err != nil || k.typ == option.JSONType {
		return nil, err
	}
	return k, nil
}

func newKind(apiVersion, kind string, definition Defined, how option.Schema) (*Kind, error) {
	k := &Kind{apiVersion: apiVersion, kind: kind, schema: definition.Type,
		admits: definition.Admits}
	k.goType, _ = builtin.TypeOf(apiVersion, kind)
	err := k.choose(how)
	switch {
	case err != nil:
	case k.goType != nil:
		rules := schema.PodRules(k.goType)
		rules.AllowDuplicateKeys = true
		k.rules = merge.Rules(rules)
		k.api, err = schema.Compile(k.goType, k.goType, rules)
	}
	return k, err
}

// Object reads an object of the kind as a base. It returns nil if a finding is an error.
func (k *Kind) Object(file string, data []byte) (*Object, finding.List) {
	return k.object(&Base{File: file, Data: data})
}

func (k *Kind) object(base *Base) (*Object, finding.List) {
	file := base.File
	var t reflect.Type
	if k.typ == option.StrategicType {
		t = k.goType
	}
	documents, found := manifest.DecodeAs(file, base.Data, k.header(t))
	if found.Err() == nil && len(documents) != 1 {
		found = append(found, notOne(file, documents, "the base is one object"))
	}
	if base.Origin != nil && len(documents) == 1 {
		documents[0].Trace(base.Origin)
		found = documents[0].Findings
	}
	if found.Err() != nil {
		return nil, found
	}
	m := &Object{Kind: k, base: documents[0], ID: documents[0].ID, places: map[string]int{}}
	m.managed = m.typ == option.ApplyType &&
		m.base.Has(fieldpath.Fields("metadata", "managedFields"))
	return m, found
}

// Base returns the fields of the base, in the form of Result.Fields.
func (m *Object) Base() (merge.Object, error) {
	if m.typ != option.StrategicType {
		return m.base.Fields()
	}
	bare := *m
	bare.patches, bare.Policies = nil, option.Policies{}
	merged, err := bare.apply()
	if err != nil {
		return nil, err
	}
	return merged.Fields, nil
}

// Check returns the usage error of policies that the object's kind does not have.
func (m *Object) Check() error {
	switch wrong := m.Wrong(m.Policies); {
	case wrong == nil:
		return nil
	case wrong.Option == "Live":
		return exit.Usage(
			errors.New("the base has metadata.managedFields: their owners permit no other rule " +
				"than --option=keep-order: leave out one of the two"))
	default:
		return exit.Usage(&option.MergeError{Field: option.FieldOf(wrong.Option), Err: wrong.Err})
	}
}

// Wrong returns the error of policies that the kind does not have, or nil.
func (m *Object) Wrong(policies option.Policies) *merge.OptionError {
	m.Policies = policies
	_, err := m.merge(nil, nil) // of nothing
	var wrong *merge.OptionError
	errors.As(err, &wrong)
	return wrong
}

// Base is the text of a base, with the origin of its fields if a build made it.
type Base struct {
	File   string
	Data   []byte
	Origin manifest.Origin
}

// Read reads the base, its definition and the patches. A nil base is the only file of the flags. It
// reports invalid inputs as findings. The error is a usage error.
func Read(p *host.Program, in *workspace.Input, flags workspace.Flags, how option.Schema,
	base *Base) (*Object, finding.List, error) {
	switch {
	case base == nil && len(flags.Files) == 0:
		return nil, nil,
			exit.Usage(errors.New(
				"there is no base: name the file of one object with -f, or - for standard input"))
	case base == nil && len(flags.Files) > 1:
		return nil, nil,
			exit.Usage(fmt.Errorf(
				"there is one base, and %d files are given: name the patches with --patch",
				len(flags.Files)))
	case flags.Release != nil:
		return nil, nil, exit.Usage(errors.New("--trainer-version is for TrainJobs: remove it"))
	case flags.Selector != nil:
		return nil, nil, exit.Usage(errors.New("-l is for TrainJobs: remove it"))
	case len(flags.Patches) == 0:
		return nil, nil, exit.Usage(errors.New("nothing to merge: name the patches with --patch"))
	}
	if base == nil {
		base = &Base{File: flags.Files[0]}
		var unreadable *finding.Finding
		if base.Data, unreadable = in.Open(p, base.File); unreadable != nil {
			return nil, finding.List{*unreadable}, nil
		}
	}
	file, data := base.File, base.Data
	documents, found := manifest.Decode(file, data)
	if len(documents) != 1 {
		if found.Err() == nil {
			found = append(found, notOne(file, documents, "the base is one object"))
		}
		return nil, found, nil
	}
	is := documents[0]
	definition, found := definitionOf(p, in, how, is)
	if found.Err() != nil {
		return nil, found, nil
	}
	kind, err := newKind(is.APIVersion, is.ID.Kind, definition, how)
	if err != nil {
		return nil, nil, exit.Usage(err)
	}
	m, more := kind.object(base)
	if found = append(found, more...); m == nil {
		return nil, found, nil
	}
	if m.typ == option.JSONType && how.MergeType == "" {
		found = append(found, finding.Finding{
			Code: codes.NoSchema, Severity: finding.Warning, Object: m.ID,
			Position: m.base.Position(fieldpath.Fields("kind")),
			Message: fmt.Sprintf(
				"no schema of %s %s: the patches merge as JSON merge patches, which replace "+
					"whole lists", is.APIVersion, is.ID.Kind),
			Remedy: finding.Remedy{
				Text: "add its CustomResourceDefinition with --crd"},
		})
	}
	m.release = in.ReleaseOf(p.Files, file)
	found, err = m.readPatches(p, in, flags.Patches, found)
	if err != nil {
		return nil, nil, err
	}
	return m, found, nil
}

// readPatches reads the patches, and appends their findings to those before. The error is a usage
// error.
func (m *Object) readPatches(p *host.Program, in *workspace.Input, patches []string,
	found finding.List) (finding.List, error) {
	for _, patch := range patches {
		manager, file := workspace.ManagerOf(patch)
		manager = cmp.Or(manager, filepath.Base(file))
		if m.HasPatch(manager) {
			return nil, exit.Usage(
				fmt.Errorf("--patch: manager %q has two patches: name the managers with --patch "+
					"NAME=FILE, or combine the two patches", manager))
		}
		data, unreadable := in.Open(p, file)
		if unreadable != nil {
			found = append(found, *unreadable)
			continue
		}
		read, more := m.Patch(manager, file, data)
		if found = append(found, more...); more.Err() != nil {
			continue
		}
		if !m.Takes(read) {
			return nil, exit.Usage(
				fmt.Errorf("--patch %s: a JSON patch needs --type=merge, or --type=apply with "+
					"--openapi", file))
		}
		found = append(found, m.Add(read)...)
	}
	return found, nil
}

// header returns the kind of a document, to decode it strictly as a Go type. A nil type stands for
// any object.
func (k *Kind) header(t reflect.Type) manifest.Kind {
	group, version, ok := strings.Cut(k.apiVersion, "/")
	if !ok {
		group, version = "", k.apiVersion
	}
	kind := manifest.Kind{Group: group, Version: version, Kind: k.kind, New: func() any {
		return new(merge.Object)
	}}
	if t != nil {
		kind.New = func() any { return reflect.New(t).Interface() }
	}
	return kind
}

// choose selects the type of the merge.
func (k *Kind) choose(flags option.Schema) error {
	name := k.apiVersion + " " + k.kind
	k.typ = flags.MergeType
	switch {
	case k.typ == "" && k.schema != nil:
		k.typ = option.ApplyType
	case k.typ == "" && k.goType != nil:
		k.typ = option.StrategicType
	case k.typ == "" && builtin.Lacks(k.apiVersion):
		return fmt.Errorf("trainweld has no types of %s: write a stable version, pass its "+
			"--openapi, or merge as JSON by --type=merge", k.apiVersion)
	case k.typ == "":
		k.typ = option.JSONType
	}
	switch {
	case k.typ == option.ApplyType && k.schema == nil && k.goType != nil:
		return fmt.Errorf("--type=apply: an apply of %s needs its schema: write that of the cluster "+
			"by kubectl get --raw /openapi/v3/%s > openapi.json, and add --openapi openapi.json",
			name, k.served())
	case k.typ == option.ApplyType && k.schema == nil:
		return fmt.Errorf(
			"--type=apply: no --crd or --openapi defines %s, and an apply needs its schema", name)
	case k.typ == option.StrategicType && k.goType == nil:
		return fmt.Errorf(
			"--type=strategic: only kinds of Kubernetes itself have strategic merge patches, not "+
				"%s: use --type=apply with its --crd, or --type=merge", name)
	case flags.Names() != "" && k.typ != option.ApplyType:
		return fmt.Errorf("%s has no effect on --type=%s: remove one of the two", flags.Names(),
			k.typ)
	}
	return nil
}

// served returns the place of the version below the documents of an API server.
func (k *Kind) served() string {
	if strings.Contains(k.apiVersion, "/") {
		return "apis/" + k.apiVersion
	}
	return "api/" + k.apiVersion
}

// Built returns the object of the only build that holds it, as a base whose fields have their
// places in the sources until the builder is closed. The object is KIND/NAME. It returns nil if a
// finding is an error. The error is a usage error.
func Built(b *build.Builder, object string) (*Base, finding.List, error) {
	if object == "" {
		return nil, nil, exit.Usage(errors.New("-k: name the base as KIND/NAME"))
	}
	dirs, found := b.Find()
	var bases []Base
	var holding, held []string
	for _, dir := range dirs {
		built := b.Build(dir)
		for _, f := range built.Findings {
			f.Build = dir
			found = append(found, f)
		}
		asked, err := built.Asked(object)
		if err != nil {
			return nil, nil, err
		}
		for id := range built.Objects() {
			held = append(held, id.Kind+"/"+id.Name)
		}
		for _, o := range asked {
			bases = append(bases, Base{built.File, o.Text, built.Origin(o.Line)})
			holding = append(holding, dir)
		}
	}
	switch {
	case found.Err() != nil:
		return nil, found, nil
	case bases == nil:
		return nil, nil, exit.Usage(origins.NotHeld(object, held))
	case len(bases) > 1:
		return nil, nil, exit.Usage(fmt.Errorf("builds hold %d objects %s: name one of %s with -k",
			len(bases), object, strings.Join(holding, ", ")))
	}
	return &bases[0], found, nil
}
