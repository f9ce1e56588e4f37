package comparison

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
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

// UpdateEffect is the update of one TrainJob, or of a JobSet of the input. The zero value says
// nothing.
type UpdateEffect struct {
	Update Update
	// Frozen are the fields that the cluster does not let change.
	Frozen []string
	// Findings are the errors with which the cluster rejects the update. Their claims are the
	// layers that bring them.
	Findings finding.List
	// Reached are the objects that the update leads to, since the job keeps the runtime with which
	// it began. They are nil if these are the objects of the new version.
	Reached map[Key]any
	// Fields are the changes of the objects that a cluster has, if they are known.
	Fields []live.Effect
	// Stuck reports whether the job is suspended, and its JobSet rejects the update that would
	// resume it.
	Stuck bool
}

// effect is an update, with what decides on it.
type effect struct {
	update Update
	by     decider
}

// decider is what decides on an update.
type decider uint8

const (
	byRules    decider = iota
	byFrozen           // fields that cannot change
	byStuck            // likewise, of a suspended job that cannot resume without the change
	byObserved         // the objects that a cluster has
	inPart             // the runtime with which the job began, for some of the changes
)

func (f UpdateEffect) effect() effect {
	switch {
	case f.Stuck:
		return effect{f.Update, byStuck}
	case f.Frozen != nil:
		return effect{f.Update, byFrozen}
	case f.Fields != nil && f.Update != Rejected:
		return effect{f.Update, byObserved}
	}
	return effect{f.Update, byRules}
}

// effectList lists what a change does to the objects of a cluster, over all TrainJobs that differ.
type effectList struct {
	noun   string
	by     map[effect][]jobName
	frozen map[effect][]string
}

// evaluate asks for the effects of the differing TrainJobs. Then it drops the inputs, which take
// much memory.
func (c *Comparison) evaluate() {
	if c.new.UpdateEffect != nil {
		c.askEffects()
	}
	for _, j := range c.Jobs {
		j.old, j.new = nil, nil
	}
}

// askEffects asks for the effects of all updates. TrainJobs that change alike by their runtime
// share one. It drops the updates that change no object, except rejected ones.
func (c *Comparison) askEffects() {
	var first []*JobDiff
	number := map[string]int{}
	keyOf := func(j *JobDiff) string {
		if c.new.Observed {
			return fmt.Sprint(j.ID, "\x00", j.Build)
		}
		return j.effectKey()
	}
	for _, j := range c.Jobs {
		if _, known := number[keyOf(j)]; !known && j.isUpdate() {
			number[keyOf(j)] = len(first)
			first = append(first, j)
		}
	}
	effects := make([]UpdateEffect, len(first))
	parallel.Ordered(len(first), func(i int) UpdateEffect {
		return c.new.UpdateEffect(first[i].old, first[i].new)
	}, func(i int, f UpdateEffect) { effects[i] = f })
	for _, j := range c.Jobs {
		if j.isUpdate() {
			n := number[keyOf(j)]
			j.take(effects[n], first[n])
		}
		if len(j.Objects) == 0 && j.state == stateChanged {
			j.withoutObjects()
		}
	}
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j *JobDiff) bool {
		same := j.isSame() && j.state == stateChanged
		if same {
			c.same++
		}
		return same
	})
}

// take takes an effect, and marks the changes that the update does not bring. TrainJobs that change
// alike share those of the first one.
func (j *JobDiff) take(e UpdateEffect, first *JobDiff) {
	if j != first {
		j.updateEffect = first.updateEffect
		for i, o := range j.Objects {
			o.kept = first.Objects[i].kept
		}
		return
	}
	j.updateEffect = e
	for _, f := range e.Fields {
		j.alike += "\x00" + report.Nameless(f.String(), j.ID.Name)
	}
	all, reached := true, e.Reached
	for _, o := range j.Objects {
		if reached != nil {
			o.keep(reached)
		}
		all = all && o.isKept()
	}
	isDecided := j.updateEffect.Update == Updated || j.updateEffect.Update == Delayed
	if all && reached != nil && len(j.Objects) > 0 && isDecided && j.updateEffect.Fields == nil {
		j.updateEffect.Update = Kept
	}
	if all && j.updateEffect.Update == Kept { // the effect says it of all changes
		for _, o := range j.Objects {
			o.kept = nil
		}
	}
}

