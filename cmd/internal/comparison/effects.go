package comparison

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Update is the effect of the new version on an existing object.
type Update string

const (
	// Replaced: the cluster rejects the update in any state. Its JobSet changes only with a new
	// TrainJob. Without frozen fields, the TrainJob is deleted and created again in any case.
	Replaced Update = "replaced"
	// Rejected: the cluster rejects the update while the job runs, or in any state if it has frozen
	// fields. The JobSet would not change in that case.
	Rejected Update = "refused"
	// Kept: the JobSet stays as it is, because the job keeps the runtime with which it began.
	Kept Update = "kept"
	// Delayed: the JobSet stays as it is until the job is suspended.
	Delayed Update = "delayed"
	// Updated: the JobSet changes in place.
	Updated Update = "updated"
)

// UpdateEffect is the update of one TrainJob. The zero value says nothing.
type UpdateEffect struct {
	Update Update `json:"update,omitempty" doc:"What an update does to a TrainJob that exists."`
	// Frozen are the fields that the cluster does not let change.
	Frozen []string `json:"frozen,omitempty" doc:"The fields that an update does not change."`
	// Fields are the changes of the objects that a cluster has, if they are known.
	Fields []live.Effect `json:"effects,omitempty" doc:"The changes of the objects that a cluster has: the JobSet, then its Jobs."`
	// Findings are the errors with which the cluster rejects the update. Their claims are the
	// layers that bring them.
	Findings finding.List `json:"-"`
	// Reached are the objects that the update leads to, since the job keeps the runtime with which
	// it began. They are nil if these are the objects of the new version.
	Reached map[Key]any `json:"-"`
	// Stuck reports whether the job is suspended, and its JobSet rejects the update that would
	// resume it.
	Stuck bool `json:"-"`
}

// askEffects asks for the effects of the TrainJobs that both versions have and that differ in
// anything. TrainJobs that change alike by their runtime share one, unless their objects are
// observed in a cluster.
func askEffects(jobs []*JobDiff, isObserved bool, effect func(old, new *Job) UpdateEffect) {
	var first []*JobDiff
	known, like := map[string]*JobDiff{}, map[*JobDiff]*JobDiff{}
	for _, j := range jobs {
		if j.State != stateChanged {
			continue
		}
		key, isRewritten := fmt.Sprint(j.ID(), "\x00", j.Build), j.new.rewrites(j.old)
		switch {
		case len(j.Objects) == 0 && len(j.Existing) == 0 && !isRewritten:
			continue
		case len(j.Objects) > 0 && !isRewritten && !isObserved:
			key = fmt.Sprint(j.alike(), "\x00", j.runtime, j.old.IsSuspended(), j.new.IsSuspended())
		}
		if known[key] == nil {
			known[key], first = j, append(first, j)
		}
		like[j] = known[key]
	}
	parallel.Ordered(len(first), func(i int) UpdateEffect {
		return effect(first[i].old, first[i].new)
	}, func(i int, e UpdateEffect) { first[i].take(e) })
	for j, first := range like {
		j.UpdateEffect = first.UpdateEffect
		for i, o := range j.Objects {
			o.Kept = first.Objects[i].Kept
			for c := range o.Changes {
				o.Changes[c].Kept = first.Objects[i].Changes[c].Kept
			}
		}
	}
}

// take takes an effect, and marks the changes that the update does not bring. An update that
// changes no object has an effect only if the cluster rejects it.
func (j *JobDiff) take(e UpdateEffect) {
	j.UpdateEffect = e
	if len(j.Objects) == 0 {
		switch {
		case len(e.Findings) == 0 && e.Update == Replaced: // it is deleted and created again
		case len(e.Findings) == 0:
			j.UpdateEffect = UpdateEffect{}
		default:
			j.Update = Rejected // there is nothing to replace
			j.reject(stateRejected, e.Findings, nil)
		}
		return
	}
	if e.Reached == nil {
		return
	}
	var kept []*bool
	comes := false
	for _, o := range j.Objects {
		ofObject, some := o.kept(e.Reached)
		kept, comes = append(kept, ofObject...), comes || some
	}
	if !comes && e.Fields == nil && (e.Update == Updated || e.Update == Delayed) {
		j.Update = Kept
	}
	if comes || j.Update != Kept { // else the effect says it of all changes
		for _, mark := range kept {
			*mark = true
		}
	}
}

// kept returns the marks of the changes that the new version makes of an object and the update does
// not: the object that the update leads to is among the reached ones. It reports whether any change
// comes.
func (o *ObjectDiff) kept(reached map[Key]any) (marks []*bool, comes bool) {
	is, exists := reached[o.key]
	if o.State != stateChanged {
		if exists == (o.State == stateRemoved) {
			return []*bool{&o.Kept}, false
		}
		return nil, true
	}
	come, err := diff.Compare(o.old, is, diff.Options{})
	if !exists || err != nil {
		return nil, true
	}
	paths := diff.IndexPaths(come, func(c diff.Change) fieldpath.Path { return c.Path })
	for i := range o.Changes {
		if _, isReached := paths.Find(o.Changes[i].Path); !isReached {
			marks = append(marks, &o.Changes[i].Kept)
		}
	}
	return marks, len(marks) < len(o.Changes)
}

