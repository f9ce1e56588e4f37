// Package objectmerge merges the patches of several managers into one object of any kind.
package objectmerge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/cmd/internal/builtin"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/jsonfields"
	"github.com/trainweld/trainweld/merge/quantity"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/schema"
)

// Applies reports whether a command for TrainJobs gets the inputs of merge. These are one object of another kind with patches,
// or a flag for such objects. The returned program can read standard input again.
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
	again := *p
	files, _ := manifest.Files(p.Files, flags.Files, false)
	if !slices.Equal(files, flags.Files) {
		return &again, false
	}
	var seen bytes.Buffer
	data, unreadable := manifest.Read(p.Files, io.TeeReader(p.Stdin, &seen), files[0])
	again.Stdin = io.MultiReader(&seen, p.Stdin)
	if unreadable != nil {
		return &again, false
	}
	documents, _ := manifest.Decode(files[0], data)
	if len(documents) != 1 {
		return &again, false
	}
	group, _, _ := strings.Cut(documents[0].APIVersion, "/")
	return &again, !workspace.IsTrainer(documents[0]) && group != jobset.SchemeGroupVersion.Group && !documents[0].Broken
}

// Object is a base of any kind with its patches.
type Object struct {
	base    *manifest.Document
	object  any // the base as a Go value, of a strategic merge
	ID      fieldpath.Object
	patches []Patch
	*Kind
	managed bool // whether the base is a live object, whose owners an apply respects
	// Policies are the options of the merge.
	Policies merge.Options
}

// Kind says how the objects of one kind merge.
type Kind struct {
	apiVersion, kind string
	typ              string       // strategic, apply or merge
	goType           reflect.Type // of a strategic merge
	schema           *schema.Type // of an apply
	strategic        *merge.Plan[any, any]
	objects          *merge.Plan[merge.Object, merge.Object] // of another merge
}

// NewKind returns a kind by its definition, or without one by its Go type, or nil if it has neither.
func NewKind(apiVersion, kind string, definition *schema.Type) (*Kind, error) {
	k, err := newKind(apiVersion, kind, definition, option.Schema{})
	if err != nil || k.typ == option.JSONType {
		return nil, err
	}
	return k, nil
}

func newKind(apiVersion, kind string, definition *schema.Type, how option.Schema) (*Kind, error) {
	k := &Kind{apiVersion: apiVersion, kind: kind, schema: definition, objects: merge.ForJSON()}
	k.goType, _ = builtin.TypeOf(apiVersion, kind)
	err := k.choose(how)
	switch {
	case err != nil:
	case k.typ == option.ApplyType:
		k.objects = merge.ForObject(k.schema)
	case k.typ == option.StrategicType:
		rules := schema.PodRules(k.goType)
		rules.Twins = true
		k.strategic, err = merge.ForAny(k.goType, rules)
	}
	return k, err
}

// Object reads an object of the kind as a base. It returns nil if a finding is an error.
func (k *Kind) Object(file string, data []byte) (*Object, finding.List) {
	var t reflect.Type
	if k.typ == option.StrategicType {
		t = k.goType
	}
	documents, found := manifest.DecodeAs(file, data, k.header(t))
	if found.Err() == nil && len(documents) != 1 {
		found = append(found, notOne(file, documents, "the base is one object"))
	}
	if found.Err() != nil {
		return nil, found
	}
	m := &Object{Kind: k, base: documents[0], ID: documents[0].ID}
	if m.typ == option.StrategicType {
		var err error
		if m.object, err = m.decodeBase(); err != nil {
			return nil, append(found, m.refused(err))
		}
	}
	m.managed = m.typ == option.ApplyType && m.base.Has(fieldpath.Fields("metadata", "managedFields"))
	return m, found
}

// Patch is a manager's patch.
type Patch struct {
	manager  string
	document *manifest.Document
	data     []byte // of the file
	fields   merge.Object
	is       fieldpath.Object  // what the patch calls its object
	json     []merge.Operation // a JSON patch instead of fields
}

