package recorded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"
)

// archive is a file of cases.
type archive struct {
	file, comment string
	cases         []*recordedCase
}

// recordedCase is a TrainJob with its runtime, and what each release makes of it.
type recordedCase struct {
	behaviour, name string

	input []byte
	// want holds the result of each release. A release without one is omitted.
	want map[string]caseResult
}

// caseResult is what becomes of a case.
type caseResult struct {
	Rejected bool
	Items    []any
	// Warns tells that a webhook warns.
	Warns bool
	// Owners are the fields of the patches' managers, where server-side apply agrees with the
	// merge. A program that says nothing about them has none.
	Owners []managedFieldsEntry
}

// In an archive, BEHAVIOUR/NAME/input.yaml has the runtime and the TrainJob.
// BEHAVIOUR/NAME/2.0,2.1.json has the objects of these releases, and BEHAVIOUR/NAME/2.2.refused and
// BEHAVIOUR/NAME/2.2.warns have no text.
const (
	inputFile = "input.yaml"
	rejected  = ".refused"
	accepted  = ".json"
	owners    = ".owners"
	warns     = ".warns"
)

// readArchives reads all archives of a folder, in the order of their names.
func readArchives(dir string) ([]*archive, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf(
			"%s has no cases; run it from the root of the repository, or name the folder with "+
				"-cases", dir)
	}
	var archives []*archive
	for _, file := range files {
		a, err := readArchive(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		archives = append(archives, a)
	}
	return archives, nil
}

func readArchive(file string) (*archive, error) {
	read, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	return parseArchive(file, read)
}

// parseArchive returns the cases of an archive.
func parseArchive(file string, read *txtar.Archive) (*archive, error) {
	a := &archive{file: file, comment: string(read.Comment)}
	var made map[string]any // the objects of the file before
	for _, f := range read.Files {
		parts := strings.Split(f.Name, "/")
		if len(parts) != 3 {
			return nil, fmt.Errorf("%s: name a file BEHAVIOUR/NAME/FILE", f.Name)
		}
		behaviour, name, part := parts[0], parts[1], parts[2]
		at := slices.IndexFunc(a.cases, func(c *recordedCase) bool {
			return c.behaviour == behaviour && c.name == name
		})
		if at < 0 {
			at = len(a.cases)
			a.cases = append(
				a.cases, &recordedCase{
					behaviour: behaviour, name: name, want: map[string]caseResult{}})
		}
		c := a.cases[at]
		if at != len(a.cases)-1 {
			return nil, fmt.Errorf("%s: the files of a case stand together", f.Name)
		}
		ext := path.Ext(part)
		var set func(*caseResult)
		switch {
		case part == inputFile:
			c.input, made = f.Data, nil
			continue
		case ext == rejected:
			set = func(want *caseResult) { want.Rejected = true }
		case ext == accepted:
			var changes map[string]any
			if err := json.Unmarshal(f.Data, &changes); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			made = changed(made, changes)
			items := slices.Collect(maps.Values(made))
			set = func(want *caseResult) { want.Items = items }
		case ext == owners:
			var all []managedFieldsEntry
			if err := json.Unmarshal(f.Data, &all); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			set = func(want *caseResult) { want.Owners = all }
		case ext == warns:
			set = func(want *caseResult) { want.Warns = true }
		default:
			return nil, fmt.Errorf(
				"%s: a case has %s, RELEASES%s, RELEASES%s, RELEASES%s and RELEASES%s only", f.Name,
				inputFile, accepted, rejected, owners, warns)
		}
		for r := range strings.SplitSeq(strings.TrimSuffix(part, ext), ",") {
			want := c.want[r]
			set(&want)
			c.want[r] = want
		}
	}
	for _, c := range a.cases {
		if c.input == nil {
			return nil, fmt.Errorf("%s has no %s", c, inputFile)
		}
	}
	return a, nil
}

// String returns the name of the case in an archive.
func (c *recordedCase) String() string { return c.behaviour + "/" + c.name }

