package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"
)

// behaviour is an archive of cases.
type behaviour struct {
	name, file, comment string
	cases               []*testCase
}

// testCase is a TrainJob with its runtime, and what each release makes of it.
type testCase struct {
	name  string
	input []byte
	// want holds the result of each release. A release without one is left out.
	want map[string]result
}

// result is what becomes of a case.
type result struct {
	Refused bool
	Items   []any
}

// In an archive, NAME/input.yaml has the runtime and the TrainJob. NAME/2.0,2.1.json has the List of these releases, and
// NAME/2.2.refused has no text.
const (
	inputFile = "input.yaml"
	refused   = ".refused"
	accepted  = ".json"
)

// read reads all archives of a folder, in the order of their names.
func read(dir string) ([]*behaviour, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no cases; run it from the root of the repository, or name the folder with -cases", dir)
	}
	var behaviours []*behaviour
	for _, file := range files {
		b, err := readArchive(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		behaviours = append(behaviours, b)
	}
	return behaviours, nil
}

func readArchive(file string) (*behaviour, error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	b := &behaviour{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: file, comment: string(archive.Comment)}
	for _, f := range archive.Files {
		name, part := path.Split(f.Name)
		name = strings.TrimSuffix(name, "/")
		at := slices.IndexFunc(b.cases, func(c *testCase) bool { return c.name == name })
		if at < 0 {
			at = len(b.cases)
			b.cases = append(b.cases, &testCase{name: name, want: map[string]result{}})
		}
		c := b.cases[at]
		releases, ext := strings.TrimSuffix(part, path.Ext(part)), path.Ext(part)
		var want result
		switch {
		case part == inputFile:
			c.input = f.Data
			continue
		case ext == refused:
			want.Refused = true
		case ext == accepted:
			if want.Items, err = items(f.Data); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		default:
			return nil, fmt.Errorf("%s: a case has %s, RELEASES%s and RELEASES%s only", f.Name, inputFile, accepted, refused)
		}
		for _, r := range strings.Split(releases, ",") {
			c.want[r] = want
		}
	}
	for _, c := range b.cases {
		if c.input == nil {
			return nil, fmt.Errorf("%s has no %s", c.name, inputFile)
		}
	}
	return b, nil
}

// items returns the items of a List.
func items(text []byte) ([]any, error) {
	var list struct {
		Kind  string `json:"kind"`
		Items []any  `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	if list.Kind != "List" {
		return nil, fmt.Errorf("is a %q, not a List", list.Kind)
	}
	return list.Items, nil
}

// list returns the input as a List.
func (c *testCase) list() ([]byte, error) {
	var all []any
	for document := range bytes.SplitSeq(append([]byte("\n"), c.input...), []byte("\n---\n")) {
		var item any
		if err := yaml.Unmarshal(document, &item); err != nil {
			return nil, err
		}
		if item != nil {
			all = append(all, item)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the input has no objects")
	}
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": all})
}

// write writes the archive. Releases with one result share a file.
func (b *behaviour) write() error {
	archive := &txtar.Archive{Comment: []byte(b.comment)}
	add := func(name string, data []byte) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: data})
	}
	for _, c := range b.cases {
		add(c.name+"/"+inputFile, c.input)
		var texts []string
		of := map[string][]string{}
		for _, r := range sortedReleases(c.want) {
			text, err := c.want[r].text()
			if err != nil {
				return fmt.Errorf("%s/%s: %w", b.name, c.name, err)
			}
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], r)
		}
		for _, text := range texts {
			ext := accepted
			if text == "" {
				ext = refused
			}
			add(c.name+"/"+strings.Join(of[text], ",")+ext, []byte(text))
		}
	}
	return os.WriteFile(b.file, txtar.Format(archive), 0o666)
}

// text returns the List of a result, or "" for a refusal.
func (r result) text() (string, error) {
	if r.Refused {
		return "", nil
	}
	text, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": r.Items}, "", " ")
	return string(text) + "\n", err
}

func sortedReleases(want map[string]result) []string {
	all, _ := named("")
	return slices.DeleteFunc(all, func(r string) bool {
		_, has := want[r]
		return !has
	})
}
