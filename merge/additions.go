package merge

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// additions are how many entries and items the patches name, by the list or map of the template that
// they go to: it gets room for so many when it is copied. What is not counted, or not right, costs time
// only: a list or map that is too small grows.
type additions struct {
	metadata metadataAdditions
	jobs     []jobAdditions // by the position in the template
	// nodes, claims and values are what the log will hold, more or less.
	nodes, claims, values int
}

type metadataAdditions struct{ labels, annotations int }

type jobAdditions struct {
	named             bool
	podMetadata       metadataAdditions
	nodeSelector      int
	volumes, gates    int
	containers, inits []containerAdditions // by the position in the template
}

type containerAdditions struct {
	named             bool
	variables, mounts int
}

// count looks through the patches.
func count(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) additions {
	jobs := template.Spec.ReplicatedJobs
	a := additions{jobs: make([]jobAdditions, len(jobs)), nodes: 8, claims: 8}
	containers := 0
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		containers += len(pod.Containers) + len(pod.InitContainers)
	}
	none := make([]containerAdditions, containers)
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		a.jobs[i].containers, none = none[:len(pod.Containers)], none[len(pod.Containers):]
		a.jobs[i].inits, none = none[:len(pod.InitContainers)], none[len(pod.InitContainers):]
	}
	for i := range patches {
		runtimeSpec := patches[i].TrainingRuntimeSpec
		if runtimeSpec == nil || runtimeSpec.Template == nil {
			continue
		}
		a.entries(a.metadata.add(runtimeSpec.Template.Metadata))
		if runtimeSpec.Template.Spec == nil {
			continue
		}
		at := 0
		for j := range runtimeSpec.Template.Spec.ReplicatedJobs {
			job := &runtimeSpec.Template.Spec.ReplicatedJobs[j]
			// Patches name things in the template's order, as a rule.
			if at = positionFrom(at, jobItems.key, jobs, job.Name); at < 0 {
				at = 0
				continue
			}
			a.claims++
			if t := job.Template; t != nil && t.Spec != nil && t.Spec.Template != nil {
				a.pod(&a.jobs[at], &jobs[at].Template.Spec.Template.Spec, t.Spec.Template)
			}
			at++
		}
	}
	return a
}

// entries counts what is one node with one claim.
func (a *additions) entries(n int) { a.nodes, a.claims = a.nodes+n, a.claims+n }

func (m *metadataAdditions) add(patch *metav1.ObjectMeta) int {
	if patch == nil {
		return 0
	}
	m.labels += len(patch.Labels)
	m.annotations += len(patch.Annotations)
	return len(patch.Labels) + len(patch.Annotations)
}

func (a *additions) pod(job *jobAdditions, template *corev1.PodSpec, patch *trainer.PodTemplatePatch) {
	if !job.named {
		job.named = true
		a.nodes, a.claims = a.nodes+15, a.claims+4 // of the structs and lists on the way, of the runtime's values
	}
	a.entries(job.podMetadata.add(patch.Metadata))
	pod := patch.Spec
	if pod == nil {
		return
	}
	job.nodeSelector += len(pod.NodeSelector)
	job.gates += len(pod.SchedulingGates)
	job.volumes += len(pod.Volumes)
	a.entries(len(pod.NodeSelector) + len(pod.SchedulingGates) + len(pod.Volumes))
	if pod.SecurityContext != nil {
		a.claims, a.values = a.claims+1, a.values+1
	}
	if len(pod.Tolerations) > 0 {
		a.claims, a.values = a.claims+1, a.values+1
	}
	a.containers(job.containers, template.Containers, pod.Containers)
	a.containers(job.inits, template.InitContainers, pod.InitContainers)
}

func (a *additions) containers(counts []containerAdditions, template []corev1.Container, patch []trainer.ContainerPatch) {
	at := 0
	for i := range patch {
		if at = positionFrom(at, containerItems.key, template, patch[i].Name); at < 0 {
			at = 0
			continue
		}
		c := &counts[at]
		if !c.named {
			c.named = true
			a.nodes, a.claims = a.nodes+3, a.claims+1
		}
		c.variables += len(patch[i].Env)
		c.mounts += len(patch[i].VolumeMounts)
		a.entries(len(patch[i].Env) + len(patch[i].VolumeMounts))
		a.claims++
		at++
	}
}

// positionFrom is position for those who know where the item may stand.
func positionFrom[T any](place int, key func(*T) *string, list []T, name string) int {
	if place < len(list) && *key(&list[place]) == name {
		return place
	}
	return position(key, list, name)
}
