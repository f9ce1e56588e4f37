package trainingjob

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// defaultManager is the manager of the patch that adapts the runtime to the job: the SDK's, which
// writes TrainJobs.
const defaultManager = "trainer.kubeflow.org/kubeflow-sdk"

// useRuntime converts the job for an existing runtime. It reports fields that a TrainJob lacks and
// the runtime does not have.
func (c *conversion) useRuntime(job *trainer.TrainJob) {
	kind := cmp.Or(c.opts.RuntimeKind, trainer.ClusterTrainingRuntimeKind)
	job.Spec.RuntimeRef.Name, job.Spec.RuntimeRef.Kind = c.opts.RuntimeName, &kind
	specs := fieldpath.Fields("spec", c.specs)
	switch {
	case c.ml.MPI != nil:
		c.onlyRuntime(
			specs, "a TrainJob gives the launcher an image and a command, and has no word for "+
				"those of the nodes")
		return
	case len(c.roles) > 1 && !c.agree():
		c.onlyRuntime(specs, "the replica types differ, and a TrainJob has one kind of Pods")
		return
	case len(c.roles) > 1:
		c.onlyRuntime(
			specs, fmt.Sprintf(
				"the variables of the replica types of a %s differ, and a TrainJob has one kind "+
					"of Pods", c.framework.kind))
		return
	case c.label == "torch" && c.ml.Torch == nil:
		c.onlyRuntime(fieldpath.Fields("spec"),
			"the job sets variables that a runtime of policy torch sets itself, such as those of "+
				"an elasticPolicy")
		return
	}
	r := c.roles[0]
	found := c.existing()
	template := c.template(r, true)
	main := containerOf(&template.Spec, node)
	if main == nil {
		return // the duplicate name is reported
	}
	path := r.path(fieldpath.Field("containers"), fieldpath.Item("name", r.main))
	c.fillTrainer(job.Spec.Trainer, main, r.env(r.main), path)
	c.checkContainer(main, found.container, path)
	c.checkPod(&template.Spec, found.pod, r)
	c.checkRunsAlike(r, found)
	job.Spec.RuntimePatches = patches(cmp.Or(c.opts.Manager, defaultManager), found.job, template,
		main)
}

// found holds the parts of the existing runtime for the Pods of a job. All but job are nil if the
// runtime is unknown.
type found struct {
	job       string
	replicas  *jobset.ReplicatedJob
	pod       *corev1.PodSpec
	container *corev1.Container
}

// existing finds the trainer's job in the runtime, and checks the policy.
func (c *conversion) existing() found {
	if c.opts.Runtime == nil {
		return found{job: node}
	}
	at := fieldpath.Fields("spec", c.specs)
	jobs := c.opts.Runtime.Template.Spec.ReplicatedJobs
	i := slices.IndexFunc(jobs, func(j jobset.ReplicatedJob) bool {
		return j.Template.Labels[ancestorLabel] == ancestor
	})
	if i < 0 {
		c.onlyRuntime(
			at, fmt.Sprintf("runtime %q has no job with the label %s=%s", c.opts.RuntimeName,
				ancestorLabel, ancestor))
		return found{job: node}
	}
	f := found{job: jobs[i].Name, replicas: &jobs[i], pod: &jobs[i].Template.Spec.Template.Spec}
	if f.container = containerOf(f.pod, node); f.container == nil {
		c.onlyRuntime(
			at, fmt.Sprintf("job %q of runtime %q has no container called %q", f.job,
				c.opts.RuntimeName, node))
	}
	var has trainer.MLPolicySource
	if p := c.opts.Runtime.MLPolicy; p != nil {
		has = p.MLPolicySource
	}
	if policyName(has) != policyName(c.ml) {
		c.onlyRuntime(
			at, fmt.Sprintf("runtime %q has the policy %s, and a %s asks for %s",
				c.opts.RuntimeName, policyName(has), c.framework.kind, policyName(c.ml)))
	}
	return f
}

// policyName returns the name of a runtime's policy.
func policyName(p trainer.MLPolicySource) string {
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			return strings.ToLower(v.Type().Field(i).Name)
		}
	}
	return "none"
}

// onlyRuntime reports a field that only the job's own runtime can have.
func (c *conversion) onlyRuntime(path fieldpath.Path, message string) {
	c.add(codes.RuntimeOnly, finding.Error, path, message,
		"leave the name of the runtime out, and have a runtime made for the job")
}

