// Package definition answers how a release of the Trainer defines a kind, in the words of its
// authors.
//
//	root, err := definition.Schema(release.Latest(), "TrainJob")
//	if err != nil {
//		return err
//	}
//	fmt.Println(root["description"])
//
// Package release has the definitions without descriptions: programs that link the library do not
// need the words. This package has the descriptions alone, each text once, and puts them back.
package definition

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/trainweld/trainweld/render/release"
)

// The archive holds the texts of all releases, and for each kind of a release the numbers of its
// texts.
//
//go:embed descriptions.zip
var packed []byte

// The names of the files of the archive.
const (
	TextsFile  = "texts.json"
	NoticeFile = "NOTICE"
)

// File returns the name of the file with the numbers of a kind. The version is a value of
// Release.Schema.
func File(version, kind string) string { return version + "/" + kind + ".json" }

// Kinds returns the kinds that the releases define.
func Kinds() []string {
	return []string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "JobSet"}
}

// Schema returns the OpenAPI schema of a kind in a release, as decoded JSON with the descriptions.
// The caller may change it. It returns an error for an unknown kind, and where Release.Definition
// does.
func Schema(r *release.Release, kind string) (map[string]any, error) {
	r = r.Or()
	text, err := r.Definition(kind)
	if err != nil {
		return nil, err
	}
	root, err := Root(text)
	if err != nil {
		return nil, fmt.Errorf("the definition of %s in Trainer %s: %w", kind, r.Version, err)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, err
	}
	var texts []string
	var numbers []int
	for file, into := range map[string]any{TextsFile: &texts, File(r.Schema, kind): &numbers} {
		data, err := fs.ReadFile(archive, file)
		if err != nil {
			return nil, fmt.Errorf("there are no descriptions of %s in Trainer %s", kind, r.Version)
		}
		if err := json.Unmarshal(data, into); err != nil {
			return nil, err
		}
	}
	next := 0
	Walk(root, func(s map[string]any) {
		if next < len(numbers) && numbers[next] > 0 {
			s["description"] = texts[numbers[next]-1]
		}
		next++
	})
	if next != len(numbers) {
		return nil, fmt.Errorf(
			"the descriptions of %s in Trainer %s are those of another definition", kind, r.Version)
	}
	return root, nil
}

// Root returns the schema of the only version of a CustomResourceDefinition in JSON.
func Root(text []byte) (map[string]any, error) {
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Root map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(text, &crd); err != nil {
		return nil, err
	}
	if len(crd.Spec.Versions) != 1 {
		return nil, fmt.Errorf("it has %d versions, want 1", len(crd.Spec.Versions))
	}
	return crd.Spec.Versions[0].Schema.Root, nil
}

// Walk calls visit for a schema and for all schemas below it. The order depends on the names only.
func Walk(s map[string]any, visit func(map[string]any)) {
	visit(s)
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if property, ok := properties[name].(map[string]any); ok {
				Walk(property, visit)
			}
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if below, ok := s[name].(map[string]any); ok {
			Walk(below, visit)
		}
	}
}
