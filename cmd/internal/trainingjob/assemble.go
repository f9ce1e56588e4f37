package trainingjob

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
)

// assemble returns the new objects by the decisions of the job's kind.
func (c *conversion) assemble() *Result {
	c.checkRunPolicy()
	c.checkNames()
	c.checkMetadata()
	job := c.trainJob()
	runtime := &trainer.TrainingRuntime{
		TypeMeta: metav1.TypeMeta{APIVersion: trainer.SchemeGroupVersion.String(),
			Kind: trainer.TrainingRuntimeKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.meta.Name, Namespace: c.meta.Namespace,
			Labels: map[string]string{"trainer.kubeflow.org/framework": c.label},
		},
	}
	groups, annotations := c.gang()
	runtime.Spec.PodGroupPolicy = groups
	runtime.Spec.Template.Annotations = annotations
	runtime.Spec.MLPolicy = &trainer.MLPolicy{MLPolicySource: c.ml}
	if c.trainerRole() != nil {
		runtime.Spec.MLPolicy.NumNodes = new(int32(1))
	} else {
		runtime.Spec.MLPolicy = nil
	}
	for _, r := range c.roles {
		runtime.Spec.Template.Spec.ReplicatedJobs = append(
			runtime.Spec.Template.Spec.ReplicatedJobs, c.replicatedJob(r, job))
	}
	if len(c.targets) > 0 && len(c.roles) > 1 {
		runtime.Spec.Template.Spec.SuccessPolicy = &jobset.SuccessPolicy{
			Operator: jobset.OperatorAll, TargetReplicatedJobs: c.targets}
	}
	return &Result{Runtime: runtime, TrainJob: job}
}

// trainerRole returns the job with the trainer's label, or nil.
func (c *conversion) trainerRole() *role {
	for _, r := range c.roles {
		if r.isTrainer {
			return r
		}
	}
	return nil
}

// replicatedJob returns a job of the runtime. It moves values that change between runs to the
// TrainJob.
func (c *conversion) replicatedJob(r *role, job *trainer.TrainJob) jobset.ReplicatedJob {
	out := jobset.ReplicatedJob{
		Name: r.name, Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: c.jobSpec(r)}}
	spec := &out.Template.Spec
	spec.Template = c.template(r, r.isTrainer || c.ml.MPI != nil)
	c.ganged(r, &spec.Template.Spec)
	switch {
	case r.isTrainer:
		out.Template.Labels = map[string]string{ancestorLabel: ancestor}
	case r.jobPerPod:
		out.Replicas = r.count
	default:
		spec.Parallelism, spec.Completions = new(r.count), new(r.count)
	}
	if r.after != "" {
		out.DependsOn = []jobset.DependsOn{{Name: r.after, Status: jobset.DependencyReady}}
	}
	for i := range spec.Template.Spec.InitContainers {
		container := &spec.Template.Spec.InitContainers[i]
		path := r.path(fieldpath.Field("initContainers"), fieldpath.Item("name", container.Name))
		c.namePorts(container, path)
		container.Env = c.withEnv(container.Env, nil, path)
	}
	containers := spec.Template.Spec.Containers
	for i := range containers {
		container := &containers[i]
		old := c.oldName(r, container.Name)
		path := r.path(fieldpath.Field("containers"), fieldpath.Item("name", old))
		injected := r.env(old)
		c.namePorts(container, path)
		isTraining := r.isTrainer && old == r.main
		if isTraining && c.ml.MPI == nil {
			c.fillTrainer(job.Spec.Trainer, container, injected, path)
			continue
		}
		if container.Env = c.withEnv(container.Env, injected, path); isTraining {
			c.moveCommand(job.Spec.Trainer, container)
		}
	}
	return out
}

// The limits of a TrainJob's spec.trainer.
const (
	maxItems = 128
	maxImage = 500
)

// fillTrainer moves values that change between runs from the training container to spec.trainer:
// command, arguments, variables and resources. It copies the image. Values beyond the limits of a
// TrainJob stay.
func (c *conversion) fillTrainer(t *trainer.Trainer, container *corev1.Container,
	injected []corev1.EnvVar, path fieldpath.Path) {
	if len(container.Image) <= maxImage {
		t.Image = new(container.Image)
	}
	c.moveCommand(t, container)
	if len(container.Resources.Claims) == 0 &&
		(len(container.Resources.Limits) > 0 || len(container.Resources.Requests) > 0) {
		t.ResourcesPerNode = container.Resources.DeepCopy()
		container.Resources = corev1.ResourceRequirements{}
	}
	fromFile := slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool {
		return e.ValueFrom != nil && e.ValueFrom.FileKeyRef != nil
	})
	own := c.withEnv(c.withoutReserved(container.Env, path), injected, path)
	if fromFile || len(own) > maxItems {
		// A TrainJob cannot hold them all, or loses the file. The runtime keeps them.
		kept := len(own) - len(injected)
		container.Env, own = own[:kept], own[kept:]
	} else {
		container.Env = nil
	}
	t.Env = own
}

