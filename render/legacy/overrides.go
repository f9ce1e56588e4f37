package legacy

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// TrainJob is a TrainJob with today's fields and the fields that Trainer 2.2 removed.
type TrainJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TrainJobSpec           `json:"spec,omitempty"`
	Status trainer.TrainJobStatus `json:"status,omitempty"`
}

// TrainJobSpec is the spec of a TrainJob with the fields of both APIs.
type TrainJobSpec struct {
	trainer.TrainJobSpec `json:",inline"`
	Overrides            `json:",inline"`
}

// Overrides holds the fields of a TrainJob's spec that Trainer 2.1 or 2.2 removed. The zero value
// has no effect.
type Overrides struct {
	// Labels and Annotations override entries in the runtime's JobSet template.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// PodTemplateOverrides override the Pod templates of their target jobs, in this order.
	PodTemplateOverrides []PodTemplateOverride `json:"podTemplateOverrides,omitempty"`
	// PodSpecOverrides are the overrides of Trainer 2.0, which no later release reads.
	PodSpecOverrides []PodSpecOverride `json:"podSpecOverrides,omitempty"`
}

// PodSpecOverride changes the Pods' spec of some replicated jobs (Trainer v2.0.1
// pkg/apis/trainer/v1alpha1).
type PodSpecOverride struct {
	TargetJobs         []TargetJob                `json:"targetJobs,omitempty"`
	ServiceAccountName *string                    `json:"serviceAccountName,omitempty"`
	NodeSelector       map[string]string          `json:"nodeSelector,omitempty"`
	Tolerations        []corev1.Toleration        `json:"tolerations,omitempty"`
	Volumes            []corev1.Volume            `json:"volumes,omitempty"`
	InitContainers     []ContainerOverride        `json:"initContainers,omitempty"`
	Containers         []ContainerOverride        `json:"containers,omitempty"`
	SchedulingGates    []corev1.PodSchedulingGate `json:"schedulingGates,omitempty"`
}

// PodTemplateOverride changes the Pod templates of some replicated jobs.
type PodTemplateOverride struct {
	// TargetJobs are the replicated jobs. Without any, the override has no effect.
	TargetJobs []TargetJob `json:"targetJobs,omitempty"`
	// Metadata holds labels and annotations for the Pods. Trainer 2.1 never read its other fields.
	Metadata *metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec changes the Pods' spec.
	Spec *PodTemplateSpecOverride `json:"spec,omitempty"`
}

// TargetJob names a replicated job of the runtime.
type TargetJob struct {
	Name string `json:"name,omitempty"`
}

// PodTemplateSpecOverride holds the fields of a Pod's spec that an override can change. A patch can
// change more.
type PodTemplateSpecOverride struct {
	ServiceAccountName *string                       `json:"serviceAccountName,omitempty"`
	NodeSelector       map[string]string             `json:"nodeSelector,omitempty"`
	Affinity           *corev1.Affinity              `json:"affinity,omitempty"`
	Tolerations        []corev1.Toleration           `json:"tolerations,omitempty"`
	Volumes            []corev1.Volume               `json:"volumes,omitempty"`
	InitContainers     []ContainerOverride           `json:"initContainers,omitempty"`
	Containers         []ContainerOverride           `json:"containers,omitempty"`
	SchedulingGates    []corev1.PodSchedulingGate    `json:"schedulingGates,omitempty"`
	ImagePullSecrets   []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
}

// ContainerOverride holds the fields of a container that an override can change.
type ContainerOverride struct {
	Name         string               `json:"name,omitempty"`
	Env          []corev1.EnvVar      `json:"env,omitempty"`
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}

// Split returns the parts of a TrainJob in today's API and in the API of Trainer 2.1. Both share
// memory with j. For nil both are nil.
func (j *TrainJob) Split() (*trainer.TrainJob, *Overrides) {
	if j == nil {
		return nil, nil
	}
	today := &trainer.TrainJob{TypeMeta: j.TypeMeta, ObjectMeta: j.ObjectMeta,
		Spec: j.Spec.TrainJobSpec, Status: j.Status}
	return today, &j.Spec.Overrides
}

// list returns the overrides of Pods; nil has none. Overrides of Trainer 2.0 come as overrides of a
// Pod template.
func (o *Overrides) list() []PodTemplateOverride {
	switch {
	case o == nil:
		return nil
	case o.ofPodSpec():
		list := make([]PodTemplateOverride, len(o.PodSpecOverrides))
		for i := range o.PodSpecOverrides {
			p := &o.PodSpecOverrides[i]
			list[i] = PodTemplateOverride{TargetJobs: p.TargetJobs, Spec: p.spec()}
		}
		return list
	}
	return o.PodTemplateOverrides
}

// count returns the number of overrides of Pods.
func (o *Overrides) count() int {
	if o.ofPodSpec() {
		return len(o.PodSpecOverrides)
	}
	return len(o.PodTemplateOverrides)
}

// targetsOf returns the target jobs of one override of Pods.
func (o *Overrides) targetsOf(i int) []TargetJob {
	if o.ofPodSpec() {
		return o.PodSpecOverrides[i].TargetJobs
	}
	return o.PodTemplateOverrides[i].TargetJobs
}

