package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

// This file tells which changes of the files reach the objects that exist.

// When tells when a changed field takes effect.
type When string

// The values of When.
const (
	Now      When = "now"
	AtResume When = "at resume"
	Waiting  When = "waiting" // for other Jobs
	Never    When = "never"
)

// rejectionThread explains why a JobSet is rejected forever.
const rejectionThread = "https://github.com/kubeflow/trainer/issues/3008"

// Effect is a difference between an object of the cluster and the files, and tells when it goes.
type Effect struct {
	Kind   string    `json:"kind"`
	Name   string    `json:"name"`
	Path   string    `json:"path,omitempty" doc:"The field. Without it, the object itself."`
	Change diff.Kind `json:"change"`
	When   When      `json:"when" doc:"now, at resume, waiting for other Jobs, or never: only if the TrainJob is deleted and created again."`
	Reason string    `json:"reason"`
	Thread string    `json:"thread,omitempty" doc:"The thread of the project that explains the reason."`

	at fieldpath.Path
}

// String returns the effect as a line.
func (e Effect) String() string {
	text := fmt.Sprintf("%s: %s/%s %s %s: %s", e.When, e.Kind, e.Name, cmp.Or(e.Path, "(object)"),
		e.Change, e.Reason)
	if e.Thread != "" {
		text += " (" + e.Thread + ")"
	}
	return text
}

// Stale warns of the fields of objects that differ from the files and never change. A field that
// the files remove has its place in the dump. For others, locate returns the place of a field of
// the JobSet in the files. Rejections of the JobSet are findings of their own.
func (f *Family) Stale(second *admission.Second,
	locate func(fieldpath.Path) fieldpath.Position) (found finding.List) {
	if f == nil || second == nil || len(second.Rejected)+len(second.ResumeRejected) > 0 {
		return nil
	}
	effects, err := f.Effects(second)
	if err != nil {
		return finding.List{{
			Code: codes.WrongType, Severity: finding.Error, Object: f.ID,
			Position: f.JobSet.Position(nil),
			Message:  err.Error(),
			Remedy:   finding.Remedy{Text: "read the object with kubectl get -o yaml"},
		}}
	}
	for _, e := range effects {
		if e.When != Never {
			continue
		}
		o, at := f.JobSet, e.at
		if e.Kind == jobKind {
			if o = f.byName[e.Name]; o == nil {
				continue // JobSet does not create it, as TW702 tells
			}
			at = fieldpath.Fields("spec", "replicatedJobs").Append(
				fieldpath.Item("name", o.Value.GetLabels()[jobset.ReplicatedJobNameKey]),
				fieldpath.Field("template")).Append(at...)
		}
		stale := finding.Finding{
			Code: codes.UpdateIgnored, Severity: finding.Warning, Object: o.ID, Path: e.at,
			Position: o.Position(e.at),
			Message:  "the change does not reach the object that exists: " + e.Reason,
			Remedy:   finding.Remedy{Text: "delete the TrainJob and create it again"},
		}
		if e.Thread != "" {
			stale.Remedy.Text += "; see " + e.Thread
		}
		if e.Change != diff.Removed {
			stale.Position = locate(at)
		}
		found = append(found, stale)
	}
	return found
}