// Result is the merged object.
type Result struct {
	Value  any          // a pointer to an API struct, or an merge.Object
	Fields merge.Object // the fields of Value that the base or a patch sets
	Type   *schema.Type
	Owners *merge.Ownership
	// Decisions are those of the policies, and Protected are the protected fields that patches set.
	Decisions []merge.Decision
	Protected []merge.Ignored
	managed   any // the new metadata.managedFields of a live object
}

// Base returns the fields of the base, in the form of Result.Fields.
func (m *Object) Base() (merge.Object, error) {
	if m.typ == option.StrategicType {
		return m.fieldsOf(m.object, nil)
	}
	return m.base.Fields()
}

func (m *Object) options() merge.Options {
	o := m.Policies
	o.Owners, o.Managed = true, m.managed
	return o
}

// Check returns the usage error of policies that the object's kind does not have.
func (m *Object) Check() error {
	switch wrong := m.Wrong(m.Policies); {
	case wrong == nil:
		return nil
	case wrong.Option == "Managed":
		return exit.Usage(errors.New("the base has metadata.managedFields: their owners permit no policy but --order: leave out one of the two"))
	default:
		return exit.Usage(fmt.Errorf("--%s: %w", flagOf(wrong.Option), wrong.Err))
	}
}

// Wrong returns the error of policies that the kind does not have, or nil.
func (m *Object) Wrong(policies merge.Options) *merge.OptionError {
	m.Policies = policies
	err := m.objects.Check(m.options())
	if m.typ == option.StrategicType {
		err = m.strategic.Check(m.options())
	}
	var wrong *merge.OptionError
	errors.As(err, &wrong)
	return wrong
}

// flagOf returns the flag of an option.
func flagOf(name string) string {
	var flag strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			flag.WriteByte('-')
		}
		flag.WriteRune(unicode.ToLower(r))
	}
	return flag.String()
}

// Read reads the base, its definition and the patches. It reports invalid inputs as findings. The error is a usage error.
func Read(p *host.Program, in *workspace.Input, flags workspace.Flags, how option.Schema) (*Object, finding.List, error) {
	switch {
	case len(flags.Files) == 0:
		return nil, nil, exit.Usage(errors.New("there is no base: name the file of one object with -f, or - for standard input"))
	case len(flags.Files) > 1:
		return nil, nil, exit.Usage(fmt.Errorf("there is one base, and %d files are given: name the patches with --patch", len(flags.Files)))
	case flags.Release != nil:
		return nil, nil, exit.Usage(errors.New("--trainer-version is for TrainJobs: leave it out"))
	case flags.Selector != nil:
		return nil, nil, exit.Usage(errors.New("-l is for TrainJobs: leave it out"))
	case len(flags.Patches) == 0:
		return nil, nil, exit.Usage(errors.New("nothing to merge: name the patches with --patch"))
	}
	file := flags.Files[0]
	data, unreadable := in.Open(p, file)
	if unreadable != nil {
		return nil, finding.List{*unreadable}, nil
	}
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
	m, more := kind.Object(file, data)
	if found = append(found, more...); m == nil {
		return nil, found, nil
	}
	if m.typ == option.JSONType && how.MergeType == "" {
		found = append(found, finding.Finding{
			Code: finding.CodeNoSchema, Severity: finding.Warning, Object: m.ID, Position: m.base.Position(fieldpath.Fields("kind")),
			Message: fmt.Sprintf("no schema of %s %s is known: the patches merge as JSON merge patches, which replace lists as a whole", is.APIVersion, is.ID.Kind),
			Remedy:  finding.Remedy{Text: "give its CustomResourceDefinition with --crd, or use --type=merge"},
		})
	}
	found, err = m.readPatches(p, in, flags.Patches, found)
	if err != nil {
		return nil, nil, err
	}
	return m, found, nil
}

