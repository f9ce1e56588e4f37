package comparison

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Update is the effect of the new version on an existing object.
type Update string

const (
	// Replaced: the cluster rejects the update in any state. Its JobSet changes only with a new TrainJob. Without frozen fields, the
	// TrainJob is deleted and created again in any case.
	Replaced Update = "replaced"
	// Rejected: the cluster rejects the update while the job runs, or in any state if it has frozen fields. The JobSet would not change
	// in that case.
	Rejected Update = "refused"
	// Kept: the JobSet stays as it is, because the job keeps the runtime with which it began.
	Kept Update = "kept"
	// Delayed: the JobSet stays as it is until the job is suspended.
	Delayed Update = "delayed"
	// Updated: the JobSet changes in place.
	Updated Update = "updated"
)

// UpdateEffect is the update of one TrainJob, or of a JobSet of the input. The zero value says nothing.
type UpdateEffect struct {
	Update Update
	// Frozen are the fields that the cluster does not let change.
	Frozen []string
	// Findings are the errors with which the cluster rejects the update. Their claims are the layers that bring them.
	Findings finding.List
}

// effect is an update, and whether it has frozen fields.
type effect struct {
	update Update
	frozen bool
}

func (f UpdateEffect) effect() effect { return effect{f.Update, f.Frozen != nil} }

// effectList lists what a change does to the objects of a cluster, over all TrainJobs that differ.
type effectList struct {
	noun   string
	by     map[effect][]jobName
	frozen map[effect][]string
}

// evaluate asks for the effects of the differing TrainJobs. Then it drops the inputs, which take much memory.
func (c *Comparison) evaluate() {
	if c.new.UpdateEffect != nil {
		c.askEffects()
	}
	for _, j := range c.Jobs {
		j.old, j.new = nil, nil
	}
}

// askEffects asks for the effects of all updates. TrainJobs that change alike by their runtime share one. It drops the updates that change
// no object, except rejected ones.
func (c *Comparison) askEffects() {
	var first []*JobDiff
	number := map[string]int{}
	for _, j := range c.Jobs {
		if _, known := number[j.effectKey()]; !known && j.isUpdate() {
			number[j.effectKey()] = len(first)
			first = append(first, j)
		}
	}
	effects := make([]UpdateEffect, len(first))
	parallel.Ordered(len(first), func(i int) UpdateEffect { return c.new.UpdateEffect(first[i].old, first[i].new) }, func(i int, f UpdateEffect) { effects[i] = f })
	for _, j := range c.Jobs {
		if j.isUpdate() {
			j.updateEffect = effects[number[j.effectKey()]]
		}
		if len(j.Objects) == 0 && j.state == stateChanged && !j.migrated {
			j.withoutObjects()
		}
	}
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j *JobDiff) bool {
		same := j.isSame() && j.state == stateChanged
		if same && !j.migrated {
			c.same++
		}
		return same
	})
}

// withoutObjects keeps the effect of an update that changes no object only if the cluster rejects it.
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

// isUpdate reports whether the new version changes a TrainJob that both versions have, objects of it, or its queue.
func (j *JobDiff) isUpdate() bool {
	return j.state == stateChanged && !j.migrated && (len(j.Objects) > 0 || j.rewritten || j.oldQueue != j.newQueue)
}

// effectKey is equal for TrainJobs with the same changes, state and runtime. A TrainJob that changes itself has its own.
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
		return []merge.Claim{{Layer: runtimepatch.JobSetLayer, Value: merge.Presence{}}}
	default:
		return j.rejected[rejected].Claims
	}
}

// isUnrendered reports whether the new version does not render the TrainJob, or both do not.
func (j *JobDiff) isUnrendered() bool {
	return j.state == stateBroken || j.state == stateRejected && !j.isUpdateRejected()
}

// isUpdateRejected reports whether both versions render the TrainJob, and the cluster rejects the update.
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
		if j.migrated || j.isUnrendered() || j.state == stateAccepted {
			continue // the summary has them
		}
		if e := j.updateEffect.effect(); e.update != "" {
			b.by[e] = append(b.by[e], j.name())
			b.frozen[e] = append(b.frozen[e], j.updateEffect.Frozen...)
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

// effectRow is a line of the list: its head, a text, names, and the fields that cannot change.
type effectRow struct {
	head, text, frozen string
	names              []jobName
}

// line returns the row behind its head.
func (r effectRow) line() string {
	text := r.text + ": " + firstNames(r.names, mostNames)
	if r.frozen != "" {
		text += fmt.Sprintf(" (%s cannot change)", r.frozen)
	}
	return text
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
		{effect{Replaced, true}, "JobSet", b.replacing()},
		{effect{Replaced, false}, "JobSet", "deleted and created again"},
		{effect{Rejected, true}, "update", "in any state"},
		{effect{Rejected, false}, "update", "while the job runs"},
		{effect{Kept, false}, "JobSet", "by the runtime with which the job began"},
		{effect{Delayed, false}, "JobSet", "until the job is suspended"},
		{effect{Updated, false}, "JobSet", "in place, while the job is suspended"},
	} {
		if ids := b.by[r.of]; len(ids) > 0 {
			row := effectRow{head: string(r.of.update), text: report.Count(len(ids), r.what) + ", " + r.text, names: ids}
			if r.of.frozen {
				row.frozen = joinFirst(slices.Compact(b.frozen[r.of]), mostFrozen)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// replacing says how JobSets are replaced.
func (b *effectList) replacing() string {
	what := "it and create it"
	switch many := len(b.by[effect{Replaced, true}]) > 1; {
	case b.noun == workspace.JobSetKind && many:
		what = "them and create them"
	case many:
		what = "their " + b.noun + "s and create them"
	case b.noun != workspace.JobSetKind:
		what = "its " + b.noun + " and create it"
	}
	return "if you delete " + what + " again"
}
