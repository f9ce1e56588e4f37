package comparison

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
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

// impact is the impact of a change: what it does to the cluster, over all TrainJobs that differ.
type impact struct {
	noun          string
	by            map[effect][]jobName
	frozen        map[effect][]string
	before, after pipeline.Load
	queues        []*queueMove
}

// queueMove is a queue before and after the change, with the number of its TrainJobs. Either is empty without a queue.
type queueMove struct {
	Namespace string `json:"namespace"`
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
	TrainJobs int    `json:"trainJobs"`
}

// evaluate sets the loads of the differing TrainJobs, and asks for their effects. Then it drops the inputs, which take much memory.
func (c *Comparison) evaluate() {
	if c.new.UpdateEffect != nil {
		c.askEffects()
	}
	for _, j := range c.Jobs {
		j.loadBefore, j.loadAfter = j.old.load(), j.new.load()
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

// isUpdateRejected reports whether both versions render the TrainJob, and the cluster rejects the update.
func (j *JobDiff) isUpdateRejected() bool {
	return j.state == stateRejected && j.updateEffect.Update != ""
}

// IsSuspended reports whether the TrainJob is suspended. It returns false for nil and for a JobSet.
func (j *Job) IsSuspended() bool {
	return j != nil && j.Source.TrainJob != nil && ptr.Deref(j.Source.Spec.Suspend, false)
}

// impact returns the impact.
func (c *Comparison) impact() *impact {
	b := &impact{noun: c.noun, by: map[effect][]jobName{}, frozen: map[effect][]string{}}
	for _, j := range c.Jobs {
		if j.migrated || j.state == stateRejected && !j.isUpdateRejected() || j.state == stateAccepted {
			continue // the summary has them
		}
		if e := j.updateEffect.effect(); e.update != "" {
			b.by[e] = append(b.by[e], j.name())
			b.frozen[e] = append(b.frozen[e], j.updateEffect.Frozen...)
		}
		if j.isUpdateRejected() {
			continue // its Pods stay
		}
		b.before.Add(j.loadBefore)
		b.after.Add(j.loadAfter)
		b.queue(j)
	}
	for _, frozen := range b.frozen {
		slices.Sort(frozen)
	}
	return b
}

func (j *Job) load() pipeline.Load {
	if j == nil || j.Load == nil {
		return pipeline.Load{}
	}
	return j.Load()
}

func (j *Job) queue() string {
	if j == nil {
		return ""
	}
	return j.Queue
}

func (b *impact) queue(j *JobDiff) {
	move := queueMove{Namespace: j.ID.Namespace, Before: j.oldQueue, After: j.newQueue}
	switch {
	case move.Before == "" && move.After == "":
		return
	case j.state == stateCreated:
		move.Before = move.After
	case j.state == stateRemoved:
		move.After = move.Before
	}
	for _, known := range b.queues {
		if known.Namespace == move.Namespace && known.Before == move.Before && known.After == move.After {
			known.TrainJobs++
			return
		}
	}
	move.TrainJobs = 1
	b.queues = append(b.queues, &move)
}

// impactRow is a line of the impact: its head, a text, names, and the fields that cannot change.
type impactRow struct {
	head, text, frozen string
	names              []jobName
}

// line returns the row behind its head.
func (r impactRow) line() string {
	text := r.text
	if r.names != nil {
		text += ": " + firstNames(r.names, mostNames)
	}
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
func (b *impact) rows() []impactRow {
	var rows []impactRow
	add := func(head, text string) { rows = append(rows, impactRow{head: head, text: text}) }
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
			add(string(r.of.update), report.Count(len(ids), r.what)+", "+r.text)
			rows[len(rows)-1].names = ids
			if r.of.frozen {
				rows[len(rows)-1].frozen = joinFirst(slices.Compact(b.frozen[r.of]), mostFrozen)
			}
		}
	}
	if b.before.Pods != nil || b.after.Pods != nil {
		add("Pods", beforeAndAfter(b.before.Pods, b.after.Pods))
	}
	var devices []string
	for _, name := range b.devices() {
		devices = append(devices, beforeAndAfter(b.before.Devices[name], b.after.Devices[name])+" "+name)
	}
	if devices != nil {
		add("GPUs", joinFirst(devices, 5))
	}
	if queues := b.queueNames(); queues != nil {
		add("queues", joinFirst(queues, 5))
	}
	return rows
}

// replacing says how JobSets are replaced.
func (b *impact) replacing() string {
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

// devices returns the names of the accelerators, sorted.
func (b *impact) devices() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(b.before.Devices)), maps.Keys(b.after.Devices))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return orZero(b.before.Devices[name]).Sign() == 0 && orZero(b.after.Devices[name]).Sign() == 0
	})
}

func (b *impact) queueNames() []string {
	var names []string
	for _, q := range b.queues {
		of := func(name string) string {
			if name == "" {
				return "none"
			}
			return fieldpath.Object{Namespace: q.Namespace, Name: name}.String()
		}
		text := of(q.After)
		if q.Before != q.After {
			text = of(q.Before) + " -> " + of(q.After)
		}
		names = append(names, fmt.Sprintf("%s (%s)", text, report.Count(q.TrainJobs, "TrainJob")))
	}
	return names
}

func orZero(n *big.Int) *big.Int { return cmp.Or(n, new(big.Int)) }

// beforeAndAfter formats a number before and after, or once if it stays.
func beforeAndAfter(before, after *big.Int) string {
	before, after = orZero(before), orZero(after)
	if before.Cmp(after) == 0 {
		return after.String()
	}
	return fmt.Sprintf("%s -> %s", before, after)
}