// withoutReserved drops the variables that the policy overwrites, as the old controller did.
func (c *conversion) withoutReserved(env []corev1.EnvVar, path fieldpath.Path) []corev1.EnvVar {
	if c.ml.Torch == nil {
		return env
	}
	var kept []corev1.EnvVar
	for _, e := range env {
		if !slices.Contains(reserved(), e.Name) {
			kept = append(kept, e)
			continue
		}
		c.report("policyVariable",
			path.Append(fieldpath.Field("env"), fieldpath.Item("name", e.Name)))
	}
	return kept
}

func (c *conversion) moveCommand(t *trainer.Trainer, container *corev1.Container) {
	if len(container.Command) <= maxItems && len(container.Args) <= maxItems {
		t.Command, t.Args = container.Command, container.Args
		container.Command, container.Args = nil, nil
	}
}

// trainJob returns the TrainJob without values from the Pods.
func (c *conversion) trainJob() *trainer.TrainJob {
	job := &trainer.TrainJob{
		TypeMeta: metav1.TypeMeta{APIVersion: trainer.SchemeGroupVersion.String(),
			Kind: trainer.TrainJobKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.meta.Name, Namespace: c.meta.Namespace, Labels: maps.Clone(c.meta.Labels),
			Annotations: maps.Clone(c.meta.Annotations),
		},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: c.meta.Name,
				APIGroup: new(trainer.SchemeGroupVersion.Group),
				Kind:     new(trainer.TrainingRuntimeKind)}},
	}
	delete(job.Annotations, corev1.LastAppliedConfigAnnotation)
	for name := range c.meta.Labels {
		if strings.HasPrefix(name, oldPrefix) {
			delete(job.Labels, name)
		}
	}
	job.Spec.Suspend = c.run.Suspend
	if s := c.run.ActiveDeadlineSeconds; s != nil {
		job.Spec.ActiveDeadlineSeconds = *s
	}
	if m := c.run.ManagedBy; m != nil && *m == kubeflow.MultiKueueController {
		job.Spec.ManagedBy = new(*m)
	}
	r := c.trainerRole()
	if r == nil {
		return job
	}
	job.Spec.Trainer = &trainer.Trainer{NumProcPerNode: c.procs, NumNodes: c.nodes}
	if c.ml.MPI == nil {
		job.Spec.Trainer.NumNodes = new(r.count)
	}
	return job
}

// checkMetadata reports the metadata that the new objects lack.
func (c *conversion) checkMetadata() {
	metadata := fieldpath.Fields("metadata")
	c.reportIf(len(c.meta.OwnerReferences) > 0, "ownerReferences",
		within(metadata, "ownerReferences"))
	c.reportIf(len(c.meta.Finalizers) > 0, "finalizers", within(metadata, "finalizers"))
	for _, name := range slices.Sorted(maps.Keys(c.meta.Labels)) {
		c.reportIf(strings.HasPrefix(name, oldPrefix), "jobLabel",
			metadata.Append(fieldpath.Field("labels"), fieldpath.Key(name)))
	}
}

// maxLabel is the limit of a DNS label. randomSuffix stands for the Job controller's suffix of a
// Pod's name.
const (
	maxLabel     = 63
	randomSuffix = "-abcde"
)

// checkNames reports names of Pods that are too long. JobSet's names are longer than the old
// controller's.
func (c *conversion) checkNames() {
	for _, r := range c.roles {
		job, pod := int32(0), r.count-1
		if r.jobPerPod {
			job, pod = pod, 0
		}
		name := fmt.Sprintf("%s-%s-%d-%d%s", c.meta.Name, r.name, job, pod, randomSuffix)
		over := len(name) - maxLabel
		if c.reportIf(over > 0, "longName", fieldpath.Fields("metadata", "name"), r.name, name, over,
			len(c.meta.Name)-over) {
			return
		}
	}
}
