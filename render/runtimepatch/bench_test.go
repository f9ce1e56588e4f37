package runtimepatch_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"

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
	compare(b, fmt.Sprintf("%d jobs, %d managers", jobs, managers), []*roundrobin.Side{
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

// compare takes the turns and reports every side as a multiple of the first one. It logs a table
// with the allocations. It fails the benchmark on an error of a side.
func compare(b *testing.B, title string, sides []*roundrobin.Side) {
	b.Helper()
	roundrobin.Take(b, sides)
	floor := sides[0]
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-32s %12s %10s %10s\n", title, "ns", floor.Name+"=1", "allocs")
	for _, s := range sides {
		fmt.Fprintf(&table, "  %-30s %12.0f %10.2f %10d\n", s.Name, s.Quick(),
			s.Quick()/floor.Quick(), int(testing.AllocsPerRun(5, func() { _ = s.Run() })))
		b.ReportMetric(s.Quick()/floor.Quick(), s.Name+"/"+floor.Name)
	}
	b.Log(strings.TrimSuffix(table.String(), "\n")) // a benchmark shows ten lines
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

// fixture decodes a file of testdata with other words in place of some.
func fixture[T any](file string, words ...string) T {
	var value T
	text, err := os.ReadFile("testdata/" + file)
	if err == nil {
		err = yaml.UnmarshalStrict([]byte(strings.NewReplacer(words...).Replace(string(text))),
			&value)
	}
	if err != nil {
		panic(err)
	}
	return value
}

// benchTemplate is a runtime whose jobs have three containers each.
func benchTemplate(jobs int) *trainer.JobSetTemplateSpec {
	t := &trainer.JobSetTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels:      map[string]string{"team": "platform", "tier": "gpu"},
		Annotations: map[string]string{"docs": "https://example.com/runtimes"},
	}}
	for _, name := range benchJobs(jobs) {
		t.Spec.ReplicatedJobs = append(t.Spec.ReplicatedJobs,
			fixture[jobset.ReplicatedJob]("bench-job.yaml", "JOB", name))
	}
	return t
}

// benchPatches returns patches as managers send them. Some also set tolerations. No two managers
// disagree.
func benchPatches(managers, jobs int) []trainer.RuntimePatch {
	patches := make([]trainer.RuntimePatch, managers)
	for i := range patches {
		own := fmt.Sprintf("m%d", i)
		patch := &trainer.JobSetTemplatePatch{
			Metadata: &metav1.ObjectMeta{
				Labels: map[string]string{own + ".example.com/queue": "research"}},
			Spec: &trainer.JobSetSpecPatch{},
		}
		for _, name := range benchJobs(jobs) {
			job := fixture[trainer.ReplicatedJobPatch]("bench-patch.yaml", "JOB", name,
				"OWN_ENDPOINT", strings.ToUpper(own)+"_ENDPOINT", "OWN", own)
			if i%4 == 0 {
				job.Template.Spec.Template.Spec.Tolerations = []corev1.Toleration{
					{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists,
						Effect: corev1.TaintEffectNoSchedule},
					{Key: "reserved", Operator: corev1.TolerationOpEqual, Value: "training",
						Effect: corev1.TaintEffectNoSchedule},
				}
			}
			patch.Spec.ReplicatedJobs = append(patch.Spec.ReplicatedJobs, job)
		}
		patches[i] = trainer.RuntimePatch{
			Manager:             own + ".example.com/manager",
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: patch},
		}
	}
	return patches
}
