package children

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
)

// The Job controller writes completionIndexEnv, which the API's Go module does not export
// (Kubernetes v1.36.3 pkg/controller/job). JobSet's Pod webhook writes the label PriorityKey
// (JobSet v0.12.0 pkg/constants).
const (
	completionIndexEnv = "JOB_COMPLETION_INDEX"
	// PriorityKey is the label with the value of the priority of a Pod.
	PriorityKey = "jobset.sigs.k8s.io/priority"
)

// maxGenerateName is the maximum length of a generateName whose random suffix of five still fits
// into a DNS label.
const maxGenerateName = 63 - 5

// Pods makes the Pods of one Job. It makes their shared parts once.
type Pods struct {
	job           *batchv1.Job
	shared        corev1.Pod
	indexed       bool
	countFailures bool             // per index
	leader        *corev1.Affinity // of index 0; nil without exclusive placement
	labelKeys     bool             // selectors take labels of the Pod
}

// Pods returns the Pods of the Job of the index.
func (m *Members) Pods(index int) *Pods { return newPods(m.Job(index), m.family.opts) }

// newPods takes over the Job and writes into its maps.
func newPods(job *batchv1.Job, opts Options) *Pods {
	template := &job.Spec.Template
	// the controller takes the template from the stored Job
	minor.Drop(opts.Release.Kubernetes, &template.Spec)
	p := &Pods{
		job:           job,
		indexed:       *job.Spec.CompletionMode == batchv1.IndexedCompletion,
		countFailures: job.Spec.BackoffLimitPerIndex != nil,
		shared: corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			// Of the template's metadata, only these three reach the Pod.
			ObjectMeta: metav1.ObjectMeta{
				Namespace:    job.Namespace,
				GenerateName: job.Name + "-",
				Labels:       template.Labels,
				Annotations:  template.Annotations,
				Finalizers:   template.Finalizers,
			},
			Spec: template.Spec,
		},
	}
	pod := &p.shared
	if !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
		pod.Finalizers = append(slices.Clip(pod.Finalizers), batchv1.JobTrackingFinalizer)
	}
	if opts.OwnerReferences {
		var uid = job.UID
		if opts.JobUID != nil {
			uid = opts.JobUID(job.Name)
		}
		pod.OwnerReferences = ControlledBy(batchv1.SchemeGroupVersion.String(), "Job",
			job.Name, uid)
	}
	if p.indexed {
		pod.Spec.InitContainers = withCompletionIndex(pod.Spec.InitContainers)
		pod.Spec.Containers = withCompletionIndex(pod.Spec.Containers)
	}
	p.admit(opts)
	return p
}

// withCompletionIndex adds the variable for the completion index to containers that lack a variable
// of that name.
func withCompletionIndex(containers []corev1.Container) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		c := &containers[i]
		if slices.ContainsFunc(c.Env, func(env corev1.EnvVar) bool {
			return env.Name == completionIndexEnv
		}) {
			continue
		}
		c.Env = append(slices.Clip(c.Env), corev1.EnvVar{
			Name: completionIndexEnv,
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				FieldPath: fmt.Sprintf("metadata.labels['%s']",
					batchv1.JobCompletionIndexAnnotation),
			}},
		})
	}
	return containers
}

// admit applies the admission of the Pods. Admission sets their priority. JobSet's webhook then
// writes it into a label and places the Pods. The webhook skips Pods of the node-selector strategy.
// Before JobSet 0.11, it labels only the Pods that it places (JobSet v0.10.1
// pkg/webhooks/pod_mutating_webhook.go).
func (p *Pods) admit(opts Options) {
	pod := &p.shared
	priority, known := podPriority(&pod.Spec)
	if opts.Stored {
		p.labelKeys = hasLabelKeys(&pod.Spec)
		pod.Spec.InitContainers = appArmorProfiles(pod, pod.Spec.InitContainers)
		pod.Spec.Containers = appArmorProfiles(pod, pod.Spec.Containers)
		if known && priority != 0 {
			pod.Spec.Priority = &priority
		}
		if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
			pod.Spec.TerminationGracePeriodSeconds = new(int64(1))
		}
	}
	if _, placed := pod.Annotations[jobset.NodeSelectorStrategyKey]; placed {
		return
	}
	if known && opts.labelsPriority(pod.Annotations) {
		pod.Labels[PriorityKey] = strconv.Itoa(int(priority))
	}
	if p.indexed && WebhookPlaces(pod.Annotations) {
		p.leader = exclusiveAffinity(pod)
	}
}

