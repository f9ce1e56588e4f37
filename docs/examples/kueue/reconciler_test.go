package main

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render/runtimepatch"
)

const sdk = "trainer.kubeflow.org/kubeflow-sdk"

// cluster is a client in memory with the objects of testdata, and the reconciler.
type cluster struct {
	*testing.T
	client client.Client
	events *events.FakeRecorder
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	text, err := os.ReadFile("testdata/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(runtime.NewScheme())
	for reader := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := reader.Decode(&object.Object); errors.Is(err, io.EOF) {
			return &cluster{t, builder.Build(), events.NewFakeRecorder(10)}
		} else if err != nil {
			t.Fatal(err)
		}
		builder.WithObjects(object)
	}
}

func (c *cluster) trainJob() map[string]any {
	c.Helper()
	object := objectOf(trainJobKind)
	if err := c.client.Get(c.Context(), client.ObjectKey{Namespace: "team-a", Name: "llm"},
		object); err != nil {
		c.Fatal(err)
	}
	return object.Object
}

// content returns a TrainJob without the version that each write changes.
func content(trainJob map[string]any) map[string]any {
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(trainJob)}
	object.SetResourceVersion("")
	return object.Object
}

// assign sets the flavor of each replicated job in the Workload. Without flavors, Kueue has evicted
// it.
func (c *cluster) assign(flavors map[string]string, topology bool) {
	c.Helper()
	object := objectOf(workloadKind)
	if err := c.client.Get(
		c.Context(), client.ObjectKey{Namespace: "team-a", Name: "trainjob-llm-4e1f0"},
		object); err != nil {
		c.Fatal(err)
	}
	status := "True"
	var sets []any
	for _, job := range slices.Sorted(maps.Keys(flavors)) {
		set := map[string]any{
			"name": job, "flavors": map[string]any{
				"cpu": flavors[job], "nvidia.com/gpu": flavors[job]}}
		if topology {
			set["topologyAssignment"] = map[string]any{"levels": []any{"kubernetes.io/hostname"}}
		}
		sets = append(sets, set)
	}
	object.Object["status"] = map[string]any{"admission": map[string]any{"podSetAssignments": sets}}
	if flavors == nil {
		object.Object["status"], status = map[string]any{}, "False"
	}
	condition := map[string]any{"type": "Admitted", "status": status}
	object.Object["status"].(map[string]any)["conditions"] = []any{condition}
	if err := c.client.Update(c.Context(), object); err != nil {
		c.Fatal(err)
	}
}

// reconcile runs until nothing changes.
func (c *cluster) reconcile() map[string]any {
	c.Helper()
	r := &reconciler{client: c.client, events: c.events}
	for range 5 {
		before := c.trainJob()
		if _, err := r.Reconcile(
			c.Context(), ctrl.Request{
				NamespacedName: client.ObjectKey{Namespace: "team-a", Name: "llm"}}); err != nil {
			c.Fatal(err)
		}
		if after := c.trainJob(); cmp.Equal(before, after) {
			return after
		}
	}
	c.Fatal("the reconciler never comes to rest")
	return nil
}

// pods returns the Pod template of a replicated job as the Trainer merges it.
func (c *cluster) pods(name string) corev1.PodTemplateSpec {
	c.Helper()
	template, patches := c.merged()
	result, err := runtimepatch.Apply(template, patches, runtimepatch.Options{})
	if err != nil {
		c.Fatal(err)
	}
	return podsOf(c.T, &result.Template, name)
}

func podsOf(t *testing.T, template *trainer.JobSetTemplateSpec,
	name string) corev1.PodTemplateSpec {
	t.Helper()
	for _, job := range template.Spec.ReplicatedJobs {
		if job.Name == name {
			return job.Template.Spec.Template
		}
	}
	t.Fatalf("the template has no job %q", name)
	return corev1.PodTemplateSpec{}
}

// merged returns the runtime's template, and the patches of the TrainJob.
func (c *cluster) merged() (*trainer.JobSetTemplateSpec, []trainer.RuntimePatch) {
	c.Helper()
	job := &trainer.TrainJob{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.trainJob(), job); err != nil {
		c.Fatal(err)
	}
	template, err := (&reconciler{client: c.client}).template(c.Context(), job)
	if err != nil {
		c.Fatal(err)
	}
	return template, job.Spec.RuntimePatches
}

// edit changes the user's patch of the Pods of the job node.
func (c *cluster) edit(text string) {
	c.Helper()
	spec := &trainer.PodSpecPatch{}
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		c.Fatal(err)
	}
	changed, err := runtimepatch.UpsertIn(c.trainJob(), podPatch(sdk, spec))
	if err == nil {
		err = c.client.Update(c.Context(), &unstructured.Unstructured{Object: changed})
	}
	if err != nil {
		c.Fatal(err)
	}
}

