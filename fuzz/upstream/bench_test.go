package upstream_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	framework "github.com/kubeflow/trainer/v2/pkg/runtime/framework/core"
	"github.com/kubeflow/trainer/v2/pkg/runtime/framework/plugins"

	"github.com/trainweld/trainweld/internal/roundrobin"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// BenchmarkJobSet measures render.JobSet next to the Trainer's own RuntimeInfo and component
// builders. Both start from the same typed values, in turns. Only the ratio counts. Upstream's
// client answers at once that no JobSet exists, so that no server's work is counted. Ours does
// more: it checks the patches, looks for conflicts and keeps what each manager set.
func BenchmarkJobSet(b *testing.B) {
	for _, managers := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("managers=%d", managers), func(b *testing.B) {
			job, spec := benchInput(managers)
			ours, theirs := &roundrobin.Side{Name: "render.JobSet", Run: func() error {
				_, err := render.JobSet(render.Input{TrainJob: job, Runtime: spec},
					render.Options{OwnerReferences: true})
				return err
			}}, &roundrobin.Side{Name: "upstream", Run: upstreamJobSet(b, job, spec)}
			trees := runtimepatch.ReadTrees(&spec.Template, job.Spec.RuntimePatches) // for the merge
			checks := &roundrobin.Side{Name: "check.Patches", Run: func() error {
				return check.Trees(trees, &spec.Template, job.Spec.RuntimePatches).Err()
			}}
			roundrobin.Take(b, []*roundrobin.Side{ours, theirs, checks})
			b.ReportMetric(ours.Quick(), "ns/render.JobSet")
			b.ReportMetric(theirs.Quick(), "ns/upstream")
			b.ReportMetric(theirs.Quick()/ours.Quick(), "times-faster")
			b.ReportMetric(100*checks.Quick()/ours.Quick(), "%check.Patches")
		})
	}
}

// upstreamJobSet does the work of the Trainer's controller between reading a runtime and sending
// objects.
func upstreamJobSet(b *testing.B, job *trainer.TrainJob,
	spec *trainer.TrainingRuntimeSpec) func() error {
	b.Helper()
	ctx, scheme := context.Background(), apiruntime.NewScheme()
	for _, add := range []func(*apiruntime.Scheme) error{
		clientscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme, coscheduling.AddToScheme,
		volcano.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			b.Fatal(err)
		}
	}
	empty := emptyClient{fake.NewClientBuilder().WithScheme(scheme).Build()}
	runtimes, err := core.New(ctx, empty, anyIndexer{}, &configapi.Configuration{})
	if err != nil {
		b.Fatal(err)
	}
	builders, err := framework.New(ctx, empty, plugins.NewRegistry(), anyIndexer{},
		&configapi.Configuration{})
	if err != nil {
		b.Fatal(err)
	}
	impl := runtimes[schema.GroupKind{Group: trainer.GroupVersion.Group,
		Kind: trainer.TrainingRuntimeKind}.String()]
	return func() error {
		info, err := impl.RuntimeInfo(job, spec.Template, spec.MLPolicy, spec.PodGroupPolicy)
		if err != nil {
			return err
		}
		objects, err := builders.RunComponentBuilderPlugins(ctx, info, job)
		if err == nil && len(objects) == 0 {
			err = fmt.Errorf("upstream built nothing")
		}
		return err
	}
}

// emptyClient holds no objects.
type emptyClient struct{ client.Client }

func (emptyClient) Get(_ context.Context, key client.ObjectKey, _ client.Object,
	_ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// anyIndexer takes every index.
type anyIndexer struct{}

func (anyIndexer) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

// benchInput returns a PyTorch job on two nodes. Its runtime has three jobs of three containers,
// and its patches agree.
func benchInput(managers int) (*trainer.TrainJob, *trainer.TrainingRuntimeSpec) {
	jobs := []string{"dataset-initializer", "model-initializer", "node"}
	nodes := int32(2)
	spec := &trainer.TrainingRuntimeSpec{
		MLPolicy: &trainer.MLPolicy{
			NumNodes:       &nodes,
			MLPolicySource: trainer.MLPolicySource{Torch: &trainer.TorchMLPolicySource{}}}}
	spec.Template.Labels = map[string]string{"team": "platform"}
	for _, name := range jobs {
		job := jobset.ReplicatedJob{Name: name, GroupName: "default", Replicas: 1}
		if name == "node" {
			job.Template.Labels = map[string]string{
				"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
		}
		pod := &job.Template.Spec.Template
		pod.Labels = map[string]string{"app": name}
		pod.Spec.NodeSelector = map[string]string{"pool": "gpu"}
		pod.Spec.Volumes = []corev1.Volume{
			{Name: "shm",
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		for _, container := range []string{name, "metrics", "sync"} {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
				Name: container, Image: "registry.example.com/" + container + ":1.4",
				Env: []corev1.EnvVar{
					{Name: "LEVEL", Value: "info"}, {Name: "REGION", Value: "a"}},
				VolumeMounts: []corev1.VolumeMount{{Name: "shm", MountPath: "/dev/shm"}},
				Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{
						"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi")}},
			})
		}
		spec.Template.Spec.ReplicatedJobs = append(spec.Template.Spec.ReplicatedJobs, job)
	}
	trainJob := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "default",
			UID: "00000000-0000-0000-0000-000000000001"}}
	kind, group, image := trainer.TrainingRuntimeKind, trainer.GroupVersion.Group,
		"registry.example.com/train:2"
	trainJob.Spec.RuntimeRef = trainer.RuntimeRef{Name: "torch", Kind: &kind, APIGroup: &group}
	trainJob.Spec.Trainer = &trainer.Trainer{
		Image: &image, Env: []corev1.EnvVar{{Name: "LR", Value: "0.1"}}}
	for i := range managers {
		own := fmt.Sprintf("m%d", i)
		patch := &trainer.JobSetTemplatePatch{
			Metadata: &metav1.ObjectMeta{
				Labels: map[string]string{own + ".example.com/queue": "research"}},
			Spec: &trainer.JobSetSpecPatch{},
		}
		for _, name := range jobs {
			patch.Spec.ReplicatedJobs = append(patch.Spec.ReplicatedJobs,
				trainer.ReplicatedJobPatch{
					Name: name,
					Template: &trainer.JobTemplatePatch{
						Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{
							Metadata: &metav1.ObjectMeta{
								Labels: map[string]string{own + ".example.com/pod-set": name}},
							Spec: &trainer.PodSpecPatch{
								NodeSelector: map[string]string{
									own + ".example.com/flavor": "on-demand"},
								SchedulingGates: []corev1.PodSchedulingGate{
									{Name: own + ".example.com/topology"}},
								Volumes: []corev1.Volume{
									{Name: own, VolumeSource: corev1.VolumeSource{
										Secret: &corev1.SecretVolumeSource{SecretName: own}}}},
								Containers: []trainer.ContainerPatch{{
									Name: "sync",
									Env: []corev1.EnvVar{
										{Name: "ENDPOINT_" + fmt.Sprint(i),
											Value: "https://" + own + ".example.com"}},
									VolumeMounts: []corev1.VolumeMount{
										{Name: own, MountPath: "/var/run/" + own, ReadOnly: true}},
								}},
							},
						}}},
				})
		}
		trainJob.Spec.RuntimePatches = append(trainJob.Spec.RuntimePatches, trainer.RuntimePatch{
			Manager:             own + ".example.com/manager",
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: patch},
		})
	}
	return trainJob, spec
}
