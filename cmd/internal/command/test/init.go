package test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/golden"
	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// initialize creates cases for runtimes.
func initialize(p *host.Program, cmd *cobra.Command, flags testFlags, paths []string) error {
	for _, name := range []string{"run", "update", "output", "show-values", "trainer-version",
		"kubernetes-version"} {
		if cmd.Flags().Changed(name) {
			return exit.Usage(fmt.Errorf("--init makes cases: remove --%s", name))
		}
	}
	switch {
	case len(paths)+len(flags.kustomize) == 0:
		return exit.Usage(errors.New("--init: name files with runtimes"))
	case len(flags.kustomize) > 0 && (len(paths) > 0 || flags.outputDir == ""):
		return exit.Usage(errors.New("--init: use -k with --output-dir, and name no files"))
	case slices.Contains(paths, ""), cmd.Flags().Changed("output-dir") && flags.outputDir == "":
		return exit.Usage(errors.New("an empty path: name a file or a directory"))
	case slices.Contains(paths, manifest.Stdin):
		return exit.Usage(
			errors.New("--init writes cases next to the runtime's file: name a file, not -"))
	}
	var runtimes []runtimeFile
	var findings finding.List
	if err := build.Parts(p, workspace.Flags{Files: paths, Kustomize: flags.kustomize},
		func(part workspace.Flags) error {
			more, found := runtimesOf(p, part)
			runtimes, findings = append(runtimes, more...), append(findings, found...)
			return nil
		}); err != nil {
		return err
	}
	if len(runtimes) == 0 && findings.Err() == nil {
		findings = append(findings, finding.Finding{
			Code: codes.NoRuntime, Severity: finding.Error,
			Message: "no runtime in the inputs",
			Remedy: finding.Remedy{
				Text: "name files with a TrainingRuntime or a ClusterTrainingRuntime"},
		})
	}
	if err := report.WriteResult(p.Stderr, findings, report.Options{}, false); err != nil {
		return err
	}
	i := initiation{p: p, outputDir: flags.outputDir, newFiles: map[string]fstest.MapFS{}}
	if err := output.WriteAll(p, func(w *output.Writing) error {
		return i.add(w, runtimes)
	}); err != nil {
		return fmt.Errorf("--init: %w", err)
	}
	for _, line := range i.messages {
		if _, err := fmt.Fprintln(line.to, line.text); err != nil && line.to == p.Stdout {
			return err
		}
	}
	fmt.Fprintf(p.Stderr, "%s made; review the renderings, and run them with: trainweld test %s\n",
		report.Count(i.created, "case"), report.Printable(strings.Join(i.roots, " ")))
	return nil
}

// runtimeFile is a runtime for new cases, with its text: of its file, or of one of several
// documents there.
type runtimeFile struct {
	*manifest.Document
	text  []byte
	build string // the directory of the build, or ""
}

// runtimesOf returns the runtimes in the files of a part, with the findings of reading.
func runtimesOf(p *host.Program, part workspace.Flags) ([]runtimeFile, finding.List) {
	in := workspace.New(part)
	var runtimes []runtimeFile
	documents := in.ReadDocuments(p, part.Files)
	files := map[string]workspace.File{}
	for _, file := range in.Files {
		files[file.Name] = file
	}
	for _, d := range documents {
		id, name := d.ID, fieldpath.Fields("metadata", "name")
		switch d.Object.(type) {
		case *trainer.TrainingRuntime, *trainer.ClusterTrainingRuntime:
		default:
			continue
		}
		if len(validation.IsDNS1123Subdomain(id.Name)) > 0 {
			in.Findings = append(in.Findings, finding.Finding{
				Code: codes.UnsafeOutputName, Severity: finding.Error, Object: id, Path: name,
				Position: d.Position(name),
				Message: fmt.Sprintf(
					"invalid name %q: the folder of that name may lead out of the directory",
					id.Name),
				Remedy: finding.Remedy{
					Text: "use lower-case letters, digits, dashes and dots, 253 at most, and " +
						"begin and end with a letter or digit"},
			})
			continue
		}
		text := files[d.File].Data
		if edit, err := d.Replace(nil); err == nil && len(files[d.File].Documents) > 1 {
			text = text[edit.Start:edit.End]
		}
		if in.Build() != "" { // kustomize's output is JSON
			if asYAML, err := yaml.JSONToYAML(text); err == nil {
				text = asYAML
			}
		}
		runtimes = append(runtimes, runtimeFile{d, text, in.Build()})
	}
	in.Label(in.Findings)
	return runtimes, in.Findings
}

// initiation creates cases for runtimes.
type initiation struct {
	p         *host.Program
	outputDir string
	roots     []string                // the directories to test
	newFiles  map[string]fstest.MapFS // the new files of each directory
	cases     []string                // the paths of new cases
	created   int
	messages  []outputMessage // messages to print once all files are written
}

type outputMessage struct {
	to   io.Writer
	text string
}

func (i *initiation) report(to io.Writer, format string, args ...any) {
	i.messages = append(i.messages, outputMessage{to, fmt.Sprintf(format, args...)})
}

