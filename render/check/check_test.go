package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/check"
)

// The runtime of the cases: one job with two containers and two init containers.
const runtimePod = `
initContainers:
- {name: fetch, image: x}
- {name: unpack, image: x}
containers:
- {name: node, image: x}
- name: metrics
  image: x
  env:
  - {name: LEVEL, value: info}
  - {name: HOST, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
  volumeMounts:
  - {name: scratch, mountPath: /scratch, subPath: a}
tolerations:
- {key: nvidia.com/gpu, operator: Exists}
volumes:
- {name: scratch, emptyDir: {}}
securityContext:
  seccompProfile: {type: Localhost, localhostProfile: mine.json}
`

func template(t *testing.T, pod string) *trainer.JobSetTemplateSpec {
	t.Helper()
	var spec corev1.PodSpec
	decode(t, pod, &spec)
	job := jobset.ReplicatedJob{Name: "node"}
	job.Template.Spec.Template.Spec = spec
	return &trainer.JobSetTemplateSpec{
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{job}}}
}

// podPatch is a manager's patch of the Pods of the job node.
func podPatch(t *testing.T, manager, pod string) trainer.RuntimePatch {
	t.Helper()
	var spec trainer.PodSpecPatch
	decode(t, pod, &spec)
	return jobPatch(manager, "node", &trainer.PodTemplatePatch{Spec: &spec})
}

func jobPatch(manager, job string, pod *trainer.PodTemplatePatch) trainer.RuntimePatch {
	return trainer.RuntimePatch{
		Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
				ReplicatedJobs: []trainer.ReplicatedJobPatch{
					{Name: job, Template: &trainer.JobTemplatePatch{
						Spec: &trainer.JobSpecPatch{Template: pod}}}},
			}},
		}}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// The paths of the findings, without what they share.
var shorten = strings.NewReplacer(
	`.spec.runtimePatches[manager="a.example.com/x"].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec`, "PATCH",
	`.spec.template.spec.replicatedJobs[name="node"].template.spec.template.spec`, "RUNTIME",
)

