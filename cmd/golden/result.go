package golden

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// Options configures the run of a case. The zero value masks the values of environment variables.
type Options struct {
	// Release is the release of the Trainer for all cases. If it is nil, the options of a case or
	// the nearest trainweld.yaml name one. Else it is the latest one.
	Release *release.Release
	// Kubernetes is the minor version of Kubernetes for all cases. If it is empty, the options of a
	// case or a trainweld.yaml may name one.
	Kubernetes string
	// ShowValues shows the literal values of environment variables.
	ShowValues bool
}

// Result is the result of a case.
type Result struct {
	// Case is the executed case.
	Case *Case
	// Failures are all failures, by file. A case without any has passed.
	Failures []Failure
	// Warnings name the options of the case that the next release does not read.
	Warnings []Failure
	// Basis is what is known of the release if its source was not compared, such as "for Trainer
	// 2.4: by its notes and guide". It is empty otherwise.
	Basis string
	// Changes are the files of want that Update would write and remove, by name.
	Changes []Change
	// Expected are the findings of severity Error from rendering the case. Their remedies name the
	// options of a case.
	Expected finding.List
}

// Failure is a difference between a case and its expected files, or a problem of the case.
type Failure struct {
	// Position is the file or folder, and the place in it if known. Its path starts with the
	// searched folder.
	Position fieldpath.Position
	// Message describes the failure in one sentence without a final stop.
	Message string
	// Update is the effect of Update on the failure, such as "writes it". It is empty if Update
	// does nothing.
	Update string
	// Lines show the differences.
	Lines []Line
	// IsMasked states that Lines hide values, which Options.ShowValues shows.
	IsMasked bool
}

// Line is a line of a difference.
type Line struct {
	// Mark is '-' for the file, '+' for the rendered objects, and ' ' for all other lines.
	Mark byte
	// Text is the line itself. It may contain any text of the inputs, even control characters.
	Text string
}

// String returns the line after its mark.
func (l Line) String() string { return strings.TrimRight(string(l.Mark)+" "+l.Text, " ") }

// Change is a file of want that differs from the rendered one.
type Change struct {
	// File is its path, starting with the searched folder. Name is the path below that folder.
	File, Name string
	// Old is the present content, nil for a missing file. New is the rendered content, nil for a
	// file to remove.
	Old, New []byte

	// irregular means that the entry is not a regular file, so that it is not read.
	irregular bool
	// Old and New in the form for output.
	shownOld, shownNew []byte
}

// Passed reports whether the case renders to the files of want.
func (r *Result) Passed() bool { return r == nil || len(r.Failures) == 0 }

// Changed reports whether a file of want, such as Findings, is among the changes.
func (r *Result) Changed(name string) bool {
	return r != nil && slices.ContainsFunc(r.Changes, func(c Change) bool {
		return path.Base(c.File) == name
	})
}

// Updatable reports whether Update makes a failed case pass. It does so if the case could be
// rendered.
func (r *Result) Updatable() bool { return r == nil || len(r.Failures) == 0 || len(r.Changes) > 0 }

func (r *Result) fail(file, format string, args ...any) {
	r.Failures = append(
		r.Failures, Failure{Position: fieldpath.Position{File: file},
			Message: fmt.Sprintf(format, args...)})
}