// decodeBase decodes the base as an API server decodes an object of its own kinds. Package manifest drops null values of maps, as it
// does in custom resources.
func (m *Object) decodeBase() (any, error) {
	fields, err := m.base.Fields()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	object := reflect.New(m.goType).Interface()
	return object, quantity.Unmarshal(text, object, kjson.UnmarshalCaseSensitivePreserveInts)
}

// readPatches reads the patches, and appends their findings to those before. The error is a usage error.
func (m *Object) readPatches(p *host.Program, in *workspace.Input, patches []string, found finding.List) (finding.List, error) {
	for _, patch := range patches {
		manager, file := workspace.ManagerOf(patch)
		if manager == "" {
			manager = filepath.Base(file)
		}
		if m.HasPatch(manager) {
			return nil, exit.Usage(fmt.Errorf("--patch: manager %q has two patches: name the managers with --patch NAME=FILE, or combine the two patches", manager))
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
			return nil, exit.Usage(fmt.Errorf("--patch %s: a JSON patch needs --type=merge, or --type=apply with --openapi", file))
		}
		found = append(found, m.Add(read)...)
	}
	return found, nil
}

// Takes reports whether objects of the kind take a patch: a strategic merge takes no JSON patch.
func (k *Kind) Takes(patch Patch) bool { return k.typ != option.StrategicType || patch.json == nil }

// HasPatch reports whether a manager has a patch.
func (m *Object) HasPatch(manager string) bool {
	return slices.ContainsFunc(m.patches, func(p Patch) bool { return p.manager == manager })
}

// Add adds a patch, and reports what it has that the base's kind does not take.
func (m *Object) Add(patch Patch) (found finding.List) {
	if patch.json == nil {
		found = append(m.mismatches(patch), m.foreignDirectives(patch, patch.fields, nil)...)
		if m.isFieldless(patch) {
			return append(found, finding.Finding{
				Code: finding.CodeUnknownField, Severity: finding.Error, Object: m.ID, Position: patch.document.Position(nil),
				Message: "the patch has no field of a " + m.ID.Kind, Remedy: finding.Remedy{Text: "use a patch of this kind"},
			})
		}
	}
	m.patches = append(m.patches, patch)
	return found
}

// header returns the kind of a document, to decode it strictly as a Go type. A nil type stands for any object.
func (k *Kind) header(t reflect.Type) manifest.Kind {
	group, version, ok := strings.Cut(k.apiVersion, "/")
	if !ok {
		group, version = "", k.apiVersion
	}
	kind := manifest.Kind{Group: group, Version: version, Kind: k.kind, New: func() any { return new(merge.Object) }}
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
	case k.typ == "":
		k.typ = option.JSONType
	}
	switch {
	case k.typ == option.ApplyType && k.schema == nil:
		return fmt.Errorf("--type=apply: no --crd or --openapi defines %s, and an apply needs its schema", name)
	case k.typ == option.StrategicType && k.goType == nil:
		return fmt.Errorf("--type=strategic: %s is not a kind of Kubernetes itself, and a cluster takes no strategic merge patch for it: use --type=apply with its --crd, or --type=merge", name)
	case flags.Names() != "" && k.typ != option.ApplyType:
		return fmt.Errorf("%s has no effect on --type=%s: leave one of the two out", flags.Names(), k.typ)
	}
	return nil
}

// operationsIn returns the operations of a JSON patch. What is none, or would expand without a limit, is left to the reader of objects.
func operationsIn(data []byte) ([]merge.Operation, error) {
	if !manifest.IsBounded(data) {
		return nil, errAliases
	}
	return merge.ParseJSONPatch(data)
}