func brief(findings finding.List) []string {
	var lines []string
	for _, f := range findings {
		line := fmt.Sprintf("%s %s %s %s", f.Code, f.Severity, f.Object.Kind,
			shorten.Replace(f.Path.String()))
		for _, c := range f.Claims {
			line += fmt.Sprintf(" | %s %s", c.Owner, shorten.Replace(c.At.String()))
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCheckOfOnePatch(t *testing.T) {
	const me = "manager/a.example.com/x"
	for _, tc := range []struct {
		name, runtime, patch string
		want                 []string
		reason               string
	}{
		{name: "nothing", reason: "an empty patch says nothing"},
		{
			name:   "all that may be patched",
			patch:  `{nodeSelector: {a: b}, volumes: [{name: data, emptyDir: {}}], containers: [{name: metrics, env: [{name: LEVEL, value: debug}], volumeMounts: [{name: data, mountPath: /data}]}], initContainers: [{name: fetch, env: [{name: A, value: a}]}], tolerations: [{key: nvidia.com/gpu, operator: Exists}, {key: other}], terminationGracePeriodSeconds: 30}`,
			reason: "no finding where nothing is wrong",
		},
		{
			name:   "a container that the runtime lacks",
			patch:  `{containers: [{name: ghost}]}`,
			want:   []string{`TW203 error TrainJob PATCH.containers[name="ghost"]`},
			reason: "the cluster would add one without an image",
		},
		{
			name:   "an init container that the runtime lacks",
			patch:  `{initContainers: [{name: ghost}]}`,
			want:   []string{`TW203 error TrainJob PATCH.initContainers[name="ghost"]`},
			reason: "the cluster would add one without an image",
		},
		{
			name:  "a container as an init container, and the reverse",
			patch: `{containers: [{name: fetch}], initContainers: [{name: metrics}]}`,
			want: []string{`TW203 error TrainJob PATCH.containers[name="fetch"]`,
				`TW203 error TrainJob PATCH.initContainers[name="metrics"]`},
			reason: "the lists merge apart, although names are unique across both",
		},
		{
			name:   "env of node",
			patch:  `{containers: [{name: node, env: [{name: A, value: a}]}]}`,
			want:   []string{`TW204 error TrainJob PATCH.containers[name="node"].env`},
			reason: "spec.trainer.env sets it",
		},
		{
			name:    "env of an init container called node",
			runtime: `{containers: [{name: main, image: x}], initContainers: [{name: node, image: x}]}`,
			patch:   `{initContainers: [{name: node, env: [{name: A, value: a}]}]}`,
			reason:  "the rule is for containers only",
		},
		{
			name:  "value and valueFrom",
			patch: `{containers: [{name: metrics, env: [{name: A, value: a, valueFrom: {fieldRef: {fieldPath: x}}}]}]}`,
			want: []string{
				`TW205 error TrainJob PATCH.containers[name="metrics"].env[name="A"] | ` + me +
					` PATCH.containers[name="metrics"].env[name="A"].value | ` + me +
					` PATCH.containers[name="metrics"].env[name="A"].valueFrom`},
			reason: "the API server rejects a Pod with both",
		},
		{
			name:  "value next to the runtime's valueFrom",
			patch: `{containers: [{name: metrics, env: [{name: HOST, value: a}]}]}`,
			want: []string{
				`TW205 error TrainJob PATCH.containers[name="metrics"].env[name="HOST"] | runtime RUNTIME.containers[name="metrics"].env[name="HOST"].valueFrom | ` + me + ` PATCH.containers[name="metrics"].env[name="HOST"].value`},
			reason: "the merge keeps both",
		},
		{
			name:   "an empty value next to the runtime's valueFrom",
			patch:  `{containers: [{name: metrics, env: [{name: HOST, value: ""}]}]}`,
			reason: "an empty value is not encoded, and so says nothing",
		},
		{
			name:  "two sources of a variable",
			patch: `{containers: [{name: metrics, env: [{name: HOST, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}`,
			want: []string{
				`TW207 error TrainJob PATCH.containers[name="metrics"].env[name="HOST"].valueFrom | runtime RUNTIME.containers[name="metrics"].env[name="HOST"].valueFrom.fieldRef | ` + me + ` PATCH.containers[name="metrics"].env[name="HOST"].valueFrom.secretKeyRef`},
			reason: "valueFrom is also a union",
		},
		{
			name:   "an env without a name",
			patch:  `{containers: [{name: metrics, env: [{name: A}, {name: ""}]}]}`,
			want:   []string{`TW206 error TrainJob PATCH.containers[name="metrics"].env[1]`},
			reason: "the merge has no key for it",
		},
		{
			name:  "two sources of a volume",
			patch: `{volumes: [{name: data, emptyDir: {}, hostPath: {path: /d}}]}`,
			want: []string{
				`TW207 error TrainJob PATCH.volumes[name="data"] | ` + me +
					` PATCH.volumes[name="data"].hostPath | ` + me +
					` PATCH.volumes[name="data"].emptyDir`},
			reason: "the API server rejects a Pod with both",
		},
		{
			name:  "a source next to the runtime's",
			patch: `{volumes: [{name: scratch, hostPath: {path: /d}}]}`,
			want: []string{
				`TW207 error TrainJob PATCH.volumes[name="scratch"] | runtime RUNTIME.volumes[name="scratch"].emptyDir | ` + me + ` PATCH.volumes[name="scratch"].hostPath`},
			reason: "the merge keeps both",
		},
		{
			name:   "the runtime's own source",
			patch:  `{volumes: [{name: scratch, emptyDir: {sizeLimit: 1Gi}}]}`,
			reason: "a patch may add to the source that is there",
		},
		{
			name:  "subPath and subPathExpr",
			patch: `{containers: [{name: metrics, volumeMounts: [{name: scratch, mountPath: /scratch, subPathExpr: b}]}]}`,
			want: []string{
				`TW207 error TrainJob PATCH.containers[name="metrics"].volumeMounts[mountPath="/scratch"] | runtime RUNTIME.containers[name="metrics"].volumeMounts[mountPath="/scratch"].subPath | ` + me + ` PATCH.containers[name="metrics"].volumeMounts[mountPath="/scratch"].subPathExpr`},
			reason: "the mount is the runtime's, with a subPath",
		},
		{
			name:  "another type than the runtime's profile has",
			patch: `{securityContext: {seccompProfile: {type: RuntimeDefault}}}`,
			want: []string{
				`TW207 error TrainJob PATCH.securityContext.seccompProfile | runtime RUNTIME.securityContext.seccompProfile.localhostProfile | ` + me + ` PATCH.securityContext.seccompProfile.type`},
			reason: "the runtime's localhostProfile stays, and does not go with the type",
		},
		{
			name:    "a profile of the runtime that is wrong by itself",
			runtime: `{containers: [{name: metrics, image: x}], securityContext: {seccompProfile: {type: Unconfined, localhostProfile: x}}}`,
			patch:   `{securityContext: {runAsNonRoot: true}}`,
			want: []string{
				`TW207 error TrainingRuntime RUNTIME.securityContext.seccompProfile | runtime RUNTIME.securityContext.seccompProfile.type | runtime RUNTIME.securityContext.seccompProfile.localhostProfile`},
			reason: "it is reported once, of the runtime",
		},
		{
			name:    "two members in the runtime, one of them in the patch",
			runtime: `{containers: [{name: metrics, image: x}], volumes: [{name: v, emptyDir: {}, hostPath: {path: /d}}]}`,
			patch:   `{volumes: [{name: v, emptyDir: {}}]}`,
			want: []string{
				`TW207 error TrainingRuntime RUNTIME.volumes[name="v"] | runtime RUNTIME.volumes[name="v"].hostPath | runtime RUNTIME.volumes[name="v"].emptyDir`,
				`TW207 error TrainJob PATCH.volumes[name="v"] | runtime RUNTIME.volumes[name="v"].hostPath | ` + me + ` PATCH.volumes[name="v"].emptyDir`,
			},
			reason: "of the runtime alone, and of the patch next to it",
		},
		{
			name:  "two items of one name",
			patch: `{containers: [{name: metrics}, {name: metrics}], volumes: [{name: v}, {name: v}]}`,
			want: []string{
				`TW208 error TrainJob PATCH.volumes[1] | ` + me + ` PATCH.volumes[0] | ` + me +
					` PATCH.volumes[1]`, `TW208 error TrainJob PATCH.containers[1] | ` + me +
					` PATCH.containers[0] | ` + me + ` PATCH.containers[1]`},
			reason: "the API server rejects such a list",
		},
		{
			name:  "two mounts at one path",
			patch: `{containers: [{name: metrics, volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /a}]}]}`,
			want: []string{
				`TW214 error TrainJob PATCH.containers[name="metrics"].volumeMounts[1] | ` + me +
					` PATCH.containers[name="metrics"].volumeMounts[0] | ` + me +
					` PATCH.containers[name="metrics"].volumeMounts[1]`},
			reason: "mounts merge by path",
		},
		{
			name:    "pull secrets without a name",
			runtime: `{imagePullSecrets: [{}], containers: [{name: metrics, image: x}]}`,
			patch:   `{imagePullSecrets: [{}]}`,
			reason:  "the API server accepts them",
		},
		{
			name:  "two pull secrets without a name",
			patch: `{imagePullSecrets: [{}, {name: ""}]}`,
			want: []string{
				`TW208 error TrainJob PATCH.imagePullSecrets[1] | ` + me +
					` PATCH.imagePullSecrets[0] | ` + me + ` PATCH.imagePullSecrets[1]`},
			reason: "the API server takes the two for one",
		},
		{
			name:  "two mounts of one volume",
			patch: `{containers: [{name: metrics, volumeMounts: [{name: a, mountPath: /a}, {name: a, mountPath: /b}]}]}`,
			want: []string{
				`TW208 error TrainJob PATCH.containers[name="metrics"].volumeMounts[1] | ` + me +
					` PATCH.containers[name="metrics"].volumeMounts[0] | ` + me +
					` PATCH.containers[name="metrics"].volumeMounts[1]`},
			reason: "the TrainJob's CRD lists them by name",
		},
		{
			name:    "allowed in a runtime and not in a patch",
			runtime: `{containers: [{name: metrics, image: x, ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: UDP}], volumeMounts: [{name: a, mountPath: /a}, {name: a, mountPath: /b}]}]}`,
			reason: "ports are told apart by their protocol as well, and a runtime's mounts by " +
				"their path",
		},
		{
			name:    "a runtime that is wrong by itself",
			runtime: `{containers: [{name: metrics, image: x, env: [{value: a}, {name: A}, {name: A}]}]}`,
			want: []string{
				`TW206 error TrainingRuntime RUNTIME.containers[name="metrics"].env[0]`,
				`TW208 error TrainingRuntime RUNTIME.containers[name="metrics"].env[2] | runtime RUNTIME.containers[name="metrics"].env[1] | runtime RUNTIME.containers[name="metrics"].env[2]`,
			},
			reason: "it is reported of the runtime",
		},
		{
			name:  "directives",
			patch: `{nodeSelector: {$patch: replace, $retainKeys: a, "$setElementOrder/x": b, "$deleteFromPrimitiveList/x": c, $other: fine, a$patch: fine}, volumes: [{name: v, csi: {driver: d, volumeAttributes: {$patch: delete}}}]}`,
			want: []string{
				`TW209 error TrainJob PATCH.volumes[name="v"].csi.volumeAttributes["$patch"]`,
				`TW209 error TrainJob PATCH.nodeSelector["$deleteFromPrimitiveList/x"]`,
				`TW209 error TrainJob PATCH.nodeSelector["$patch"]`,
				`TW209 error TrainJob PATCH.nodeSelector["$retainKeys"]`,
				`TW209 error TrainJob PATCH.nodeSelector["$setElementOrder/x"]`,
			},
			reason: "upstream's merge obeys them in every map",
		},
		{
			name:  "a directive in a map within an atomic list",
			patch: `{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t, labelSelector: {matchLabels: {$patch: replace}}}]}}}`,
			want: []string{
				`TW209 error TrainJob PATCH.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels["$patch"]`},
			reason: "it is named at its place",
		},
		{
			name:  "tolerations that drop the runtime's",
			patch: `{tolerations: [{key: other}]}`,
			want: []string{
				`TW211 warning TrainJob PATCH.tolerations | runtime RUNTIME.tolerations | ` + me +
					` PATCH.tolerations`},
			reason: "the list is replaced whole",
		},
		{
			name:   "an empty list of tolerations",
			patch:  `{tolerations: []}`,
			reason: "an empty list is not encoded, and so says nothing",
		},
		{
			name:   "init containers in another order",
			patch:  `{initContainers: [{name: unpack}, {name: fetch}]}`,
			want:   []string{`TW212 warning TrainJob PATCH.initContainers[name="fetch"]`},
			reason: "they run in the patch's order",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runtime := tc.runtime
			if runtime == "" {
				runtime = runtimePod
			}
			got := check.Patches(template(t, runtime),
				[]trainer.RuntimePatch{podPatch(t, "a.example.com/x", tc.patch)})
			if diff := cmp.Diff(tc.want, brief(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for _, f := range got {
				if f.Message == "" || f.Remedy.Text == "" {
					t.Errorf("no message or help: %+v", f)
				}
			}
		})
	}
}

func ExamplePatches() {
	runtime := &trainer.JobSetTemplateSpec{
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{Name: "node"}}}}
	patches := []trainer.RuntimePatch{jobPatch("kueue.x-k8s.io/manager", "nodes", nil)}
	for _, f := range check.Patches(runtime, patches) {
		fmt.Println(f.Severity, f.Code, f.Message)
		fmt.Println(f.Remedy.Text)
	}
	// Output:
	// error TW202 the runtime has no replicated job "nodes": the merge adds one without containers
	// use one of the runtime's jobs: did you mean "node"? It has node
}