// keep marks the changes that the new version makes of an object and the update does not: the
// object that the update leads to is among the reached ones.
func (o *ObjectDiff) keep(reached map[Key]any) {
	is, exists := reached[o.Key]
	if o.state != stateChanged {
		if exists == (o.state == stateRemoved) {
			o.kept = map[string]bool{fieldpath.Path(nil).String(): true}
		}
		return
	}
	come, err := diff.Compare(o.Old, is, diff.Options{})
	if !exists || err != nil {
		return
	}
	comes := diff.IndexPaths(come, func(c diff.Change) fieldpath.Path { return c.Path })
	for _, c := range o.changes {
		if _, ok := comes.Find(c.Path); !ok {
			if o.kept == nil {
				o.kept = map[string]bool{}
			}
			o.kept[c.Path.String()] = true
		}
	}
}

// isKept reports whether the update leaves the whole object as it is.
func (o *ObjectDiff) isKept() bool { return len(o.kept) > 0 && len(o.kept) >= len(o.changes) }

// keeps reports whether the update leaves a field, or one that contains it, as it is.
func (o *ObjectDiff) keeps(path fieldpath.Path) bool {
	for n := range len(path) + 1 {
		if o.kept[path[:n].String()] {
			return true
		}
	}
	return false
}

// withoutObjects keeps the effect of an update that changes no object only if the cluster rejects
// it.
func (j *JobDiff) withoutObjects() {
	switch {
	case len(j.updateEffect.Findings) == 0 && j.updateEffect.Update == Replaced:
		return // it is deleted and created again
	case len(j.updateEffect.Findings) == 0:
		j.updateEffect = UpdateEffect{}
		return
	case j.updateEffect.Update == Replaced:
		j.updateEffect.Update = Rejected // there is nothing to replace
	}
	j.reject(stateRejected, j.updateEffect.Findings, nil)
}

// isUpdate reports whether the new version changes a TrainJob that both versions have, objects of
// it, or its queue.
func (j *JobDiff) isUpdate() bool {
	return j.state == stateChanged &&
		(len(j.Objects) > 0 || j.rewritten || j.oldQueue != j.newQueue)
}

// effectKey is equal for TrainJobs with the same changes, state and runtime. A TrainJob that
// changes itself has its own.
func (j *JobDiff) effectKey() string {
	key := fmt.Sprint(j.alike, "\x00", j.runtime, j.old.IsSuspended(), j.new.IsSuspended())
	if j.rewritten {
		key = fmt.Sprint(key, "\x00", j.ID)
	}
	return key
}

// causesOf returns the layers that cause an error of the TrainJob, at least one.
func (j *JobDiff) causesOf(rejected int) []merge.Claim {
	switch {
	case !j.isUpdateRejected():
		return j.rejectedBy[rejected : rejected+1]
	case len(j.rejected[rejected].Claims) == 0: // a JobSet of the input
		return []merge.Claim{{Owner: runtimepatch.JobSetLayer, Value: merge.Presence{}}}
	default:
		return j.rejected[rejected].Claims
	}
}

// isUnrendered reports whether the new version does not render the TrainJob, or both do not.
func (j *JobDiff) isUnrendered() bool {
	return j.state == stateBroken || j.state == stateRejected && !j.isUpdateRejected()
}

// isUpdateRejected reports whether both versions render the TrainJob, and the cluster rejects the
// update.
func (j *JobDiff) isUpdateRejected() bool {
	return j.state == stateRejected && j.updateEffect.Update != ""
}

