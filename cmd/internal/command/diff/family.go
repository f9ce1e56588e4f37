package diff

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/diff"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// This file compares one TrainJob and its objects with the objects of a cluster.

// familyRun compares one TrainJob with its family in the dump.
type familyRun struct {
	*liveRun
	files         *renderedTrainJob
	family        *live.Family
	before, after *comparison.Job

	ofJobSet  *renderedTrainJob            // made from the live JobSet; nil before its first use
	ofJobs    map[string]*renderedTrainJob // made from the templates of live Jobs
	ofLive    *renderedTrainJob            // the rendering of the live TrainJob
	triedLive bool
	// knowsRuntime tells that the dump has the runtime of the live TrainJob.
	knowsRuntime bool
}

// compare adds the objects that differ to both versions.
func (c *familyRun) compare() error {
	f := c.family
	for _, at := range []struct {
		objectRef
		object *live.Object
	}{{objectRef{kind: trainer.TrainJobKind, name: f.ID.Name}, f.TrainJob}, {objectRef{kind: workspace.JobSetKind, name: f.ID.Name}, f.JobSet}} {
		switch {
		case at.kind == trainer.TrainJobKind && c.files.job.TrainJob == nil: // the files have the JobSet
		case at.object != nil:
			if err := c.pair(at.objectRef, 0, at.object); err != nil {
				return err
			}
		case c.dump.Kinds[at.kind]:
			c.missing(at.objectRef)
		}
	}
	if err := c.compareJobs(); err != nil {
		return err
	}
	return c.comparePods()
}

func (c *familyRun) missing(at objectRef) {
	c.before.Objects = append(c.before.Objects, c.missingObject(at, c.files))
}

func (c *familyRun) compareJobs() error {
	seen := map[string]bool{}
	for _, o := range c.family.Jobs {
		seen[o.ID.Name] = true
		if err := c.pair(objectRef{kind: "Job", name: o.ID.Name}, 0, o); err != nil {
			return err
		}
	}
	if !c.dump.Kinds["Job"] || isFinished(c.family) || c.family.JobSet == nil && c.dump.Kinds[workspace.JobSetKind] {
		return nil
	}
	for _, name := range c.files.jobNames() {
		at := objectRef{kind: "Job", name: name}
		switch js := c.jobSetRendering(); {
		case seen[name] || c.files.waiting[name]:
		case js != nil && (js.object(at) == nil || js.waiting[name]):
			c.derived["Job"]++
		default:
			c.missing(at)
		}
	}
	return nil
}

func (c *familyRun) comparePods() error {
	byJob, numbers := map[string][]*live.Object{}, map[objectRef]int{}
	for _, o := range c.family.Pods {
		at := podRef(c.family, o)
		byJob[at.job] = append(byJob[at.job], o)
		if err := c.pair(at, numbers[at], o); err != nil {
			return err
		}
		numbers[at]++
	}
	if !c.dump.Kinds["Pod"] {
		return nil
	}
	for _, job := range c.files.jobNames() {
		c.missingPods(job, byJob[job])
	}
	return nil
}

// missingPods adds the Pods of a Job that should run, and that the dump lacks.
func (c *familyRun) missingPods(job string, present []*live.Object) {
	if isFinished(c.family) {
		return
	}
	if o := c.family.Job(job); o != nil {
		running := slices.DeleteFunc(slices.Clone(present), hasEnded)
		if value, ok := o.Value.(*batchv1.Job); !ok || !hasPods(value, len(running)) {
			return
		}
	} else if c.dump.Kinds["Job"] || len(present) == 0 {
		return
	}
	names := map[string]bool{}
	for _, o := range present {
		names[podRef(c.family, o).name] = true
	}
	for _, name := range c.files.initialPods(job) {
		at := objectRef{kind: "Pod", job: job, name: name}
		pod := c.files.object(at)
		if pod == nil || names[name] {
			continue
		}
		if _, exclusive := pod.GetAnnotations()[jobset.ExclusiveKey]; exclusive {
			continue // the followers of an exclusive leader wait until it has a node
		}
		if r := c.jobRendering(job); r != nil && r.object(at) == nil {
			c.derived["Pod"]++
			continue
		}
		c.missing(at)
	}
}

// hasEnded reports whether a Pod has succeeded or failed, or is being deleted.
func hasEnded(o *live.Object) bool {
	pod, ok := o.Value.(*corev1.Pod)
	return ok && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil)
}

// podRef returns the place of a live Pod.
func podRef(f *live.Family, o *live.Object) objectRef {
	at := objectRef{kind: "Pod", name: cmp.Or(o.Value.GetGenerateName(), o.Value.GetName()), job: o.Value.GetLabels()[batchv1.JobNameLabel]}
	if job := f.JobOf(o); job != nil {
		at.job = job.ID.Name
	}
	return at
}

