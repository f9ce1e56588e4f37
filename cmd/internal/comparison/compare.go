// Package comparison compares two versions of rendered objects, and finds the layers that cause the
// changes.
//
// Its first file to read is compare.go.
package comparison

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// Comparison holds the differences between two versions for the reports. Each report is one walk
// over it.
type Comparison struct {
	// ShowValues shows the literal values of variables.
	ShowValues bool
	// All shows each TrainJob by itself, even if several change alike.
	All bool
	// Notes follow the summary.
	Notes []string

	old, new *Version   // without their TrainJobs
	jobs     []*JobDiff // of each part in the order of the new version, then the removed ones
	same     int
	groups   []*changeGroup
	known    map[string]*changeGroup // by what makes TrainJobs alike

	conflicts, findings openFindings
	oldErrors           finding.List // of the old version alone, and of no TrainJob
}

// openFindings holds findings of one kind in the new version. They are new, belong to TrainJobs
// that differ, or are errors.
type openFindings struct {
	introduced, preexisting finding.List
	inUnchanged             int // the other ones
}

// changeGroup holds the TrainJobs with the same changes. The lines show those of the first one.
type changeGroup struct {
	jobs  jobList
	lines []hunkLine
}

// Add adds the TrainJobs of two versions, or of a part of them. It matches TrainJobs by namespace
// and name, and their objects by kind and name. It asks for the effects of updates concurrently. It
// returns the errors of owners and of JSON encodings.
func (c *Comparison) Add(old, new *Version, effect func(old, new *Job) UpdateEffect) error {
	if c.old == nil {
		before, after := *old, *new
		before.Jobs, after.Jobs = nil, nil
		c.old, c.new, c.known = &before, &after, map[string]*changeGroup{}
	}
	var jobs []*JobDiff
	for before, after := range Pairs(old.Jobs, new.Jobs,
		func(j *Job) fieldpath.Object { return j.ID }) {
		j, err := c.job(before, after)
		if err != nil {
			return err
		}
		jobs = append(jobs, j)
	}
	askEffects(jobs, new.Observed, effect)
	differs := map[fieldpath.Object]bool{}
	for _, j := range jobs {
		if j.State == stateChanged && len(j.Objects) == 0 && len(j.Existing) == 0 {
			c.same++
			continue
		}
		c.jobs, differs[j.ID()] = append(c.jobs, j), true
		if err := c.group(j); err != nil {
			return err
		}
	}
	c.conflicts.add(old.Conflicts, new.Conflicts, differs)
	c.findings.add(old.Findings, new.Findings, differs)
	c.oldErrors = append(c.oldErrors, without(old.Findings, new.Findings)...)
	return nil
}

// Differs reports whether anything differs.
func (c *Comparison) Differs() bool {
	return slices.ContainsFunc(c.jobs, func(j *JobDiff) bool { return j.State != stateBroken })
}

// Pairs yields what two lists have by a key: the values of the new list with those of the old one,
// which may be nil, then the old values that the new list lacks.
func Pairs[T any, K comparable](old, new []T, key func(*T) K) iter.Seq2[*T, *T] {
	return func(yield func(old, new *T) bool) {
		before := map[K]*T{}
		for i := range old {
			before[key(&old[i])] = &old[i]
		}
		for i := range new {
			k := key(&new[i])
			if !yield(before[k], &new[i]) {
				return
			}
			delete(before, k)
		}
		for i := range old {
			if gone := before[key(&old[i])]; gone != nil && !yield(gone, nil) {
				return
			}
		}
	}
}

// add sorts findings of the new version.
func (o *openFindings) add(before, after finding.List, differs map[fieldpath.Object]bool) {
	known := report.Before{}
	known.Add(before)
	for _, f := range after {
		switch {
		case !known.Take(f):
			o.introduced = append(o.introduced, f)
		case differs[f.Object] || f.Severity >= finding.Error:
			o.preexisting = append(o.preexisting, f)
		default:
			o.inUnchanged++
		}
	}
}

// without returns the errors of a list that another one lacks, apart from their places.
func without(found, others finding.List) finding.List {
	return found.Where(func(f finding.Finding) bool {
		return f.Severity >= finding.Error && !slices.ContainsFunc(others, func(o finding.Finding) bool {
			return o.Code == f.Code && o.Message == f.Message && o.Path.String() == f.Path.String()
		})
	})
}

// job compares the objects of a TrainJob. Either side may be nil.
func (c *Comparison) job(old, new *Job) (*JobDiff, error) {
	j := &JobDiff{State: stateChanged, Objects: []*ObjectDiff{}, old: old, new: new}
	of := cmp.Or(new, old)
	j.Kind, j.Namespace, j.Name, j.Build, j.runtime = of.ID.Kind, of.ID.Namespace, of.ID.Name,
		of.Build, of.Runtime
	var before, after []Object
	switch {
	case new != nil && new.Rejected != nil && old != nil && old.Rejected != nil:
		j.reject(stateBroken, new.Rejected, new.RejectedBy)
		j.RejectedOld = rejections(without(old.Rejected, new.Rejected), nil)
		return j, nil
	case new != nil && new.Rejected != nil:
		j.reject(stateRejected, new.Rejected, new.RejectedBy)
		return j, nil
	case old != nil && new != nil && old.Rejected != nil:
		j.reject(stateAccepted, old.Rejected, old.RejectedBy)
		return j, nil
	case old == nil:
		j.State, after = stateCreated, new.Objects
	case new == nil:
		j.State, before = stateRemoved, old.Objects
		j.RejectedOld = rejections(old.Rejected, nil)
	default:
		before, after = old.Objects, new.Objects
		if old.Queue != new.Queue {
			j.Existing = []string{fmt.Sprintf("queue: %s -> %s", cmp.Or(old.Queue, "none"),
				cmp.Or(new.Queue, "none"))}
		}
	}
	for old, new := range Pairs(before, after, func(o *Object) Key { return o.Key }) {
		o, err := c.object(j.Name, old, new)
		if err != nil {
			return nil, err
		}
		if o != nil {
			j.Objects = append(j.Objects, o)
		}
	}
	return j, nil
}