// Run renders a case and compares the result with want. The result holds the problems of the case.
// Run returns an error only if it cannot read a file, or if Find did not return the case.
func (c *Case) Run(opts Options) (*Result, error) {
	if c == nil || c.fsys == nil {
		return nil, errors.New("the case is not a result of Find")
	}
	r := &Result{Case: c}
	settings, err := c.settings(r)
	if err != nil {
		return nil, err
	}
	if r.Failures != nil {
		return r, nil
	}
	if opts.Release != nil {
		settings.Release = opts.Release
	}
	settings.Kubernetes = cmp.Or(opts.Kubernetes, settings.Kubernetes)
	in, err := c.load(settings)
	if err != nil {
		return nil, err
	}
	r.Basis = release.Basis(in.Releases()...)
	if len(in.Jobs) == 0 && in.Findings.Err() == nil {
		r.fail(c.at(c.Name), "the case holds no TrainJob; add one, or remove its want folder")
		return r, nil
	}
	if err := in.UnknownManager(settings.Force); err != nil {
		r.fail(c.at(c.Name), "force-manager: %v", err)
		return r, nil
	}
	got, err := in.render()
	if err != nil {
		r.fail(c.at(c.Name), "%v", err)
		return r, nil
	}
	r.Expected = got.findings.Where(func(f finding.Finding) bool {
		return f.Severity >= finding.Error
	})
	for i, f := range r.Expected {
		r.Expected[i].Remedy.Text = help(f)
	}
	want, err := c.wanted()
	if err != nil {
		return nil, err
	}
	if want == nil && len(got.files) > 0 {
		r.fail(c.at(path.Join(c.Name, wantFolder)), "the folder does not exist")
		r.Failures[0].Update = "writes it"
		for _, f := range r.Expected {
			r.Failures[0].Lines = append(r.Failures[0].Lines, Line{' ', f.Error()})
		}
	}
	names := map[string][]byte{}
	maps.Copy(names, want)
	maps.Copy(names, got.files)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, isThere := want[name]
		new, isRendered := got.files[name]
		if isThere && isRendered && bytes.Equal(old, new) {
			continue
		}
		below := path.Join(c.Name, wantFolder, name)
		change := Change{File: c.at(below), Name: below, Old: old, New: new}
		if info, err := fs.Lstat(c.fsys, below); old == nil && err == nil {
			change.irregular = !info.Mode().IsRegular()
		}
		change.show(opts, got.objects[name])
		r.Changes = append(r.Changes, change)
		if want != nil {
			r.Failures = append(r.Failures, change.failure(opts, got, name))
		}
	}
	return r, nil
}

// failure returns the failure for a changed file.
func (c *Change) failure(opts Options, got *rendering, name string) Failure {
	f := Failure{Position: fieldpath.Position{File: c.File}}
	switch {
	case name == Findings:
		f.Message, f.Update = "the findings differ", "writes them"
		f.Position.Line, f.Position.Column = firstDifference(c.Old, c.New), 1
		f.Lines = append(unified(c.Old, c.New), helpFor(c, got.findings)...)
	case c.irregular:
		f.Message, f.Update = "must be a regular file", "replaces a link"
	case c.Old == nil:
		f.Message, f.Update = "the file is missing", "writes it"
	case c.New == nil:
		f.Message, f.Update = "obsolete file: no TrainJob renders to it", "removes it"
	default:
		f.Message, f.Update = "differs from the rendering", "writes that"
		f.Position.Line, f.Position.Column = firstDifference(c.Old, c.New), 1
		f.Lines, f.IsMasked = explain(opts, c.Old, got.objects[name])
	}
	return f
}

// firstDifference returns the line of a file at which a new content begins to differ. Behind its
// end, that is its last line.
func firstDifference(old, new []byte) int {
	after := slices.Collect(bytes.Lines(new))
	n := 0
	for line := range bytes.Lines(old) {
		if n++; n > len(after) || !bytes.Equal(line, after[n-1]) {
			return n
		}
	}
	return max(n, 1)
}

// helpFor returns the positions and remedies of the unexpected findings.
func helpFor(c *Change, findings finding.List) []Line {
	var lines []Line
	for _, f := range findings {
		if line := findingLine(f) + "\n"; help(f) == "" || bytes.Contains(c.Old, []byte(line)) ||
			!bytes.Contains(c.New, []byte(line)) {
			continue
		}
		text := string(f.Code)
		if f.Position != (fieldpath.Position{}) {
			text = printable.Position(f.Position) + ": " + text
		}
		lines = append(lines, Line{' ', text + ": " + help(f)})
	}
	return lines
}

// help returns the remedy of a finding, with the option that applies it.
func help(f finding.Finding) string {
	switch r := f.Remedy; {
	case codes.AssumesRuntime(f):
		return "set stock: true in trainweld.yaml"
	case f.Code == codes.NoRuntime && r.Do != finding.Edit:
		return r.Text + " in a file in the folder of the TrainJob or above it"
	case r.Do == finding.Provide && slices.Contains(r.Options, "ConfigMap"):
		return r.Text + " with flux-templates in options.yaml"
	default:
		return r.Text
	}
}