// Patch reads a manager's patch of the kind, which is the only one of its file.
func (k *Kind) Patch(manager, file string, data []byte) (Patch, finding.List) {
	if operations, err := operationsIn(data); err == nil && !slices.ContainsFunc(operations, func(o merge.Operation) bool { return o.Op == "" }) {
		return Patch{manager: manager, document: &manifest.Document{File: file}, data: data, json: operations}, nil
	}
	documents, found := manifest.DecodeAs(file, data, k.header(nil))
	if found.Err() != nil {
		return Patch{}, found
	}
	if len(documents) != 1 {
		return Patch{}, append(found, notOne(file, documents, "a patch is one object"))
	}
	patch := Patch{manager: manager, document: documents[0], data: data, is: documents[0].ID}
	if documents[0].Object == nil {
		return patch, found // another kind: see mismatches
	}
	fields, err := documents[0].Fields()
	if err != nil {
		return patch, append(found, finding.Finding{Code: finding.CodeSyntax, Severity: finding.Error, Position: documents[0].Position(nil), Message: err.Error()})
	}
	for _, name := range []string{"apiVersion", "kind"} {
		if !documents[0].Has(fieldpath.Fields(name)) {
			delete(fields, name)
		}
	}
	patch.fields = fields
	return patch, found
}

// Unnamed returns the patch without the name and the namespace of its object, for objects that are selected otherwise.
func (p Patch) Unnamed() Patch {
	if metadata, ok := p.fields["metadata"].(merge.Object); ok {
		p.fields, metadata = maps.Clone(p.fields), maps.Clone(metadata)
		delete(metadata, "name")
		delete(metadata, "namespace")
		if p.fields["metadata"] = metadata; len(metadata) == 0 {
			delete(p.fields, "metadata")
		}
	}
	p.is = fieldpath.Object{}
	return p
}

// notOne reports a file without exactly one object.
func notOne(file string, documents []*manifest.Document, rule string) finding.Finding {
	f := finding.Finding{
		Code: finding.CodeNotAnObject, Severity: finding.Error, Position: fieldpath.Position{File: file},
		Message: fmt.Sprintf("holds %s: %s", report.Count(len(documents), "object"), rule), Remedy: finding.Remedy{Text: "name a file that holds one"},
	}
	if len(documents) > 1 {
		f.Position = documents[1].Position(nil)
	}
	return f
}

// mismatches reports the identifying fields in which a patch differs from the base.
func (m *Object) mismatches(patch Patch) finding.List {
	var found finding.List
	of, is := m.base, patch.document
	for _, field := range []struct {
		path     fieldpath.Path
		want, is string
	}{
		{fieldpath.Fields("apiVersion"), of.APIVersion, is.APIVersion},
		{fieldpath.Fields("kind"), of.ID.Kind, is.ID.Kind},
		{fieldpath.Fields("metadata", "name"), of.ID.Name, patch.is.Name},
		{fieldpath.Fields("metadata", "namespace"), of.ID.Namespace, patch.is.Namespace},
	} {
		if field.is == "" || field.is == field.want {
			continue
		}
		found = append(found, finding.Finding{
			Code: finding.CodeNoMerge, Severity: finding.Error, Object: m.ID, Path: field.path, Position: is.Position(field.path),
			Message: fmt.Sprintf("invalid value %q: must be %q, as in the base", field.is, field.want),
			Remedy:  finding.Remedy{Text: "remove the field from the patch, or give the patch its own base"},
		})
	}
	return found
}

// isFieldless reports whether a patch has none of the fields of the base's kind. Its file may be any, such as one of passwords, so a
// finding must not repeat its keys.
func (m *Object) isFieldless(patch Patch) bool {
	var names []string
	switch {
	case m.typ == option.StrategicType:
		names = jsonfields.Structs{}.Names(m.goType)
	case m.schema != nil:
		for _, field := range m.schema.Fields {
			names = append(names, field.Name)
		}
	}
	isDirective := func(name string) bool { return strings.HasPrefix(name, "$") }
	keys := slices.Collect(maps.Keys(patch.fields))
	return len(names) > 0 && len(keys) > 0 && !finding.AnyNear(keys, names) && !slices.ContainsFunc(keys, isDirective)
}

