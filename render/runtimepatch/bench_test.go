package runtimepatch_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/internal/roundrobin"
	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// BenchmarkCompile compiles the plans of a template's type and of JobSet's definition.
func BenchmarkCompile(b *testing.B) {
	definition, err := release.Latest().Definition("JobSet")
	if err != nil {
		b.Fatal(err)
	}
	for _, plan := range []struct {
		of      string
		compile func() (any, error)
	}{
		{"JobSetTemplateSpec", func() (any, error) {
			return schema.Compile(reflect.TypeFor[trainer.JobSetTemplateSpec](),
				reflect.TypeFor[trainer.JobSetTemplatePatch](), schema.Rules{
					Unions: schema.PodRules(reflect.TypeFor[trainer.JobSetTemplateSpec]()).Unions,
					Only:   map[string][]string{"metadata": {"labels", "annotations"}},
				})
		}},
		{"definition-of-JobSet", func() (any, error) {
			return schema.ParseOpenAPI(definition)
		}},
	} {
		b.Run(plan.of, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := plan.compile(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApply measures one merge, and the search for conflicts in its result, next to the other
// ways to merge. These are the Trainer's loop of strategic merge patches over JSON, and
// structured-merge-diff's forced applies. One DeepCopy of the result is the floor under all of
// them. All sides take turns within one run, so that a machine that slows down slows all of them.
// Only the ratios count.
func BenchmarkApply(b *testing.B) {
	definition, err := release.Latest().Definition("JobSet")
	if err != nil {
		b.Fatal(err)
	}
	server, err := serverside.New(definition)
	if err != nil {
		b.Fatal(err)
	}
	for _, jobs := range []int{1, 3, 5} {
		for _, managers := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("jobs=%d/managers=%d", jobs, managers), func(b *testing.B) {
				benchmarkApply(b, server, jobs, managers)
			})
		}
	}
}

func benchmarkApply(b *testing.B, server *serverside.Server, jobs, managers int) {
	template, patches := benchTemplate(jobs), benchPatches(managers, jobs)
	result := mustApply(b, template, patches)
	roundrobin.Compare(b, fmt.Sprintf("%d jobs, %d managers", jobs, managers), []*roundrobin.Side{
		{Name: "DeepCopy", Run: func() error { result.Template.DeepCopy(); return nil }},
		{Name: "Apply", Run: func() error {
			_, err := runtimepatch.Apply(template, patches, runtimepatch.Options{})
			return err
		}},
		{Name: "Find", Run: func() error { return conflict.Find(result.History).Err() }},
		{Name: "upstream", Run: func() error { return upstreamLoop(template, patches) }},
		{Name: "smd", Run: serverSideApplies(b, server, template, patches)},
	})
}

// upstreamLoop is the merge of Trainer v2.3.0 pkg/runtime/core.
func upstreamLoop(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) error {
	labels, annotations := maps.Clone(template.Labels), maps.Clone(template.Annotations)
	order := map[string]int{}
	for i, job := range template.Spec.ReplicatedJobs {
		order[job.Name] = i
	}
	merged := template.Spec
	for i := range patches {
		patch := patches[i].TrainingRuntimeSpec.Template
		if patch.Metadata != nil {
			maps.Copy(labels, patch.Metadata.Labels)
			maps.Copy(annotations, patch.Metadata.Annotations)
		}
		before, err := json.Marshal(merged)
		if err != nil {
			return err
		}
		change, err := json.Marshal(patch.Spec)
		if err != nil {
			return err
		}
		after, err := strategicpatch.StrategicMergePatch(before, change, jobset.JobSetSpec{})
		if err != nil {
			return err
		}
		merged = jobset.JobSetSpec{}
		if err := json.Unmarshal(after, &merged); err != nil {
			return err
		}
	}
	slices.SortStableFunc(merged.ReplicatedJobs, func(x, y jobset.ReplicatedJob) int {
		return cmp.Compare(order[x.Name], order[y.Name])
	})
	return nil
}

// serverSideApplies returns a function that applies every patch by force, as server-side apply
// does. Reading the values into their typed form is not counted: that is to its favour.
func serverSideApplies(b *testing.B, server *serverside.Server,
	template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) func() error {
	b.Helper()
	applied := func(metadata map[string]any, spec any) *typed.TypedValue {
		value, err := server.Typed(map[string]any{"metadata": metadata, "spec": spec})
		if err != nil {
			b.Fatal(err)
		}
		return value
	}
	live := applied(map[string]any{"labels": template.Labels, "annotations": template.Annotations},
		template.Spec)
	configs := make([]*typed.TypedValue, len(patches))
	for i := range patches {
		patch := patches[i].TrainingRuntimeSpec.Template
		metadata := map[string]any{}
		if patch.Metadata != nil {
			metadata["labels"], metadata["annotations"] = patch.Metadata.Labels,
				patch.Metadata.Annotations
		}
		configs[i] = applied(metadata, patch.Spec)
	}
	set, err := live.ToFieldSet()
	if err != nil {
		b.Fatal(err)
	}
	return func() error {
		object := live
		managers := fieldpath.ManagedFields{
			"runtime": fieldpath.NewVersionedSet(set, serverside.Version, true)}
		for i, config := range configs {
			var err error
			if object, managers, err = server.Apply(object, config, managers,
				patches[i].Manager); err != nil {
				return err
			}
		}
		return nil
	}
}

// benchJobs are the names of n jobs.
func benchJobs(n int) []string {
	names := []string{"node", "dataset-initializer", "model-initializer"}
	for i := len(names); i < n; i++ {
		names = append(names, fmt.Sprintf("worker-%d", i))
	}
	return names[:n]
}

// benchTemplate is a runtime whose jobs have three containers each.
func benchTemplate(jobs int) *trainer.JobSetTemplateSpec {
	t := &trainer.JobSetTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels:      map[string]string{"team": "platform", "tier": "gpu"},
		Annotations: map[string]string{"docs": "https://example.com/runtimes"},
	}}
	for _, name := range benchJobs(jobs) {
		job := jobset.ReplicatedJob{Name: name, GroupName: "default", Replicas: 1}
		job.Template.Labels = map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": name}
		pod := &job.Template.Spec.Template
		pod.Labels = map[string]string{"app": name, "part-of": "training"}
		pod.Annotations = map[string]string{"prometheus.io/scrape": "true"}
		pod.Spec = benchPod(name)
		t.Spec.ReplicatedJobs = append(t.Spec.ReplicatedJobs, job)
	}
	return t
}