// podPatch returns a manager's patch of the Pods of the job node.
func podPatch(manager string, spec *trainer.PodSpecPatch) trainer.RuntimePatch {
	job := trainer.ReplicatedJobPatch{
		Name: "node",
		Template: &trainer.JobTemplatePatch{
			Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{Spec: spec}}}}
	template := &trainer.JobSetTemplatePatch{
		Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: []trainer.ReplicatedJobPatch{job}}}
	return trainer.RuntimePatch{
		Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: template}}
}

func (c *cluster) isSuspended() bool {
	suspended, _, _ := unstructured.NestedBool(c.trainJob(), "spec", "suspend")
	return suspended
}

var bothSpot = map[string]string{"dataset-initializer": "spot", "node": "spot"}

// TestReconcile admits, evicts and admits a TrainJob again, with other flavors.
func TestReconcile(t *testing.T) {
	c := newCluster(t)
	before := content(c.reconcile())

	c.assign(bothSpot, true)
	c.reconcile()
	pods := c.pods("node")
	if c.isSuspended() {
		t.Error("the admitted TrainJob is suspended")
	}
	if diff := cmp.Diff(map[string]string{"pool": "spot", "zone": "a"},
		pods.Spec.NodeSelector); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		map[string]string{"team": "research", podSetLabel: "node", topologyLabel: "true"},
		pods.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		map[string]string{workloadAnnotation: "trainjob-llm-4e1f0", unconstrainedDomain: "true"},
		pods.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.PodSchedulingGate{{Name: topologyGate}},
		pods.Spec.SchedulingGates); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
	if _, ok, _ := unstructured.NestedFieldNoCopy(c.trainJob(), "spec", "fieldOfAnotherRelease",
		"ratio"); !ok {
		t.Error("the TrainJob lost a field that the Go types lack")
	}

	c.assign(nil, false)
	if diff := cmp.Diff(before, content(c.reconcile())); diff != "" {
		t.Errorf("after the eviction (-before +after):\n%s", diff)
	}

	c.assign(map[string]string{"dataset-initializer": "spot", "node": "reserved"}, false)
	c.reconcile()
	again := c.pods("node")
	if again.Spec.NodeSelector["pool"] != "reserved" || again.Spec.SchedulingGates != nil ||
		len(again.Spec.Tolerations) != 2 {
		t.Errorf("after the second admission: %+v", again)
	}
	if got := c.pods("dataset-initializer").Spec; got.NodeSelector["pool"] != "spot" ||
		len(got.Tolerations) != 2 {
		t.Errorf("after the second admission: %+v", got)
	}

	c.assign(nil, false)
	if diff := cmp.Diff(before, content(c.reconcile())); diff != "" {
		t.Errorf("after the second eviction (-before +after):\n%s", diff)
	}
	if len(c.events.Events) > 0 {
		t.Errorf("unexpected event %s", <-c.events.Events)
	}
}

// TestTolerations_Runtime is issue 15161 of Kueue: a patch with the flavor's tolerations drops the
// runtime's. The plan keeps them with their seconds.
func TestTolerations_Runtime(t *testing.T) {
	c := newCluster(t)
	c.assign(bothSpot, false)
	if hasKey(c.apply(c.flavors()), "user.example.com/team") {
		t.Error("a patch with the flavor's tolerations keeps the runtime's, and the issue says " +
			"that it drops them")
	}
	c.reconcile()
	seconds := int64(60)
	want := []corev1.Toleration{
		{Key: "user.example.com/dedicated", Value: "training", Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: &seconds},
		{Key: "user.example.com/team", Operator: corev1.TolerationOpExists},
		{Key: "pool.example.com/gpu", Operator: corev1.TolerationOpEqual, Value: "true",
			Effect: corev1.TaintEffectNoSchedule},
	}
	if diff := cmp.Diff(want, c.pods("node").Spec.Tolerations); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
}

// TestTolerations_Stale is a case of Kueue's change 15162: the patch of an earlier admission is
// still there. The plan ignores it.
func TestTolerations_Stale(t *testing.T) {
	c := newCluster(t)
	c.assign(bothSpot, false)
	template, patches := c.merged()
	old, err := plan(template, patches, c.podSets())
	if err != nil {
		t.Fatal(err)
	}
	changed, err := runtimepatch.UpsertIn(c.trainJob(), old)
	if err == nil {
		err = c.client.Update(t.Context(), &unstructured.Unstructured{Object: changed})
	}
	if err != nil {
		t.Fatal(err)
	}
	if !hasKey(c.pods("node").Spec.Tolerations, "pool.example.com/gpu") {
		t.Fatal("the old patch has no toleration of its flavor")
	}
	c.assign(map[string]string{"node": "reserved"}, false)
	c.reconcile()
	if pods := c.pods("node"); hasKey(pods.Spec.Tolerations, "pool.example.com/gpu") ||
		len(pods.Spec.Tolerations) != 2 || pods.Spec.NodeSelector["pool"] != "reserved" {
		t.Errorf("the second admission gives %+v", pods.Spec)
	}
}

