package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render/release"
)

// differences are the differences of the definitions of a release that no module proxy serves, by
// the kind and the field.
type differences map[string]map[string]json.RawMessage

// source returns the version of the Trainer whose module has the definitions of a release, and the
// differences from them. Without its own module it is the one of the last compared release.
func source(r release.Release, own bool) (version string, from differences, err error) {
	if own {
		return r.Version, nil, nil
	}
	text, err := os.ReadFile(filepath.Join("generate", "unread", r.Version+".yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &from)
	}
	return release.Latest().Version, from, err
}

// apply lays the differences over a definition.
func (d differences) apply(crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, field := range slices.Sorted(maps.Keys(d[crd.Spec.Names.Kind])) {
		if err := layOver(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, strings.Split(field, "."),
			d[crd.Spec.Names.Kind][field]); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return nil
}

// compareWith returns a function that lists how the written archive of a release differs from the
// one that was known: each part of the definitions that its source confirms, and each field that
// differs.
func compareWith(r release.Release) func() {
	known := map[string]any{}
	for _, kind := range []string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"} {
		known[kind] = schemaOf(r.Definition(kind))
	}
	return func() {
		archive, err := zip.OpenReader(filepath.Join("data", r.Version+".zip"))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer archive.Close()
		var wrong [][]string
		for kind, plural := range map[string]string{
			"TrainJob": "trainjobs", "TrainingRuntime": "trainingruntimes",
			"ClusterTrainingRuntime": "clustertrainingruntimes"} {
			text, err := fs.ReadFile(archive, plural+".json")
			listDifferences([]string{strings.TrimPrefix(kind, "Cluster")}, known[kind],
				schemaOf(text, err), func(place []string) { wrong = append(wrong, place) })
		}
		s := release.Switches()[0]
		parts := map[string][]string{}
		for _, place := range wrong {
			id := "no part"
			if p, found := s.Part(r.Name, place...); found {
				id = p.ID
			}
			parts[id] = append(parts[id], strings.Join(place, "."))
		}
		for _, p := range s.Parts {
			if mark := release.MarkOf(r.Name, p.ID); p.In == r.Name && parts[p.ID] == nil &&
				mark != "" {
				fmt.Printf("%-22s confirmed: its mark [%s] can go\n", p.ID, mark)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(parts)) {
			slices.Sort(parts[id])
			fmt.Printf("%-22s wrong at %s\n", id, strings.Join(slices.Compact(parts[id]), ", "))
		}
	}
}

// schemaOf returns the schema of the only version of a definition as decoded JSON, or nil for one
// that cannot be read.
func schemaOf(text []byte, err error) any {
	if err != nil {
		return nil
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Root map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if json.Unmarshal(text, &crd) != nil || len(crd.Spec.Versions) != 1 {
		return nil
	}
	return crd.Spec.Versions[0].Schema.Root
}

// listDifferences calls add for the places at which two schemas differ. Places are names of fields.
func listDifferences(place []string, was, is any, add func([]string)) {
	a, isObject := was.(map[string]any)
	b, isToo := is.(map[string]any)
	if !isObject || !isToo {
		if !reflect.DeepEqual(was, is) {
			add(slices.Clone(place))
		}
		return
	}
	names := maps.Clone(a)
	maps.Copy(names, b)
	for name := range names {
		below := place
		if name != "properties" && name != "items" && name != "additionalProperties" {
			below = append(slices.Clone(place), name)
		}
		listDifferences(below, a[name], b[name], add)
	}
}

// layOver lays a schema over the one at a path of names, which omits the items of lists.
func layOver(s *apiextensionsv1.JSONSchemaProps, names []string, over []byte) error {
	if len(names) == 0 {
		return json.Unmarshal(over, s)
	}
	for s.Items != nil {
		s = s.Items.Schema
	}
	below, found := s.Properties[names[0]]
	if !found && len(names) > 1 {
		return fmt.Errorf("there is no field %s", names[0])
	}
	err := layOver(&below, names[1:], over)
	s.Properties[names[0]] = below
	return err
}