// decides reports a field that the existing runtime decides, possibly with another value.
func (c *conversion) decides(path fieldpath.Path, message string) {
	c.add(codes.RuntimeDecides, finding.Warning, path, message,
		"look at the runtime, or leave its name out and have one made for the job")
}

// route is the way in which a Pod's field reaches the existing runtime.
type route int

const (
	runtimeOnly route = iota // only a runtime can have it
	byPatch                  // in a patch of the TrainJob
	byTrainer                // in its spec.trainer
	harmless                 // the runtime decides, and programs do not depend on it
	elsewhere                // reported or converted in another way
)

// podRoutes returns the routes of a PodSpec's fields, and containerRoutes the routes of the
// training container's fields. Other fields are runtimeOnly.
func podRoutes() map[string]route {
	return map[string]route{
		"serviceAccountName": byPatch, "volumes": byPatch, "imagePullSecrets": byPatch,
		"securityContext": byPatch,
		"nodeSelector":    byPatch, "affinity": byPatch, "tolerations": byPatch,
		"schedulingGates":               byPatch,
		"terminationGracePeriodSeconds": byPatch, "containers": elsewhere,
		"restartPolicy": elsewhere,
	}
}

func containerRoutes() map[string]route {
	return map[string]route{
		"image": byTrainer, "command": byTrainer, "args": byTrainer, "env": byTrainer,
		"resources":    byTrainer,
		"volumeMounts": byPatch, "securityContext": byPatch, "name": elsewhere,
		"imagePullPolicy": harmless, "ports": harmless, "terminationMessagePath": harmless,
		"terminationMessagePolicy": harmless,
	}
}

// checkContainer reports fields of the training container that a TrainJob lacks. Before,
// fillTrainer has moved the values of spec.trainer, except the image.
func (c *conversion) checkContainer(container, has *corev1.Container, path fieldpath.Path) {
	rest := *container
	if len(rest.Image) <= maxImage {
		rest.Image = ""
	}
	c.checkFields(rest, has, path, containerRoutes())
	mounts := map[string]bool{}
	for _, m := range container.VolumeMounts {
		if mounts[m.Name] {
			c.onlyRuntime(path.Append(fieldpath.Field("volumeMounts")),
				fmt.Sprintf("volume %q is mounted twice, and a patch takes each volume once",
					m.Name))
		}
		mounts[m.Name] = true
	}
}

func (c *conversion) checkPod(pod, has *corev1.PodSpec, r *role) {
	rest := *pod
	if rest.DeprecatedServiceAccount == rest.ServiceAccountName {
		rest.DeprecatedServiceAccount = ""
	}
	c.checkFields(rest, has, r.path(), podRoutes())
	for i := range pod.Containers {
		if name := pod.Containers[i].Name; name != node && !containsEqual(has, &pod.Containers[i]) {
			c.onlyRuntime(r.path(fieldpath.Field("containers"), fieldpath.Item("name", name)),
				"a TrainJob cannot add a container to those of a runtime")
		}
	}
}

func containsEqual(pod *corev1.PodSpec, container *corev1.Container) bool {
	return pod != nil && slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool {
		return reflect.DeepEqual(c, *container)
	})
}

// checkFields reports unconvertible fields in which the runtime differs, or may differ if it is
// unknown. In that case has is a nil pointer.
func (c *conversion) checkFields(fields, has any, path fieldpath.Path, routes map[string]route) {
	mine, theirs := asMap(fields), asMap(has)
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		at := path.Append(fieldpath.Field(name))
		switch f := routes[name]; {
		case f == byPatch || f == elsewhere || reflect.DeepEqual(mine[name], theirs[name]):
		case f == harmless:
			c.decides(at,
				fmt.Sprintf("a TrainJob has no word for %s: the runtime's is in force", name))
		case f == byTrainer:
			c.onlyRuntime(
				at, "it has more items than a TrainJob takes, or some that a TrainJob would lose")
		default:
			c.onlyRuntime(at, fmt.Sprintf("a TrainJob has no word for %s", name))
		}
	}
}

// asMap returns the JSON object of a value, without empty fields.
func asMap(v any) map[string]any {
	out := map[string]any{}
	if text, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(text, &out) // decodes its own encoding
	}
	for name, value := range out {
		if m, ok := value.(map[string]any); value == nil || ok && len(m) == 0 {
			delete(out, name)
		}
	}
	return out
}