// object compares two objects of a TrainJob. It returns nil if they are equal.
func (c *Comparison) object(job string, old, new *Object) (*ObjectDiff, error) {
	of := cmp.Or(new, old)
	o := &ObjectDiff{Kind: of.Key.Kind, Name: of.Key.Name, key: of.Key, State: stateChanged}
	switch {
	case old == nil:
		o.State, o.new = stateCreated, new.Object
	case new == nil:
		o.State, o.old = stateRemoved, old.Object
	default:
		if o.old, o.new = old.Object, new.Object; reflect.DeepEqual(o.old, o.new) {
			return nil, nil // before the owners are asked for
		}
	}
	var err error
	if o.before, err = old.owners(); err != nil {
		return nil, err
	}
	if o.after, err = new.owners(); err != nil {
		return nil, err
	}
	pair, err := c.read(o)
	if err != nil {
		return nil, err
	}
	if o.State != stateChanged {
		o.by = setters(cmp.Or(o.after, o.before).Of(nil))
		o.Old, o.New = pair.Old, pair.New
		o.alike = o.alikeWith(job, []any{o.Old, o.New})
		return o, nil
	}
	changes := pair.Changes()
	if len(changes) == 0 {
		return nil, nil
	}
	changes.Attribute(o.before, o.after)
	var parts []any
	for _, change := range changes {
		f := newFieldChange(change)
		o.Changes = append(o.Changes, f)
		parts = append(parts, f.Kind, f.Path, f.Old, f.New, f.From, f.To, owners(f.Before),
			owners(f.After))
	}
	o.alike = o.alikeWith(job, parts)
	return o, nil
}

// read reads both states of an object as the reports show them.
func (c *Comparison) read(o *ObjectDiff) (diff.Pair, error) {
	return diff.Read(o.old, o.new,
		diff.Options{Mask: !c.ShowValues, Before: o.before, After: o.after})
}

// indexes matches the labels and annotations that number the Jobs of a JobSet and the Pods of a
// Job.
var indexes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`"(jobset\.sigs\.k8s\.io/(job-index|job-key|job-global-index|job-group-index)|batch\.kubernetes\.io/job-completion-index)":"[^"]*",?`)
})

// alikeWith returns a string that is equal for objects with the same changes. It ignores the names
// of TrainJobs, and the names and indexes of Jobs and Pods, of which a JobSet has several.
func (o *ObjectDiff) alikeWith(job string, changes []any) string {
	data, err := json.Marshal(changes)
	if err != nil {
		return o.Kind + o.Name // not reached: changes consist of JSON values
	}
	name, text := o.Name, string(data)
	if o.Kind == "Job" || o.Kind == "Pod" {
		name = ""
		if o.State != stateChanged {
			text = indexes().ReplaceAllString(
				report.Nameless(text, strings.TrimSuffix(o.Name, "-")), "")
		}
	}
	return fmt.Sprint(o.State, o.Kind, report.Nameless(name, job), report.Nameless(text, job))
}

// group adds a TrainJob to those that change alike. Only the first of them keeps its lines, and
// none its objects.
func (c *Comparison) group(j *JobDiff) error {
	alike := j.alike()
	g := c.known[alike]
	if g == nil || c.All {
		lines, err := c.lines(j)
		if err != nil {
			return err
		}
		g = &changeGroup{lines: lines}
		c.known[alike], c.groups = g, append(c.groups, g)
	}
	g.jobs = append(g.jobs, j)
	for _, o := range j.Objects {
		o.old, o.new, o.before, o.after, o.alike = nil, nil, nil, nil, ""
	}
	j.old, j.new = nil, nil
	return nil
}

// alike returns a string that is equal for TrainJobs with the same changes, apart from names and
// positions. A created or removed TrainJob is like no other one.
func (j *JobDiff) alike() string {
	if j.State == stateCreated || j.State == stateRemoved {
		return fmt.Sprint(j.ID(), j.Build)
	}
	parts := append([]string{string(j.State)}, j.Existing...)
	for _, r := range j.Rejected {
		parts = append(parts, fmt.Sprint(r.Code, r.Path, r.Message))
	}
	for _, f := range j.Fields {
		parts = append(parts, f.String())
	}
	for i := range parts {
		parts[i] = report.Nameless(parts[i], j.Name)
	}
	for _, o := range j.Objects {
		parts = append(parts, o.alike)
	}
	return strings.Join(parts, "\x00")
}

// ID returns the TrainJob.
func (j *JobDiff) ID() fieldpath.Object {
	return fieldpath.Object{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name}
}

// reject sets the errors with which one version, or the cluster, rejects a TrainJob.
func (j *JobDiff) reject(s state, errs finding.List, by []merge.Claim) {
	j.State, j.Rejected, j.Existing = s, rejections(errs, by), nil
	for _, r := range j.Rejected {
		for _, claim := range r.causes {
			if !slices.Contains(j.Causes, claim.Layer) {
				j.Causes = append(j.Causes, claim.Layer)
			}
		}
	}
}