// Effects compares the family with new objects of the files: the JobSet, then the Jobs.
func (f *Family) Effects(second *admission.Second) ([]Effect, error) {
	if f == nil || f.JobSet == nil {
		return []Effect{
			{Kind: workspace.JobSetKind, Name: second.Wanted.JobSet.Name, Change: diff.Added,
				When: Now, Reason: "the cluster has none"}}, nil
	}
	c := effects{
		family: f, second: second, errs: slices.Concat(second.Rejected, second.ResumeRejected)}
	c.places = diff.IndexPaths(c.errs, func(f finding.Finding) fieldpath.Path { return f.Path })
	live, _ := f.JobSet.Value.(*jobset.JobSet)
	if err := c.compare(live, second.Now.JobSet, second.Resumed.JobSet,
		second.Wanted.JobSet); err != nil {
		return nil, err
	}
	now, resumed := byName(second.Now.Jobs), byName(second.Resumed.Jobs)
	wanted := map[string]bool{}
	for _, job := range second.Wanted.Jobs {
		wanted[job.Name] = true
		at := Effect{Kind: jobKind, Name: job.Name, Change: diff.Added, When: Now,
			Reason: "JobSet creates the Job"}
		switch o := f.byName[job.Name]; {
		case o != nil:
			was, _ := o.Value.(*batchv1.Job)
			// JobSet leaves a Job as it is that it would not create in a state.
			if err := c.compare(was, cmp.Or(now[job.Name], was), cmp.Or(resumed[job.Name], was),
				job); err != nil {
				return nil, err
			}
			continue
		case now[job.Name] != nil || resumed[job.Name] != nil:
			if reason := waitsFor(job.Labels[jobset.ReplicatedJobNameKey], live,
				second.Now.JobSet); reason != "" {
				at.When, at.Reason = Waiting, reason
			} else if now[job.Name] == nil {
				at.When, at.Reason = AtResume, c.skipped("JobSet creates the Job")
			}
		default:
			at.When, at.Reason, at.Thread = Never, c.rejected(nil), rejectionThread
		}
		c.all = append(c.all, at)
	}
	for _, o := range f.Jobs {
		if !wanted[o.ID.Name] {
			c.all = append(
				c.all, Effect{Kind: jobKind, Name: o.ID.Name, Change: diff.Removed, When: Never,
					Reason: "JobSet keeps a Job that its JobSet no longer has"})
		}
	}
	return c.all, nil
}

// waitsFor tells for which Jobs JobSet waits before it creates those of a replicated job (JobSet
// v0.12.0 pkg/controllers). It returns "" if it creates them now.
func waitsFor(name string, live, js *jobset.JobSet) string {
	status := map[string]jobset.ReplicatedJobStatus{}
	for _, s := range live.Status.ReplicatedJobsStatus {
		status[s.Name] = s
	}
	isRunning := js.Spec.Suspend == nil || !*js.Spec.Suspend
	inOrder := isRunning && js.Spec.StartupPolicy != nil &&
		js.Spec.StartupPolicy.StartupPolicyOrder == jobset.InOrder
	replicas := map[string]int32{}
	for _, job := range js.Spec.ReplicatedJobs {
		replicas[job.Name] = job.Replicas
		if job.Name != name {
			s := status[job.Name]
			if inOrder && s.Failed+s.Ready+s.Succeeded < job.Replicas {
				return fmt.Sprintf(
					"JobSet creates the Job once the Jobs of %q are ready: it starts them in order",
					job.Name)
			}
			continue
		}
		for _, on := range job.DependsOn {
			s, known := status[on.Name]
			reached := s.Succeeded
			if on.Status == jobset.DependencyReady {
				reached = s.Failed + s.Ready + s.Succeeded
			}
			if !known || reached != replicas[on.Name] {
				return fmt.Sprintf("JobSet creates the Job once the Jobs of %q are %s", on.Name,
					on.Status)
			}
		}
		return ""
	}
	return ""
}

func byName(jobs []*batchv1.Job) map[string]*batchv1.Job {
	named := map[string]*batchv1.Job{}
	for _, job := range jobs {
		named[job.Name] = job
	}
	return named
}

type effects struct {
	family *Family
	second *admission.Second
	errs   finding.List   // of the API server, on the apply or on the next one
	places diff.PathIndex // of errs
	all    []Effect
}