// checkRunsAlike compares the restarts and the end of the Jobs.
func (c *conversion) checkRunsAlike(r *role, f found) {
	run := fieldpath.Fields("spec", "runPolicy")
	if c.gangScheduler() != "" && (f.replicas == nil || c.opts.Runtime.PodGroupPolicy == nil) {
		c.decides(run.Append(fieldpath.Field("schedulingPolicy")),
			"the runtime's podGroupPolicy is in force, if it has one")
	}
	if f.replicas == nil {
		c.decides(run,
			fmt.Sprintf("the runtime decides how Pods restart and when the job is done: a "+
				"runtime of the job's own would have restartPolicy %s, and %s",
				podRestart(r.replica.spec.RestartPolicy), c.limitText(r)))
		return
	}
	want, has := c.jobSpec(r), f.replicas.Template.Spec
	for _, field := range []struct {
		name      string
		want, has any
		at        fieldpath.Path
	}{
		{"restartPolicy", podRestart(r.replica.spec.RestartPolicy),
			cmp.Or(f.pod.RestartPolicy, corev1.RestartPolicyOnFailure),
			r.replica.path.Append(fieldpath.Field("restartPolicy"))},
		{"backoffLimit", want.BackoffLimit, orSix(has.BackoffLimit),
			run.Append(fieldpath.Field("backoffLimit"))},
		{"podFailurePolicy", want.PodFailurePolicy, has.PodFailurePolicy,
			r.replica.path.Append(fieldpath.Field("restartPolicy"))},
		{"successPolicy", want.SuccessPolicy, has.SuccessPolicy, fieldpath.Fields("spec", c.specs)},
		{"ttlSecondsAfterFinished", want.TTLSecondsAfterFinished, has.TTLSecondsAfterFinished,
			run.Append(fieldpath.Field("ttlSecondsAfterFinished"))},
	} {
		if !reflect.DeepEqual(field.want, field.has) {
			c.decides(field.at,
				fmt.Sprintf("%s of the runtime's Job is not what the old job had", field.name))
		}
	}
}

// orSix returns a Job's backoff limit with its default.
func orSix(limit *int32) *int32 {
	if six := int32(6); limit == nil {
		return &six
	}
	return limit
}

func (c *conversion) limitText(r *role) string {
	switch limit := *c.backoffLimit(r); {
	case limit == 0:
		return "fail with its first Pod"
	case c.run.BackoffLimit == nil:
		return "no backoff limit"
	default:
		return fmt.Sprintf("backoffLimit %d", limit)
	}
}

// patches returns the job's patch of the runtime, or nil for an empty patch.
func patches(manager, job string, t corev1.PodTemplateSpec,
	main *corev1.Container) []trainer.RuntimePatch {
	s := &t.Spec
	pod := &trainer.PodSpecPatch{
		Volumes: s.Volumes, ImagePullSecrets: s.ImagePullSecrets,
		SecurityContext: s.SecurityContext, NodeSelector: s.NodeSelector,
		Affinity: s.Affinity, Tolerations: s.Tolerations, SchedulingGates: s.SchedulingGates,
		TerminationGracePeriodSeconds: s.TerminationGracePeriodSeconds,
	}
	if s.ServiceAccountName != "" {
		pod.ServiceAccountName = &s.ServiceAccountName
	}
	if main.VolumeMounts != nil || main.SecurityContext != nil {
		pod.Containers = []trainer.ContainerPatch{
			{Name: node, VolumeMounts: main.VolumeMounts, SecurityContext: main.SecurityContext}}
	}
	patch := &trainer.PodTemplatePatch{Spec: pod}
	if len(t.Labels) > 0 || len(t.Annotations) > 0 || len(t.Finalizers) > 0 {
		patch.Metadata = &metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations,
			Finalizers: t.Finalizers}
	}
	if reflect.DeepEqual(*pod, trainer.PodSpecPatch{}) {
		if patch.Spec = nil; patch.Metadata == nil {
			return nil
		}
	}
	return []trainer.RuntimePatch{{
		Manager: manager,
		TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
				ReplicatedJobs: []trainer.ReplicatedJobPatch{
					{Name: job, Template: &trainer.JobTemplatePatch{
						Spec: &trainer.JobSpecPatch{Template: patch}}}},
			}}},
	}}
}
