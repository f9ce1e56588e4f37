package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/nearest"
)

// settings are the options of a case: flags of trainweld render.
type settings struct {
	option.Render
	command *cobra.Command // that has the flags
	folder  string         // of Flux's scripts, below the tested folder
	index   string         // of Pods, as the last release had it
}

func newSettings() *settings {
	s := &settings{Render: option.Render{Global: &option.Global{}}, command: &cobra.Command{}}
	s.Steady = true
	s.Inputs(&s.Flags)
	s.Global.Add(s.command)
	s.AddResult(nil, s.command, "jobset", "jobs", "pods")
	s.command.Flags().Var((*option.Repeated)(&s.Flags.Patches), "patch", "")
	return s
}

// names are the flags that an options.yaml may set.
func names() []string {
	return []string{"all", "as", "feature-gates", "flux-templates", "force-manager", "job",
		"jobset-uid", "kubernetes-version", "namespace", "on-conflict", "owner-references", "patch",
		"to", "trainer-version"}
}

// former are the options of the last release, which are still read with a warning, with what to use
// instead.
func former() map[string]string {
	return map[string]string{
		"all-indexes": "job: JOB/all", "index": "job: JOB/INDEX", "show-notes": "all"}
}

// settings reads the options.yaml files of the case, the nearest last, and adds the problems in
// them to the result.
func (c *Case) settings(to *Result) (*settings, error) {
	s := newSettings()
	for _, folder := range append(c.folders(), path.Join(c.Name, wantFolder)) {
		file := path.Join(folder, optionsFile)
		data, err := ownfile.ReadFS(c.fsys, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, fmt.Errorf("%s: %w", c.at(file), err)
		}
		r := optionsReader{c: c, file: file, to: s}
		r.read(data)
		to.Failures, to.Warnings = append(to.Failures, r.problems...),
			append(to.Warnings, r.warnings...)
	}
	s.Spelled = s.To != "jobset"
	// A job that has an index needs no other one.
	if job := s.command.Flag("job").Value.String(); s.index != "" && !strings.Contains(job, "/") {
		return s, option.Set(s.command, "job", job+"/"+s.index)
	}
	return s, nil
}

// options returns the library's options.
func (s *settings) options(c *Case) (opts render.Options, err error) {
	opts = s.Options()
	if s.folder != "" {
		opts.FluxTemplates, err = fs.Sub(c.fsys, s.folder)
	}
	return opts, err
}

type optionsReader struct {
	c        *Case
	file     string
	to       *settings
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
	seen, known := map[string]bool{}, names()
	var keys []string
	for i := 0; i < len(root.Content); i += 2 {
		keys = append(keys, root.Content[i].Value)
	}
	if len(keys) > 0 && !nearest.Any(keys, slices.AppendSeq(names(), maps.Keys(former()))) {
		// the file may be any, so no key is repeated
		r.reject(root, "has none of the options %s", strings.Join(known, ", "))
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		instead, isFormer := former()[key.Value]
		switch {
		case seen[key.Value]:
			r.reject(key, "duplicate option %s; keep one", key.Value)
		case key.Value == "generate-secrets":
			r.reject(key, "want never holds Secrets; remove generate-secrets")
		case !isFormer && !slices.Contains(known, key.Value):
			hint := "there are " + strings.Join(known, ", ")
			if near := nearest.To(key.Value, known); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			r.reject(key, "there is no option %q; %s", key.Value, hint)
		default:
			if err := r.set(key.Value, value); err != nil {
				r.reject(value, "%s: %v", key.Value, err)
			}
		}
		if isFormer {
			r.warnings = append(r.warnings, r.failure(key,
				"%s is gone with the next release: use %s", key.Value, instead))
		}
		seen[key.Value] = true
	}
}

// set sets an option. A list replaces that of a folder above.
func (r *optionsReader) set(name string, n *yaml.Node) error {
	values := []*yaml.Node{n}
	if list, ok := r.to.list(name); ok {
		*list = nil
		if n.Kind == yaml.SequenceNode {
			values = n.Content
		}
	}
	for _, value := range values {
		if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
			return errors.New("set one word")
		}
		text, err := value.Value, error(nil)
		if name == "patch" || name == "flux-templates" {
			if text, err = r.path(text); err != nil {
				return err
			}
		}
		switch name {
		case "flux-templates":
			r.to.folder = text
		case "index":
			if _, err = render.ParseIndexRange(text); err == nil {
				r.to.index = text
			}
		case "all-indexes":
			if r.to.index = ""; text == "true" {
				r.to.index = "all"
			} else if text != "false" {
				err = fmt.Errorf("%q is neither true nor false", text)
			}
		case "show-notes":
			err = option.Set(r.to.command, "all", text)
		default:
			err = option.Set(r.to.command, name, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns the values of an option that also takes a list.
func (s *settings) list(name string) (*[]string, bool) {
	switch name {
	case "patch":
		return &s.Flags.Patches, true
	case "force-manager":
		return &s.Force, true
	}
	return nil, false
}

// path returns a path below the tested folder, relative to the folder of the options in the file.
func (r *optionsReader) path(name string) (string, error) {
	full := path.Join(path.Dir(r.file), name)
	if path.IsAbs(name) || !fs.ValidPath(full) {
		return "", fmt.Errorf("%s leads out of the tested folder; use a path within it", name)
	}
	if _, err := fs.Stat(r.c.fsys, full); err != nil {
		return "", err
	}
	return full, nil
}