// foreignDirectives reports the directives in a patch that is no strategic merge patch. There, they are fields that no kind has.
func (m *Object) foreignDirectives(patch Patch, value any, path fieldpath.Path) (found finding.List) {
	if m.typ == option.StrategicType {
		return nil
	}
	switch value := value.(type) {
	case merge.Object:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := path.Append(fieldpath.Field(name))
			if !isDirective(name) {
				found = append(found, m.foreignDirectives(patch, value[name], at)...)
				continue
			}
			found = append(found, finding.Finding{
				Code: finding.CodeNoMerge, Severity: finding.Error, Object: m.ID, Path: at, Position: patch.document.Position(at),
				Message: fmt.Sprintf("Forbidden: %s is a directive of strategic merge patches, which %s does not take", name, m.ID.Kind),
				Remedy:  finding.Remedy{Text: "remove the directive, and set the whole list or object instead"},
			})
		}
	case []any:
		for i, item := range value {
			found = append(found, m.foreignDirectives(patch, item, path.Append(fieldpath.Index(i)))...)
		}
	}
	return found
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
		return nil, finding.List{m.refused(err)}
	}
	var found finding.List
	if m.typ == option.StrategicType {
		base, _ := m.base.Fields() // an error is that of the merge
		found = itemCheck{m, base, lookup{}}.items(out.Type, out.Fields, nil)
	}
	for _, field := range ignored {
		found = append(found, finding.Finding{
			Code: finding.CodeUnknownField, Severity: finding.Error, Object: m.ID, Path: field.Path, Position: m.Position(field.Layer, field.Path),
			Message: fmt.Sprintf("unknown field %q", strings.TrimPrefix(field.Path[len(field.Path)-1:].String(), ".")), Remedy: finding.Remedy{Text: "remove the field, or correct its name"},
		})
	}
	for _, path := range duplicates {
		found = append(found, finding.Finding{
			Code: finding.CodeSameKey, Severity: finding.Warning, Object: m.ID, Path: path, Position: m.base.Position(path),
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
	return Result{result.Value, fields, plan.Type(), result.Owners, result.Decisions, result.Protected, nil}, result.Ignored, result.Duplicates, err
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
	out := Result{result.Value, result.Value, plan.Type(), result.Owners, result.Decisions, result.Protected, nil}
	if metadata, ok := result.Value["metadata"].(merge.Object); ok && m.managed {
		out.managed = metadata["managedFields"]
		delete(metadata, "managedFields") // as kubectl get
	}
	return out, nil
}

// strategicPatches returns the patches of a strategic merge.
func (m *Object) strategicPatches() []merge.Layered[any] {
	patches := make([]merge.Layered[any], len(m.patches))
	for i, p := range m.patches {
		patch := any(p.fields)
		patches[i] = merge.Layered[any]{Layer: merge.Manager(p.manager), Patch: &patch}
	}
	return patches
}

// objectPatches returns the base and the patches of another merge.
func (m *Object) objectPatches() (merge.Object, []merge.Layered[merge.Object], error) {
	base, err := m.base.Fields()
	patches := make([]merge.Layered[merge.Object], len(m.patches))
	for i := range m.patches {
		patches[i] = merge.Layered[merge.Object]{Layer: merge.Manager(m.patches[i].manager), Patch: &m.patches[i].fields, JSON: m.patches[i].json}
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
			if f.Severity == finding.Error && (f.Code == finding.CodeWrongType || f.Code == finding.CodeAmbiguousWord) {
				f.Object = m.ID
				found = append(found, f)
			}
		}
	}
	return found
}

// refused returns the error of a merge as a finding.
func (m *Object) refused(err error) finding.Finding {
	f := finding.Finding{Code: finding.CodeNoMerge, Severity: finding.Error, Object: m.ID, Message: err.Error(), Remedy: finding.Remedy{Text: "correct the value"}}
	var at *merge.PatchError
	if errors.As(err, &at) {
		f.Path, f.Message = at.Path, at.Err.Error()
		f.Position = m.Position(at.Layer, at.Path)
		if m.typ == option.ApplyType && m.schema.Lookup(at.Path) == nil {
			f.Remedy.Text = "remove the field, or correct its name"
		}
	}
	return f
}

// Position returns the position of a field in a layer.
func (m *Object) Position(layer merge.Layer, path fieldpath.Path) fieldpath.Position {
	if manager, ok := layer.Manager(); ok {
		for _, p := range m.patches {
			switch {
			case p.json != nil && (p.manager == manager || p.manager+" (Update)" == manager):
				return fieldpath.Position{File: p.document.File}
			case p.json == nil && p.manager == manager:
				return p.document.Position(path)
			}
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
		if c.Kind == conflict.Overlap && (rule == render.Last || isDecided) || c.Kind == conflict.Union && m.Policies.Unions == merge.LastMember {
			f.Severity = finding.Warning
		}
		found = append(found, f)
	}
	found = append(found, m.decided(merged)...)
	if m.typ == option.StrategicType {
		found = append(found, m.baseUnions(merged, reported)...)
	}
	return found
}

// decided reports what the policies decided.
func (m *Object) decided(merged *Result) (found finding.List) {
	name := func(layer merge.Layer) string {
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
			Code: finding.CodeForced, Severity: finding.Warning, Object: m.ID, Path: d.Path, Position: m.Position(d.Winner, d.Path),
			Message: fmt.Sprintf("%s overrides %s (%s)", name(d.Winner), strings.Join(losers, ", "), d.Policy),
			Remedy:  finding.Remedy{Text: "remove the field from the patch that is overridden"},
		})
	}
	for _, p := range merged.Protected {
		found = append(found, finding.Finding{
			Code: finding.CodeForced, Severity: finding.Warning, Object: m.ID, Path: p.Path, Position: m.Position(p.Layer, p.Path),
			Message: fmt.Sprintf("the field is protected from %s", name(p.Layer)),
			Remedy:  finding.Remedy{Text: "remove the field from the patch"},
		})
	}
	return found
}

