// Package comparison compares two versions of rendered objects, and finds the layers that cause the
// changes.
//
// Its first file to read is compare.go.
package comparison

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// Comparison holds the differences between two versions for the reports.
type Comparison struct {
	// All shows each TrainJob by itself, even if several change alike.
	All bool

	old, new *Version
	mask     bool
	Jobs     []*JobDiff // the differing ones in the order of the new version, then the removed ones
	same     int
	noun     string // the compared kind: TrainJob, or JobSet if there are JobSets only

	conflicts, findings openFindings
	oldErrors           finding.List // of the old version alone, and of no TrainJob

	shown map[string]bool // the TrainJobs whose changes a report shows, by what makes them alike
}

// state is the change of a TrainJob or of an object.
type state string

const (
	stateChanged state = "changed"
	stateCreated state = "created"
	stateRemoved state = "removed"
	// Only the new version rejects the TrainJob, or only the old one, or both do.
	stateRejected state = "refused"
	stateAccepted state = "accepted"
	stateBroken   state = "broken"
)

// states are the states of TrainJobs that differ, in the order of a report.
var states = []state{stateChanged, stateCreated, stateRemoved, stateRejected, stateAccepted}

// JobDiff is a TrainJob that differs.
type JobDiff struct {
	ID      fieldpath.Object
	Build   string // the directory whose build holds the TrainJob, or ""
	runtime fieldpath.Object
	state   state
	Objects []*ObjectDiff
	alike   string // equal for TrainJobs with the same changes, apart from names and positions

	rejected finding.List // of the version that rejects it, the new one if both do
	// of the old version if both reject it or the new one lacks it, without the errors that the new
	// one has too
	rejectedOld  finding.List
	rejectedBy   []merge.Claim
	updateEffect UpdateEffect
	rewritten    bool // the TrainJob itself changes

	old, new           *Job // until evaluate; nil if created or removed
	oldQueue, newQueue string
}

// ObjectDiff is an object that differs. If it is created or removed, Old or New is nil.
type ObjectDiff struct {
	Key           Key
	state         state
	Old, New      any
	changes       diff.Changes // with masked values and with their causes
	before, after *diff.Owners
	alike         string
	// the paths of the changes that an update does not bring; the root stands for the object
	kept map[string]bool
}

// Differs reports whether anything differs.
func (c *Comparison) Differs() bool {
	return slices.ContainsFunc(c.Jobs, func(j *JobDiff) bool { return j.state != stateBroken })
}

// Compare matches the TrainJobs of two versions by namespace and name, and their objects by kind
// and name. It returns the errors of owners and of JSON encodings.
func Compare(old, new *Version, showValues bool) (*Comparison, error) {
	c := &Comparison{old: old, new: new, mask: !showValues, shown: map[string]bool{}}
	c.noun = trainer.TrainJobKind
	if old.TrainJobs+new.TrainJobs == 0 {
		c.noun = workspace.JobSetKind
	}
	before := map[fieldpath.Object]*Job{}
	for i := range old.Jobs {
		before[old.Jobs[i].ID] = &old.Jobs[i]
	}
	for i := range new.Jobs {
		after := &new.Jobs[i]
		j, err := c.job(before[after.ID], after)
		if err != nil {
			return nil, err
		}
		delete(before, after.ID)
		c.addDiffering(j)
	}
	for i := range old.Jobs {
		if gone := before[old.Jobs[i].ID]; gone != nil {
			j, err := c.job(gone, nil)
			if err != nil {
				return nil, err
			}
			c.addDiffering(j)
		}
	}
	c.evaluate()
	c.compact(c)
	c.conflicts, c.findings = c.openFindingsOf(old.Conflicts, new.Conflicts),
		c.openFindingsOf(old.Findings, new.Findings)
	isError := func(f finding.Finding) bool { return f.Severity >= finding.Error }
	c.oldErrors = without(old.Findings.Where(isError), new.Findings)
	return c, nil
}

// With returns the comparison with the TrainJobs of another part of the same versions. A nil
// comparison is empty.
func (c *Comparison) With(part *Comparison) *Comparison {
	if c == nil {
		return part
	}
	c.compact(part)
	if c.Jobs, c.same = append(c.Jobs, part.Jobs...),
		c.same+part.same; part.noun == trainer.TrainJobKind {
		c.noun = part.noun
	}
	c.conflicts.add(part.conflicts)
	c.findings.add(part.findings)
	c.oldErrors = append(c.oldErrors, part.oldErrors...)
	return c
}