// labelsPriority reports whether Pods with these annotations carry the label of their priority.
func (opts Options) labelsPriority(annotations map[string]string) bool {
	return opts.Release.JobSet.PriorityLabel == release.EveryPriority || WebhookPlaces(annotations)
}

// podPriority returns the priority that admission gives a Pod, and whether it is known without a
// cluster. It is unknown for a custom PriorityClass. A cluster may also have a default class of its
// own; podPriority assumes none, as in most clusters.
func podPriority(spec *corev1.PodSpec) (priority int32, known bool) {
	if priority, known = SystemPriority(spec.PriorityClassName); known || spec.Priority == nil {
		return priority, known
	}
	return *spec.Priority, true // the cluster rejects another value than that of the class
}

// SystemPriority returns the priority of a PriorityClass that every cluster has, or of a Pod
// without a class. It returns false for other classes.
func SystemPriority(class string) (priority int32, known bool) {
	switch class {
	case "":
		return 0, true
	case "system-cluster-critical":
		return 2_000_000_000, true
	case "system-node-critical":
		return 2_000_001_000, true
	default:
		return 0, false
	}
}

// WebhookPlaces reports whether JobSet's Pod webhook does the exclusive placement.
func WebhookPlaces(annotations map[string]string) bool {
	_, exclusive := annotations[jobset.ExclusiveKey]
	_, byNodeSelector := annotations[jobset.NodeSelectorStrategyKey]
	return exclusive && !byNodeSelector
}

// exclusiveAffinity returns an affinity that puts the Pods of one Job into one topology domain. It
// keeps Pods of other Jobs with the same priority out of the domain. Its terms follow the terms of
// the template.
func exclusiveAffinity(pod *corev1.Pod) *corev1.Affinity {
	affinity := pod.Spec.Affinity.DeepCopy()
	defaults.SetPointer(&affinity, corev1.Affinity{})
	defaults.SetPointer(&affinity.PodAffinity, corev1.PodAffinity{})
	defaults.SetPointer(&affinity.PodAntiAffinity, corev1.PodAntiAffinity{})
	key := []string{pod.Labels[jobset.JobKey]}
	term := func(requirements ...metav1.LabelSelectorRequirement) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{
			LabelSelector:     &metav1.LabelSelector{MatchExpressions: requirements},
			TopologyKey:       pod.Annotations[jobset.ExclusiveKey],
			NamespaceSelector: &metav1.LabelSelector{},
		}
	}
	others := []metav1.LabelSelectorRequirement{
		{Key: jobset.JobKey, Operator: metav1.LabelSelectorOpExists},
		{Key: jobset.JobKey, Operator: metav1.LabelSelectorOpNotIn, Values: key},
	}
	if priority, known := pod.Labels[PriorityKey]; known {
		others = append(others, metav1.LabelSelectorRequirement{
			Key: PriorityKey, Operator: metav1.LabelSelectorOpIn, Values: []string{priority},
		})
	}
	together := &affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*together = append(*together, term(metav1.LabelSelectorRequirement{
		Key: jobset.JobKey, Operator: metav1.LabelSelectorOpIn, Values: key,
	}))
	apart := &affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*apart = append(*apart, term(others...))
	return affinity
}

// Pod returns the Pod of the index.
func (p *Pods) Pod(index int) *corev1.Pod {
	pod := p.shared
	pod.Labels, pod.Annotations = maps.Clone(pod.Labels), maps.Clone(pod.Annotations)
	if p.indexed {
		p.number(&pod, index)
	}
	if p.labelKeys {
		selectLabels(&pod.Spec, pod.Labels)
	}
	return &pod
}

// number gives the Pod its completion index.
func (p *Pods) number(pod *corev1.Pod, index int) {
	number := strconv.Itoa(index)
	pod.Labels[batchv1.JobCompletionIndexAnnotation] = number
	pod.Annotations[batchv1.JobCompletionIndexAnnotation] = number
	if p.countFailures {
		pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = "0"
	}
	pod.GenerateName = indexedGenerateName(p.job.Name, number)
	pod.Spec.Hostname = p.job.Name + "-" + number
	if index == 0 && p.leader != nil {
		pod.Spec.Affinity = p.leader
	}
}

// indexedGenerateName shortens the Job's name, never the index, to fit maxGenerateName.
func indexedGenerateName(job, index string) string {
	suffix := "-" + index + "-"
	return job[:min(len(job), maxGenerateName-len(suffix))] + suffix
}
