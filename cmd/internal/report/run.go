package report

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Run is the report of a whole run. It owns what a codes.Report of one object cannot know: the
// order of files, the severities that the user asks for, mistakes that objects and builds share,
// the findings of the version before, and the exit status.
type Run struct {
	// Rate sets the severities of findings, and omits some.
	Rate func(finding.List) finding.List
	// Strict counts warnings as errors.
	Strict bool

	before Before // nil without a version before
	parts  []part
	kept   finding.List // stood before
	found  finding.List
}

// part has the findings of files that are read together.
type part struct {
	found finding.List
	files []string
}

// Add adds the findings of a part, and the order of its files.
func (r *Run) Add(found finding.List, files []string) {
	r.parts = append(r.parts, part{found, files})
}

// AddBefore adds findings of the version before: the run has only what that version lacks.
func (r *Run) AddBefore(found finding.List) {
	if r.before == nil {
		r.before = Before{}
	}
	r.before.Add(r.Rate(found))
}

// ForgetBefore drops the version before. A broken build has no objects, and so says nothing about
// what is new.
func (r *Run) ForgetBefore() { r.before = nil }

// Findings ends the parts, and returns their findings: in the order of the parts, the files and
// their lines, each once.
func (r *Run) Findings() finding.List {
	r.found = nil
	for _, p := range r.parts {
		r.found = append(r.found, InOrder(oncePerRuntime(r.lacking(r.Rate(p.found))), p.files)...)
	}
	r.found = codes.Distinct(r.found)
	return r.found
}

// AddLater adds findings to those of Findings, in the order of all files.
func (r *Run) AddLater(found finding.List, files []string) {
	r.found = InOrder(append(r.found, r.Rate(found)...), files)
}

// Joined returns the findings for a report: a mistake that several builds share is one.
func (r *Run) Joined() finding.List { return codes.JoinBuilds(r.found) }

// Kept returns the findings that stood before.
func (r *Run) Kept() finding.List { return r.kept }

// Status returns the exit status.
func (r *Run) Status() error { return exit.For(r.found, r.Strict) }

// lacking returns the findings that the version before lacks.
func (r *Run) lacking(found finding.List) finding.List {
	if r.before == nil {
		return found
	}
	var introduced finding.List
	for _, f := range codes.Distinct(found) {
		switch {
		case f.Code == codes.Unreadable: // a mistake in the command line
			introduced = append(introduced, f)
		case f.Code == codes.NoTrainJob:
		case r.before.Take(f):
			r.kept = append(r.kept, f)
		default:
			introduced = append(introduced, f)
		}
	}
	return introduced
}

// Before counts the findings of the version before a change, by key. A finding of the new version
// that Take does not find there is one that the change introduces.
type Before map[codes.Key]int

// Add adds findings of the version before, each once.
func (b Before) Add(found finding.List) {
	for _, f := range codes.Distinct(found) {
		b[keyWithoutLine(f)]++
	}
}

// Take reports whether the version before has a finding, and removes it. Two findings of the new
// version need two of the old one.
func (b Before) Take(f finding.Finding) bool {
	k := keyWithoutLine(f)
	if b[k] == 0 {
		return false
	}
	b[k]--
	return true
}

// keyWithoutLine returns the key of a finding without its line. An object may move to another file.
func keyWithoutLine(f finding.Finding) codes.Key {
	k := codes.KeyOf(f)
	k.Position.Line, k.Position.Column = 0, 0
	if f.Object.Name != "" {
		k.Position = fieldpath.Position{}
	}
	if f.Code == codes.DuplicateObject {
		k.Message = "" // it names the line of the other object
	}
	return k
}

// oncePerRuntime combines findings that a runtime causes in several TrainJobs.
func oncePerRuntime(found finding.List) finding.List {
	first, others := map[codes.Key]int{}, map[int]int{}
	var once finding.List
	for _, f := range found {
		if !comesFromRuntime(f) {
			once = append(once, f)
			continue
		}
		k := codes.KeyOf(
			finding.Finding{Code: f.Code, Severity: f.Severity, Position: f.Position,
				Message: f.Message})
		if at, seen := first[k]; !seen {
			first[k] = len(once)
			once = append(once, f)
		} else if once[at].Object != f.Object {
			others[at]++
		}
	}
	for at, n := range others {
		once[at].Message += "; the same goes for " + Count(n, "other TrainJob")
	}
	return once
}

// comesFromRuntime reports whether a finding is about a generated object and caused by the runtime.
func comesFromRuntime(f finding.Finding) bool {
	switch f.Object.Kind {
	case trainer.TrainingRuntimeKind, trainer.ClusterTrainingRuntimeKind:
		return false
	}
	for _, c := range slices.Backward(f.Claims) {
		if c.Position != (fieldpath.Position{}) {
			return c.Owner == runtimepatch.RuntimeLayer && c.Position == f.Position
		}
	}
	return false
}
