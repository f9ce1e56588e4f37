package editor

import (
	"regexp"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/internal/definition"
	"github.com/trainweld/trainweld/release"
)

// manifests returns the schema of any objects. Each object has the schema of its kind; it accepts other kinds.
func (b *builder) manifests() (object, error) {
	definitions := object{}
	root := object{"title": "Manifests", "definitions": definitions}
	var snippets, versions []any
	for _, kind := range definition.Kinds() {
		s, err := b.schema(kind)
		if err != nil {
			return nil, err
		}
		definitions[kind] = s
		version := text(below(s, "apiVersion")["const"])
		group, _, _ := strings.Cut(version, "/")
		add(root, object{"if": isOf(kind, group), "then": reference(kind)})
		snippets = append(snippets, object{"label": kind, "body": kind})
		if len(versions) == 0 || versions[len(versions)-1].(object)["label"] != version {
			versions = append(versions, object{"label": version, "body": version})
		}
	}
	root["properties"] = object{"kind": object{"type": "string", "defaultSnippets": snippets}}
	// The kind, once there is one, has its version.
	add(root, object{"if": object{"not": object{"required": []any{"kind"}}}, "then": object{"properties": object{"apiVersion": object{"defaultSnippets": versions}}}})
	add(root, object{"if": isList(), "then": object{"properties": object{"items": object{"type": "array", "items": object{"$ref": "#"}}}}})
	add(root, object{"if": object{"type": "array"}, "then": object{"items": object{"$ref": "#"}}})
	if b.release.Overrides == release.RuntimePatches {
		patch, err := b.patch()
		if err != nil {
			return nil, err
		}
		definitions[Patches] = patch
		add(root, object{"if": object{"type": "object", "required": []any{"trainingRuntimeSpec"}, "not": object{"required": []any{"kind"}}}, "then": reference(Patches)})
	}
	return root, nil
}

// patches returns the schema of a file for --patch: a RuntimePatch, a list of them, or a TrainJob.
func (b *builder) patches() (object, error) {
	patch, err := b.patch()
	if err != nil {
		return nil, err
	}
	job, err := b.trainJob()
	if err != nil {
		return nil, err
	}
	return object{
		"title": Patches, "definitions": object{Patches: patch, trainer.TrainJobKind: job},
		"if": object{"type": "object", "required": []any{"kind"}}, "then": object{
			"if": isList(), "then": object{"properties": object{"items": object{"type": "array", "items": object{"$ref": "#"}}}}, "else": reference(trainer.TrainJobKind),
		},
		"else": object{"if": object{"type": "array"}, "then": object{"items": object{"$ref": "#"}}, "else": reference(Patches)},
	}, nil
}

// reference returns a reference to a definition.
func reference(name string) object { return object{"$ref": "#/definitions/" + name} }

// isOf returns a schema of the objects of a kind of a group.
func isOf(kind, group string) object {
	s := named("kind", kind)
	s["type"], s["properties"].(object)["apiVersion"] = "object", object{"pattern": "^" + regexp.QuoteMeta(group) + "/"}
	return s
}

// isList returns a schema of Lists of objects.
func isList() object {
	return object{"type": "object", "required": []any{"kind", "items"}, "properties": object{"kind": object{"pattern": "List$"}}}
}
