package schema

import (
	"math/bits"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// Nearly all templates and patches have nothing wrong with them, and hold little but a few well-known
// lists. The functions of this file see that by a look at these, as the Go types that they are: each is true
// only where the checker would find nothing, and false also where a field is set that it does not know well
// enough. The checker then walks the whole, by the schema, and is the only one to say what is wrong. Two tests hold this file to
// it: one breaks every list, union and map of the schema in turn, the other compares generated cases.

// isCleanTemplate looks at a runtime's template by itself.
func isCleanTemplate(spec *jobset.JobSetSpec) bool {
	jobs := spec.ReplicatedJobs
	if !distinct(jobs, jobName) {
		return false
	}
	for i := range jobs {
		job := &jobs[i]
		pod := &job.Template.Spec.Template
		if len(job.DependsOn) > 0 && !distinct(job.DependsOn, func(d *jobset.DependsOn) string { return d.Name }) ||
			len(job.Template.OwnerReferences) > 0 || len(pod.OwnerReferences) > 0 || !isCleanPod(&pod.Spec) {
			return false
		}
	}
	return true
}

func isCleanPod(pod *corev1.PodSpec) bool {
	for i := range pod.Volumes {
		if source := &pod.Volumes[i].VolumeSource; volumeSources(source).several() || source.Ephemeral != nil {
			return false
		}
	}
	return len(pod.EphemeralContainers) == 0 &&
		distinct(pod.Volumes, volumeName) &&
		distinct(pod.ImagePullSecrets, secretName) &&
		distinct(pod.SchedulingGates, gateName) &&
		distinct(pod.HostAliases, func(h *corev1.HostAlias) string { return h.IP }) &&
		distinct(pod.ResourceClaims, func(c *corev1.PodResourceClaim) string { return c.Name }) &&
		(pod.SecurityContext == nil || areCleanProfiles(pod.SecurityContext.SeccompProfile, pod.SecurityContext.AppArmorProfile)) &&
		areCleanContainers(pod.InitContainers) && areCleanContainers(pod.Containers)
}

func areCleanContainers(containers []corev1.Container) bool {
	if !distinct(containers, containerName) {
		return false
	}
	for i := range containers {
		c := &containers[i]
		for j := range c.Env {
			if variableSources(&c.Env[j]).several() {
				return false
			}
		}
		for j := range c.VolumeMounts {
			if subPaths(&c.VolumeMounts[j]).several() {
				return false
			}
		}
		if !distinct(c.Env, variableName) || !distinct(c.VolumeMounts, mountPath) ||
			!distinct(c.VolumeDevices, func(d *corev1.VolumeDevice) string { return d.DevicePath }) ||
			c.SecurityContext != nil && !areCleanProfiles(c.SecurityContext.SeccompProfile, c.SecurityContext.AppArmorProfile) {
			return false
		}
	}
	return true
}

func areCleanProfiles(seccomp *corev1.SeccompProfile, appArmor *corev1.AppArmorProfile) bool {
	return (seccomp == nil || seccomp.LocalhostProfile == nil || seccomp.Type == corev1.SeccompProfileTypeLocalhost) &&
		(appArmor == nil || appArmor.LocalhostProfile == nil || appArmor.Type == corev1.AppArmorProfileTypeLocalhost)
}

// isCleanPatch looks at one patch, by itself and against the runtime's template.
func isCleanPatch(template *jobset.JobSetSpec, patch *trainer.RuntimePatch) bool {
	if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil {
		return true
	}
	p := patch.TrainingRuntimeSpec.Template
	if !isCleanMetadata(p.Metadata) {
		return false
	}
	if p.Spec == nil {
		return true
	}
	jobs := p.Spec.ReplicatedJobs
	if !distinct(jobs, func(j *trainer.ReplicatedJobPatch) string { return j.Name }) {
		return false
	}
	for i := range jobs {
		job := find(template.ReplicatedJobs, jobName, jobs[i].Name)
		if job == nil {
			return false
		}
		if t := jobs[i].Template; t != nil && !(isCleanMetadata(t.Metadata) && isCleanJobPatch(job, t.Spec)) {
			return false
		}
	}
	return true
}

func isCleanJobPatch(job *jobset.ReplicatedJob, patch *trainer.JobSpecPatch) bool {
	if patch == nil || patch.Template == nil {
		return true
	}
	return isCleanMetadata(patch.Template.Metadata) && (patch.Template.Spec == nil || isCleanPodPatch(&job.Template.Spec.Template.Spec, patch.Template.Spec))
}

func isCleanPodPatch(pod *corev1.PodSpec, patch *trainer.PodSpecPatch) bool {
	if s := patch.SecurityContext; s != nil && (s.SeccompProfile != nil || s.AppArmorProfile != nil) {
		return false
	}
	if a := patch.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return false // their selectors have maps
	}
	if len(patch.Tolerations) > 0 && len(pod.Tolerations) > 0 {
		return false
	}
	for i := range patch.Containers {
		switch c := &patch.Containers[i]; c.Name {
		case "node", "dataset-initializer", "model-initializer":
			if len(c.Env) > 0 {
				return false
			}
		}
	}
	return noDirectives(patch.NodeSelector) &&
		distinct(patch.ImagePullSecrets, secretName) &&
		distinct(patch.SchedulingGates, gateName) &&
		areCleanVolumePatches(pod.Volumes, patch.Volumes) &&
		areCleanContainerPatches(pod.InitContainers, patch.InitContainers) && inOrder(pod.InitContainers, patch.InitContainers) &&
		areCleanContainerPatches(pod.Containers, patch.Containers)
}

