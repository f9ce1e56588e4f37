package live_test

import (
	"strings"
	"testing"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/release"
)

// TestWaiting has a JobSet whose second replicated job waits for the first one, by dependsOn or in
// order. JobSet creates its Job now only if the status says that the first one is there.
func TestWaiting(t *testing.T) {
	const running = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: a, uid: u1}
spec: {runtimeRef: {name: plain}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: llm, namespace: a, uid: u2, ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: llm, uid: u1}]}
spec:
  STARTUP
  suspend: true
  replicatedJobs:
  - {name: first, replicas: 1, template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "example.com/x:1"}]}}}}}
  - {name: second, replicas: 1, DEPENDS template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "example.com/x:1"}]}}}}}
status:
  replicatedJobsStatus: [{name: first, ready: READY, succeeded: SUCCEEDED, active: 0, failed: 0, suspended: 0}]
`
	const complete, ready = "dependsOn: [{name: first, status: Complete}],",
		"dependsOn: [{name: first, status: Ready}],"
	const inOrder = "startupPolicy: {startupPolicyOrder: InOrder}"
	for _, tc := range []struct {
		startup, suspend, depends, ready, succeeded string
		want                                        live.When
	}{
		{"", "false", "", "0", "0", live.Now},
		{"", "false", complete, "0", "0", live.Waiting},
		{"", "false", complete, "1", "0", live.Waiting},
		{"", "false", complete, "0", "1", live.Now},
		{"", "true", complete, "0", "0", ""}, // a suspended JobSet has no Job that waits
		{"", "false", ready, "0", "0", live.Waiting},
		{"", "false", ready, "1", "0", live.Now},
		{inOrder, "false", "", "0", "0", live.Waiting},
		{inOrder, "false", "", "1", "0", live.Now},
		{inOrder, "true", "", "0", "0", live.Now},
	} {
		text := replaced(running, "STARTUP", tc.startup, "DEPENDS", tc.depends, "READY", tc.ready,
			"SUCCEEDED", tc.succeeded)
		d := live.Read(dump(text), workspace.Flags{}, "dump.yaml")
		id := fieldpath.Object{Kind: "TrainJob", Namespace: "a", Name: "llm"}
		applied, ok := d.Family(id).JobSet.Value.(*jobset.JobSet)
		if !ok {
			t.Fatal("the dump has no JobSet")
		}
		applied = applied.DeepCopy()
		applied.Spec.Suspend = new(tc.suspend == "true")
		applied.ObjectMeta.UID, applied.ManagedFields, applied.Status = "", nil,
			jobset.JobSetStatus{}
		var latest *release.Release
		second, found := d.Second(id, latest.Or(), applied)
		if second == nil {
			t.Fatal(found)
		}
		effects, err := d.Family(id).Effects(second)
		if err != nil {
			t.Fatal(err)
		}
		var got live.When
		for _, e := range effects {
			if e.Name == "llm-second-0" && e.Path == "" {
				got = e.When
			}
		}
		if got != tc.want {
			t.Errorf("%+v: the second Job is created %q, want %q: %v", tc, got, tc.want, effects)
		}
	}
}

func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}
