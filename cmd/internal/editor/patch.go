package editor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/definition"
)

// trainJob returns the schema of TrainJobs with the names of the runtimes.
func (b *builder) trainJob() (object, error) {
	root, err := b.kind("TrainJob")
	if err != nil {
		return nil, err
	}
	root["required"] = append(root["required"].([]any), "spec")
	overrides := schemaAt(root, "spec", string(b.release.Overrides))
	if overrides == nil {
		return nil, fmt.Errorf("the definition of Trainer %s lacks .spec.%s", b.release.Version, b.release.Overrides)
	}
	b.restrict(itemSchema(overrides))
	b.nameRuntimes(root)
	return root, nil
}

// patch returns the schema of one RuntimePatch with the names of all runtimes.
func (b *builder) patch() (object, error) {
	if b.release.Overrides != release.RuntimePatches {
		return nil, fmt.Errorf("there are no patches of managers in Trainer %s: its TrainJobs have .spec.%s", b.release.Name, b.release.Overrides)
	}
	root, err := definition.Schema(b.release, "TrainJob")
	if err != nil {
		return nil, err
	}
	convertToJSONSchema(root)
	patch := itemSchema(schemaAt(root, "spec", string(b.release.Overrides)))
	b.restrict(patch)
	add(patch, nested(b.jobs(b.unionOfJobs(), "no runtime"), b.pathToJobs()...))
	delete(patch, "required") // --patch NAME=FILE and policies may name the manager
	patch["title"] = Patches
	return patch, nil
}

// restrict tells which fields of a patch no patch may set, and why.
func (b *builder) restrict(patch object) {
	for _, f := range b.api.Unpatchable() {
		last := len(f.Path) - 1
		parent := schemaAt(object{"properties": object{"patch": patch}}, append([]string{"patch"}, f.Path[:last]...)...)
		if parent == nil {
			continue // of a struct that the release lacks
		}
		rejectField(itemSchema(parent), f.Path[last], f.Message, f.Remedy)
	}
	b.restrictMetadata(patch)
	b.restrictEnv(patch)
	manager := schemaAt(patch, "manager")
	if manager == nil {
		return
	}
	var snippets []any
	for _, name := range b.names.Managers {
		snippets = append(snippets, object{"label": name, "body": name})
	}
	if snippets != nil {
		manager["defaultSnippets"] = snippets
	}
}

// rejectField makes a field of an object an error with a message, and hides it from the completion.
func rejectField(of object, field, message, remedy string) {
	fields := of["properties"].(object)
	if _, patchable := fields[field]; patchable {
		return // in this release
	}
	fields[field] = object{"description": sentence(message) + "\n\n" + sentence(remedy), "doNotSuggest": true}
	add(of, object{"properties": object{field: false}, "errorMessage": message + ": " + remedy})
}

// restrictMetadata warns of metadata that the cluster ignores in a patch.
func (b *builder) restrictMetadata(patch object) {
	job := b.pathToJobs()
	if b.release.Overrides != release.RuntimePatches {
		return
	}
	paths := [][]string{job[:1], job, append(slices.Clone(job), "template", "spec")}
	for i, path := range paths {
		of := patch
		for _, name := range append(slices.Clone(path), "template", "metadata") {
			of = schemaAt(of, fieldName(name))
		}
		fields, _ := of["properties"].(object)
		for name := range fields {
			if name != "labels" && name != "annotations" {
				fields[name].(object)["deprecationMessage"] = check.IgnoredMetadata(name, i == len(paths)-1)
			}
		}
	}
}

// restrictEnv rejects env of the containers whose env the TrainJob sets.
func (b *builder) restrictEnv(patch object) {
	of := patch
	for _, name := range b.pathToContainers() {
		of = schemaAt(of, fieldName(name))
	}
	apis := check.EnvFields()
	for _, name := range slices.Sorted(maps.Keys(apis)) {
		add(itemSchema(of), object{
			"if":   objectWithField("name", name),
			"then": object{"properties": object{"env": false}, "errorMessage": fmt.Sprintf("Invalid value: must not have envs for the dataset-initializer, model-initializer, node containers: set %s of the TrainJob instead", apis[name])},
		})
	}
}
