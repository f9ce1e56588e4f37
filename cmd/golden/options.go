package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/nearest"
)

// options configure the rendering of a case.
type options struct {
	to, namespace, kubernetes string
	patches                   []string // files, below the tested folder
	showNotes                 bool
	jobSet                    render.Options
	pods                      render.PodsOptions
}

// options reads the options.yaml files of the case, the nearest last, and adds the problems in them
// to the result.
func (c *Case) options(to *Result) (options, error) {
	opts := options{to: "jobset"}
	for _, folder := range append(c.folders(), path.Join(c.Name, wantFolder)) {
		file := path.Join(folder, optionsFile)
		data, err := ownfile.ReadFS(c.fsys, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return opts, fmt.Errorf("%s: %w", c.at(file), err)
		}
		r := optionsReader{c: c, file: file, opts: &opts}
		r.read(data)
		to.Failures, to.Warnings = append(to.Failures, r.problems...),
			append(to.Warnings, r.warnings...)
	}
	opts.pods.Stored = opts.jobSet.As == render.Stored
	opts.pods.OwnerReferences = opts.jobSet.OwnerReferences
	if opts.to != "jobset" {
		// The JobSet's own defaults would look like explicit values.
		opts.jobSet.As = render.Applied
	}
	return opts, nil
}

type optionsReader struct {
	c        *Case
	file     string
	opts     *options
	problems []Failure
	warnings []Failure // of options that are gone with the next release
}

func (r *optionsReader) reject(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, r.failure(n, format, args...))
}

func (r *optionsReader) failure(n *yaml.Node, format string, args ...any) Failure {
	return Failure{
		Position: fieldpath.Position{File: r.c.at(r.file), Line: n.Line, Column: n.Column},
		Message:  fmt.Sprintf(format, args...),
	}
}

// read sets a file's options, and adds all its problems.
func (r *optionsReader) read(data []byte) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		unreadable := Failure{Position: fieldpath.Position{File: r.c.at(r.file)},
			Message: err.Error()}
		// it knows the place and the help
		if _, found := manifest.Decode(r.c.at(r.file), data); len(found) > 0 {
			unreadable = Failure{
				Position: found[0].Position,
				Message:  found[0].Message + "; " + found[0].Remedy.Text}
		}
		r.problems = append(r.problems, unreadable)
		return
	}
	if len(document.Content) == 0 {
		return // only comments
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		r.reject(root, "options are a map, such as to: pods")
		return
	}
	all, seen := map[string]setting{}, map[string]bool{}
	for _, s := range settings() {
		all[s.Name] = s
	}
	var names []string // of today
	for _, s := range Settings() {
		names = append(names, s.Name)
	}
	var keys []string
	for i := 0; i < len(root.Content); i += 2 {
		keys = append(keys, root.Content[i].Value)
	}
	if len(keys) > 0 && !nearest.Any(keys, slices.Collect(maps.Keys(all))) {
		// the file may be any, so no key is repeated
		r.reject(root, "has none of the options %s", strings.Join(names, ", "))
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		option, known := all[key.Value]
		switch {
		case seen[key.Value]:
			r.reject(key, "duplicate option %s; keep one", key.Value)
		case key.Value == "generate-secrets":
			r.reject(key, "want never holds Secrets; remove generate-secrets")
		case !known:
			hint := "there are " + strings.Join(names, ", ")
			if near := nearest.To(key.Value, names); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			r.reject(key, "there is no option %q; %s", key.Value, hint)
		default:
			text, err := option.read(value)
			if err == nil {
				err = option.set(r, value, text)
			}
			if err != nil {
				r.reject(value, "%s: %v", key.Value, err)
			}
			if option.Instead != "" {
				r.warnings = append(
					r.warnings, r.failure(key, "%s is gone with the next release: use %s",
						key.Value, option.Instead))
			}
		}
		seen[key.Value] = true
	}
}

// scalarOrItems returns the items of a list, or a single value as a list.
func scalarOrItems(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

func scalarText(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", errors.New("set one word")
	}
	return n.Value, nil
}

func truth(n *yaml.Node) (bool, error) {
	value := false
	if n.Tag != "!!bool" || n.Decode(&value) != nil {
		return false, errors.New("set true or false")
	}
	return value, nil
}

func word(n *yaml.Node, allowed ...string) (string, error) {
	value, err := scalarText(n)
	if err != nil || slices.Contains(allowed, value) {
		return value, err
	}
	err = fmt.Errorf("unsupported value %q: supported values: %s", value,
		strings.Join(allowed, ", "))
	if near := nearest.To(value, allowed); near != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return "", err
}

// path returns a path below the tested folder, relative to the folder of the options in the file.
func (r *optionsReader) path(n *yaml.Node) (string, error) {
	name, err := scalarText(n)
	if err != nil {
		return "", err
	}
	full := path.Join(path.Dir(r.file), name)
	if path.IsAbs(name) || !fs.ValidPath(full) {
		return "", fmt.Errorf("%s leads out of the tested folder; use a path within it", name)
	}
	if _, err := fs.Stat(r.c.fsys, full); err != nil {
		return "", err
	}
	return full, nil
}
