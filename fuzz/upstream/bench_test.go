package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
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
			job, spec := benchInput(b, managers)
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

// benchInput returns the job of testdata/bench.yaml, with the patches of managers that agree.
func benchInput(b *testing.B, managers int) (*trainer.TrainJob, *trainer.TrainingRuntimeSpec) {
	b.Helper()
	all := readTemplate("testdata/bench.yaml").(upstream.Object)
	job, spec := &trainer.TrainJob{}, &trainer.TrainingRuntimeSpec{}
	patch, err := json.Marshal(all["patch"])
	err = errors.Join(err, oracle.Convert(all["job"], job), oracle.Convert(all["runtime"], spec))
	for i := range managers {
		of := trainer.RuntimePatch{}
		err = errors.Join(err, json.Unmarshal(
			bytes.ReplaceAll(patch, []byte("OWN"), fmt.Appendf(nil, "m%d", i)), &of))
		job.Spec.RuntimePatches = append(job.Spec.RuntimePatches, of)
	}
	if err != nil {
		b.Fatal(err)
	}
	return job, spec
}
