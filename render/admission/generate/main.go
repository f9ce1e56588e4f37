// Command generate writes the custom resource definitions that package admission embeds. It makes them from the Go
// types of the API modules in go.mod:
//
//	go run ./render/admission/generate
//
// It runs controller-gen at a fixed version on the two API packages. It writes each definition as compact JSON,
// compressed without a time, so that the same modules give the same bytes. A test of the package compares the result
// with the definitions that the modules ship.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	controllerGen = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.18.0"
	// The two projects generate their own definitions with these options, but with descriptions.
	options = "crd:generateEmbeddedObjectMeta=true,maxDescLen=0"
	out     = "render/admission/crds"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "crds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "run", controllerGen, options,
		"paths=github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1",
		"paths=sigs.k8s.io/jobset/api/jobset/v1alpha2",
		"output:crd:dir="+dir)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("controller-gen: %w; run it from the root of the repository", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := compress(file); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
	}
	return nil
}

// compress writes trainer.kubeflow.org_trainjobs.yaml as trainjobs.json.gz.
func compress(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	json, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(json); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
	return os.WriteFile(filepath.Join(out, name+".json.gz"), packed.Bytes(), 0o644)
}