func areCleanVolumePatches(runtime, patches []corev1.Volume) bool {
	if !distinct(patches, volumeName) {
		return false
	}
	for i := range patches {
		source := &patches[i].VolumeSource
		if source.Ephemeral != nil || source.Projected != nil || source.CSI != nil || source.FlexVolume != nil {
			return false // they hold maps, and more
		}
		sources := volumeSources(source)
		if r := find(runtime, volumeName, patches[i].Name); r != nil && sources != 0 {
			sources |= volumeSources(&r.VolumeSource)
		}
		if sources.several() {
			return false
		}
	}
	return true
}

func areCleanContainerPatches(runtime []corev1.Container, patches []trainer.ContainerPatch) bool {
	if !distinct(patches, func(c *trainer.ContainerPatch) string { return c.Name }) {
		return false
	}
	for i := range patches {
		p, c := &patches[i], find(runtime, containerName, patches[i].Name)
		if c == nil || p.SecurityContext != nil && (p.SecurityContext.SeccompProfile != nil || p.SecurityContext.AppArmorProfile != nil) ||
			!distinct(p.Env, variableName) || !distinct(p.VolumeMounts, mountPath) || !distinct(p.VolumeMounts, mountName) {
			return false
		}
		for j := range p.Env {
			sources := variableSources(&p.Env[j])
			if r := find(c.Env, variableName, p.Env[j].Name); r != nil && sources != 0 {
				sources |= variableSources(r)
			}
			if sources.several() {
				return false
			}
		}
		for j := range p.VolumeMounts {
			paths := subPaths(&p.VolumeMounts[j])
			if r := find(c.VolumeMounts, mountPath, p.VolumeMounts[j].MountPath); r != nil && paths != 0 {
				paths |= subPaths(r)
			}
			if paths.several() {
				return false
			}
		}
	}
	return true
}

// inOrder tells whether a patch names containers in the runtime's order. It names none that the runtime lacks.
func inOrder(runtime []corev1.Container, patches []trainer.ContainerPatch) bool {
	if len(patches) < 2 {
		return true
	}
	last := -1
	for i := range patches {
		at := indexOf(runtime, containerName, patches[i].Name)
		if at < last {
			return false
		}
		last = at
	}
	return true
}

// isCleanMetadata tells whether a patch's metadata holds labels and annotations only, and no directives.
func isCleanMetadata(m *metav1.ObjectMeta) bool {
	return m == nil || metadataFields(m)&^labelsAndAnnotations == 0 && noDirectives(m.Labels) && noDirectives(m.Annotations)
}

// isPlainManager tells whether a manager's name is a domain and a path of ordinary letters, as nearly all are.
func isPlainManager(name string) bool {
	isLetter := func(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
	domain, path, _ := strings.Cut(name, "/")
	before := byte('.')
	for i := range len(domain) {
		c := domain[i]
		if !isLetter(c) && (c != '-' && c != '.' || before == '.' || c == '.' && before == '-') {
			return false
		}
		before = c
	}
	for i := range len(path) {
		if c := path[i]; !isLetter(c) && c != '-' && c != '.' && c != '/' {
			return false
		}
	}
	return isLetter(before) && path != ""
}

func noDirectives(m map[string]string) bool {
	for key := range m {
		if strings.HasPrefix(key, "$") {
			return false
		}
	}
	return true
}

// variableSources are the fields from which a variable would have its value, and one that stands for a valueFrom
// which names none.
func variableSources(e *corev1.EnvVar) fieldSet {
	value, from := e.Value != "", e.ValueFrom
	if from == nil {
		return setOf(value)
	}
	named := setOf(false, from.FieldRef != nil, from.ResourceFieldRef != nil, from.ConfigMapKeyRef != nil, from.SecretKeyRef != nil, from.FileKeyRef != nil)
	return named | setOf(value, false, false, false, false, false, named == 0)
}

func subPaths(m *corev1.VolumeMount) fieldSet { return setOf(m.SubPath != "", m.SubPathExpr != "") }

// several tells whether the set has more than one field.
func (s fieldSet) several() bool { return bits.OnesCount64(uint64(s)) > 1 }

// distinct tells whether every item of a list has a key, and no other item the same.
func distinct[T any](list []T, key func(*T) string) bool {
	const short = 32
	if len(list) > short {
		seen := make(map[string]bool, len(list))
		for i := range list {
			k := key(&list[i])
			if k == "" || seen[k] {
				return false
			}
			seen[k] = true
		}
		return true
	}
	for i := range list {
		k := key(&list[i])
		if k == "" {
			return false
		}
		for j := range i {
			if key(&list[j]) == k {
				return false
			}
		}
	}
	return true
}

// find is the first item of a list that has the key, nil where there is none.
func find[T any](list []T, key func(*T) string, want string) *T {
	if i := indexOf(list, key, want); i >= 0 {
		return &list[i]
	}
	return nil
}

// indexOf is where that item stands, -1 where there is none. Items are large, and are not copied to be looked at.
func indexOf[T any](list []T, key func(*T) string, want string) int {
	for i := range list {
		if key(&list[i]) == want {
			return i
		}
	}
	return -1
}

func jobName(j *jobset.ReplicatedJob) string           { return j.Name }
func managerName(p *trainer.RuntimePatch) string       { return p.Manager }
func volumeName(v *corev1.Volume) string               { return v.Name }
func containerName(c *corev1.Container) string         { return c.Name }
func variableName(e *corev1.EnvVar) string             { return e.Name }
func mountPath(m *corev1.VolumeMount) string           { return m.MountPath }
func mountName(m *corev1.VolumeMount) string           { return m.Name }
func secretName(s *corev1.LocalObjectReference) string { return s.Name }
func gateName(g *corev1.PodSchedulingGate) string      { return g.Name }