func benchPod(job string) corev1.PodSpec {
	seconds := int64(300)
	pod := corev1.PodSpec{
		ServiceAccountName: "trainer",
		NodeSelector:       map[string]string{"pool": "gpu", "zone": "a"},
		Tolerations: []corev1.Toleration{
			{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists,
				Effect: corev1.TaintEffectNoSchedule},
			{Key: "spot", Operator: corev1.TolerationOpEqual, Value: "true",
				Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "gpu", Operator: corev1.NodeSelectorOpIn,
							Values: []string{"a100", "h100"}}},
				}}},
		}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
		RestartPolicy:    corev1.RestartPolicyNever,
		Volumes: []corev1.Volume{
			{Name: "workspace",
				VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
						ClaimName: "workspace"}}},
			{Name: "shm",
				VolumeSource: corev1.VolumeSource{
					EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
			{Name: "config",
				VolumeSource: corev1.VolumeSource{
					ConfigMap: &corev1.ConfigMapVolumeSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}},
		},
	}
	for _, name := range []string{job, "metrics", "sync"} {
		c := corev1.Container{
			Name: name, Image: "registry.example.com/training/" + name + ":1.4",
			Command: []string{"/bin/run", "--config=/etc/config/run.yaml"},
			Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{
					"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi")},
				Requests: corev1.ResourceList{
					"cpu": resource.MustParse("2"), "memory": resource.MustParse("8Gi")},
			},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "workspace", MountPath: "/workspace"}, {Name: "shm", MountPath: "/dev/shm"},
				{Name: "config", MountPath: "/etc/config", ReadOnly: true},
			},
		}
		for i := range 5 {
			c.Env = append(
				c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i),
					Value: fmt.Sprintf("value-%d", i)})
		}
		c.Env = append(
			c.Env, corev1.EnvVar{
				Name: "POD_NAME",
				ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{
						APIVersion: "v1", FieldPath: "metadata.name"}}})
		pod.Containers = append(pod.Containers, c)
	}
	return pod
}

// benchPatches returns patches as managers send them. They set labels, a node selector, a volume
// with its mount, a variable and a scheduling gate. Some also set tolerations and affinity. No two
// managers disagree.
func benchPatches(managers, jobs int) []trainer.RuntimePatch {
	patches := make([]trainer.RuntimePatch, managers)
	for i := range patches {
		own := fmt.Sprintf("m%d", i)
		patch := &trainer.JobSetTemplatePatch{
			Metadata: &metav1.ObjectMeta{
				Labels: map[string]string{own + ".example.com/queue": "research"}},
			Spec: &trainer.JobSetSpecPatch{},
		}
		for _, job := range benchJobs(jobs) {
			user := int64(1000)
			pod := &trainer.PodSpecPatch{
				NodeSelector: map[string]string{own + ".example.com/flavor": "on-demand",
					"pool": "gpu-large"},
				SchedulingGates: []corev1.PodSchedulingGate{{Name: own + ".example.com/topology"}},
				SecurityContext: &corev1.PodSecurityContext{FSGroup: &user},
				Volumes: []corev1.Volume{{Name: own, VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: own + "-token"},
				}}},
				Containers: []trainer.ContainerPatch{{
					Name: "sync",
					Env: []corev1.EnvVar{
						{Name: strings.ToUpper(own) + "_ENDPOINT",
							Value: "https://" + own + ".example.com"}},
					VolumeMounts: []corev1.VolumeMount{
						{Name: own, MountPath: "/var/run/" + own, ReadOnly: true}},
				}},
			}
			if i%4 == 0 {
				pod.Tolerations = []corev1.Toleration{
					{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists,
						Effect: corev1.TaintEffectNoSchedule},
					{Key: "reserved", Operator: corev1.TolerationOpEqual, Value: "training",
						Effect: corev1.TaintEffectNoSchedule},
				}
			}
			patch.Spec.ReplicatedJobs = append(patch.Spec.ReplicatedJobs,
				trainer.ReplicatedJobPatch{
					Name: job,
					Template: &trainer.JobTemplatePatch{
						Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{
							Metadata: &metav1.ObjectMeta{
								Labels: map[string]string{own + ".example.com/pod-set": job}},
							Spec: pod,
						}}},
				})
		}
		patches[i] = trainer.RuntimePatch{
			Manager:             own + ".example.com/manager",
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: patch},
		}
	}
	return patches
}
