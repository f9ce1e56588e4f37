package fuzz

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// trainJob fills in the job's spec, but for the runtime's name.
func (s *source) trainJob(job *trainer.TrainJob, runtime *trainer.TrainingRuntimeSpec) {
	spec := &job.Spec
	if s.chance(0.3) {
		kind, group := trainer.ClusterTrainingRuntimeKind, trainer.GroupVersion.Group
		spec.RuntimeRef.Kind, spec.RuntimeRef.APIGroup = &kind, &group
	}
	if s.chance(0.3) {
		suspend := s.chance(0.5)
		spec.Suspend = &suspend
	}
	if s.chance(0.2) {
		job.Labels = map[string]string{"k1": "x"}
	}
	likely := 0.85
	if runtime.MLPolicy != nil && runtime.MLPolicy.Flux != nil {
		likely = 0.97 // without it the controller panics
	}
	if s.chance(likely) {
		spec.Trainer = s.trainer(runtime)
	}
	if s.chance(0.4) {
		spec.Initializer = s.initializer()
	}
	spec.RuntimePatches = s.patches(&runtime.Template)
	for i := range spec.RuntimePatches {
		s.moveAncestor(&spec.RuntimePatches[i], &runtime.Template)
	}
}

func (s *source) trainer(runtime *trainer.TrainingRuntimeSpec) *trainer.Trainer {
	t := &trainer.Trainer{}
	if s.chance(0.4) {
		image := pick(s, "trained:1", "")
		t.Image = &image
	}
	if s.chance(0.4) {
		t.Command = pick(s, []string{"python"}, []string{"tune", "run"}, []string{"tune", "run"}, []string{"tune", "run", "x"}, []string{})
	}
	if s.chance(0.4) {
		for range s.rng.IntN(4) {
			t.Args = append(t.Args, pick(s, "epochs=2", "model.quantize_base=True", "model.quantize_base=false", "model.lora_attn_modules=[q_proj]", "model.use_dora=true", ""))
		}
		if t.Args == nil {
			t.Args = []string{}
		}
	}
	likely := 0.6
	if runtime.MLPolicy != nil && runtime.MLPolicy.Flux != nil {
		likely = 0.95
	}
	if s.chance(likely) {
		t.NumNodes = s.number(1, 1, 2, 3, 0, -2)
	}
	if s.chance(0.4) {
		t.NumProcPerNode = s.number(1, 2, 8, 0)
	}
	if s.chance(0.5) {
		t.ResourcesPerNode = &corev1.ResourceRequirements{}
		s.resources(t.ResourcesPerNode)
	}
	t.Env = s.env()
	return t
}

// env is a list of variables in which a value may stand beside a valueFrom: the controller drops it.
func (s *source) env() []corev1.EnvVar {
	var env []corev1.EnvVar
	s.value(of(&env), site{field: "env"})
	for i := range env {
		if env[i].ValueFrom != nil && s.chance(0.1) {
			env[i].Value = "x"
		}
		if s.chance(0.01) {
			env[i].Name = ""
		}
	}
	return env
}

func (s *source) initializer() *trainer.Initializer {
	i := &trainer.Initializer{}
	if s.chance(0.7) {
		i.Dataset = &trainer.DatasetInitializer{Env: s.env(), StorageUri: s.uri(), SecretRef: s.secret()}
	}
	if s.chance(0.7) {
		i.Model = &trainer.ModelInitializer{Env: s.env(), StorageUri: s.uri(), SecretRef: s.secret()}
	}
	return i
}

func (s *source) uri() *string {
	if s.chance(0.3) {
		return nil
	}
	uri := pick(s, "hf://org/name", "s3://bucket", "")
	return &uri
}

func (s *source) secret() *corev1.LocalObjectReference {
	if s.chance(0.5) {
		return nil
	}
	return &corev1.LocalObjectReference{Name: pick(s, "token", "token", "")}
}

// moveAncestor sometimes lets a patch set the label that says which job is the trainer.
func (s *source) moveAncestor(p *trainer.RuntimePatch, t *trainer.JobSetTemplateSpec) {
	if !s.chance(0.06) || p.TrainingRuntimeSpec == nil || p.TrainingRuntimeSpec.Template == nil || p.TrainingRuntimeSpec.Template.Spec == nil {
		return
	}
	jobs := p.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs
	if len(jobs) == 0 {
		return
	}
	job := &jobs[s.rng.IntN(len(jobs))]
	if job.Template == nil {
		job.Template = &trainer.JobTemplatePatch{}
	}
	if job.Template.Metadata == nil {
		job.Template.Metadata = &metav1.ObjectMeta{}
	}
	if job.Template.Metadata.Labels == nil {
		job.Template.Metadata.Labels = map[string]string{}
	}
	job.Template.Metadata.Labels[ancestorLabel] = pick(s, "trainer", "dataset-initializer", "none", "")
}

// resources are amounts of at most one kind of GPU: with two kinds, which of them upstream counts
// depends on the order in which Go walks a map.
func (s *source) resources(r *corev1.ResourceRequirements) {
	list := func() corev1.ResourceList {
		l := corev1.ResourceList{}
		if s.chance(0.5) {
			l["cpu"] = resource.MustParse(pick(s, "1", "2", "500m", "1500m", "1000m", "0"))
		}
		if s.chance(0.4) {
			l["memory"] = resource.MustParse(pick(s, "1Gi", "1024Mi"))
		}
		if s.chance(0.35) {
			l["nvidia.com/gpu"] = resource.MustParse(pick(s, "1", "2", "8", "0"))
		}
		return l
	}
	if s.chance(0.7) {
		r.Limits = list()
	}
	if s.chance(0.7) {
		r.Requests = list()
	}
	if s.chance(0.05) {
		r.Claims = []corev1.ResourceClaim{{Name: "claim"}}
	}
}

// port is a container's port, often without a name, and sometimes the trainer's own.
func (s *source) port(p *corev1.ContainerPort) {
	p.ContainerPort = pick[int32](s, 80, 81, 29500)
	if s.chance(0.5) {
		p.Name = pick(s, "http", "grpc")
	}
	if s.chance(0.3) {
		p.Protocol = pick(s, corev1.ProtocolTCP, corev1.ProtocolUDP)
	}
	if s.chance(0.1) {
		p.HostPort = 8080
	}
}
