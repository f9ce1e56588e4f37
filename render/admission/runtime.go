package admission

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/release"
)

// Labels of runtimes (Trainer v2.3.0 pkg/constants, manifests/base/webhook).
const (
	supportLabel    = "trainer.kubeflow.org/support"
	validationLabel = "trainer.kubeflow.org/webhook-validation"
)

// AdmitRuntime sends a TrainingRuntime or ClusterTrainingRuntime through admission in a release;
// nil means the latest one. The stages are unknown fields, defaults, schema, unique keys, rules,
// and the Trainer's webhook. The object is as decoded from JSON or YAML, or as Encode returns it
// for a Go value. AdmitRuntime does not change it. The argument namespace is its namespace if it
// has none; the empty string means "default".
//
// AdmitRuntime returns nil if the object cannot be decoded as a runtime. Errors in the findings
// then give the reason. It also returns a runtime that the cluster would reject, so that Check can
// check its TrainJobs.
func AdmitRuntime(ctx context.Context, r *release.Release, fields map[string]any,
	namespace string) (*Runtime, finding.List) {
	found := &findings{}
	if !isRuntime(fields) {
		found.Add(finding.Finding{
			Code: codes.UnknownKind, Severity: finding.Error, Path: fieldpath.Fields("kind"),
			Message: fmt.Sprintf("%v is not a runtime", fields["kind"]),
			Remedy:  finding.Remedy{Text: "give a TrainingRuntime or a ClusterTrainingRuntime"},
		})
		return nil, found.List()
	}
	d := found.definition(r, fmt.Sprint(fields["kind"]))
	if d == nil {
		return nil, found.List()
	}
	runtime := d.admitRuntime(ctx, fields, namespace, nil, found)
	if runtime != nil {
		runtime.findings = found.List()
	}
	return runtime, found.List()
}

// admitRuntime admits a runtime of the definition. With an old runtime it is an update.
func (d *definition) admitRuntime(ctx context.Context, fields map[string]any, namespace string,
	old *object, found *findings) *Runtime {
	o := d.decode(fields, cmp.Or(namespace, "default"), found)
	o.validate(ctx, old, found)
	if o.undecodable {
		return nil
	}
	// The two kinds have the same fields and differ only in their scope.
	var typed trainer.TrainingRuntime
	today, processes, err := o.withoutProcesses("spec", "mlPolicy", "torch", "numProcPerNode")
	if err == nil {
		err = today.as(&typed)
	}
	if err != nil {
		found.undecodable(o, err)
		return nil
	}
	r := &Runtime{id: o.id, spec: typed.Spec, definition: d, processes: processes,
		deprecated: o.has(release.RuntimeDeprecated) && typed.Labels[supportLabel] == "deprecated"}
	r.checkJobNames(found, old)
	if o.has(release.RuntimeUnchecked) && typed.Labels[validationLabel] == "disabled" &&
		(old == nil || isUnchecked(old)) {
		return r
	}
	if o.kind == trainer.ClusterTrainingRuntimeKind {
		if r.deprecated && old == nil {
			found.Add(finding.Finding{
				Code: codes.Deprecated, Severity: finding.Warning, Object: o.id,
				Path: fieldpath.Fields("metadata", "labels").Append(fieldpath.Key(supportLabel)),
				Message: fmt.Sprintf(
					"ClusterTrainingRuntime %q is deprecated and will be removed in a future "+
						"release of Kubeflow Trainer", o.id.Name),
				Remedy: finding.Remedy{Text: "move its TrainJobs to another runtime"},
			})
		}
	} else if old != nil {
		return r // the Trainer's webhook accepts every update of a TrainingRuntime
	}
	r.checkAncestors(found)
	return r
}

func isRuntime(fields map[string]any) bool {
	return fields["kind"] == trainer.TrainingRuntimeKind ||
		fields["kind"] == trainer.ClusterTrainingRuntimeKind
}

// longestJobName is the length of the name of a replicated job of a runtime that Trainer 2.4 admits
// (kubeflow/trainer#4394).
const longestJobName = 20

