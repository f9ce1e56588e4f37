package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// summary counts the changes and their causes over all TrainJobs.
type summary struct {
	noun       string
	counts     map[state]int
	same       int
	unrendered int
	causes     []*cause // the causes with the most TrainJobs first

	reasons map[merge.Owner]Reason
}

// cause is a runtime, a manager or a section of the TrainJobs that sets changed values.
type cause struct {
	name  string
	files []string // its files, sorted
	jobs  []jobName
	rows  []*summaryRow
	byRow map[string]*summaryRow // the rows by their text
	Reason
}

// summaryRow is a change with its TrainJobs.
type summaryRow struct {
	what string
	jobs []jobName
}

// summary summarizes all changes.
func (c *Comparison) summary() summary {
	s := summary{noun: c.noun, counts: map[state]int{}, same: c.same, reasons: c.new.Reasons,
		unrendered: c.unrendered()}
	known := map[string]*cause{}
	for _, j := range c.Jobs {
		s.counts[j.state]++
		for i, f := range j.rejected {
			s.add(known, j, j.causesOf(i),
				strings.TrimSpace(fmt.Sprintf("%s: %s %s", j.state, f.Code, f.Path)))
		}
		if j.state == stateCreated || j.state == stateRemoved {
			continue
		}
		for _, o := range j.Objects {
			if o.state != stateChanged {
				s.add(known, j, o.owning().Of(nil), fmt.Sprintf("%s %s", o.state, o.Key.Kind)+
					o.keptText(nil))
			}
			for _, change := range o.changes {
				s.add(known, j, changeClaims(change),
					describeChange(o.Key.Kind, change)+o.keptText(change.Path))
			}
		}
	}
	for _, by := range s.causes {
		by.files = c.withoutOld(by.files)
	}
	slices.SortStableFunc(s.causes, func(a, b *cause) int { return len(b.jobs) - len(a.jobs) })
	return s
}

// unrendered counts the TrainJobs that the new version does not render. A release also rejects
// some that it renders.
func (c *Comparison) unrendered() (n int) {
	for _, j := range c.Jobs {
		if j.state == stateBroken || j.isUnrendered() && c.new.Reasons == nil {
			n++
		}
	}
	return n
}

// keptText marks a change that an update does not bring.
func (o *ObjectDiff) keptText(path fieldpath.Path) string {
	if o.keeps(path) {
		return " (kept as it is)"
	}
	return ""
}

// withoutOld removes the files of the old revision that the list also names in the new one.
func (c *Comparison) withoutOld(files []string) []string {
	listed := map[string]bool{}
	for _, file := range files {
		listed[file] = true
	}
	return slices.DeleteFunc(files, func(file string) bool {
		path, isOld := strings.CutPrefix(file, c.old.Prefix)
		return isOld && c.old.Prefix != c.new.Prefix && listed[c.new.Prefix+path]
	})
}

// owning returns the owners of the new object, or of the old one if it is removed.
func (o *ObjectDiff) owning() *diff.Owners {
	if o.New == nil {
		return o.before
	}
	return o.after
}

// changeClaims returns the claims that cause a change: the new claims, or the removed ones if the
// field is unset.
func changeClaims(c diff.Change) []merge.Claim {
	if len(c.After) > 0 {
		return c.After
	}
	return c.Before
}

// describeChange describes a change in a few words.
func describeChange(kind string, c diff.Change) string {
	if kind == workspace.JobSetKind {
		return fmt.Sprintf("%s %s", c.Kind, c.Path)
	}
	return fmt.Sprintf("%s %s %s", c.Kind, kind, c.Path)
}

func (s *summary) add(known map[string]*cause, j *JobDiff, claims []merge.Claim, what string) {
	if len(claims) == 0 {
		claims = []merge.Claim{{Owner: "unknown"}}
	}
	for _, claim := range claims {
		name := string(claim.Owner)
		if claim.Owner == runtimepatch.RuntimeLayer && j.runtime != (fieldpath.Object{}) {
			name = j.runtime.String()
		}
		by := known[name]
		if by == nil {
			by = &cause{name: name, Reason: s.reasons[claim.Owner], byRow: map[string]*summaryRow{}}
			known[name] = by
			s.causes = append(s.causes, by)
		}
		if file := claim.Position.File; file != "" && !slices.Contains(by.files, file) {
			by.files = append(by.files, file)
			slices.Sort(by.files)
		}
		by.jobs = appendNew(by.jobs, j.name())
		row := by.byRow[what]
		if row == nil {
			row = &summaryRow{what: what}
			by.rows, by.byRow[what] = append(by.rows, row), row
		}
		row.jobs = appendNew(row.jobs, j.name())
	}
}

func appendNew(names []jobName, name jobName) []jobName {
	// The TrainJobs come in order.
	if n := len(names); n > 0 && names[n-1] == name {
		return names
	}
	return append(names, name)
}

// headline counts the differing TrainJobs by state.
func (s summary) headline() string {
	total := s.same + s.counts[stateBroken]
	var parts []string
	for _, state := range states {
		if n := s.counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
			total += n
		}
	}
	differing, differ, render := total-s.same-s.counts[stateBroken], "differ", "do not render"
	if total == 1 {
		differ = "differs"
	}
	if s.unrendered == 1 {
		render = "does not render"
	}
	var text string
	switch {
	case differing > 0:
		text = fmt.Sprintf("%d of %s %s: %s", differing, report.Count(total, s.noun), differ,
			strings.Join(parts, ", "))
	case total == 0:
		return fmt.Sprintf("nothing is read: no %s to compare", s.noun)
	case s.unrendered > 0 && s.same == 0:
		return fmt.Sprintf("%s %s", report.Count(s.unrendered, s.noun), render)
	default:
		text = fmt.Sprintf("nothing differs in %s", report.Count(s.same, s.noun))
	}
	if s.unrendered > 0 {
		text += fmt.Sprintf("; %d %s", s.unrendered, render)
	}
	return text
}

// Compared says what was compared, if nothing differs.
func (c *Comparison) Compared() string {
	return fmt.Sprintf("compared %s of %s and %s: nothing differs", report.Count(c.same, c.noun),
		c.old.Name, c.new.Name)
}
