package admission

import (
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// webhook applies the Trainer's validating webhook for TrainJobs (Trainer v2.3.0
// pkg/runtime/framework). The webhook sees the runtime's template with all patches, before any
// policy. check.Patches covers its checks of the patches themselves.
func (c *checker) webhook() {
	if kind := c.in.Runtime.id.Kind; c.in.Runtime.deprecated &&
		(kind == trainer.ClusterTrainingRuntimeKind || c.job.has(release.RuntimesDeprecated)) {
		message := fmt.Sprintf("Referenced %s %q is deprecated and will be removed in a future "+
			"release of Kubeflow Trainer", kind, c.in.Runtime.id.Name)
		if kind != trainer.ClusterTrainingRuntimeKind {
			message = c.job.resting(release.RuntimesDeprecated, message)
		}
		c.report(codes.Deprecated, finding.Warning, fieldpath.Fields("spec", "runtimeRef", "name"),
			message, "reference another runtime")
	}
	if i := c.typed.Spec.Initializer; i != nil {
		if i.Dataset != nil {
			c.initializer("dataset", mlpolicy.DatasetInitializer)
		}
		if i.Model != nil {
			c.initializer("model", mlpolicy.ModelInitializer)
		}
	}
	c.podClaims()
	c.policies()
}

// podClaims requires a claim of the Pod for each claim of a container (Trainer 2.4). The words, the
// path and whether init containers count are not known: the guide says every container. The webhook
// sees the claims of resourceClaimsPerNode.
func (c *checker) podClaims() {
	if !c.job.has(release.ClaimsExist) {
		return
	}
	j := &mlpolicy.Job{
		Input: mlpolicy.Input{Release: &c.job.release, TrainJob: c.typed,
			Runtime: &c.in.Runtime.spec}}
	for i := range c.merged.Template.Spec.ReplicatedJobs {
		job := &c.merged.Template.Spec.ReplicatedJobs[i]
		set := &mlpolicy.PodSet{
			ReplicatedJob: job, Ancestor: job.Template.Labels[mlpolicy.Ancestor]}
		names := map[string]bool{}
		for _, claim := range job.Template.Spec.Template.Spec.ResourceClaims {
			names[claim.Name] = true
		}
		for _, claim := range c.in.Earlier.NodeClaims {
			names[claim.Name] = names[claim.Name] || c.in.Runtime.spec.MLPolicy != nil &&
				j.TakesTrainer(set)
		}
		pod := &job.Template.Spec.Template.Spec
		for list, containers := range map[string][]corev1.Container{
			"containers": pod.Containers, "initContainers": pod.InitContainers} {
			for k := range containers {
				c.containerClaims(set.In(list, &containers[k]), names)
			}
		}
	}
}

func (c *checker) containerClaims(container mlpolicy.Place, ofPod map[string]bool) {
	at := container.Path(fieldpath.Field("resources"), fieldpath.Field("claims"))
	for _, claim := range container.Resources.Claims {
		if !ofPod[claim.Name] {
			c.Add(finding.Finding{
				Code: codes.NoPodClaim, Severity: finding.Error, Object: c.job.id,
				Path: fieldpath.Fields("spec", "runtimeRef"),
				Message: c.job.resting(release.ClaimsExist, kubeapi.InvalidObject(
					fmt.Sprintf("container %s claims %q, which its Pod does not (%s)",
						container.Name, claim.Name, at))),
				Remedy: finding.Remedy{
					Text: fmt.Sprintf(
						"add the claim %q to the Pod",
						claim.Name)},
				Claims: []merge.Claim{c.origin(at)},
			})
		}
	}
}

// nameOnCreate requires a DNS label as a name (Trainer v2.0.1 pkg/webhooks). Later definitions have
// a rule for it.
func (c *checker) nameOnCreate() {
	name := c.job.id.Name
	if problems := validation.IsDNS1035Label(name); c.job.has(release.NameOnCreate) && name != "" &&
		len(problems) > 0 {
		c.report(codes.BrokenRule, finding.Error, fieldpath.Fields("metadata", "name"),
			kubeapi.Invalid(name, strings.Join(problems, "; ")), nameHelp)
	}
}

// initializerVolume is the volume that an initializer writes to.
const initializerVolume = "initializer"

// initializer checks the job for a section of spec.initializer. The webhook finds this job by its
// name. The controller writes the section into the job with the label of that name.
func (c *checker) initializer(section, name string) {
	reject := func(message, help string) {
		path := fieldpath.Fields("spec", "initializer", section)
		c.Add(finding.Finding{
			Code: codes.NoInitializer, Severity: finding.Error, Object: c.job.id,
			Path:    fieldpath.Fields("spec", "runtimeRef"),
			Message: message, Remedy: finding.Remedy{Text: help},
			Claims: []merge.Claim{
				{Owner: runtimepatch.TrainJobLayer, Value: merge.Presence{}, At: path}},
		})
	}
	job := replicatedJob(c.merged.Template.Spec.ReplicatedJobs, name)
	if job == nil {
		reject(kubeapi.InvalidObject(
			fmt.Sprintf("must have %s job when trainJob is configured with input %sConfig", name,
				section)),
			fmt.Sprintf("reference a runtime with a job %q, or remove spec.initializer.%s", name,
				section))
		return
	}
	pod := &job.Template.Spec.Template.Spec
	if !kubeapi.HasContainer(pod.Containers, name) &&
		!kubeapi.HasContainer(pod.InitContainers, name) {
		reject(kubeapi.InvalidObject(
			fmt.Sprintf("must have container with name - %s in the %s job", name, name)),
			fmt.Sprintf("rename the container that fetches the %s to %q", section, name))
		return
	}
	if !c.job.has(release.InitializerMount) {
		return
	}
	for i := range pod.Containers {
		if pod.Containers[i].Name == name && mounts(&pod.Containers[i], initializerVolume) {
			return
		}
	}
	reject(kubeapi.InvalidObject(
		fmt.Sprintf("must have volumeMount with name - %s in container %s of the %s job",
			initializerVolume, name, name)),
		fmt.Sprintf("mount a volume %q at the path of the %s", initializerVolume, section))
}

func mounts(container *corev1.Container, volume string) bool {
	return slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == volume
	})
}
