package mlpolicy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/mlpolicy"
)

// busyJobs have something at every place that a policy writes to, so that every write replaces.
const busyJobs = `
- name: launcher
  replicas: 2
  template:
    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
    spec: &job
      completions: 5
      template:
        metadata:
          labels: {scheduling.x-k8s.io/pod-group: mine}
          annotations: {scheduling.k8s.io/group-name: mine}
        spec:
          volumes:
          - {name: mpi-ssh-auth, emptyDir: {}}
          - {name: flux-curve, emptyDir: {}}
          - {name: kubeflow-trainer-token, emptyDir: {}}
          initContainers: [{name: setup, image: i, ports: [{containerPort: 80}, {containerPort: 81}]}]
          containers:
          - name: node
            image: i
            command: [a]
            args: [b]
            ports: [{containerPort: 22}, {name: x, containerPort: 23}]
            env: [{name: PET_NNODES, value: "9"}, {name: FLUX_QUEUE_POLICY, value: easy}, {name: MINE, value: "1"}]
            envFrom: [{configMapRef: {name: c}}]
            volumeMounts: [{name: flux-curve, mountPath: /root/.ssh}, {name: flux-curve, mountPath: /dev/shm}]
            resources: {limits: {cpu: 1}, requests: {cpu: 1}}
- name: node
  template:
    spec: *job
- name: eval
  template:
    spec: {template: {spec: {containers: [{name: e, image: i}]}}}
`

const busyJob = `
suspend: false
trainer:
  numNodes: 3
  image: j
  command: [tune, run]
  args: [c]
  env: [{name: MINE, value: "2"}, {name: NEW, value: "3"}]
  resourcesPerNode: {limits: {cpu: 2, memory: 1Gi}}
`

// TestRecord_EveryWrite runs every policy with everything that comes after it. It checks that each
// field that differs in the JobSet afterwards was recorded. The last record of a field must be its
// value there.
func TestRecord_EveryWrite(t *testing.T) {
	for _, mlPolicy := range []string{
		"{}", "{numNodes: 2}",
		"{torch: {envInjection: {targets: [{jobName: node, containerNames: [node, setup]}]}}}",
		"{mpi: {}}", "{mpi: {runLauncherAsNode: true}}", "{jax: {}}", "{xgboost: {}}", "{flux: {}}",
	} {
		t.Run(mlPolicy, func(t *testing.T) {
			in := mlpolicy.Input{
				TrainJob: &trainer.TrainJob{}, Runtime: &trainer.TrainingRuntimeSpec{},
				StatusServer: &mlpolicy.StatusServer{}}
			in.TrainJob.Name = "tj"
			parse(t, busyJob, &in.TrainJob.Spec)
			parse(t, "{mlPolicy: "+mlPolicy+
				", podGroupPolicy: {coscheduling: {}, volcano: {}}, template: {spec: {suspend: "+
				"true}}}", in.Runtime)
			parse(t, busyJobs, &in.Runtime.Template.Spec.ReplicatedJobs)
			in.Template = in.Runtime.Template.DeepCopy()
			written := map[string]any{}
			in.Record = func(layer merge.Owner, _ merge.Origin, path fieldpath.Path, before,
				now any) {
				if layer == "" {
					t.Errorf("%s was written by nobody", path)
				}
				written[path.String()] = now
			}
			before := leaves(t, in.Template)
			everything(t, in)
			after := leaves(t, in.Template)
			all := maps.Clone(before)
			maps.Copy(all, after)
			for _, path := range slices.Sorted(maps.Keys(all)) {
				if before[path] != after[path] && !heard(written, path) {
					t.Errorf("%s went from %q to %q, and Record did not hear of it", path,
						before[path], after[path])
				}
			}
			for path, now := range written {
				for leaf, value := range flatten(t, path, now) {
					if after[leaf] != value {
						t.Errorf("Record heard that %s is %q, and it is %q", leaf, value,
							after[leaf])
					}
				}
			}
		})
	}
}

// everything is what package render does with a job.
func everything(t *testing.T, in mlpolicy.Input) {
	t.Helper()
	j := mlpolicy.NewJob(in)
	if !mlpolicy.Enforce(j) {
		t.Fatal(j.Findings)
	}
	for _, set := range j.Sets {
		j.SetCounts(set)
		j.Settle(set)
	}
	for _, set := range j.Sets {
		if set.Ancestor != mlpolicy.Trainer {
			continue
		}
		j.SetOneReplica(set)
		c := set.In("containers", set.Container(mlpolicy.Node))
		j.SetImage(mlpolicy.Copied("spec", "trainer", "image"), c, *in.TrainJob.Spec.Trainer.Image)
		j.SetCommand(j.CommandFrom, c, j.Command)
		j.SetArgs(mlpolicy.Copied("spec", "trainer", "args"), c, j.Args)
		j.UpsertEnv(mlpolicy.Copied("spec", "trainer", "env"), c,
			mlpolicy.Env(in.TrainJob.Spec.Trainer.Env)...)
	}
	mlpolicy.Schedule(j)
	j.SetSuspend()
}

func heard(written map[string]any, path string) bool {
	for p := range written {
		if path == p || strings.HasPrefix(path, p+".") || strings.HasPrefix(path, p+"[") {
			return true
		}
	}
	return false
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func leaves(t *testing.T, template *trainer.JobSetTemplateSpec) map[string]string {
	t.Helper()
	return flatten(t, "", template)
}

// flatten writes a value as its leaves, with the paths that the schema gives them.
func flatten(t *testing.T, path string, value any) map[string]string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	flattenInto(out, path, decoded)
	return out
}

func flattenInto(out map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			step := fieldpath.Field(key).String()
			for _, m := range []string{".labels", ".annotations", ".limits", ".requests"} {
				if strings.HasSuffix(path, m) {
					step = fieldpath.Key(key).String()
				}
			}
			flattenInto(out, path+step, field)
		}
	case []any:
		for i, item := range v {
			fields, _ := item.(map[string]any)
			step := fieldpath.Index(i)
			for _, key := range []string{"containerPort", "mountPath", "name"} {
				id, ok := fields[key]
				if !ok {
					continue
				}
				if !slices.ContainsFunc(v[:i], func(other any) bool {
					return other.(map[string]any)[key] == id
				}) {
					step = fieldpath.Item(key, fmt.Sprint(id))
				}
				break
			}
			flattenInto(out, path+step.String(), item)
		}
	case nil:
	default:
		if !reflect.ValueOf(v).IsZero() {
			out[path] = fmt.Sprint(v)
		}
	}
}
