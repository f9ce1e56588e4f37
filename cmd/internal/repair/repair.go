// Package repair changes files so that findings go away. It makes the one right repair, or the one that the user chose.
//
//	result, err := flags.Apply(p, inputs, func(p *host.Program, _ []string) (finding.List, *workspace.Input, error) {
//		in := workspace.Read(p, inputs)
//		return conflictsIn(in), in, nil
//	})
//
// It answers which text to change for a finding, and which findings remain. It judges the changed files again and again in memory,
// until nothing is left to repair. Then it writes all files or none:
//
//	flags.go        the flags, and the writing of the files
//	fixes.go        the changes that repair a finding
//	migrate.go      the rewriting of a TrainJob of Trainer 2.1
//	place.go        the object and the field of a finding in its file
//	plan.go         the changes that fit together, and their text
//	idle.go         items of patches that set nothing any more
//	rejection.go    files that must not be changed, and the findings on repairs that are left to the user
//	summary.go      the summary
package repair

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Options are the user's choices.
type Options struct {
	// Prefer are the managers that win conflicts. Of two that disagree, the first one wins.
	Prefer []string
	// Union writes the union of lists on which managers disagree into the patches of all of them.
	Union bool
}

// Check returns the findings on the files of a program, and the input that holds their lines. The input needs Flags.Repairs. changed
// names the files that differ from those of the last call.
type Check func(p *host.Program, changed []string) (finding.List, *workspace.Input, error)

// Result holds the repaired files, and the judgment of them.
type Result struct {
	// Files are the changed files, sorted by name.
	Files []output.Rewritten
	// Found are the findings on the changed files, and a warning for each rejected repair. Input holds their lines.
	Found finding.List
	Input *workspace.Input
	// repaired are the repairs, in the order of the passes.
	repaired []*fix
}

// mostPasses is the largest number of judgments. A repair may reveal another finding, and few hide more than one behind the other.
const mostPasses = 12

// run repairs the files of a program in memory. If a finding outlasts its repair, run starts again without that repair.
//
// It returns the errors of check, and an error for files that are not on a disk.
func run(p *host.Program, inputs workspace.Flags, opts Options, check Check) (*Result, error) {
	tree, ok := p.Files.(host.Tree)
	if !ok {
		return nil, errors.New("a repair needs files of a disk")
	}
	stdin := &rereader{from: p.Stdin}
	var changed []string
	for ineffectiveIDs := (map[findingID]bool{}); ; {
		s := newFixer(p, tree, inputs, opts, ineffectiveIDs)
		result, err := s.runPasses(changed, func(changed []string) (finding.List, *workspace.Input, error) {
			s.reader.Stdin = stdin.reread()
			return check(s.reader, changed)
		})
		if err != nil {
			return nil, err
		}
		remaining := s.ineffective(result.Found)
		if len(remaining) == 0 {
			return result, nil
		}
		for _, m := range remaining {
			ineffectiveIDs[m] = true
		}
		changed = slices.Sorted(maps.Keys(s.original))
	}
}

// WithoutRejected returns the findings on a program's files, without the promise of a repair that a run would reject. The input of the
// findings is in, read with Flags.Repairs.
func WithoutRejected(p *host.Program, inputs workspace.Flags, found finding.List, in *workspace.Input) finding.List {
	tree, ok := p.Files.(host.Tree)
	if !ok || !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Remedy.IsCertain }) {
		return found
	}
	s := newFixer(p, tree, inputs, Options{}, nil)
	r := newPass(s, in)
	r.addAll(found)
	r.plan()
	found = slices.Clone(found)
	for i := range found {
		if _, rejected := s.rejected[idOf(found[i])]; rejected {
			found[i].Remedy.IsCertain = false
		}
	}
	return found
}

// findingID identifies a finding across the passes, in which lines move.
type findingID struct {
	code   finding.Code
	object fieldpath.Object
	path   string
}

func idOf(f finding.Finding) findingID { return findingID{f.Code, f.Object, f.Path.String()} }

// fixer repairs the files in passes.
type fixer struct {
	opts           Options
	inputs         workspace.Flags
	reader         *host.Program // with the changed files
	overlay        *host.Overlay
	ineffectiveIDs map[findingID]bool // the findings that outlast their repairs
	original       map[string][]byte
	tried          map[findingID]int
	rejected       map[findingID]finding.Finding // the findings on rejected repairs
	repaired       []*fix
}

func newFixer(p *host.Program, tree host.Tree, inputs workspace.Flags, opts Options, ineffectiveIDs map[findingID]bool) *fixer {
	reader := *p
	s := &fixer{
		opts: opts, inputs: inputs, reader: &reader, overlay: host.NewOverlay(tree), ineffectiveIDs: ineffectiveIDs,
		original: map[string][]byte{}, tried: map[findingID]int{}, rejected: map[findingID]finding.Finding{},
	}
	reader.Files = s.overlay
	return s
}

// mostTries is the number of repairs of one finding. The repair of a conflict may reveal another one on the same field.
const mostTries = 3

func (s *fixer) runPasses(changed []string, check func(changed []string) (finding.List, *workspace.Input, error)) (*Result, error) {
	for n := 1; ; n++ {
		found, in, err := check(changed)
		if err != nil {
			return nil, err
		}
		if n == mostPasses {
			return s.result(found, in), nil
		}
		if changed = s.runPass(found, in); changed == nil {
			return s.result(found, in), nil
		}
	}
}

// runPass does the repairs that the findings of one judgment allow, and returns the names of the changed files.
func (s *fixer) runPass(found finding.List, in *workspace.Input) []string {
	r := newPass(s, in)
	r.addAll(found)
	changed := r.plan()
	names := slices.Sorted(maps.Keys(changed))
	for _, name := range names {
		if _, known := s.original[name]; !known {
			s.original[name], _ = in.Data(name)
		}
		s.overlay.Change(name, changed[name])
	}
	return names
}

// addAll adds the repairs of the findings that a report shows.
func (r *pass) addAll(found finding.List) {
	for _, f := range found {
		if f.Severity > finding.Note {
			r.add(f)
		}
	}
}

// result describes the files after the last pass.
func (s *fixer) result(found finding.List, in *workspace.Input) *Result {
	r := &Result{Input: in, repaired: s.repaired}
	for _, name := range slices.Sorted(maps.Keys(s.original)) {
		if data, ok := in.Data(name); ok {
			r.Files = append(r.Files, output.Rewritten{Name: name, Old: s.original[name], New: data})
		}
	}
	for _, f := range found {
		if rejection, ok := s.rejected[idOf(f)]; ok {
			rejection.Position = f.Position
			r.Found = append(r.Found, rejection)
		}
	}
	r.Found = codes.Distinct(report.InOrder(append(slices.Clone(found), r.Found...), in.Order))
	return r
}

// ineffective returns the findings that are there after their repair.
func (s *fixer) ineffective(found finding.List) []findingID {
	repaired := map[findingID]bool{}
	for _, w := range s.repaired {
		repaired[idOf(w.finding)] = true
	}
	var remaining []findingID
	for _, f := range found {
		if m := idOf(f); repaired[m] && !s.ineffectiveIDs[m] {
			remaining = append(remaining, m)
		}
	}
	return remaining
}

// rereader reads standard input once, and returns its content each time.
type rereader struct {
	from io.Reader
	kept bytes.Buffer
}

func (r *rereader) reread() io.Reader {
	if r.from == nil {
		return nil
	}
	kept := bytes.NewReader(r.kept.Bytes())
	return io.MultiReader(kept, io.TeeReader(r.from, &r.kept))
}
