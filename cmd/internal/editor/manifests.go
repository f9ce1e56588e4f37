package editor

import (
	"regexp"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/definition"
)

// anyObject is the name of the definition of an object of any kind.
const anyObject = "Object"

// manifests returns the schema of a file of any objects, also of a List or an array of them.
func (b *builder) manifests() (object, error) {
	definitions := object{}
	one, err := b.anyKind(definitions)
	if err != nil {
		return nil, err
	}
	definitions[anyObject] = one
	return manifestsSchema("Manifests", anyObject, definitions), nil
}

// manifestsSchema returns the schema of a file with one object of a definition, with a List, or with an array. A List in a List has no schema:
// a schema that leads back to itself takes language servers minutes.
func manifestsSchema(title, name string, definitions object) object {
	list := object{"items": reference(name)}
	return object{
		"title": title, "definitions": definitions,
		"if": object{"type": "array"}, "then": list,
		"else": object{"if": listSchema(), "then": object{"properties": object{"items": list}}, "else": reference(name)},
	}
}

// anyKind returns the schema of an object, which has the schema of its kind. It puts the schemas of the kinds into the definitions, and
// accepts other kinds.
func (b *builder) anyKind(definitions object) (object, error) {
	s := object{}
	var snippets, versions []any
	for _, kind := range definition.Kinds() {
		of, err := b.schema(kind)
		if err != nil {
			return nil, err
		}
		definitions[kind] = of
		version := stringOrEmpty(schemaAt(of, "apiVersion")["const"])
		group, _, _ := strings.Cut(version, "/")
		add(s, object{"if": schemaOfKind(kind, group), "then": reference(kind)})
		snippets = append(snippets, object{"label": kind, "body": kind})
		if len(versions) == 0 || versions[len(versions)-1].(object)["label"] != version {
			versions = append(versions, object{"label": version, "body": version})
		}
	}
	s["properties"] = object{"kind": object{"type": "string", "defaultSnippets": snippets}}
	// The kind, once there is one, has its version.
	add(s, object{"if": object{"not": object{"required": []any{"kind"}}}, "then": object{"properties": object{"apiVersion": object{"defaultSnippets": versions}}}})
	if b.release.Overrides == release.RuntimePatches {
		patch, err := b.patch()
		if err != nil {
			return nil, err
		}
		definitions[Patches] = patch
		add(s, object{"if": object{"type": "object", "required": []any{"trainingRuntimeSpec"}, "not": object{"required": []any{"kind"}}}, "then": reference(Patches)})
	}
	return s, nil
}

// patches returns the schema of a file for --patch: a RuntimePatch, a TrainJob, or several of them.
func (b *builder) patches() (object, error) {
	patch, err := b.patch()
	if err != nil {
		return nil, err
	}
	job, err := b.trainJob()
	if err != nil {
		return nil, err
	}
	return manifestsSchema(Patches, anyObject, object{
		Patches: patch, trainer.TrainJobKind: job,
		anyObject: object{"if": object{"required": []any{"kind"}}, "then": reference(trainer.TrainJobKind), "else": reference(Patches)},
	}), nil
}

// reference returns a reference to a definition.
func reference(name string) object { return object{"$ref": "#/definitions/" + name} }

// schemaOfKind returns a schema of the objects of a kind of a group.
func schemaOfKind(kind, group string) object {
	s := objectWithField("kind", kind)
	s["type"], s["properties"].(object)["apiVersion"] = "object", object{"pattern": "^" + regexp.QuoteMeta(group) + "/"}
	return s
}

// listSchema returns a schema of Lists of objects.
func listSchema() object {
	return object{"type": "object", "required": []any{"kind", "items"}, "properties": object{"kind": object{"pattern": "List$"}}}
}