// checkJobNames reports longer names. The words, the place of the rule and its effect on updates
// are not known. A rule of the definition would hold for stored runtimes as well, except for names
// that stay, and under the label that exempts from the webhook.
func (r *Runtime) checkJobNames(found *findings, old *object) {
	if !r.definition.has(release.ShortJobNames) {
		return
	}
	var before trainer.TrainingRuntime
	if old != nil && old.as(&before) != nil {
		return // the cluster has no such runtime
	}
	for i := range r.spec.Template.Spec.ReplicatedJobs {
		name := r.spec.Template.Spec.ReplicatedJobs[i].Name
		isStored := slices.ContainsFunc(before.Spec.Template.Spec.ReplicatedJobs,
			func(j jobset.ReplicatedJob) bool { return j.Name == name })
		if n := len(name); n > longestJobName && !isStored {
			found.reject(codes.LongJobName, r.id,
				fieldpath.Fields("spec", "template", "spec", "replicatedJobs").Append(
					fieldpath.Item("name", name), fieldpath.Field("name")),
				r.definition.resting(release.ShortJobNames, fmt.Sprintf(
					"Trainer %s refuses a name of %d characters: at most %d",
					r.definition.release.Name, n, longestJobName)), "shorten the name")
		}
	}
}

// isUnchecked reports whether a label exempts the runtime from the webhook. An update needs the
// label on both objects.
func isUnchecked(o *object) bool {
	label, _, _ := unstructured.NestedString(o.fields, "metadata", "labels", validationLabel)
	return label == "disabled"
}

// undecodable reports an object that does not fit its Go type, unless the schema already reports
// the field.
func (fs *findings) undecodable(o *object, err error) {
	for _, f := range fs.List() {
		if f.Object == o.id && f.Severity == finding.Error &&
			(f.Code == codes.WrongType || f.Code == codes.BadValue) {
			return
		}
	}
	fs.reject(codes.WrongType, o.id, nil,
		"cannot be decoded: "+unmarshalProblem(err), "set a value of the field's type")
}

// containerOf returns the container that a job with an ancestor label must have.
func containerOf(ancestor string) (name string, known bool) {
	switch ancestor {
	case mlpolicy.Trainer:
		return mlpolicy.Node, true
	case mlpolicy.DatasetInitializer, mlpolicy.ModelInitializer:
		return ancestor, true
	default:
		return "", false
	}
}

// launcher is the job that starts MPI.
const launcher = "launcher"

// checkAncestors checks the rule of the runtimes' webhook (Trainer v2.3.0 pkg/webhooks). A job with
// the label of a section of the TrainJob has one replica and the container of that section.
func (r *Runtime) checkAncestors(found *findings) {
	d := r.definition
	jobs := r.spec.Template.Spec.ReplicatedJobs
	for i := range jobs {
		job := &jobs[i]
		path := fieldpath.Fields("spec", "template", "spec", "replicatedJobs").Append(
			fieldpath.Item("name", job.Name))
		if job.Name == launcher && job.Replicas != 1 && d.has(release.RuntimeLauncher) {
			found.reject(codes.RuntimeReplicas, r.id, path.Append(fieldpath.Field("replicas")),
				kubeapi.Invalid(job.Replicas, "always must be 1"), "remove replicas")
		}
		ancestor := job.Template.Labels[mlpolicy.Ancestor]
		container, known := containerOf(ancestor)
		if !known {
			continue
		}
		if job.Replicas != 1 {
			found.reject(codes.RuntimeReplicas, r.id, path.Append(fieldpath.Field("replicas")),
				kubeapi.Invalid(job.Replicas, "always must be 1"),
				"remove replicas, and set the number of Pods by mlPolicy.numNodes or parallelism")
		}
		pod := &job.Template.Spec.Template.Spec
		if d.has(release.RuntimeContainers) && !kubeapi.HasContainer(pod.Containers, container) {
			found.reject(codes.RuntimeContainer, r.id,
				path.Append(fieldpath.Fields("template", "spec", "template", "spec",
					"containers")...),
				kubeapi.InvalidObject("must contain the required container for the ancestor: "+
					ancestor), fmt.Sprintf("rename the main container to %q, or remove the label",
					container))
		}
	}
}
