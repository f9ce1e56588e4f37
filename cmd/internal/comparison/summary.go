package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// summary counts the changes and their causes over all TrainJobs.
func (c *Comparison) summary() summary {
	s := summary{Same: c.same, Causes: []*cause{}}
	known, counts := map[string]*cause{}, s.counts()
	for _, j := range c.jobs {
		if n := counts[j.State]; n != nil {
			*n++
		}
		// A release also rejects some TrainJobs that it renders.
		if j.State == stateBroken || j.isUnrendered() && c.new.Reasons == nil {
			s.Unrendered++
		}
		add := func(by []setter, what string, isKept bool) {
			if isKept {
				what += " (kept as it is)"
			}
			if len(by) == 0 {
				by = []setter{{Layer: "unknown"}}
			}
			for _, claim := range by {
				s.add(known, j, claim, c.new.Reasons[claim.Layer]).with(what, j)
			}
		}
		for _, r := range j.Rejected {
			add(r.causes, strings.TrimSpace(fmt.Sprintf("%s: %s %s", j.State, r.Code, r.Path)), false)
		}
		if j.State == stateCreated || j.State == stateRemoved {
			continue
		}
		for _, o := range j.Objects {
			if o.State != stateChanged {
				add(o.by, fmt.Sprintf("%s %s", o.State, o.Kind), o.Kept)
			}
			kind := o.Kind + " "
			if o.Kind == workspace.JobSetKind {
				kind = ""
			}
			for _, f := range o.Changes {
				add(f.by(), fmt.Sprintf("%s %s%s", f.Kind, kind, f.Path), f.Kept)
			}
		}
	}
	for _, by := range s.Causes {
		by.Files = c.withoutOld(by.Files)
	}
	slices.SortStableFunc(s.Causes, func(a, b *cause) int {
		return len(b.TrainJobs) - len(a.TrainJobs)
	})
	return s
}

// by returns the claims that cause a change: the new claims, or the removed ones if the field is
// unset.
func (f *fieldChange) by() []setter {
	if len(f.After) > 0 {
		return f.After
	}
	return f.Before
}

// counts returns the numbers of TrainJobs by state. The broken ones differ in nothing.
func (s *summary) counts() map[state]*int {
	return map[state]*int{stateChanged: &s.Changed, stateCreated: &s.Created,
		stateRemoved: &s.Removed, stateRejected: &s.Rejected, stateAccepted: &s.Accepted}
}

// add returns the cause that a claim names, with the TrainJob and the file.
func (s *summary) add(known map[string]*cause, j *JobDiff, claim setter, reason Reason) *cause {
	name := string(claim.Layer)
	if claim.Layer == runtimepatch.RuntimeLayer && j.runtime != (fieldpath.Object{}) {
		name = j.runtime.String()
	}
	by := known[name]
	if by == nil {
		by = &cause{Name: name, Reason: reason, known: map[string]*causeChange{}}
		known[name] = by
		s.Causes = append(s.Causes, by)
	}
	if i, found := slices.BinarySearch(by.Files, claim.File); !found && claim.File != "" {
		by.Files = slices.Insert(by.Files, i, claim.File)
	}
	by.TrainJobs = by.TrainJobs.with(j)
	return by
}

// with adds a change of a TrainJob.
func (by *cause) with(what string, j *JobDiff) {
	if by.known[what] == nil {
		by.known[what] = &causeChange{What: what}
		by.Changes = append(by.Changes, by.known[what])
	}
	by.known[what].TrainJobs = by.known[what].TrainJobs.with(j)
}

// withoutOld removes the files of the old revision that the list also names in the new one.
func (c *Comparison) withoutOld(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		path, isOld := strings.CutPrefix(file, c.old.Prefix)
		return isOld && c.old.Prefix != c.new.Prefix && slices.Contains(files, c.new.Prefix+path)
	})
}

// headline counts the differing TrainJobs by state.
func (c *Comparison) headline(s summary) string {
	var parts []string
	differing, counts := 0, s.counts()
	for _, of := range []state{stateChanged, stateCreated, stateRemoved, stateRejected,
		stateAccepted} {
		if n := *counts[of]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, of))
			differing += n
		}
	}
	total, differ, render := c.same+len(c.jobs), "differ", "do not render"
	if total == 1 {
		differ = "differs"
	}
	if s.Unrendered == 1 {
		render = "does not render"
	}
	text := "nothing differs in " + report.Count(c.same, "TrainJob")
	switch {
	case differing > 0:
		text = fmt.Sprintf("%d of %s %s: %s", differing, report.Count(total, "TrainJob"), differ,
			strings.Join(parts, ", "))
	case total == 0:
		return "nothing is read: no TrainJob to compare"
	case c.same == 0:
		return report.Count(s.Unrendered, "TrainJob") + " " + render
	}
	if s.Unrendered > 0 {
		text += fmt.Sprintf("; %d %s", s.Unrendered, render)
	}
	return text
}

// Compared says what was compared, if nothing differs.
func (c *Comparison) Compared() string {
	return fmt.Sprintf("compared %s of %s and %s: nothing differs", report.Count(c.same, "TrainJob"),
		c.old.Name, c.new.Name)
}