// itemsOfList returns the items of a List.
func itemsOfList(text []byte) ([]any, error) {
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

// objects returns the objects of the input.
func (c *recordedCase) objects() ([]any, error) {
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
	return all, nil
}

// write writes the archive to its file.
func (a *archive) write() error {
	text, err := a.text()
	if err != nil {
		return err
	}
	return os.WriteFile(a.file, text, 0o666)
}

// text returns the archive as text. Releases with one result share a file.
func (a *archive) text() ([]byte, error) {
	out := &txtar.Archive{Comment: []byte(a.comment)}
	add := func(name string, data []byte) {
		out.Files = append(out.Files, txtar.File{Name: name, Data: data})
	}
	for _, c := range a.cases {
		add(c.String()+"/"+inputFile, c.input)
		var made map[string]any
		for _, part := range []func(caseResult) (text, ext string, err error){
			caseResult.text, caseResult.owners, caseResult.warnings} {
			var files []string
			of := map[string][]string{}
			for _, r := range sortedReleases(c.want) {
				text, ext, err := part(c.want[r])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c, err)
				}
				if ext == "" {
					continue
				}
				file := ext + "\n" + text
				if of[file] == nil {
					files = append(files, file)
				}
				of[file] = append(of[file], r)
			}
			for _, file := range files {
				ext, text, _ := strings.Cut(file, "\n")
				if ext == accepted {
					before := made
					made = byIdentity(c.want[of[file][0]].Items)
					var err error
					if text, err = lines(changes(before, made)); err != nil {
						return nil, err
					}
				}
				add(c.String()+"/"+strings.Join(of[file], ",")+ext, []byte(text))
			}
		}
	}
	return txtar.Format(out), nil
}

// text returns the List of a result, or no text for a rejection, with the extension of its file.
func (r caseResult) text() (text, ext string, err error) {
	if r.Rejected {
		return "", rejected, nil
	}
	list, err := json.MarshalIndent(listOf(r.Items), "", " ")
	return string(list) + "\n", accepted, err
}

// lines returns objects as JSON, with a line for each.
func lines(objects map[string]any) (string, error) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		text, err := json.Marshal(objects[name])
		if err != nil {
			return "", err
		}
		all = append(all, fmt.Sprintf("%q: %s", name, text))
	}
	return "{\n" + strings.Join(all, ",\n") + "\n}\n", nil
}

// changes returns the JSON merge patch that makes one object of another. No object has a null.
func changes(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for name := range before {
		if _, stays := after[name]; !stays {
			patch[name] = nil
		}
	}
	for name, value := range after {
		b, wasObject := before[name].(map[string]any)
		a, isObject := value.(map[string]any)
		switch {
		case reflect.DeepEqual(before[name], value):
		case wasObject && isObject:
			patch[name] = changes(b, a)
		default:
			patch[name] = value
		}
	}
	return patch
}

// changed returns an object after a JSON merge patch.
func changed(before, patch map[string]any) map[string]any {
	after := maps.Clone(before)
	if after == nil {
		after = map[string]any{}
	}
	for name, value := range patch {
		b, _ := before[name].(map[string]any)
		if p, isObject := value.(map[string]any); isObject {
			after[name] = changed(b, p)
		} else if after[name] = value; value == nil {
			delete(after, name)
		}
	}
	return after
}

// owners returns the owners of a result, with the extension of their file; it is empty without
// owners.
func (r caseResult) owners() (text, ext string, err error) {
	if len(r.Owners) == 0 {
		return "", "", nil
	}
	list, err := json.MarshalIndent(r.Owners, "", " ")
	return string(list) + "\n", owners, err
}

// warnings returns the extension of the file that tells that a webhook warns; it is empty if none
// does.
func (r caseResult) warnings() (text, ext string, err error) {
	if !r.Warns {
		return "", "", nil
	}
	return "", warns, nil
}

func listOf(items []any) map[string]any {
	if items == nil {
		items = []any{}
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
}

func sortedReleases(want map[string]caseResult) []string {
	return slices.DeleteFunc(releases(), func(r string) bool {
		_, has := want[r]
		return !has
	})
}
