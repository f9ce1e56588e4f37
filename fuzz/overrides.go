package fuzz

import (
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/legacy"
)

// OldPair is a TrainJob of Trainer 2.1 and its runtime.
type OldPair struct {
	// Seed is the argument of Old.
	Seed uint64

	Runtime   *trainer.ClusterTrainingRuntime
	TrainJob  *trainer.TrainJob
	Overrides *legacy.Overrides
}

// String returns the seed, not the values.
func (p *OldPair) String() string { return fmt.Sprintf("old pair %d", p.Seed) }

// Old generates a TrainJob of Trainer 2.1 whose overrides check.Patches accepts. It omits inputs
// that 2.1 and 2.3 treat differently. These are resourcesPerNode, which 2.3 merges and 2.1
// replaced, and torchtune, whose rules changed. They are also envInjection, which 2.1 lacks, and
// ports of init containers, of which only 2.3 loses some.
func Old(seed uint64) *OldPair {
	for attempt := range uint64(mostAttempts) {
		s := newSource(seed, attempt, Options{})
		pair := Render(seed+attempt<<32, PairOptions{Managers: 3})
		p := &OldPair{Seed: seed, Runtime: pair.Runtime, TrainJob: pair.TrainJob}
		p.Overrides = s.overrides(pair)
		p.TrainJob.Spec.RuntimePatches = nil
		ofBothVersions(p)
		if check.Patches(&p.Runtime.Spec.Template, p.Overrides.Patches()).Err() == nil &&
			p.Overrides.Check().Err() == nil {
			return p
		}
	}
	panic(fmt.Sprintf("fuzz: check.Patches refused %d candidates of seed %d in a row", mostAttempts,
		seed))
}

// overrides converts the patches to overrides, as far as possible.
func (s *source) overrides(pair *Pair) *legacy.Overrides {
	o := &legacy.Overrides{}
	jobs := pair.Runtime.Spec.Template.Spec.ReplicatedJobs
	for _, patch := range pair.TrainJob.Spec.RuntimePatches {
		if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil {
			continue
		}
		template := patch.TrainingRuntimeSpec.Template
		if m := template.Metadata; m != nil && s.chance(0.5) {
			o.Labels, o.Annotations = m.Labels, m.Annotations
		}
		if template.Spec == nil {
			continue
		}
		for i := range template.Spec.ReplicatedJobs {
			if override := s.override(&template.Spec.ReplicatedJobs[i], jobs); override != nil {
				o.PodTemplateOverrides = append(o.PodTemplateOverrides, *override)
			}
		}
	}
	s.rng.Shuffle(len(o.PodTemplateOverrides), func(i, j int) {
		list := o.PodTemplateOverrides
		list[i], list[j] = list[j], list[i]
	})
	return o
}

func (s *source) override(patch *trainer.ReplicatedJobPatch,
	jobs []jobset.ReplicatedJob) *legacy.PodTemplateOverride {
	if patch.Template == nil || patch.Template.Spec == nil || patch.Template.Spec.Template == nil {
		return nil
	}
	pod := patch.Template.Spec.Template
	o := &legacy.PodTemplateOverride{TargetJobs: []legacy.TargetJob{{Name: patch.Name}},
		Metadata: pod.Metadata}
	if spec := pod.Spec; spec != nil {
		o.Spec = &legacy.PodTemplateSpecOverride{
			ServiceAccountName: spec.ServiceAccountName, NodeSelector: spec.NodeSelector,
			Affinity:    spec.Affinity,
			Tolerations: spec.Tolerations, Volumes: spec.Volumes,
			SchedulingGates:  spec.SchedulingGates,
			ImagePullSecrets: spec.ImagePullSecrets,
			InitContainers:   overridden(spec.InitContainers),
			Containers:       overridden(spec.Containers),
		}
	}
	if s.chance(0.5) {
		s.widen(o, jobs)
	}
	return o
}

// widen adds jobs to the override, some of them twice. It removes the containers that these jobs
// lack.
func (s *source) widen(o *legacy.PodTemplateOverride, jobs []jobset.ReplicatedJob) {
	for i := range jobs {
		if !s.chance(0.6) {
			continue
		}
		o.TargetJobs = append(o.TargetJobs, legacy.TargetJob{Name: jobs[i].Name})
		if o.Spec == nil {
			continue
		}
		pod := &jobs[i].Template.Spec.Template.Spec
		o.Spec.Containers = slices.DeleteFunc(slices.Clone(o.Spec.Containers),
			func(c legacy.ContainerOverride) bool {
				return !has(pod.Containers, c.Name)
			})
		o.Spec.InitContainers = slices.DeleteFunc(slices.Clone(o.Spec.InitContainers),
			func(c legacy.ContainerOverride) bool {
				return !has(pod.InitContainers, c.Name)
			})
	}
}

func has(containers []corev1.Container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}

func overridden(patches []trainer.ContainerPatch) []legacy.ContainerOverride {
	var overrides []legacy.ContainerOverride
	for _, c := range patches {
		overrides = append(
			overrides, legacy.ContainerOverride{
				Name: c.Name, Env: c.Env, VolumeMounts: c.VolumeMounts})
	}
	return overrides
}

// ofBothVersions removes the fields that the two versions of the Trainer treat differently, and the
// fields that their CRDs drop.
func ofBothVersions(p *OldPair) {
	if t := p.TrainJob.Spec.Trainer; t != nil {
		t.ResourcesPerNode = nil
		if slices.Equal(t.Command, []string{"tune", "run"}) {
			t.Command = []string{"python"}
		}
	}
	for i := range p.Runtime.Spec.Template.Spec.ReplicatedJobs {
		pod := &p.Runtime.Spec.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		for j := range pod.InitContainers {
			pod.InitContainers[j].Ports = nil
		}
	}
	for _, override := range p.Overrides.PodTemplateOverrides {
		if override.Spec == nil {
			continue
		}
		for _, v := range override.Spec.Volumes {
			if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
				// The CRDs drop the rest.
				m := &v.Ephemeral.VolumeClaimTemplate.ObjectMeta
				*m = metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels,
					Annotations: m.Annotations, Finalizers: m.Finalizers}
			}
		}
	}
	if policy := p.Runtime.Spec.MLPolicy; policy != nil && policy.Torch != nil {
		policy.Torch.EnvInjection = nil
	}
}