// compare adds the effects on one object.
func (c *effects) compare(live, now, resumed, wanted metav1.Object) error {
	want := ordered(Plain(wanted))
	differences := func(o metav1.Object) (diff.Changes, error) {
		o = ordered(Plain(o))
		Admitted(o, want)
		return diff.Compare(o, want, diff.Options{})
	}
	changes, err := differences(live)
	atNow, errNow := differences(now)
	atResume, errResume := differences(resumed)
	if err := cmp.Or(err, errNow, errResume); err != nil {
		return err
	}
	pathOf := func(c diff.Change) fieldpath.Path { return c.Path }
	afterNow, afterResume := diff.IndexPaths(atNow, pathOf), diff.IndexPaths(atResume, pathOf)
	for _, change := range changes {
		e := Effect{Kind: jobKind, Name: live.GetName(), Path: change.Path.String(),
			Change: change.Kind, at: change.Path}
		_, isJobSet := live.(*jobset.JobSet)
		if isJobSet {
			e.Kind = workspace.JobSetKind
		}
		_, remains := afterNow.Find(change.Path)
		_, stays := afterResume.Find(change.Path)
		switch {
		case !remains:
			e.When, e.Reason = Now, "JobSet merges it into the Job, which it resumes"
			if isJobSet {
				e.Reason = "the Trainer applies the JobSet"
			} else if change.Path.HasPrefix(fieldpath.Fields("spec", "suspend")) {
				e.Reason = "JobSet suspends and resumes its Jobs"
			}
		case !stays:
			e.When, e.Reason = AtResume, c.skipped("JobSet merges it into the Job when it resumes")
			if isJobSet {
				e.Reason = c.skipped("the Trainer applies the JobSet")
			}
		default:
			e.When = Never
			e.Reason, e.Thread = c.stale(e, isJobSet)
		}
		c.all = append(c.all, e)
	}
	return nil
}

// skipped adds to a reason that a running TrainJob has to be suspended first.
func (c *effects) skipped(reason string) string {
	if c.second.Skipped {
		return "the Trainer applies nothing while the TrainJob runs: suspend it, and resume it; " +
			"then " + reason
	}
	return reason
}

// stale explains a field that never changes.
func (c *effects) stale(e Effect, isJobSet bool) (reason, thread string) {
	switch {
	case c.family.TrainJob != nil && isOver(c.family.TrainJob):
		return "the TrainJob is over, and its controller applies nothing more", ""
	case len(c.errs) > 0:
		return c.rejected(e.at), rejectionThread
	case isJobSet:
		var by []string
		if m := c.family.JobSet.Managed(); m != nil && e.Change != diff.Added {
			for _, entry := range m.OwnersOf(e.at) {
				by = append(by, entry.Manager)
			}
		}
		if len(by) == 0 {
			return "another manager than the Trainer has set it, and keeps it", ""
		}
		return strings.Join(slices.Compact(by), " and ") + " has set it, and keeps it", ""
	case isMutable(e.at):
		return "JobSet merges its template into a Job that exists, and removes nothing: it stays " +
			"until the Job is deleted", "https://github.com/kubernetes-sigs/jobset/issues/1294"
	default:
		return "immutable in a Job that exists", rejectionThread
	}
}

// rejected explains that the API server rejects the JobSet.
func (c *effects) rejected(path fieldpath.Path) string {
	if len(c.errs) == 0 {
		return "JobSet does not create the Job"
	}
	when := ""
	if len(c.second.Rejected) == 0 {
		when = " with the next suspension or resume"
	}
	if i, ok := c.places.Find(path); ok && path != nil {
		return fmt.Sprintf("the API server refuses it%s: %s", when, c.errs[i].Message)
	}
	return fmt.Sprintf("the API server refuses the whole JobSet%s, since it refuses %s: %s", when,
		c.errs[0].Path, c.errs[0].Message)
}

// isMutable reports whether a field of a Job can change while the Job is suspended.
func isMutable(path fieldpath.Path) bool {
	template := fieldpath.Fields("spec", "template")
	for _, field := range []fieldpath.Path{
		fieldpath.Fields("metadata", "labels"), fieldpath.Fields("metadata", "annotations"),
		fieldpath.Fields("spec", "nodeSelector"), fieldpath.Fields("spec", "tolerations"),
		fieldpath.Fields("spec", "schedulingGates"),
	} {
		if path.HasPrefix(template.Append(field...)) {
			return true
		}
	}
	return false
}

// ordered sorts the lists of a Job that JobSet writes in a random order. Their order has no
// meaning.
func ordered(o metav1.Object) metav1.Object {
	if job, ok := o.(*batchv1.Job); ok {
		pod := &job.Spec.Template.Spec
		slices.SortFunc(pod.Tolerations, func(a, b corev1.Toleration) int {
			return strings.Compare(a.String(), b.String())
		})
		slices.SortFunc(pod.SchedulingGates, func(a, b corev1.PodSchedulingGate) int {
			return strings.Compare(a.Name, b.Name)
		})
	}
	return o
}
