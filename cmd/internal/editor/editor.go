// Package editor answers which JSON Schema an editor needs to complete and to check a file of trainweld.
//
//	s, err := editor.Schema(editor.Manifests, release.Latest(), editor.Names{Runtimes: runtimes})
//	if err != nil {
//		return err
//	}
//	return json.NewEncoder(os.Stdout).Encode(s)
//
// The schemas follow draft 7, with two more words that the editors' language servers know. The word errorMessage is the text of a
// problem, and doNotSuggest hides a field from the completion. Other programs ignore both.
package editor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/golden"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/definition"
)

// object is a JSON Schema.
type object = map[string]any

// The kinds of files that are not objects of Kubernetes.
const (
	// Manifests is the kind of a file with any objects. Its schema checks the objects of the Trainer and of JobSet, and patches.
	Manifests = ""
	// Patches is the kind of a file for --patch.
	Patches = "RuntimePatch"
	// Policy is the kind of trainweld.yaml.
	Policy = "policy"
	// Options is the kind of the options.yaml of golden cases.
	Options = "options"
)

// Kinds returns the kinds that have a schema of their own.
func Kinds() []string { return append(definition.Kinds(), Patches, Policy, Options) }

// Names are the names of a repository.
type Names struct {
	// Runtimes are the runtimes that TrainJobs may name. Runtimes of one kind and name count as one, with the jobs of all.
	Runtimes []Runtime
	// Managers are names to suggest for the manager of a patch.
	Managers []string
}

// Runtime is a runtime with the names in it that patches need.
type Runtime struct {
	Kind, Name string
	// Origin tells a reader where the runtime comes from.
	Origin string
	Jobs   []Job
}

// Job is a replicated job of a runtime.
type Job struct {
	Name                       string
	Containers, InitContainers []string
}

// Schema returns the JSON Schema of a kind of Kinds, or of Manifests, in a release. It returns an error for an unknown kind, and for
// patches in a release that has none.
func Schema(kind string, r *release.Release, names Names) (map[string]any, error) {
	r = r.Or()
	b := builder{release: r, api: manifest.NewAPI(r, nil), names: names}
	s, err := b.schema(kind)
	if err != nil {
		return nil, err
	}
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	if kind != Policy && kind != Options {
		s["$comment"] = fmt.Sprintf("Trainer %s, JobSet %s", r.Version, r.JobSetVersion)
	}
	return share(s), nil
}

// builder builds the schemas of one release.
type builder struct {
	release *release.Release
	api     *manifest.API
	names   Names
}

func (b *builder) schema(kind string) (object, error) {
	switch kind {
	case Manifests:
		return b.manifests()
	case Patches:
		return b.patches()
	case Policy:
		return policySchema()
	case Options:
		return optionsSchema(), nil
	case trainer.TrainJobKind:
		return b.trainJob()
	}
	return b.kind(kind)
}

// kind returns the schema of the objects of a kind.
func (b *builder) kind(kind string) (object, error) {
	root, err := definition.Schema(b.release, kind)
	if err != nil {
		return nil, err
	}
	group := trainer.GroupVersion.String()
	if kind == "JobSet" {
		group = "jobset.x-k8s.io/v1alpha2"
	}
	convertToJSONSchema(root)
	fields := root["properties"].(object)
	fields["apiVersion"] = object{"const": group, "description": "The version of the API."}
	fields["kind"] = object{"const": kind, "description": stringOrEmpty(root["description"])}
	fields["metadata"] = metadata()
	if status, ok := fields["status"].(object); ok {
		dropConstraints(status)
	}
	root["title"] = kind
	root["required"] = []any{"apiVersion", "kind", "metadata"}
	return root, nil
}

// policySchema returns the schema of trainweld.yaml with the codes of findings.
func policySchema() (object, error) {
	var s object
	if err := json.Unmarshal(codes.PolicySchema(), &s); err != nil {
		return nil, err
	}
	severities := schemaAt(s, "severities")
	known := object{}
	for pattern, level := range severities["patternProperties"].(object) {
		for _, code := range codes.Codes() {
			page, _ := codes.Of(code)
			words := sentence(page.Title) + "\n\n" + page.Meaning
			of := object{"description": strings.ReplaceAll(words, "`", ""), "markdownDescription": words}
			for key, value := range level.(object) {
				if key != "description" {
					of[key] = value
				}
			}
			known[string(code)] = of
		}
		delete(severities["patternProperties"].(object), pattern)
	}
	delete(severities, "patternProperties")
	severities["properties"] = known
	return s, nil
}

// optionsSchema returns the schema of the options of golden cases.
func optionsSchema() object {
	fields := object{}
	for _, o := range golden.Settings() {
		of := object{"type": "string", "minLength": 1}
		switch {
		case o.Truth:
			of = object{"type": "boolean"}
		case o.Words != nil:
			of = object{"enum": anyOf(o.Words)}
		case o.Number:
			of["type"] = []any{"string", "number"}
			delete(of, "minLength")
		}
		if o.List {
			of = object{"anyOf": []any{of, object{"type": "array", "items": of}}}
		}
		of["description"] = o.Doc
		fields[o.Name] = of
	}
	return object{"title": "Options of golden cases", "type": "object", "additionalProperties": false, "properties": fields}
}

// schemaAt returns the schema of a field by the names that lead to it. It passes through the items of lists. It returns nil for no field.
func schemaAt(s object, names ...string) object {
	for _, name := range names {
		for s != nil && s["properties"] == nil {
			s, _ = s["items"].(object)
		}
		if s == nil {
			return nil
		}
		s, _ = s["properties"].(object)[name].(object)
	}
	return s
}

// itemSchema returns the schema of the items of a list, or the schema itself.
func itemSchema(s object) object {
	if of, ok := s["items"].(object); ok {
		return of
	}
	return s
}

// add appends schemas to the list of schemas that must all hold.
func add(s object, all ...any) {
	before, _ := s["allOf"].([]any)
	s["allOf"] = append(before, all...)
}

// nested returns a schema of objects whose field at a path of names has the schema s. A name that ends in [] is a list, and the path
// continues with its items. An editor suggests the fields by the schema of the kind, and not twice.
func nested(s object, path ...string) object {
	for _, name := range slices.Backward(path) {
		name, isList := strings.CutSuffix(name, "[]")
		if isList {
			s = object{"items": s}
		} else {
			s = maps.Clone(s)
		}
		s["doNotSuggest"] = true
		s = object{"properties": object{name: s}}
	}
	return s
}

// stringOrEmpty returns a string of decoded JSON, or "".
func stringOrEmpty(value any) string {
	s, _ := value.(string)
	return s
}

// sentence returns a phrase with a capital letter and a full stop.
func sentence(phrase string) string {
	if phrase == "" {
		return ""
	}
	return strings.ToUpper(phrase[:1]) + strings.TrimSuffix(phrase[1:], ".") + "."
}

func anyOf[T any](list []T) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}