// podSets returns the admission of the Workload.
func (c *cluster) podSets() []podSet {
	c.Helper()
	r := &reconciler{client: c.client}
	w, err := r.workloadOf(c.Context(), &unstructured.Unstructured{Object: c.trainJob()})
	if err != nil {
		c.Fatal(err)
	}
	sets, err := r.podSets(c.Context(), w)
	if err != nil {
		c.Fatal(err)
	}
	return sets
}

// flavors returns the tolerations that the flavors give to the job node.
func (c *cluster) flavors() []corev1.Toleration {
	c.Helper()
	sets := c.podSets()
	return sets[slices.IndexFunc(sets, func(s podSet) bool { return s.name == "node" })].tolerations
}

// apply returns the tolerations of the merge with a patch that holds only the given ones.
func (c *cluster) apply(tolerations []corev1.Toleration) []corev1.Toleration {
	c.Helper()
	template, patches := c.merged()
	result, err := runtimepatch.Apply(
		template, runtimepatch.Upsert(
			patches, podPatch(managerName, &trainer.PodSpecPatch{Tolerations: tolerations})),
		runtimepatch.Options{})
	if err != nil {
		c.Fatal(err)
	}
	return podsOf(c.T, &result.Template, "node").Spec.Tolerations
}

func hasKey(tolerations []corev1.Toleration, key string) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.Key == key })
}

// TestTolerations_User is issue 15161 with the tolerations in the user's patch. The plan adds to
// them, and keeps the runtime's.
func TestTolerations_User(t *testing.T) {
	c := newCluster(t)
	c.edit("tolerations: [{key: team.example.com/only, operator: Exists}]")
	before := content(c.trainJob())
	c.assign(bothSpot, false)
	if hasKey(c.apply(c.flavors()), "team.example.com/only") {
		t.Error("a patch with the flavor's tolerations keeps the user's, and the issue says that " +
			"it drops them")
	}
	c.reconcile()
	for _, key := range []string{"team.example.com/only", "user.example.com/team",
		"user.example.com/dedicated", "pool.example.com/gpu"} {
		if got := c.pods("node").Spec.Tolerations; c.isSuspended() || !hasKey(got, key) {
			t.Errorf("the tolerations lack %s: %v", key, got)
		}
	}
	c.assign(nil, false)
	c.reconcile()
	if diff := cmp.Diff(before, content(c.reconcile())); diff != "" {
		t.Errorf("after the eviction (-before +after):\n%s", diff)
	}
}

// TestReconcile_Conflict holds that a TrainJob waits if the user asks for other nodes.
func TestReconcile_Conflict(t *testing.T) {
	c := newCluster(t)
	c.edit("nodeSelector: {pool: a100}")
	c.assign(bothSpot, false)
	c.reconcile()
	event := <-c.events.Events
	if !c.isSuspended() ||
		!strings.Contains(event, `nodeSelector["pool"]: managers set different values: `+sdk+
			` sets "a100", `+managerName+` sets "spot"`) {
		t.Errorf("suspended %v, event %s", c.isSuspended(), event)
	}
	c.assign(map[string]string{"absent": "spot"}, false)
	c.reconcile()
	if event := <-c.events.Events; !c.isSuspended() || !strings.Contains(event, `"absent"`) {
		t.Errorf("suspended %v, event %s", c.isSuspended(), event)
	}
}

// TestReconcile_Absent holds that a missing runtime or flavor is an error to try again, and a
// missing TrainJob is none.
func TestReconcile_Absent(t *testing.T) {
	c := newCluster(t)
	r := &reconciler{client: c.client, events: c.events}
	if _, err := r.Reconcile(
		t.Context(), ctrl.Request{
			NamespacedName: client.ObjectKey{Namespace: "team-a", Name: "gone"}}); err != nil {
		t.Error(err)
	}
	c.assign(map[string]string{"node": "gone"}, false)
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team-a", Name: "llm"}}
	if _, err := r.Reconcile(t.Context(), request); err == nil ||
		!strings.Contains(err.Error(), "get ResourceFlavor gone") {
		t.Errorf("Reconcile returns %v", err)
	}
	c.assign(bothSpot, false)
	torch := objectOf(clusterRuntimeKind)
	torch.SetName("torch")
	if err := c.client.Delete(t.Context(), torch); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), request); err == nil ||
		!strings.Contains(err.Error(), "get ClusterTrainingRuntime torch") {
		t.Errorf("Reconcile returns %v", err)
	}
}
