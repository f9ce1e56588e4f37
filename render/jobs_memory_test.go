package render_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/render"
)

const everyPart = `metadata: {name: llm, namespace: team, labels: {a: b}, annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}
spec:
  network: {subdomain: net}
  successPolicy: {operator: Any, targetReplicatedJobs: [node]}
  failurePolicy: {maxRestarts: 2, rules: [{action: FailJobSet, onJobFailureReasons: [PodFailurePolicy]}]}
  coordinator: {replicatedJob: node}
  volumeClaimPolicies:
  - templates: [{metadata: {name: data, labels: {c: d}, annotations: {e: f}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1500m}}}}]
  replicatedJobs:
  - name: first
    template: {spec: {template: {spec: {containers: [{name: main, image: "main:1"}]}}}}
  - name: node
    replicas: 3
    dependsOn: [{name: first, status: Complete}]
    template:
      metadata: {labels: {g: h}, annotations: {i: j}}
      spec:
        completions: 2
        parallelism: 2
        podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [3]}}]}
        template:
          metadata: {labels: {k: l}, annotations: {m: n}, finalizers: [example.com/o]}
          spec:
            nodeSelector: {p: q}
            tolerations: [{key: r, operator: Exists}]
            affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: s, operator: In, values: [t]}]}]}}}
            initContainers: [{name: setup, image: "setup:1", command: [u]}]
            containers:
            - name: node
              image: node:1
              ports: [{containerPort: 80}]
              env: [{name: V, valueFrom: {fileKeyRef: {volumeName: w, path: x, key: y}}}]
              resources: {limits: {cpu: 1500u}}
              volumeMounts: [{name: data, mountPath: /data}]
              livenessProbe: {grpc: {port: 80}}
            volumes: [{name: w, emptyDir: {}}, {name: z, azureDisk: {diskName: z, diskURI: z}}]
`

// TestJobs_Memory overwrites the children of a JobSet. Neither the JobSet nor another Job may
// change.
func TestJobs_Memory(t *testing.T) {
	for _, opts := range []render.JobsOptions{{}, {Stored: true, OwnerReferences: true}} {
		js := jobSet(t, everyPart)
		out, want := jobs(t, js, opts), jobs(t, jobSet(t, everyPart), opts)
		for i, child := range out.Jobs {
			if diff := cmp.Diff(want.Jobs[i].Job, child.Job); diff != "" {
				t.Errorf("%s changed with an earlier Job (-want +got):\n%s", child.Job.Name, diff)
			}
			overwrite(reflect.ValueOf(child.Job))
		}
		for _, claim := range out.Claims {
			overwrite(reflect.ValueOf(claim))
		}
		overwrite(reflect.ValueOf(out.Service))
		for pod, err := range render.Pods(js, render.PodsOptions{JobsOptions: opts}) {
			if err != nil {
				t.Fatal(err)
			}
			overwrite(reflect.ValueOf(pod))
		}
		if diff := cmp.Diff(jobSet(t, everyPart), js); diff != "" {
			t.Errorf("the JobSet changed (-want +got):\n%s", diff)
		}
	}
}

// overwrite changes every string and number that a value leads to.
func overwrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			overwrite(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				overwrite(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			overwrite(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	case reflect.String:
		v.SetString("overwritten")
	case reflect.Int32, reflect.Int64:
		v.SetInt(-1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	}
}