// add adds the cases with their rendered files.
func (i *initiation) add(w *output.Writing, runtimes []runtimeFile) error {
	for _, r := range runtimes {
		if err := i.start(w, r); err != nil {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
	}
	for _, root := range i.roots {
		if err := i.firstRun(w, root); err != nil {
			return err
		}
	}
	return nil
}

// lacks reports whether a release lacks a field of a case's TrainJob.
func lacks(api *manifest.API, s golden.Start) bool {
	if api == nil {
		return false
	}
	for name, text := range s.Files {
		documents, _, _ := api.Decode(name, text, nil)
		for _, d := range documents {
			if d.Findings.Err() != nil {
				return true
			}
		}
	}
	return false
}

// start adds the inputs of one runtime's cases.
func (i *initiation) start(w *output.Writing, r runtimeFile) error {
	starts, err := golden.Walk(r.Object)
	if err != nil {
		return err
	}
	root := cmp.Or(i.outputDir, filepath.Dir(r.File))
	if filepath.IsLocal(r.build) {
		root = filepath.Join(root, r.build)
	} else if r.build != "" {
		root = filepath.Join(root, filepath.Base(r.build))
	}
	changes, err := w.In(root)
	if err != nil {
		return err
	}
	if !slices.Contains(i.roots, root) {
		i.roots = append(i.roots, root)
		i.newFiles[root] = fstest.MapFS{}
	}
	put := func(name string, data []byte) {
		changes.Put(name, data)
		i.newFiles[root][name] = &fstest.MapFile{Data: data}
	}
	// The copy of the runtime belongs to a case, so that commands that read the whole repository
	// leave it alone.
	own := ""
	if i.outputDir != "" {
		own = starts[0].Name
	}
	copied := filepath.Base(r.File)
	if r.build != "" ||
		slices.Contains([]string{"trainjob.yaml", "options.yaml", workspace.ConfigName}, copied) {
		copied = "runtime.yaml"
	}
	if copied = path.Join(r.ID.Name, copied); own != "" && !changes.Dir.Exists(copied) {
		put(copied, r.text)
	}
	api := r.API()
	if config := path.Join(r.ID.Name, workspace.ConfigName); api != nil && i.outputDir != "" &&
		!changes.Dir.Exists(config) {
		put(config, fmt.Appendf(nil, "trainerVersion: %q\n", api.Release().Name))
	}
	for _, s := range starts {
		if lacks(api, s) {
			continue
		}
		folder := path.Join(r.ID.Name, s.Name)
		exists := changes.Dir.Exists(folder)
		if s.Name == own {
			folder = r.ID.Name
			want := path.Join(folder, "want")
			exists = exists || changes.Dir.Exists(want)
			// a folder above cases is one only with it
			i.newFiles[root][want] = &fstest.MapFile{Mode: fs.ModeDir}
		}
		if exists || slices.Contains(i.cases, path.Join(root, folder)) {
			i.report(i.p.Stderr, "%s exists, and stays as it is",
				printable.Name(path.Join(filepath.ToSlash(root), folder)))
			continue
		}
		i.cases = append(i.cases, path.Join(root, folder))
		for file, data := range s.Files {
			put(path.Join(folder, file), data)
		}
	}
	return nil
}

// firstRun adds the rendered files of the new cases of a directory.
func (i *initiation) firstRun(w *output.Writing, root string) error {
	cases, err := golden.Find(overlay{ownfile.Dir(root), i.newFiles[root]}, filepath.ToSlash(root))
	if err != nil {
		return err
	}
	for _, c := range cases {
		if !slices.Contains(i.cases, path.Join(root, c.Name)) {
			continue
		}
		if err := w.Interrupted(); err != nil {
			return err
		}
		r, err := c.Run(golden.Options{})
		if err != nil {
			return err
		}
		if err := addCase(w, root, r); err != nil {
			return err
		}
		i.created++
		name := printable.Name(path.Join(filepath.ToSlash(root), c.Name))
		i.report(i.p.Stdout, "wrote %s", name)
		for _, f := range r.Expected {
			i.report(i.p.Stderr, "%s expects an error: %s", name, report.Printable(f.Error()))
		}
	}
	return nil
}

// overlay is a directory with additional files that are not written yet.
type overlay struct {
	fs.FS
	newFiles fstest.MapFS
}

func (o overlay) Open(name string) (fs.File, error) {
	if o.newFiles[name] != nil {
		return o.newFiles.Open(name)
	}
	return o.FS.Open(name)
}

func (o overlay) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(o.FS, name)
	if err != nil {
		return o.newFiles.Stat(name)
	}
	return info, nil
}

func (o overlay) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(o.FS, name)
	if err != nil {
		return o.newFiles.Lstat(name)
	}
	return info, nil
}

func (o overlay) ReadLink(name string) (string, error) { return fs.ReadLink(o.FS, name) }

func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.FS, name)
	added, errFresh := o.newFiles.ReadDir(name)
	if errFresh != nil {
		return entries, err
	}
	for _, e := range added {
		if !slices.ContainsFunc(entries, func(old fs.DirEntry) bool {
			return old.Name() == e.Name()
		}) {
			entries = append(entries, e)
		}
	}
	return entries, nil
}