// OrderConflicts returns the fields that depend on the order of the patches, each with two orders.
func (m *Object) OrderConflicts() finding.List {
	var found []conflict.OrderConflict
	var err error
	if m.typ == option.StrategicType {
		found, err = conflict.OrderConflicts(m.strategic, &m.object, m.strategicPatches())
	} else {
		base, patches, failed := m.objectPatches()
		if err = failed; err == nil {
			found, err = conflict.OrderConflicts(m.objects, &base, patches)
		}
	}
	if err != nil {
		return finding.List{m.refused(err)}
	}
	var findings finding.List
	for _, d := range found {
		f := m.located(d.Finding(m.ID), d.Conflict)
		for i := range f.Orders {
			if m.ID.Kind == "Secret" && f.Orders[i].Value != nil {
				f.Orders[i].Value = "***"
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// located returns a conflict with the positions of its claims, and without the values of a Secret.
func (m *Object) located(f finding.Finding, c conflict.Conflict) finding.Finding {
	for i := range f.Claims {
		if m.ID.Kind == "Secret" && f.Claims[i].Value != nil {
			f.Claims[i].Value = "***"
		}
		f.Claims[i].Position = m.Position(f.Claims[i].Layer, f.Claims[i].Source)
	}
	f.Position = workspace.LastPlace(f.Claims)
	if len(c.Managers()) < 2 {
		return f
	}
	f.Remedy = finding.Remedy{Do: finding.ChooseOne, Text: "keep the one member that is meant, and remove the other from its patch"}
	if c.Kind == conflict.Overlap {
		last, _ := c.Claims[len(c.Claims)-1].Layer.Manager()
		f.Remedy = finding.Remedy{Text: fmt.Sprintf("set the field in one patch only, or set the same value in all; to let %s win, as in the cluster, use trainweld merge --on-conflict=last", last)}
	}
	return f
}