// compact drops objects and owners of a part that no report shows. Their TrainJob changes like an
// earlier one, or their Pod changes like an earlier Pod of its TrainJob. The changes stay.
func (c *Comparison) compact(part *Comparison) {
	if part.new.Whole {
		return
	}
	for _, j := range part.Jobs {
		seen := map[string]bool{}
		for _, o := range j.Objects {
			if (c.shown[j.alike] || seen[o.alike]) && o.state == stateChanged {
				o.Old, o.New, o.before, o.after = nil, nil, nil, nil
			}
			seen[o.alike] = true
		}
		c.shown[j.alike] = true
	}
}

// isSame reports whether nothing of the TrainJob's objects and of its queue differs.
func (j *JobDiff) isSame() bool { return len(j.Objects) == 0 && len(j.queueChange()) == 0 }

func (c *Comparison) addDiffering(j *JobDiff) {
	if j.rewritten = j.state == stateChanged && c.new.UpdateEffect != nil &&
		j.new.rewrites(j.old); j.state == stateChanged && j.isSame() && !j.rewritten {
		c.same++
		return
	}
	c.Jobs = append(c.Jobs, j)
}

// job compares the objects of a TrainJob. Either side may be nil.
func (c *Comparison) job(old, new *Job) (*JobDiff, error) {
	j := &JobDiff{state: stateChanged, old: old, new: new, oldQueue: old.queue(),
		newQueue: new.queue()}
	var before, after []Object
	if old != nil {
		j.ID, j.Build, j.runtime, before = old.ID, old.Build, old.Runtime, old.Objects
	}
	if new != nil {
		j.ID, j.Build, j.runtime, after = new.ID, new.Build, new.Runtime, new.Objects
	}
	switch {
	case new != nil && new.Rejected != nil && old != nil && old.Rejected != nil:
		j.reject(stateBroken, new.Rejected, new.RejectedBy)
		j.rejectedOld = without(old.Rejected, new.Rejected)
		return j, nil
	case new != nil && new.Rejected != nil:
		j.reject(stateRejected, new.Rejected, new.RejectedBy)
		return j, nil
	case old != nil && new != nil && old.Rejected != nil && new.Rejected == nil:
		j.reject(stateAccepted, old.Rejected, old.RejectedBy)
		return j, nil
	case old == nil:
		j.state = stateCreated
	case new == nil:
		j.state, j.rejectedOld = stateRemoved, old.Rejected
	}
	known := map[Key]*Object{}
	for i := range before {
		known[before[i].Key] = &before[i]
	}
	add := func(old, new *Object) error {
		o, err := c.object(j, old, new)
		if o != nil {
			j.Objects = append(j.Objects, o)
		}
		return err
	}
	for i := range after {
		if err := add(known[after[i].Key], &after[i]); err != nil {
			return nil, err
		}
		delete(known, after[i].Key)
	}
	for i := range before {
		if known[before[i].Key] != nil {
			if err := add(&before[i], nil); err != nil {
				return nil, err
			}
		}
	}
	parts := j.head()
	for _, o := range j.Objects {
		parts = append(parts, o.alike)
	}
	j.alike = strings.Join(parts, "\x00")
	if j.state == stateCreated || j.state == stateRemoved {
		j.alike = fmt.Sprint(j.ID, j.Build) // show each one completely
	}
	return j, nil
}

// reject sets the errors with which one version, or the cluster, rejects a TrainJob.
func (j *JobDiff) reject(s state, errs finding.List, by []merge.Claim) {
	j.state, j.rejected, j.rejectedBy = s, errs, by
	parts := j.head()
	for _, f := range j.rejected {
		parts = append(parts, report.Nameless(fmt.Sprint(f.Code, f.Path, f.Message), j.ID.Name))
	}
	j.alike = strings.Join(parts, "\x00")
}

// without returns the errors that another list lacks, apart from their places.
func without(errs, others finding.List) finding.List {
	return errs.Where(func(f finding.Finding) bool {
		return !slices.ContainsFunc(others, func(o finding.Finding) bool {
			return o.Code == f.Code && o.Message == f.Message && o.Path.String() == f.Path.String()
		})
	})
}