// keepsAny reports whether the update leaves a part of the changes undone.
func (j *JobDiff) keepsAny() bool {
	return slices.ContainsFunc(j.Objects, func(o *ObjectDiff) bool {
		return o.Kept || slices.ContainsFunc(o.Changes, func(c fieldChange) bool { return c.Kept })
	})
}

// keeps reports whether the update leaves a field, or one that contains it, as it is.
func (o *ObjectDiff) keeps(path fieldpath.Path) bool {
	return o.Kept || slices.ContainsFunc(o.Changes, func(c fieldChange) bool {
		return c.Kept && path.HasPrefix(c.Path)
	})
}

// isUnrendered reports whether the new version does not render the TrainJob, or both do not.
func (j *JobDiff) isUnrendered() bool {
	return j.State == stateBroken || j.State == stateRejected && j.Update == ""
}

// effectCounts counts the effects.
func (c *Comparison) effectCounts() (n effectCounts) {
	counts := map[Update]*int{Replaced: &n.Replaced, Rejected: &n.Rejected, Kept: &n.Kept,
		Delayed: &n.Delayed, Updated: &n.Updated}
	for _, j := range c.jobs {
		if count := counts[j.Update]; count != nil {
			*count++
		}
	}
	return n
}

// effectRow is an effect on existing TrainJobs: what becomes of them, and how.
type effectRow struct {
	update Update
	how    string
	jobs   jobList
	frozen []string
}

// effects lists the effects, the most severe first.
func (c *Comparison) effects() []*effectRow {
	var rows []*effectRow
	add := func(u Update, how string, j *JobDiff, frozen []string) {
		i := slices.IndexFunc(rows, func(r *effectRow) bool { return r.update == u && r.how == how })
		if i < 0 {
			i, rows = len(rows), append(rows, &effectRow{update: u, how: how})
		}
		rows[i].jobs, rows[i].frozen = append(rows[i].jobs, j), append(rows[i].frozen, frozen...)
	}
	for _, j := range c.jobs {
		if j.Update != "" {
			add(j.Update, j.how(), j, j.Frozen)
		}
		if j.Update != Kept && j.keepsAny() {
			add(Kept, "in part, by the runtime with which the job began", j, nil)
		}
	}
	order := []Update{Replaced, Rejected, Kept, Delayed, Updated}
	slices.SortFunc(rows, func(a, b *effectRow) int {
		return cmp.Or(slices.Index(order, a.update)-slices.Index(order, b.update),
			strings.Compare(a.how, b.how))
	})
	return rows
}

// how says how and when an update comes.
func (j *JobDiff) how() string {
	again, observed := "you delete the TrainJob and create it again", j.Fields != nil
	switch {
	case j.Update == Replaced && j.Stuck:
		return "stuck until " + again
	case j.Update == Replaced && j.Frozen != nil:
		return "if " + again
	case j.Update == Replaced:
		return "deleted and created again"
	case j.Update == Rejected && j.Frozen != nil:
		return "in any state"
	case j.Update == Rejected:
		return "while the job runs"
	case j.Update == Kept && observed:
		return "since the objects that exist never change"
	case j.Update == Kept:
		return "by the runtime with which the job began"
	case j.Update == Delayed && observed:
		return "until the job resumes, or other Jobs are there"
	case j.Update == Delayed:
		return "until the job is suspended"
	case observed:
		return "in place, now"
	default:
		return "in place, while the job is suspended"
	}
}

// The numbers of names and of fields in a row.
const (
	mostNames  = 3
	mostFrozen = 2
)

// spans returns the row without its head.
func (r *effectRow) spans() []span {
	what := "JobSet"
	if r.update == Rejected {
		what = "update"
	}
	text := append([]span{words(report.Count(len(r.jobs), what) + ", " + r.how + ": ")},
		r.jobs.spans(mostNames)...)
	if len(r.frozen) == 0 {
		return text
	}
	fields := slices.Compact(slices.Sorted(slices.Values(r.frozen)))
	n := min(mostFrozen, len(fields))
	shown := make([]string, n)
	for i := range shown {
		shown[i] = shortened(fields[i], longestName)
	}
	list := strings.Join(shown, ", ")
	if rest := len(fields) - n; rest > 0 {
		list += fmt.Sprintf(" and %d more", rest)
	}
	return append(text, words(" ("), span{code, list}, words(" cannot change)"))
}
