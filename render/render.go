// Package render answers what the cluster will create from a TrainJob and its runtime.
//
//	render.DefaultTrainJob(job)
//	render.DefaultRuntime(&runtime.Spec, nil)
//	out, err := render.JobSet(render.Input{TrainJob: job, Runtime: &runtime.Spec}, render.Options{})
//	if err != nil {
//		return err // every reason why the cluster would refuse it, and every conflict
//	}
//	fmt.Println(out.JobSet.Name)
//
// The stages, each in a file of its own:
//
//	check.Patches        what must not be merged
//	merge.Apply         the runtime's template and the managers' patches
//	conflict.Find       managers that disagree
//	render/policy       counts, and what the runtime's policies write
//	build.go            what the TrainJob's own sections write over all that: the JobSet
//	companions.go       the ConfigMaps, Secrets and PodGroups beside it
//	internal/defaults   what the API server fills in when it stores them
//	jobs.go             the JobSet controller's Jobs and Service
//	pods.go             the Job controller's Pods
//	owners.go           who set the fields of Jobs and Pods
//
// A TrainJob of Trainer 2.1 comes with its layers (layers.go), and Migrate says the same in today's API
// (migrate.go).
//
// Package internal/children makes the Jobs, the Service and the Pods, and internal/migration the patch of Migrate.
//
// Every function is pure: no clock, no randomness, no environment.
package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/check"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/policy"
)

// Input is a TrainJob and the runtime that it names, as the API server stores them: with the
// defaults of their CRDs filled in. DefaultTrainJob and DefaultRuntime do that for values from files.
type Input struct {
	// TrainJob is the job. It is never changed.
	TrainJob *trainer.TrainJob
	// Runtime is the spec of the TrainingRuntime or ClusterTrainingRuntime. It is never changed.
	Runtime *trainer.TrainingRuntimeSpec
	// Patches are further managers' patches, laid over those of the TrainJob in this order.
	Patches []trainer.RuntimePatch
	// Layers are what the TrainJob says in an earlier API, with its defaults filled in by DefaultPatches; nil for one of
	// today's. Beside patches they are refused: no version of the Trainer reads both. They are never changed.
	Layers Layers
}

// OnConflict says what becomes of managers that disagree.
type OnConflict int

const (
	// Fail reports every conflict as an error.
	Fail OnConflict = iota
	// Last lets the last patch win, as the cluster does, and reports an overlap as a warning. Two
	// members of one union stay an error: the cluster keeps both, and refuses the object.
	Last
)

// View says at which point the objects are shown.
type View int

const (
	// Applied shows objects as the controller sends them to the API server.
	Applied View = iota
	// Stored shows them as the API server stores them: with the defaults of their CRDs and webhooks,
	// and without what only a cluster knows.
	Stored
)

// Options says how to render. The zero value refuses conflicts, records no owners and shows the
// objects as applied, without those whose making needs a payload.
type Options struct {
	// OnConflict is Fail or Last.
	OnConflict OnConflict
	// ForceManagers are managers that win every conflict in which they take part, the first one first; each
	// decision is a warning. See merge.Force. OnConflict is for the conflicts that are left.
	ForceManagers []string
	// Owners asks for Output.Owners.
	Owners bool
	// As is Applied or Stored.
	As View
	// OwnerReferences adds the controller's owner reference to the TrainJob to every object. Its uid
	// is that of the TrainJob, which one from a file lacks.
	OwnerReferences bool
	// FeatureGates are those of the Trainer's controller.
	FeatureGates FeatureGates
	// StatusServer is where Pods report to under the feature gate TrainJobStatus.
	StatusServer policy.StatusServer
	// Secrets is a source of cryptographic randomness, such as crypto/rand.Reader, from which the
	// Secrets are made that the controller makes. Nil leaves them out, each with a warning: the key
	// pair of MPI and the certificate of Flux. They are real keys, different on every call.
	Secrets io.Reader
	// FluxTemplates is the folder pkg/runtime/framework/plugins/flux/templates of the module
	// github.com/kubeflow/trainer/v2 v2.3.0, of which Flux's ConfigMap is made. Nil leaves it out,
	// with a warning.
	FluxTemplates fs.FS
}

