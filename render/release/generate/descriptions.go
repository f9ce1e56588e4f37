package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/definition"
)

// descriptions are the texts of all definitions, each once.
type descriptions struct {
	texts   []string
	numbers map[string]int // of the texts, counted from 1
	files   map[string][]byte
}

// add collects the descriptions of a definition.
func (d *descriptions) add(version string, crd *apiextensionsv1.CustomResourceDefinition) error {
	text, err := json.Marshal(crd)
	if err != nil {
		return err
	}
	root, err := definition.Root(text)
	if err != nil {
		return err
	}
	if d.files == nil {
		d.numbers, d.files = map[string]int{}, map[string][]byte{}
	}
	var numbers []int
	definition.Walk(root, func(s map[string]any) {
		description, _ := s["description"].(string)
		numbers = append(numbers, d.number(description))
	})
	d.files[definition.File(version, crd.Spec.Names.Kind)], err = json.Marshal(numbers)
	return err
}

// number returns the number of a text, or 0 for none.
func (d *descriptions) number(text string) int {
	if text == "" {
		return 0
	}
	if d.numbers[text] == 0 {
		d.texts = append(d.texts, text)
		d.numbers[text] = len(d.texts)
	}
	return d.numbers[text]
}

// write packs the texts.
func (d *descriptions) write() (err error) {
	if d.files[definition.TextsFile], err = json.Marshal(d.texts); err != nil {
		return err
	}
	var sources []string
	for _, r := range release.Known() {
		sources = append(
			sources, fmt.Sprintf("Kubeflow Trainer %s and JobSet %s", r.Version, r.JobSetVersion))
	}
	d.files[definition.NoticeFile] = fmt.Appendf(
		nil, `The descriptions are those of the definitions in
%s.
https://github.com/kubeflow/trainer and https://github.com/kubernetes-sigs/jobset
Both projects are under the Apache License 2.0, http://www.apache.org/licenses/LICENSE-2.0.
`, strings.Join(sources, ",\n"))
	return write(filepath.Join("definition", "descriptions.zip"), d.files)
}