// IsSuspended reports whether the TrainJob is suspended. It returns false for nil and for a JobSet.
func (j *Job) IsSuspended() bool {
	return j != nil && j.Source.TrainJob != nil && ptr.Deref(j.Source.Spec.Suspend, false)
}

// effects returns the list of effects.
func (c *Comparison) effects() *effectList {
	b := &effectList{noun: c.noun, by: map[effect][]jobName{}, frozen: map[effect][]string{}}
	for _, j := range c.Jobs {
		if j.isUnrendered() || j.state == stateAccepted {
			continue // the summary has them
		}
		e := j.updateEffect.effect()
		if e.update != "" {
			b.by[e] = append(b.by[e], j.name())
			b.frozen[e] = append(b.frozen[e], j.updateEffect.Frozen...)
		}
		isKept := func(o *ObjectDiff) bool { return o.kept != nil }
		if e.update != Kept && slices.ContainsFunc(j.Objects, isKept) {
			b.by[effect{Kept, inPart}] = append(b.by[effect{Kept, inPart}], j.name())
		}
	}
	for _, frozen := range b.frozen {
		slices.Sort(frozen)
	}
	return b
}

func (j *Job) queue() string {
	if j == nil {
		return ""
	}
	return j.Queue
}

// The numbers of names and of fields in a row.
const (
	mostNames  = 3
	mostFrozen = 2
)

// rows returns the lines that say something.
func (b *effectList) rows() []effectRow {
	var rows []effectRow
	for _, r := range []struct {
		of   effect
		what string
		text string
	}{
		{effect{Replaced, byStuck}, "JobSet", b.replacing(byStuck)},
		{effect{Replaced, byFrozen}, "JobSet", b.replacing(byFrozen)},
		{effect{Replaced, byRules}, "JobSet", "deleted and created again"},
		{effect{Rejected, byFrozen}, "update", "in any state"},
		{effect{Rejected, byRules}, "update", "while the job runs"},
		{effect{Kept, byRules}, "JobSet", "by the runtime with which the job began"},
		{effect{Kept, byObserved}, "JobSet", "since the objects that exist never change"},
		{effect{Kept, inPart}, "JobSet", "in part, by the runtime with which the job began"},
		{effect{Delayed, byRules}, "JobSet", "until the job is suspended"},
		{effect{Delayed, byObserved}, "JobSet", "until the job resumes, or other Jobs are there"},
		{effect{Updated, byRules}, "JobSet", "in place, while the job is suspended"},
		{effect{Updated, byObserved}, "JobSet", "in place, now"},
	} {
		if ids := b.by[r.of]; len(ids) > 0 {
			text := append([]span{words(report.Count(len(ids), r.what) + ", " + r.text + ": ")},
				firstNames(ids, mostNames)...)
			if r.of.by == byFrozen || r.of.by == byStuck {
				text = append(text, words(" ("), span{code, first(slices.Compact(b.frozen[r.of]))},
					words(" cannot change)"))
			}
			rows = append(rows, effectRow{string(r.of.update), text})
		}
	}
	return rows
}

// first names the first fields of a list.
func first(fields []string) string {
	n := min(mostFrozen, len(fields))
	shown := make([]string, n)
	for i := range shown {
		shown[i] = shortened(fields[i], longestName)
	}
	text := strings.Join(shown, ", ")
	if rest := len(fields) - n; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// replacing says how JobSets are replaced.
func (b *effectList) replacing(by decider) string {
	what, when := "it and create it", "if you delete "
	many := len(b.by[effect{Replaced, by}]) > 1
	switch {
	case b.noun == workspace.JobSetKind && many:
		what = "them and create them"
	case many:
		what = "their " + b.noun + "s and create them"
	case b.noun != workspace.JobSetKind:
		what = "its " + b.noun + " and create it"
	}
	if by == byStuck && many {
		when = "which never resume unless you delete "
	} else if by == byStuck {
		when = "which never resumes unless you delete "
	}
	return when + what + " again"
}