// pair adds a live object and its rendering to both versions if they differ. It only counts an object that differs like the live
// object from which a controller makes it.
func (c *familyRun) pair(at objectRef, number int, o *live.Object) error {
	if o.Broken {
		return nil // an error names it
	}
	defer o.Document.Release()
	rendering := c.files.object(at)
	parent := c.parentOf(at)
	if rendering == nil {
		if parent != nil && parent.object(at) != nil {
			c.derived[at.kind]++
			return nil
		}
		made := c.extraObject(at, o)
		made.Key = at.key(number)
		c.after.Objects = append(c.after.Objects, made)
		return nil
	}
	want, got := live.Plain(rendering), live.Plain(o.Value)
	live.Admitted(got, want)
	changes, err := diff.Compare(want, got, diff.Options{})
	if err != nil || len(changes) == 0 {
		return err
	}
	owners := sync.OnceValues(func() (*diff.Owners, error) { return c.files.ownersOf(at, rendering) })
	if at.kind == c.before.ID.Kind { // it stands in the files
		owners = func() (*diff.Owners, error) { return c.writtenAt(changes), nil }
	}
	moves, err := reordered(changes, owners)
	if err != nil {
		return err
	}
	if want, changes = applySome(moves, want, got, changes); len(changes) == 0 {
		return nil
	}
	if parent != nil {
		followed, _ := explained(changes, parent.object(at), o)
		if want, changes = applySome(followed, want, got, changes); len(changes) == 0 {
			c.derived[at.kind]++
			return nil
		}
	}
	causes := ownersFromCauses(c.attribute(at, o, changes))
	c.before.Objects = append(c.before.Objects, comparison.Object{Key: at.key(number), Object: want, Owners: owners, Locate: c.files.locate})
	c.after.Objects = append(c.after.Objects, comparison.Object{Key: at.key(number), Object: got, Owners: noOwners, Locate: keepPosition, Causes: causes})
	return nil
}

// applySome returns the rendered object after some of the changes, and the other changes. If the object does not take them, it
// returns its arguments.
func applySome(some diff.Changes, want, got metav1.Object, changes diff.Changes) (metav1.Object, diff.Changes) {
	if len(some) == 0 {
		return want, changes
	}
	applied, err := some.Apply(want)
	if err != nil {
		return want, changes
	}
	changed, ok := applied.(metav1.Object)
	rest, err := diff.Compare(changed, got, diff.Options{})
	if !ok || err != nil {
		return want, changes
	}
	return changed, rest
}

// reordered returns the variables of the TrainJob and of policies that have another place. The controller runs its policies in a
// random order.
func reordered(changes diff.Changes, owners func() (*diff.Owners, error)) (diff.Changes, error) {
	var moves diff.Changes
	for _, change := range changes {
		if list, _ := change.Path[max(0, len(change.Path)-2)].Field(); change.Kind != diff.Moved || list != "env" {
			continue
		}
		of, err := owners()
		if err != nil {
			return nil, err
		}
		isRandom := slices.ContainsFunc(of.Of(change.Path), func(c merge.Claim) bool {
			return c.Layer == runtimepatch.TrainJobLayer || strings.HasPrefix(string(c.Layer), "policy/")
		})
		if isRandom {
			moves = append(moves, change)
		}
	}
	return moves, nil
}

// explained splits changes. The first ones are in another rendering as well, and the others are not.
func explained(changes diff.Changes, by metav1.Object, o *live.Object) (yes, no diff.Changes) {
	if by == nil {
		return nil, changes
	}
	want, got := live.Plain(by), live.Plain(o.Value)
	live.Admitted(got, want)
	rest, err := diff.Compare(want, got, diff.Options{})
	if err != nil {
		return nil, changes
	}
	differing := live.IndexPaths(rest, func(c diff.Change) fieldpath.Path { return c.Path })
	for _, change := range changes {
		if _, differs := differing.Find(change.Path); differs {
			no = append(no, change)
		} else {
			yes = append(yes, change)
		}
	}
	return yes, no
}

// parentOf returns the rendering from a live JobSet or Job, of which a controller makes the object of a place. It returns nil if the
// dump lacks that one.
func (c *familyRun) parentOf(at objectRef) *renderedTrainJob {
	switch at.kind {
	case "Job":
		return c.jobSetRendering()
	case "Pod":
		return c.jobRendering(at.job)
	default:
		return nil
	}
}

// jobSetRendering returns the rendering from the live JobSet, or nil.
func (c *familyRun) jobSetRendering() *renderedTrainJob {
	if c.ofJobSet == nil && c.family.JobSet != nil && !c.family.JobSet.Broken {
		if js, ok := c.family.JobSet.Value.(*jobset.JobSet); ok {
			c.ofJobSet = c.files.children(js)
		}
	}
	return c.ofJobSet
}

// jobRendering returns the rendering from a live Job, or else from the live JobSet.
func (c *familyRun) jobRendering(name string) *renderedTrainJob {
	if r, known := c.ofJobs[name]; known {
		return r
	}
	from := c.jobSetRendering()
	if o := c.family.Job(name); o != nil && !o.Broken {
		if job, ok := o.Value.(*batchv1.Job); ok {
			from = cmp.Or(from, c.files).withTemplate(job)
		}
	}
	c.ofJobs[name] = from
	return from
}