// Output is what a TrainJob becomes.
type Output struct {
	// JobSet is what the controller applies. It is there also beside errors, wherever the controller
	// would get that far, and else nil.
	JobSet *jobset.JobSet
	// Companions are the other objects that the controller applies, by kind and name: of type
	// *corev1.ConfigMap, *corev1.Secret and *v1beta1.PodGroup (volcano.sh/apis). The PodGroup of
	// scheduler-plugins is an *unstructured.Unstructured: the Go type cannot say minResources: {}.
	// The controller's snapshot of the runtime is not among them.
	Companions []runtime.Object
	// Owners says who set each field of the JobSet: every layer that wrote it, the last one in force. It
	// shares memory with JobSet and describes it as it is returned; nil unless it was asked for.
	Owners *merge.Ownership
	// Findings are all findings: errors, warnings and notes.
	Findings finding.List
}

// JobSet renders a TrainJob to the JobSet that the controller of Trainer v2.3.0 applies. It changes
// none of its input. The error holds every finding of severity Error, as finding.List; the output
// is never nil and holds all findings. Where the controller would crash or fail for ever, a finding
// says so and there is no JobSet.
func JobSet(in Input, opts Options) (*Output, error) {
	out := &Output{}
	r := renderer{in: in.filled(), out: out}
	r.render(opts)
	return out, out.Findings.Err()
}

// filled returns the input with an empty object for one that is nil.
func (in Input) filled() Input {
	if in.TrainJob == nil {
		in.TrainJob = &trainer.TrainJob{}
	}
	if in.Runtime == nil {
		in.Runtime = &trainer.TrainingRuntimeSpec{}
	}
	return in
}

type renderer struct {
	in  Input
	out *Output
}

func (r *renderer) render(opts Options) {
	patches, left, decisions, ok := r.laid(opts)
	if !ok {
		return
	}
	merged, err := merge.Apply(&r.in.Runtime.Template, left, merge.Options{Owners: true})
	r.checkLayers()
	r.check(patches, left, decisions, func(f finding.Finding) bool {
		return opts.OnConflict == Last && f.Code == finding.CodeOneMountPath && err == nil && keepsLastMount(&merged.Template, f.Path)
	})
	r.checkEnv()
	// Every write of a policy or a section is recorded for those who want to know the owners, and where managers
	// may have set what a section of the TrainJob replaces, which check.Patches refuses.
	recorded := opts.Owners || r.in.Layers != nil || decisions != nil || r.out.Findings.Err() != nil
	if err != nil {
		r.report(r.noMerge(err))
		return
	}
	r.conflicts(merged, opts.OnConflict)
	for _, f := range merge.Review(&r.in.Runtime.Template, merged) {
		f.Object = r.trainJob()
		r.report(f)
	}
	merged = r.build(merged, left, recorded, opts)
	r.shadowed(merged.Owners)
	if opts.Owners && r.out.JobSet != nil {
		r.own(merged, opts.As)
	}
}

// noMerge reports a merge that fails. The Trainer's webhook then crashes, and so refuses the TrainJob,
// whatever check.Patches has against the patch.
func (r *renderer) noMerge(err error) finding.Finding {
	f := finding.Finding{
		Code: finding.CodeNoMerge, Severity: finding.Error, Object: r.trainJob(), Path: fieldpath.Fields("spec", "runtimePatches"),
		Message: err.Error(), Remedy: finding.Remedy{Text: "mend the patch of the manager that is named"},
	}
	if failed := (*merge.PatchError)(nil); errors.As(err, &failed) {
		f.Path = merge.PatchPath(failed.Manager).Append(failed.Path...)
		f.Message = fmt.Sprintf("the cluster cannot merge the patch into the runtime, and refuses the TrainJob: %s", failed.Err)
		f.Remedy.Text = "mend this field of the patch"
	}
	return f
}

// patches are all patches, in the order in which they are laid over the template.
func (r *renderer) patches() []trainer.RuntimePatch {
	if len(r.in.Patches) == 0 {
		return r.in.TrainJob.Spec.RuntimePatches
	}
	return slices.Concat(r.in.TrainJob.Spec.RuntimePatches, r.in.Patches)
}

