// Package pipeline renders one TrainJob to its objects, their owners, and findings with positions.
//
// Its first file to read is trainjob.go.
package pipeline

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/ports"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Made holds the rendered objects of one TrainJob.
type Made struct {
	JobSet     *jobset.JobSet
	Companions []runtime.Object
	History    *merge.History // nil without a JobSet
}

// Objects returns the JobSet and its companions.
func (m Made) Objects() []any {
	var objects []any
	if m.JobSet != nil {
		objects = append(objects, m.JobSet)
	}
	for _, companion := range m.Companions {
		objects = append(objects, companion)
	}
	return objects
}

// TrainJob renders one TrainJob with all its patches, and sets the positions of its findings.
func TrainJob(in *workspace.Input, j workspace.Job, opts render.Options) (finding.List, Made) {
	input, missing := inputOf(in, j)
	if input.Runtime == nil {
		return missing, Made{}
	}
	return made(in, j, input, opts)
}

// Kept renders one TrainJob with all its patches and the runtime with which it began. It also
// returns the input of the rendering.
func Kept(in *workspace.Input, j workspace.Job, began *trainer.TrainingRuntimeSpec,
	opts render.Options) Made {
	input, _ := inputOf(in, j)
	input.Runtime = began
	_, out := made(in, j, input, opts)
	return out
}

func made(in *workspace.Input, j workspace.Job, input render.Input,
	opts render.Options) (finding.List, Made) {
	opts.Release = cmp.Or(opts.Release, j.Release())
	// The error repeats the findings.
	out, _ := render.JobSet(input, opts)
	found := in.ReleaseFindings(j, opts.OnConflict)
	out.Findings = in.Locate(j, append(found, out.Findings...))
	out.Findings.Sort()
	if in.IsSpelled() && out.JobSet != nil {
		before := out.JobSet.Spec.DeepCopy()
		ports.Spell(out.JobSet, input.Runtime)
		out.History.Within(fieldpath.Fields("spec")).Record(runtimepatch.DefaultLayer, *before,
			out.JobSet.Spec, nil)
	}
	return out.Findings, Made{out.JobSet, out.Companions, out.History}
}

// Reordered returns a rendered JobSet with its variables in the order of the one that exists, if
// the controller could emit them so.
func Reordered(in *workspace.Input, j workspace.Job, opts render.Options, js,
	existing *jobset.JobSet) *jobset.JobSet {
	input, _ := inputOf(in, j)
	if input.Runtime == nil {
		return js
	}
	opts.Release = cmp.Or(opts.Release, j.Release())
	return render.Reordered(input, opts, js, existing)
}

// inputOf returns the input of rendering a TrainJob. Without a runtime, it returns the findings on
// it.
func inputOf(in *workspace.Input, j workspace.Job) (render.Input, finding.List) {
	spec, missing := in.RuntimeOf(j)
	if spec == nil {
		findings := in.ReleaseFindings(j, render.Fail)
		if missing != nil {
			findings = append(findings, *missing)
		}
		return render.Input{}, in.Locate(j, findings)
	}
	return render.Input{TrainJob: j.TrainJob, Patches: in.PatchesFor(j), Runtime: spec,
		Live: in.LiveOf(j), Layers: j.Layers(), Earlier: in.Earlier(j)}, nil
}

// Family holds the generated objects of one JobSet.
type Family struct {
	Findings finding.List
	Objects  iter.Seq2[any, error]
	Table    PodTable
	Pods     int64 // the number of Pods, counted for writing or for their claims
}

// Children returns the Jobs or the Pods of a JobSet as a stream, with their findings. Errors are
// findings, and leave the stream nil. The owners of the JobSet are for a finding only, and nil for
// a JobSet of the user.
func Children(owners *merge.History, js *jobset.JobSet, companions []runtime.Object,
	flags option.Render, opts render.PodsOptions) Family {
	opts.Companions = companions
	out, err := render.Jobs(js, opts.JobsOptions)
	if out == nil {
		return Family{
			Findings: finding.List{
				{Code: codes.NoName, Severity: finding.Error, Message: err.Error(),
					Remedy: finding.Remedy{Text: "name the JobSet"}}}}
	}
	f := Family{Findings: out.Findings}
	if err != nil {
		return f
	}
	f.Table = PodTable{jobSet: js, opts: opts, waits: waitsFor(out),
		wide: flags.Format == option.WideFormat}
	if flags.To == "pods" || opts.Stored && render.HasEphemeralVolumes(js) {
		if f.Pods, err = render.CountPods(js, opts); err != nil {
			f.Pods = 0 // the stream returns the error
		}
		if flags.AsTable() {
			f.Pods = 0 // the table groups equal Pods
		}
		if f.Pods > render.MaxPods {
			f.Findings, f.Pods = append(
				f.Findings, render.TooManyPods(js, owners, f.Pods, render.MaxPods)...), 0
			return f
		}
	}
	if flags.To == "pods" {
		f.Objects = func(yield func(any, error) bool) {
			for pod, err := range render.Pods(js, opts) {
				if !yield(pod, err) {
					return
				}
			}
		}
		return f
	}
	var objects []any
	for _, child := range out.Jobs {
		objects = append(objects, child.Job)
	}
	if out.Service != nil {
		objects = append(objects, out.Service)
	}
	for _, claim := range out.Claims {
		objects = append(objects, claim)
	}
	if opts.Stored && f.Pods > 0 {
		claims, found := ephemeralClaims(js, opts)
		objects = append(objects, claims...)
		f.Findings = append(f.Findings, found...)
	}
	f.Objects = output.Each(objects)
	return f
}

// randomSuffix replaces the random suffix of a Pod's name. It makes the name invalid, so that
// nobody can apply the object by mistake.
const randomSuffix = "RAND"

// ephemeralClaims returns the claims that the cluster creates for ephemeral volumes of the Pods.
// The cluster stores them, but no rendered controller applies them.
func ephemeralClaims(js *jobset.JobSet, opts render.PodsOptions) ([]any, finding.List) {
	var claims []any
	for pod, err := range render.Pods(js, opts) {
		if err != nil {
			break // Jobs has reported it
		}
		for _, claim := range render.EphemeralClaims(pod, randomSuffix) {
			claims = append(claims, claim)
		}
	}
	if claims == nil {
		return nil, nil
	}
	return claims, finding.List{{
		Code: codes.RandomName, Severity: finding.Note,
		Object: fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name},
		Path:   fieldpath.Fields("spec", "replicatedJobs"),
		Message: fmt.Sprintf(
			"claims of ephemeral volumes have the names of their Pods: %s stands for the random "+
				"suffix", randomSuffix),
	}}
}

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
