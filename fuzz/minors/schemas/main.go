// This program writes the schemas of the kinds of Kubernetes in each minor version, from the
// OpenAPI documents of its API server. The file has those of the oldest version, and for each later
// one what it changes. It keeps what decides how objects merge, and no descriptions.
//
//	cd fuzz && GOWORK=off go run ./minors/schemas
//
// It fails if any kind merges otherwise than by the whole document.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainweld/trainweld/fuzz/minors"
	"github.com/trainweld/trainweld/schema"
)

const file = "../cmd/internal/builtin/schemas.json.gz"

// document is an OpenAPI document with its named schemas alone.
type document struct {
	OpenAPI    string `json:"openapi"`
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
}

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	type change struct {
		Minor   string                    `json:"minor"`
		Schemas map[string]map[string]any `json:"schemas"`
	}
	var changes []change
	before := map[string]map[string]any{}
	for _, v := range minors.Versions() {
		schemas, err := schemasOf(v)
		if err != nil {
			return err
		}
		changed := map[string]map[string]any{}
		for name := range before {
			if schemas[name] == nil {
				changed[name] = nil
			}
		}
		for name, s := range schemas {
			if !reflect.DeepEqual(before[name], s) {
				changed[name] = s
			}
		}
		changes = append(changes, change{v.Name, changed})
		before = schemas
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(changes); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// schemasOf returns the schemas of all documents of a version.
func schemasOf(v minors.Version) (map[string]map[string]any, error) {
	dir, err := v.Dir("k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "api/openapi-spec/v3/*.json"))
	if err != nil {
		return nil, err
	}
	var all document
	all.OpenAPI, all.Components.Schemas = "3.0.0", map[string]map[string]any{}
	texts := make([][]byte, len(files))
	kinds := make([][]runtimeschema.GroupVersionKind, len(files))
	for i, file := range files {
		if texts[i], err = os.ReadFile(file); err != nil {
			return nil, err
		}
		var one document
		if err := json.Unmarshal(texts[i], &one); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for name, s := range one.Components.Schemas {
			bare := reduced(s)
			if strings.HasPrefix(name, "io.k8s.apimachinery.") {
				delete(bare, kindsKey) // it has the kinds of one document
			} else {
				kinds[i] = append(kinds[i], kindsOf(s)...)
			}
			if known := all.Components.Schemas[name]; known != nil &&
				!reflect.DeepEqual(known, bare) {
				return nil, fmt.Errorf("%s of Kubernetes %s differs in two documents", name, v.Name)
			}
			all.Components.Schemas[name] = bare
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	compared := 0
	for i := range files {
		for _, kind := range kinds[i] {
			want, wantErr := schema.ParseOpenAPI(texts[i], kind)
			got, err := schema.ParseOpenAPI(text, kind)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || !reflect.DeepEqual(got, want) {
				return nil, fmt.Errorf("%s of Kubernetes %s merges otherwise", kind, v.Name)
			}
			compared++
		}
	}
	fmt.Printf("Kubernetes %s.%s: %d schemas, %d kinds equal\n", v.Name, v.Patch,
		len(all.Components.Schemas), compared)
	return all.Components.Schemas, nil
}

const kindsKey = "x-kubernetes-group-version-kind"

func kindsOf(s map[string]any) []runtimeschema.GroupVersionKind {
	var kinds []runtimeschema.GroupVersionKind
	list, _ := s[kindsKey].([]any)
	for _, item := range list {
		k, _ := item.(map[string]any)
		kinds = append(kinds, runtimeschema.GroupVersionKind{Group: fmt.Sprint(k["group"]),
			Version: fmt.Sprint(k["version"]), Kind: fmt.Sprint(k["kind"])})
	}
	return kinds
}

// reduced returns what decides how the values of a schema merge.
func reduced(s map[string]any) map[string]any {
	bare := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		switch value := s[key]; {
		case key == "properties":
			fields := map[string]any{}
			for name, of := range value.(map[string]any) {
				fields[name] = reduced(of.(map[string]any))
			}
			bare[key] = fields
		case key == "items" || key == "additionalProperties":
			if of, ok := value.(map[string]any); ok {
				value = reduced(of)
			}
			bare[key] = value
		case key == "allOf" || strings.HasPrefix(key, "x-kubernetes-") ||
			slices.Contains([]string{"type", "format", "$ref", "default", "required"}, key):
			bare[key] = value
		}
	}
	return bare
}