// ofPodSpec reports whether the overrides are of Trainer 2.0.
func (o *Overrides) ofPodSpec() bool { return o != nil && len(o.PodSpecOverrides) > 0 }

// field returns the name of the field in a TrainJob's spec.
func (o *Overrides) field() string {
	if o.ofPodSpec() {
		return "podSpecOverrides"
	}
	return "podTemplateOverrides"
}

// release returns the release that reads the overrides.
func (o *Overrides) release() string {
	if o.ofPodSpec() {
		return "Trainer 2.0"
	}
	return "Trainer 2.1"
}

// spec returns the fields of the Pods' spec. It shares memory with the override.
func (p *PodSpecOverride) spec() *PodTemplateSpecOverride {
	return &PodTemplateSpecOverride{
		ServiceAccountName: p.ServiceAccountName, NodeSelector: p.NodeSelector,
		Tolerations: p.Tolerations, Volumes: p.Volumes,
		InitContainers: p.InitContainers, Containers: p.Containers,
		SchedulingGates: p.SchedulingGates,
	}
}

// Fields returns the names of the fields of a TrainJob's spec that Trainer 2.1 or 2.2 removed.
func Fields() []string {
	return []string{"labels", "annotations", "podSpecOverrides", "podTemplateOverrides"}
}

// patch returns the override as a patch of a Pod template. It shares memory with the override.
func (o *PodTemplateOverride) patch() *trainer.PodTemplatePatch {
	patch := &trainer.PodTemplatePatch{}
	if m := o.Metadata; m != nil && (m.Labels != nil || m.Annotations != nil) {
		patch.Metadata = &metav1.ObjectMeta{Labels: m.Labels, Annotations: m.Annotations}
	}
	if s := o.Spec; s != nil {
		patch.Spec = &trainer.PodSpecPatch{
			ServiceAccountName: s.ServiceAccountName,
			NodeSelector:       s.NodeSelector,
			Affinity:           s.Affinity,
			Tolerations:        s.Tolerations,
			Volumes:            s.Volumes,
			InitContainers:     patchesFromOverrides(s.InitContainers),
			Containers:         patchesFromOverrides(s.Containers),
			SchedulingGates:    s.SchedulingGates,
			ImagePullSecrets:   s.ImagePullSecrets,
		}
	}
	return patch
}

func patchesFromOverrides(overrides []ContainerOverride) []trainer.ContainerPatch {
	if overrides == nil {
		return nil
	}
	patches := make([]trainer.ContainerPatch, len(overrides))
	for i, c := range overrides {
		patches[i] = trainer.ContainerPatch{Name: c.Name, Env: c.Env, VolumeMounts: c.VolumeMounts}
	}
	return patches
}

// DeepCopy returns a copy that shares no memory with o, or nil for nil.
func (o *Overrides) DeepCopy() *Overrides {
	if o == nil {
		return nil
	}
	out := &Overrides{
		Labels: maps.Clone(o.Labels), Annotations: maps.Clone(o.Annotations),
		PodTemplateOverrides: slices.Clone(o.PodTemplateOverrides),
		PodSpecOverrides:     slices.Clone(o.PodSpecOverrides),
	}
	for i := range out.PodTemplateOverrides {
		p := &out.PodTemplateOverrides[i]
		p.TargetJobs, p.Metadata = slices.Clone(p.TargetJobs), p.Metadata.DeepCopy()
		if p.Spec == nil {
			continue
		}
		p.Spec = p.Spec.deepCopy()
	}
	for i := range out.PodSpecOverrides {
		p := &out.PodSpecOverrides[i]
		spec := p.spec().deepCopy()
		*p = PodSpecOverride{
			TargetJobs: slices.Clone(p.TargetJobs), ServiceAccountName: spec.ServiceAccountName,
			NodeSelector: spec.NodeSelector,
			Tolerations:  spec.Tolerations, Volumes: spec.Volumes,
			InitContainers: spec.InitContainers, Containers: spec.Containers,
			SchedulingGates: spec.SchedulingGates,
		}
	}
	return out
}

func (s *PodTemplateSpecOverride) deepCopy() *PodTemplateSpecOverride {
	// The patch has the same values, and the API's own code copies it.
	spec := (&trainer.PodTemplatePatch{
		Spec: (&PodTemplateOverride{Spec: s}).patch().Spec}).DeepCopy().Spec
	return &PodTemplateSpecOverride{
		ServiceAccountName: spec.ServiceAccountName,
		NodeSelector:       spec.NodeSelector,
		Affinity:           spec.Affinity,
		Tolerations:        spec.Tolerations,
		Volumes:            spec.Volumes,
		InitContainers:     overridesFromPatches(spec.InitContainers),
		Containers:         overridesFromPatches(spec.Containers),
		SchedulingGates:    spec.SchedulingGates,
		ImagePullSecrets:   spec.ImagePullSecrets,
	}
}

func overridesFromPatches(patches []trainer.ContainerPatch) []ContainerOverride {
	if patches == nil {
		return nil
	}
	out := make([]ContainerOverride, len(patches))
	for i, c := range patches {
		out[i] = ContainerOverride{Name: c.Name, Env: c.Env, VolumeMounts: c.VolumeMounts}
	}
	return out
}