// queueChange returns a line on a TrainJob that changes its queue. The JobSet does not show the
// queue.
func (j *JobDiff) queueChange() []string {
	if j.state != stateChanged || j.oldQueue == j.newQueue {
		return nil
	}
	return []string{
		fmt.Sprintf("queue: %s -> %s", cmp.Or(j.oldQueue, "none"), cmp.Or(j.newQueue, "none"))}
}

// head returns what TrainJobs share next to their changes to be alike.
func (j *JobDiff) head() []string {
	head := []string{string(j.state)}
	for _, line := range j.queueChange() {
		head = append(head, report.Nameless(line, j.ID.Name))
	}
	return head
}

// object compares two objects. It returns nil if they are equal.
func (c *Comparison) object(j *JobDiff, old, new *Object) (*ObjectDiff, error) {
	o := &ObjectDiff{state: stateChanged}
	if old != nil {
		o.Key, o.Old = old.Key, old.Object
	}
	if new != nil {
		o.Key, o.New = new.Key, new.Object
	}
	var changes diff.Changes
	var err error
	switch {
	case old == nil:
		o.state = stateCreated
	case new == nil:
		o.state = stateRemoved
	default:
		changes, err = diff.Compare(o.Old, o.New, diff.Options{})
		if err != nil || len(changes) == 0 {
			return nil, err
		}
	}
	if o.before, err = old.owners(); err != nil {
		return nil, err
	}
	if o.after, err = new.owners(); err != nil {
		return nil, err
	}
	if o.state == stateChanged {
		if o.changes, err = diff.Compare(o.Old, o.New, c.options(o)); err != nil {
			return nil, err
		}
		o.changes.Attribute(o.before, o.after)
		o.alike = alike(j, o, changes)
		return o, nil
	}
	text, err := json.Marshal([]any{o.Old, o.New})
	if err != nil {
		return nil, err
	}
	name, whole := o.Key.Name, string(text)
	if o.isChild() {
		whole = indexes().ReplaceAllString(
			report.Nameless(whole, strings.TrimSuffix(name, "-")), "")
		name = ""
	}
	o.alike = fmt.Sprint(o.state, o.Key.Kind, report.Nameless(name, j.ID.Name),
		report.Nameless(whole, j.ID.Name))
	return o, nil
}

// owners returns who set the fields of an object, or nil for a missing one.
func (o *Object) owners() (*diff.Owners, error) {
	if o == nil {
		return nil, nil
	}
	known, err := o.Owners()
	if err != nil {
		return nil, err
	}
	owners := *known
	owners.Locate, owners.Causes = o.Locate, o.Causes
	return &owners, nil
}

// options returns the options for the lines of an object.
func (c *Comparison) options(o *ObjectDiff) diff.Options {
	return diff.Options{Mask: c.mask, Before: o.before, After: o.after}
}

// isChild reports whether a JobSet has several objects of this kind.
func (o *ObjectDiff) isChild() bool { return o.Key.Kind == "Job" || o.Key.Kind == "Pod" }

// indexes matches the labels and annotations that number the Jobs of a JobSet and the Pods of a
// Job.
var indexes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`"(jobset\.sigs\.k8s\.io/(job-index|job-key|job-global-index|job-group-index)|batch\.kubernetes\.io/job-completion-index)":"[^"]*",?`)
})

// alike returns a string that is equal for objects with the same changes and causes. It ignores the
// names of TrainJobs and the positions of causes.
func alike(j *JobDiff, o *ObjectDiff, changes diff.Changes) string {
	var b strings.Builder
	fmt.Fprintln(&b, o.Key.Kind)
	if !o.isChild() {
		fmt.Fprintln(&b, report.Nameless(o.Key.Name, j.ID.Name))
	}
	for i, c := range changes {
		text, err := json.Marshal([]any{c.Kind, c.Path, c.Old, c.New, c.From, c.To})
		if err != nil {
			return o.Key.Kind + o.Key.Name // not reached: changes consist of JSON values
		}
		fmt.Fprintln(&b, report.Nameless(string(text), j.ID.Name), layersOf(o.changes[i].Before),
			layersOf(o.changes[i].After))
	}
	return b.String()
}

func layersOf(claims []merge.Claim) []merge.Owner {
	layers := make([]merge.Owner, len(claims))
	for i, c := range claims {
		layers[i] = c.Owner
	}
	return layers
}
