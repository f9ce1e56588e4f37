package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// The names by which Kueue finds a job's queue, and its own patch of a TrainJob.
const (
	kueueDomain  = "kueue.x-k8s.io"
	queueLabel   = kueueDomain + "/queue-name"
	kueueManager = kueueDomain + "/manager"
	multiKueue   = kueueDomain + "/multikueue"
)

// ForApply prepares the rendered objects of a TrainJob for an apply instead of the TrainJob. It
// keeps the fields of the TrainJob that a JobSet can hold: Kueue's labels and annotations, the
// suspension of a queued job, and MultiKueue as the manager. It returns the rendering's findings
// and a warning for each loss. owned reports whether the objects have owner references.
func ForApply(in *workspace.Input, j workspace.Job, made Made, found finding.List,
	owned bool) finding.List {
	a := application{in: in, job: j, result: made}
	found = a.secrets(found)
	a.queue()
	a.suspension()
	if !owned {
		a.ownership()
	}
	a.snapshot()
	found = append(found, in.Locate(j, a.losses)...)
	found.Sort()
	return found
}

// application collects the losses of one TrainJob.
type application struct {
	in     *workspace.Input
	job    workspace.Job
	result Made
	losses finding.List
}

func (a *application) warn(code finding.Code, path fieldpath.Path, message, remedy string) {
	a.losses = append(a.losses, finding.Finding{
		Code: code, Severity: finding.Warning, Object: render.ObjectOf(a.job.TrainJob), Path: path,
		Message: message, Remedy: finding.Remedy{Text: remedy},
	})
}

// queue copies Kueue's metadata to the JobSet. Kueue reads the same labels of TrainJobs and of
// JobSets.
func (a *application) queue() {
	js := a.result.JobSet
	js.Labels = withKueues(js.Labels, a.job.Labels)
	js.Annotations = withKueues(js.Annotations, a.job.Annotations)
	if by := a.job.Spec.ManagedBy; by != nil && *by == multiKueue && js.Spec.ManagedBy == nil {
		js.Spec.ManagedBy = by
	}
	name, queued := a.job.Labels[queueLabel]
	if queued {
		a.warn(codes.QueueMoves,
			fieldpath.Fields("metadata", "labels").Append(fieldpath.Key(queueLabel)),
			fmt.Sprintf("queue %q admits the JobSet instead of the TrainJob: Kueue changes its "+
				"templates instead of a patch", name),
			"enable Kueue's integration jobset.x-k8s.io/jobset, and apply only fields that Kueue "+
				"does not set")
	}
	for _, p := range a.job.Spec.RuntimePatches {
		if p.Manager == kueueManager && p.TrainingRuntimeSpec != nil &&
			p.TrainingRuntimeSpec.Template != nil && p.TrainingRuntimeSpec.Template.Spec != nil &&
			len(p.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs) > 0 {
			a.warn(codes.QueueMoves, runtimepatch.PatchPath(kueueManager),
				"the JobSet has the placement of an earlier admission: Kueue adds the next one "+
					"to it",
				"remove this patch from the TrainJob before you render it")
		}
	}
}

// withKueues returns labels, with the labels of from that Kueue reads.
func withKueues(labels, from map[string]string) map[string]string {
	copied := false
	for key, value := range from {
		domain, _, _ := strings.Cut(key, "/")
		if domain != kueueDomain && !strings.HasSuffix(domain, "."+kueueDomain) {
			continue
		}
		if !copied {
			if labels, copied = maps.Clone(labels), true; labels == nil {
				labels = map[string]string{}
			}
		}
		labels[key] = value
	}
	return labels
}

// suspension suspends a queued JobSet, as Kueue's webhook suspends its TrainJob.
func (a *application) suspension() {
	at := fieldpath.Fields("spec", "suspend")
	suspended := a.job.Spec.Suspend != nil && *a.job.Spec.Suspend
	_, queued := a.job.Labels[queueLabel]
	switch {
	case queued:
		a.result.JobSet.Spec.Suspend = new(true)
		a.warn(codes.SuspendMoves, at,
			"the JobSet is suspended until Kueue admits it: another apply suspends it again",
			"apply the JobSet once, and let Kueue resume it")
	case suspended:
		a.warn(codes.SuspendMoves, at, "the JobSet is suspended: the TrainJob does not resume it",
			"set spec.suspend of the JobSet to false")
	}
}

// ownership reports the tasks that the Trainer's controller does for its own JobSet only.
func (a *application) ownership() {
	a.warn(codes.NoController, fieldpath.Fields("metadata", "name"),
		"no TrainJob owns the applied objects: it does not show their status, and its deletion "+
			"keeps them",
		"delete the objects yourself, and do not apply the TrainJob")
	if seconds := a.job.Spec.ActiveDeadlineSeconds; seconds > 0 {
		a.warn(codes.NoController, fieldpath.Fields("spec", "activeDeadlineSeconds"),
			fmt.Sprintf("no controller ends the JobSet after %d seconds: only the Trainer does",
				seconds),
			"set activeDeadlineSeconds in the Jobs of the runtime's template")
	}
}

// secrets reports the Secrets that only the Trainer's controller makes, and the Secrets that the
// output holds. It returns the other findings.
func (a *application) secrets(found finding.List) finding.List {
	var others finding.List
	for _, f := range found {
		if f.Code != codes.LeftOut || !slices.Contains(f.Remedy.Options, "Secret") {
			others = append(others, f)
			continue
		}
		f.Code, f.Severity = codes.SecretMoves, finding.Warning
		f.Message += " for TrainJobs, not for applied JobSets"
		f.Remedy.Text = "generate the Secret"
		a.losses = append(a.losses, f)
	}
	for _, o := range a.result.Companions {
		if secret, ok := o.(*corev1.Secret); ok {
			a.warn(codes.SecretMoves, nil,
				fmt.Sprintf("the output has the keys of Secret %s/%s: every rendering generates "+
					"new ones", secret.Namespace, secret.Name),
				"apply the output once, and keep it out of git")
		}
	}
	return others
}

// snapshot reports a runtime that the Trainer would keep for the TrainJob.
func (a *application) snapshot() {
	source := a.in.SourceOf(a.job)
	if source == nil || source.Snapshot != nil ||
		a.job.Release().Or().RuntimeRead == release.LiveRuntime {
		return
	}
	a.warn(codes.NoSnapshot, fieldpath.Fields("spec", "runtimeRef"),
		fmt.Sprintf("no snapshot of %s: a later rendering uses a changed runtime, which a "+
			"running JobSet rejects", render.RuntimeOf(a.job.TrainJob)),
		"keep the rendered objects, or the runtime with them")
}
