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
)

// The names that the Job controller writes into Pods and the API's Go module does not export
// (Kubernetes v1.36.3 pkg/controller/job), and the label of JobSet's Pod webhook (JobSet v0.12.0
// pkg/constants).
const (
	completionIndexEnv = "JOB_COMPLETION_INDEX"
	// PriorityKey is the label with the value of the priority of a Pod.
	PriorityKey = "jobset.sigs.k8s.io/priority"
)

// maxGenerateName is how long a generateName may be so that the random suffix of five still fits
// into a DNS label.
const maxGenerateName = 63 - 5

// Pods makes the Pods of one Job. What they share is made once.
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

// newPods takes over the Job: it writes into its maps.
func newPods(job *batchv1.Job, opts Options) *Pods {
	template := &job.Spec.Template
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
		pod.OwnerReferences = controlledBy(batchv1.SchemeGroupVersion.String(), "Job", job.Name, uid)
	}
	if p.indexed {
		pod.Spec.InitContainers = withCompletionIndex(pod.Spec.InitContainers)
		pod.Spec.Containers = withCompletionIndex(pod.Spec.Containers)
	}
	p.admit(opts)
	return p
}

// withCompletionIndex tells containers the index of their Pod, unless they have a variable of that
// name already.
func withCompletionIndex(containers []corev1.Container) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		c := &containers[i]
		if slices.ContainsFunc(c.Env, func(env corev1.EnvVar) bool { return env.Name == completionIndexEnv }) {
			continue
		}
		c.Env = append(slices.Clip(c.Env), corev1.EnvVar{
			Name: completionIndexEnv,
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation),
			}},
		})
	}
	return containers
}

// admit does what the admission of the Pods does: their priority is looked up, then JobSet's webhook
// writes it into a label and places the Pods, unless the node-selector strategy has done so.
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
			least := int64(1)
			pod.Spec.TerminationGracePeriodSeconds = &least
		}
	}
	if _, placed := pod.Annotations[jobset.NodeSelectorStrategyKey]; placed {
		return
	}
	if known {
		pod.Labels[PriorityKey] = strconv.Itoa(int(priority))
	}
	if p.indexed && WebhookPlaces(pod.Annotations) {
		p.leader = exclusiveAffinity(pod)
	}
}

// podPriority is the priority that admission gives a Pod, and whether that can be told without a
// cluster: not for a PriorityClass that somebody made. A cluster's own default class is not known
// either; there, most have none.
func podPriority(spec *corev1.PodSpec) (priority int32, known bool) {
	if priority, known = SystemPriority(spec.PriorityClassName); known || spec.Priority == nil {
		return priority, known
	}
	return *spec.Priority, true // refused if the class has another
}

// SystemPriority returns the priority of a PriorityClass that every cluster has, or of a Pod without a class.
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

// WebhookPlaces tells whether JobSet's Pod webhook does the exclusive placement.
func WebhookPlaces(annotations map[string]string) bool {
	_, exclusive := annotations[jobset.ExclusiveKey]
	_, byNodeSelector := annotations[jobset.NodeSelectorStrategyKey]
	return exclusive && !byNodeSelector
}

// exclusiveAffinity draws the Pods of one Job into one topology domain and keeps those of other Jobs
// of the same priority out of it. Its terms come after those of the template.
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

// Pod is the Pod of the index.
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

// indexedGenerateName cuts the Job's name, never the index, to what a generateName may hold.
func indexedGenerateName(job, index string) string {
	suffix := "-" + index + "-"
	return job[:min(len(job), maxGenerateName-len(suffix))] + suffix
}