// laid are the patches, those of them that are laid over the template, and what force decided; false where
// patches stand beside layers.
func (r *renderer) laid(opts Options) (patches, left []trainer.RuntimePatch, decisions []conflict.Decision, ok bool) {
	patches = r.patches()
	if l := r.in.Layers; l != nil {
		return l.Patches(), l.PatchesOf(r.in.Runtime.Template.Spec.ReplicatedJobs), nil, !r.refuseBeside(patches)
	}
	left, decisions = r.force(prune(patches), opts.ForceManagers)
	return patches, left, decisions, true
}

// force lets managers win, and returns what is left of the patches. Patches that cannot be merged stay as
// they are: the merge then says why.
func (r *renderer) force(patches []trainer.RuntimePatch, managers []string) ([]trainer.RuntimePatch, []conflict.Decision) {
	left, decisions, err := merge.Force(&r.in.Runtime.Template, patches, managers...)
	if err != nil {
		return patches, nil
	}
	return left, decisions
}

// check reports what is wrong with the patches, but for errors that have gone with the claims that gave
// way to a manager, and then these decisions. It lowers to a warning what harmless accepts.
func (r *renderer) check(patches, left []trainer.RuntimePatch, decisions []conflict.Decision, harmless func(finding.Finding) bool) {
	found := check.Patches(&r.in.Runtime.Template, patches)
	if decisions != nil {
		var still finding.Set
		still.Add(check.Patches(&r.in.Runtime.Template, left)...)
		found = slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Severity == finding.Error && !still.Has(f.Key()) })
	}
	for _, f := range found {
		if harmless(f) {
			f.Severity = finding.Warning
		}
		if f.Object.Kind == finding.TrainJobKind {
			f.Object = r.trainJob()
		} else {
			f.Object = r.runtime()
		}
		r.report(f)
	}
	r.decided(decisions)
}

// own makes the merge's owners those of the JobSet.
func (r *renderer) own(merged *merge.Result, as View) {
	owners, template, js := merged.Owners, &merged.Template, r.out.JobSet
	template.ObjectMeta = metav1.ObjectMeta{Name: js.Name, Namespace: js.Namespace, Labels: js.Labels, Annotations: js.Annotations}
	for field, value := range map[string]string{"name": js.Name, "namespace": js.Namespace} {
		path := fieldpath.Fields("metadata", field)
		owners.Write(merge.TrainJobLayer, engine.Origin{Path: path}, path, nil, value)
	}
	if as == Stored {
		owners.WriteChanges(merge.DefaultLayer, fieldpath.Fields("spec"), template.Spec, js.Spec)
	}
	template.Spec = js.Spec
	if r.in.Layers != nil {
		owners.Rename(r.in.Layers.Claim)
	}
	r.out.Owners = owners
}

func (r *renderer) report(f finding.Finding) {
	if r.in.Layers != nil {
		f = r.in.Layers.Finding(f)
	}
	r.out.Findings = append(r.out.Findings, f)
}

// trainJob and runtime name the two inputs in findings.
func (r *renderer) trainJob() fieldpath.Object { return ObjectOf(r.in.TrainJob) }

func (r *renderer) runtime() fieldpath.Object { return RuntimeOf(r.in.TrainJob) }

// ObjectOf names a TrainJob in findings.
func ObjectOf(job *trainer.TrainJob) fieldpath.Object {
	if job == nil {
		job = &trainer.TrainJob{}
	}
	return fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: job.Namespace, Name: job.Name}
}

// RuntimeOf names the runtime that a TrainJob refers to, with the defaults of the reference. A kind that is
// there and empty is no kind of a runtime: the API server fills in only what is absent.
func RuntimeOf(job *trainer.TrainJob) fieldpath.Object {
	if job == nil {
		job = &trainer.TrainJob{}
	}
	o := fieldpath.Object{Kind: trainer.ClusterTrainingRuntimeKind, Name: job.Spec.RuntimeRef.Name}
	if kind := job.Spec.RuntimeRef.Kind; kind != nil {
		o.Kind = *kind
	}
	if o.Kind != trainer.ClusterTrainingRuntimeKind {
		o.Namespace = job.Namespace
	}
	return o
}
