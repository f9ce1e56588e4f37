package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
)

// A releaseCase is one TrainJob, and what each release makes of it. Its switch alone turns the
// latest release's rendering into the rendering of each other release.
type releaseCase struct {
	policyCase
	of        string // the switch
	overrides *legacy.Overrides
	earlier   legacy.Earlier
	got       func(*render.Output, *release.Release) any
	// want are the values in the order of the releases. The comment names the source.
	want [4]any
	// says are parts of the findings, or "" for a release that must report nothing but notes.
	says *[4]string
}

func plainly(got func(*render.Output) any) func(*render.Output, *release.Release) any {
	return func(out *render.Output, _ *release.Release) any { return got(out) }
}

func resourcesOf(job string) func(*render.Output, *release.Release) any {
	return plainly(func(out *render.Output) any {
		r := rjob(out, job).Template.Spec.Template.Spec.Containers[0].Resources
		return []any{r.Limits, r.Requests}
	})
}

func nprocs(out *render.Output, _ *release.Release) any {
	return envValue("node", "PET_NPROC_PER_NODE")(out)
}

func command(out *render.Output, _ *release.Release) any {
	return strings.Join(containerOf(out, "node").Command, " ")
}

// marks are the keys of the first Pod's labels that releases of JobSet differ in.
func marks(out *render.Output, r *release.Release) any {
	for pod, err := range render.Pods(
		out.JobSet, render.PodsOptions{
			JobsOptions: render.JobsOptions{Release: r, JobSetUID: "u"}}) {
		if err != nil {
			return err.Error()
		}
		keys := []string{}
		for key := range withPrefix(pod.Labels) {
			if strings.Contains(key, "group") || strings.Contains(key, "uid") {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		return strings.Join(keys, " ")
	}
	return nil
}

const groupKeys = "group-name group-replicas job-group-index jobset-uid"

// priority reports whether the first Pod has the label of its priority.
func priority(out *render.Output, r *release.Release) any {
	for pod, err := range render.Pods(
		out.JobSet, render.PodsOptions{JobsOptions: render.JobsOptions{Release: r}}) {
		_, has := pod.Labels["jobset.sigs.k8s.io/priority"]
		return has && err == nil
	}
	return nil
}

// claims returns the names of the claims, and then of the volumes of the first Pod.
func claims(out *render.Output, r *release.Release) any {
	made, err := render.Jobs(out.JobSet, render.JobsOptions{Release: r})
	if err != nil {
		return err.Error()
	}
	names := []string{}
	for _, claim := range made.Claims {
		names = append(names, claim.Name)
	}
	for _, v := range made.Jobs[0].Job.Spec.Template.Spec.Volumes {
		names = append(names, v.Name)
	}
	return names
}

func groups(out *render.Output, r *release.Release) any {
	names := []string{}
	for _, job := range out.JobSet.Spec.ReplicatedJobs {
		names = append(names, job.GroupName)
	}
	return append(names, render.DefaultJobSetOf(r, out.JobSet).Spec.ReplicatedJobs[0].GroupName)
}

const gpuNode = `containers: [{name: node, image: i, resources: {limits: {nvidia.com/gpu: 2}, requests: {cpu: 3}}}]`

var (
	gpuJob  = replicatedJob("node", "", trainerLabel, "", gpuNode)
	tuneJob = replicatedJob("node", "", trainerLabel, "",
		`containers: [{name: node, image: i, command: [output_dir=/o, tokenizer.merges_file=/m]}]`)
	asANode = `mlPolicy: {mpi: {runLauncherAsNode: true}}`
)

func jobNames(out *render.Output, _ *release.Release) any {
	names := []string{}
	for _, job := range out.JobSet.Spec.ReplicatedJobs {
		names = append(names, job.Name)
	}
	return names
}

func word(text string) *intstr.IntOrString {
	value := intstr.Parse(text)
	return &value
}

var releaseCases = []releaseCase{{
	// newRuntimeInfo of v2.3.0 merges by key; builder.go of v2.0.1 to v2.2.1 writes the two lists
	// over all.
	of: "resources",
	policyCase: policyCase{name: "other keys", runtime: `mlPolicy: {torch: {}}`, jobs: gpuJob,
		job: `trainer: {resourcesPerNode: {requests: {memory: 1Gi}}}`},
	got: resourcesOf("node"),
	want: [4]any{
		replaced, replaced, replaced,
		[]object{{"nvidia.com/gpu": "2"}, {"cpu": "3", "memory": "1Gi"}}},
	says: &[4]string{"loses the runtime's 2 GPUs", "loses the runtime's 2 GPUs",
		"loses the runtime's 2 GPUs", "keeps the runtime's 2 GPUs"},
}, {
	// builder.go asks for no mlPolicy, newRuntimeInfo of v2.3.0 does.
	of: "resources",
	policyCase: policyCase{name: "without an mlPolicy", jobs: gpuJob,
		job: `trainer: {resourcesPerNode: {requests: {memory: 1Gi}}}`},
	got: resourcesOf("node"),
	want: [4]any{
		replaced, replaced, replaced, []object{{"nvidia.com/gpu": "2"}, {"cpu": "3"}}},
	says: &[4]string{"loses", "loses", "loses", "ignores it without an mlPolicy"},
}, {
	// builder.go looks for limits or requests; an empty list is one.
	of: "resources",
	policyCase: policyCase{name: "an empty list", runtime: `mlPolicy: {torch: {}}`, jobs: gpuJob,
		job: `trainer: {resourcesPerNode: {limits: {}}}`},
	got: resourcesOf("node"),
	want: [4]any{[]any{nil, nil}, []any{nil, nil}, []any{nil, nil},
		[]object{{"nvidia.com/gpu": "2"}, {"cpu": "3"}}},
}, {
	of: "resources",
	policyCase: policyCase{name: "neither list", jobs: gpuJob,
		job: `trainer: {resourcesPerNode: {}}`},
	got:  resourcesOf("node"),
	want: all([]object{{"nvidia.com/gpu": "2"}, {"cpu": "3"}}),
	says: &[4]string{"neither limits nor requests", "neither limits nor requests",
		"neither limits nor requests", "ignores it without an mlPolicy"},
}, {
	// newRuntimeInfo makes SinglePodRequests: of the runtime up to v2.1.0, of resourcesPerNode in
	// v2.2.1, merged in v2.3.0.
	of: "gang-requests",
	policyCase: policyCase{
		name:    "requests of a gang",
		runtime: `{mlPolicy: {torch: {}}, podGroupPolicy: {coscheduling: {}}}`, jobs: gpuJob,
		job: `trainer: {numNodes: 2, resourcesPerNode: {requests: {memory: 1Gi}}}`,
	},
	got: plainly(func(out *render.Output) any {
		return groupSpec(out).(map[string]any)["minResources"]
	}),
	want: [4]any{object{"cpu": "6"}, object{"cpu": "6"}, object{"memory": "2Gi"},
		object{"cpu": "6", "memory": "2Gi"}},
	says: &[4]string{"minResources count the runtime's requests",
		"minResources count the runtime's requests", "loses", `resources.limits["nvidia.com/gpu"]`},
}, {
	// builder.go of v2.1.0 isRunLauncherAsNode.
	of: "mpi-node-trainer",
	policyCase: policyCase{name: "the node's resources", runtime: asANode, jobs: mpiJobs,
		job: `trainer: {numNodes: 2, resourcesPerNode: {requests: {cpu: 1}}}`},
	got: resourcesOf("node"),
	want: [4]any{[]any{nil, nil}, []any{nil, object{"cpu": "1"}},
		[]any{nil, object{"cpu": "1"}}, []any{nil, object{"cpu": "1"}}},
	says: &[4]string{"only job launcher with the trainer's label gets it", "", "", ""},
}, {
	of: "mpi-node-trainer",
	policyCase: policyCase{name: "the node's env", runtime: asANode, jobs: mpiJobs,
		job: `trainer: {numNodes: 2, env: [{name: A, value: b}]}`},
	got:  plainly(envValue("node", "A")),
	want: [4]any{nil, "b", "b", "b"},
}, {
	// mpi.go of v2.1.0 EnforceMLPolicy.
	of: "mpi-slots",
	policyCase: policyCase{
		name: "one in the runtime", runtime: `mlPolicy: {mpi: {numProcPerNode: 1}}`, jobs: mpiJobs,
		job: `trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}`},
	got: plainly(hostfile),
	want: [4]any{"tj-node-0-0.tj slots=1\n", "tj-node-0-0.tj slots=4\n",
		"tj-node-0-0.tj slots=4\n", "tj-node-0-0.tj slots=4\n"},
}, {
	// mpi.go of v2.3.0 sets the three modes.
	of:         "ssh-modes",
	policyCase: policyCase{name: "the keys' modes", runtime: `mlPolicy: {mpi: {}}`, jobs: mpiJobs},
	got: plainly(func(out *render.Output) any {
		secret := rjob(out, "node").Template.Spec.Template.Spec.Volumes[0].Secret
		return []*int32{secret.DefaultMode, secret.Items[0].Mode, secret.Items[2].Mode}
	}),
	want: [4]any{[]any{nil, nil, nil}, []any{nil, nil, nil}, []any{nil, nil, nil},
		[]int{0o400, 0o640, 0o644}},
}, {
	// jobset.go IdentifyPodNetwork: replica 0 up to v2.2.1.
	of: "endpoints",
	policyCase: policyCase{name: "two replicas", runtime: `mlPolicy: {mpi: {}}`,
		jobs: replicatedJob("node", "replicas: 2", "", "", nodeContainer)},
	got: plainly(hostfile),
	want: [4]any{"tj-node-0-0.tj slots=1\n", "tj-node-0-0.tj slots=1\n",
		"tj-node-0-0.tj slots=1\n", "tj-node-0-0.tj slots=1\ntj-node-1-0.tj slots=1\n"},
}, {
	// torch.go of v2.0.1 calculateNumProcPerNode: the runtime's resources never count.
	of: "nproc",
	policyCase: policyCase{name: "auto without resources", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {}`},
	got: nprocs, want: [4]any{"auto", "1", "1", "1"},
}, {
	of: "nproc",
	policyCase: policyCase{name: "auto and CPUs of the runtime", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {}`,
		jobs: replicatedJob("node", "", trainerLabel, "",
			`containers: [{name: node, image: i, resources: {requests: {cpu: 3}}}]`)},
	got: nprocs, want: [4]any{"auto", "3", "3", "3"},
}, {
	of: "nproc",
	policyCase: policyCase{name: "GPUs as a limit alone", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}`},
	got: nprocs, want: [4]any{"1", "auto", "auto", "auto"},
}, {
	of: "nproc",
	policyCase: policyCase{name: "GPUs as a request", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 8}}}`},
	got: nprocs, want: all("auto"),
}, {
	of: "nproc",
	policyCase: policyCase{name: "GPUs as a limit, CPUs as a request",
		runtime: `mlPolicy: {torch: {}}`,
		job:     `trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 8}, requests: {cpu: 8}}}`},
	got: nprocs, want: [4]any{"8", "auto", "auto", "auto"},
}, {
	of: "nproc",
	policyCase: policyCase{name: "four, and GPUs as a limit alone",
		runtime: `mlPolicy: {torch: {}}`,
		job:     `trainer: {numProcPerNode: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}`},
	got: nprocs, want: [4]any{"1", "4", "4", "4"},
}, {
	// Words are for v2.0.1 and v2.1.0, whose field is an integer or a string. The others are the
	// turn of one switch.
	of: "nproc",
	policyCase: policyCase{name: "cpu", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {resourcesPerNode: {requests: {cpu: 6}}}`},
	earlier: legacy.Earlier{NumProcPerNode: word("cpu")},
	got:     nprocs, want: all("6"),
}, {
	of: "nproc",
	policyCase: policyCase{name: "cpu, and no CPU", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {resourcesPerNode: {requests: {nvidia.com/gpu: 6}}}`},
	earlier: legacy.Earlier{NumProcPerNode: word("cpu")},
	got:     nprocs, want: all("1"),
}, {
	of: "nproc",
	policyCase: policyCase{name: "cpu without resourcesPerNode", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {}`},
	earlier: legacy.Earlier{TorchNumProcPerNode: word("cpu")},
	got:     nprocs, want: [4]any{"cpu", "1", "1", "1"},
}, {
	of: "nproc",
	policyCase: policyCase{name: "gpu", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {resourcesPerNode: {requests: {cpu: 6}}}`},
	earlier: legacy.Earlier{TorchNumProcPerNode: word("gpu")},
	got:     nprocs, want: all("gpu"),
}, {
	of: "nproc",
	policyCase: policyCase{name: "the TrainJob before the runtime",
		runtime: `mlPolicy: {torch: {}}`, job: `trainer: {}`},
	earlier: legacy.Earlier{TorchNumProcPerNode: word("2"), NumProcPerNode: word("3")},
	got:     nprocs, want: all("3"),
}, {
	// torch.go of v2.0.1 getRecipeAndConfig knows one recipe for each size, and
	// TorchTuneImmutableConfigs three items.
	of: "torchtune",
	policyCase: policyCase{name: "LoRA", runtime: `mlPolicy: {torch: {}}`, jobs: tuneJob,
		job: `trainer: {command: [tune, run], args: [model.lora_attn_modules=x], numProcPerNode: 1}`},
	got: command,
	want: [4]any{
		"tune run full_finetune_single_device --config _full_single_device output_dir=/o",
		"tune run lora_finetune_single_device --config _lora_single_device output_dir=/o " +
			"tokenizer.merges_file=/m",
		"tune run lora_finetune_single_device --config _lora_single_device output_dir=/o " +
			"tokenizer.merges_file=/m",
		"tune run lora_finetune_single_device --config _lora_single_device output_dir=/o " +
			"tokenizer.merges_file=/m",
	},
}, {
	// torch.go of v2.0.1 leaves the endpoint out for one process alone.
	of: "torchtune",
	policyCase: policyCase{name: "auto with one GPU", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {command: [tune, run], resourcesPerNode: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}}`},
	got: command,
	want: [4]any{
		"tune run --rdzv_endpoint=tj-node-0-0.tj:29500 full_finetune_distributed --config _full",
		"tune run full_finetune_single_device --config _full_single_device",
		"tune run full_finetune_single_device --config _full_single_device",
		"tune run full_finetune_single_device --config _full_single_device",
	},
}, {
	// torchtune.go of v2.1.0 and v2.2.1 isUseQLoraFinetune ignores the values, v2.3.0
	// isBoolArgEnabled reads them.
	of: "torchtune",
	policyCase: policyCase{name: "QLoRA is false", runtime: `mlPolicy: {torch: {}}`,
		job: `trainer: {command: [tune, run], args: [model.quantize_base=False], numProcPerNode: 1}`},
	got: command,
	want: [4]any{
		"tune run full_finetune_single_device --config _full_single_device",
		"tune run lora_finetune_single_device --config _qlora_single_device",
		"tune run lora_finetune_single_device --config _qlora_single_device",
		"tune run full_finetune_single_device --config _full_single_device",
	},
}, {
	// jax.go of v2.2.1 reads the count of a missing job. No earlier release has the policy.
	of: "jax-needs-trainer",
	policyCase: policyCase{name: "JAX without a trainer's job", runtime: `mlPolicy: {jax: {}}`,
		jobs: replicatedJob("node", "", "", "", nodeContainer), job: `trainer: {}`},
	got: plainly(noJobSet), want: [4]any{true, true, true, false},
	says: &[4]string{"error TW423", "error TW423", "error TW423", "warning TW440"},
}, {
	// jobset.go Build of v2.3.0 goes over the init containers as well.
	of: "init-lists",
	policyCase: policyCase{name: "ports of an init container",
		jobs: replicatedJob("node", "", trainerLabel, "",
			`initContainers: [{name: s, image: i, ports: [{containerPort: 80}, {containerPort: 81}]}], `+nodeContainer)},
	got: plainly(func(out *render.Output) any {
		ports := rjob(out, "node").Template.Spec.Template.Spec.InitContainers[0].Ports
		return []int32{ports[0].ContainerPort, ports[1].ContainerPort}
	}),
	want: [4]any{[]int{80, 81}, []int{80, 81}, []int{80, 81}, []int{81, 81}},
	says: &[4]string{"", "", "", "error TW436"},
}, {
	// coscheduling.go of v2.0.1 EnforcePodGroupPolicy asks for a podGroupPolicy alone.
	of:         "gang-label",
	policyCase: policyCase{name: "an empty podGroupPolicy", runtime: `podGroupPolicy: {}`},
	got: plainly(func(out *render.Output) any {
		return rjob(out, "node").Template.Spec.Template.Labels
	}),
	want: [4]any{object{"scheduling.x-k8s.io/pod-group": "tj"}, nil, nil, nil},
}, {
	// flux.go of v2.2.1 has no volume for /dev/shm.
	of: "flux",
	policyCase: policyCase{name: "Flux's mounts", runtime: `mlPolicy: {flux: {}}`,
		job: `trainer: {numNodes: 1, command: [lmp]}`},
	got: plainly(func(out *render.Output) any {
		paths := []string{}
		for _, m := range containerOf(out, "node").VolumeMounts {
			paths = append(paths, m.MountPath)
		}
		return paths[3:]
	}),
	want: [4]any{[]string{"/curve"}, []string{"/curve"}, []string{"/curve"},
		[]string{"/curve", "/dev/shm"}},
}, {
	// runtime.go of v2.2.1 toPodSetContainer copies no command, so getOriginalCommand of flux.go
	// finds none.
	of: "flux",
	policyCase: policyCase{name: "Flux and the runtime's command", runtime: `mlPolicy: {flux: {}}`,
		job: `trainer: {numNodes: 1, args: [x]}`,
		jobs: replicatedJob("node", "", trainerLabel, "",
			`containers: [{name: node, image: i, command: [lmp]}]`)},
	got: plainly(func(out *render.Output) any {
		return containerOf(out, "node").Command[2]
	}),
	want: [4]any{"x", "x", "x", "lmp x"},
	says: &[4]string{"uses the TrainJob's command only", "uses the TrainJob's command only",
		"uses the TrainJob's command only", ""},
}, {
	// builder.go of v2.0.1 Trainer takes the count of the first job for each.
	of: "second-trainer",
	policyCase: policyCase{name: "a second trainer's job", runtime: `mlPolicy: {torch: {}}`,
		job:  `trainer: {numNodes: 3}`,
		jobs: nodeJob + replicatedJob("more", "", trainerLabel, "", nodeContainer)},
	got:  plainly(counts("more")),
	want: [4]any{[]int{3, 3, 1}, []int{1, 1, 1}, []int{1, 1, 1}, []int{1, 1, 1}},
	says: &[4]string{"as many Pods as job node", "neither its numNodes", "neither its numNodes",
		"neither its numNodes"},
}, {
	// registry.go of v2.2.1 has the plugin for the gate.
	of: "status-gate",
	policyCase: policyCase{name: "progress", job: `trainer: {}`,
		opts: render.Options{FeatureGates: render.FeatureGates{TrainJobStatus: true}}},
	got:  plainly(func(out *render.Output) any { return len(containerOf(out, "node").Env) }),
	want: [4]any{0, 0, 3, 3},
	says: &[4]string{"Trainer 2.0 does not have it", "Trainer 2.1 does not have it", "certificate",
		"certificate"},
}, {
	// The controller of v2.3.0 returns at once; earlier ones do not read managedBy.
	of:         "managed-by",
	policyCase: policyCase{name: "another manager", job: `managedBy: kueue.x-k8s.io/multikueue`},
	got:        plainly(counts("node")), want: all([]int{1, 1, 1}),
	says: &[4]string{"also creates its objects", "also creates its objects",
		"also creates its objects", "ignores it"},
}, {
	// mergeRuntimePatches of v2.2.1 skips a job that the runtime lacks, v2.3.0 merges it in as the
	// first one.
	of: "merge-root",
	policyCase: policyCase{name: "a patch of an unknown job",
		job: `runtimePatches: [{manager: x.io/y, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: other}]}}}}]`},
	got:  jobNames,
	want: [4]any{[]string{"node"}, []string{"node"}, []string{"node"}, []string{"other", "node"}},
	says: &[4]string{"", "", "Trainer 2.2 rejects the TrainJob", "the merge adds one"},
}, {
	// newRuntimeInfo of v2.0.1 and v2.1.0 reads no patches.
	of: "overrides",
	policyCase: policyCase{
		name: "patches",
		job:  `runtimePatches: [{manager: x.io/y, trainingRuntimeSpec: {template: {metadata: {labels: {a: b}}}}}]`},
	got:  plainly(func(out *render.Output) any { return out.JobSet.Labels }),
	want: [4]any{nil, nil, object{"a": "b"}, object{"a": "b"}},
}, {
	// labelAndAnnotateObject of JobSet v0.8.2 and v0.10.1.
	of: "group-labels",
	policyCase: policyCase{
		name: "marks of a group", runtime: `template: {spec: {replicatedJobs: []}}`},
	got: marks, want: [4]any{"", groupKeys, groupKeys, groupKeys},
}, {
	// The JobSet of v0.8.2 has no groupName, whatever the runtime says.
	of: "group-labels",
	policyCase: policyCase{
		name: "a group",
		jobs: replicatedJob("node", "groupName: g", trainerLabel, "", nodeContainer) +
			replicatedJob("other", "", "", "", nodeContainer)},
	got: groups,
	want: [4]any{[]string{"", "", ""}, []string{"g", "default", "g"}, []string{"g", "default", "g"},
		[]string{"g", "default", "g"}},
}, {
	// pod_mutating_webhook.go of JobSet v0.11.0 labels every Pod; v0.10.1 labels the Pods that it
	// places.
	of: "priority-label",
	policyCase: policyCase{
		name: "a label of the priority",
		jobs: replicatedJob("node", "", `metadata: {labels: {x: y}}`, "", nodeContainer)},
	got: priority, want: [4]any{false, false, true, true},
}, {
	of: "priority-label",
	policyCase: policyCase{name: "a label of an exclusive Pod's priority",
		jobs: replicatedJob(
			"node", "", `metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}`, "", nodeContainer)},
	got: priority, want: all(true),
}, {
	// jobset_controller.go of JobSet v0.11.0 reconcileVolumeClaimPolicies and addVolumes.
	of: "claims",
	policyCase: policyCase{
		name:    "claims",
		runtime: `template: {spec: {volumeClaimPolicies: [{templates: [{metadata: {name: data}, spec: {}}]}]}}`,
		jobs: replicatedJob("node", "", trainerLabel, "",
			`containers: [{name: node, image: i, volumeMounts: [{name: data, mountPath: /d}]}]`),
	},
	got: claims, want: [4]any{[]string{}, []string{}, []string{"data-tj", "data"},
		[]string{"data-tj", "data"}},
}}

// replaced are the lists of which resourcesPerNode {requests: {memory: 1Gi}} leaves nothing else.
var replaced = []any{nil, object{"memory": "1Gi"}}

func all(want any) [4]any { return [4]any{want, want, want, want} }

// TestRelease_Cases renders each case with each release. It also renders with the latest one, in
// which only the case's switch has the release's position.
func TestRelease_Cases(t *testing.T) {
	told := map[string]bool{
		// Other packages read these: the definitions and rules, the stock runtimes, and the
		// snapshot of a runtime.
		"definitions": true, "jobset-definition": true, "stock": true, "runtime-read": true,
	}
	for _, known := range release.Compared() {
		for _, rule := range known.Rules {
			told[string(rule)] = true // render/admission's
		}
	}
	for _, s := range releaseCases {
		told[s.of] = true
		t.Run(s.of+"/"+s.name, func(t *testing.T) {
			for i, known := range release.Compared() {
				out := s.render(t, &known)
				if got, want := mustJSON(t, s.got(out, &known)),
					mustJSON(t, s.want[i]); got != want {
					t.Errorf("%s: got %s, want %s", known.Name, got, want)
				}
				s.checkFindings(t, known.Name, out, i)
			}
		})
	}
	for _, s := range release.Switches() {
		isRead := slices.ContainsFunc(s.Changes, func(c release.Change) bool {
			return release.MarkOf(c.In, s.ID) == ""
		})
		if !told[s.ID] && isRead {
			t.Errorf("no story shows the switch %s", s.ID)
		}
	}
}

func (s releaseCase) render(t *testing.T, r *release.Release) *render.Output {
	t.Helper()
	in, opts := s.input(t), s.opts
	in.Earlier, opts.Release = s.earlier, r
	if s.overrides != nil {
		in.Layers = s.overrides
	}
	out, _ := render.JobSet(in, opts)
	return out
}

func (s releaseCase) checkFindings(t *testing.T, name string, out *render.Output, i int) {
	t.Helper()
	if s.says == nil {
		return
	}
	var found []string
	for _, f := range out.Findings {
		if f.Severity != finding.Note && f.Code != codes.Shadowed &&
			(f.Code != codes.LeftOut || s.of == "status-gate") {
			found = append(
				found, fmt.Sprintf("%s %s %s: %s", f.Severity, f.Code, f.Path, f.Message))
		}
	}
	if text := strings.Join(found, "\n"); s.says[i] == "" && text != "" ||
		!strings.Contains(text, s.says[i]) {
		t.Errorf("%s: got\n%s\nwant %q", name, text, s.says[i])
	}
}

// TestFictionalReleases adds releases: copies of the latest in which one switch has the position of
// an earlier release. Each renders the case of its switch as that release does, and nothing else
// decides about it.
func TestFictionalReleases(t *testing.T) {
	turns := 0
	for _, s := range releaseCases {
		for i, known := range release.Compared() {
			for _, sw := range release.Switches() {
				fictional := release.Latest()
				fictional.Name, fictional.Version = "9.9", "9.9.9"
				if sw.ID != s.of || !sw.Set(fictional, &known) {
					continue
				}
				turns++
				if got, want := mustJSON(t, s.got(s.render(t, fictional), fictional)),
					mustJSON(t, s.want[i]); got != want {
					t.Errorf("%s/%s: the latest with %s of %s: got %s, want %s", s.of, s.name,
						sw.ID, known.Name, got, want)
				}
			}
		}
	}
	if turns < len(releaseCases) {
		t.Errorf("%d stories have %d turns", len(releaseCases), turns)
	}
}

// TestOverridesOfReleases renders one TrainJob with the overrides of 2.0 and of 2.1. Both merge
// into the Pod's spec by the tags of Kubernetes (mergePodSpecOverrides of v2.0.1,
// mergePodTemplateOverrides of v2.1.0).
func TestOverridesOfReleases(t *testing.T) {
	account := "sa"
	env := []legacy.ContainerOverride{{Name: "side", Env: []corev1.EnvVar{{Name: "B", Value: "2"}}}}
	tolerations := []corev1.Toleration{{Key: "mine", Operator: corev1.TolerationOpExists}}
	targets := []legacy.TargetJob{{Name: "node"}, {Name: "gone"}}
	testCase := policyCase{
		jobs: replicatedJob("node", "", trainerLabel, "",
			`tolerations: [{key: theirs}], containers: [{name: node, image: i}, {name: side, image: i, env: [{name: A, value: "1"}]}]`)}
	for name, overrides := range map[string]*legacy.Overrides{
		"2.0": {PodSpecOverrides: []legacy.PodSpecOverride{
			{TargetJobs: targets, ServiceAccountName: &account, Tolerations: tolerations,
				Containers: env}}},
		"2.1": {PodTemplateOverrides: []legacy.PodTemplateOverride{
			{TargetJobs: targets,
				Spec: &legacy.PodTemplateSpecOverride{
					ServiceAccountName: &account, Tolerations: tolerations, Containers: env}}}},
	} {
		r, err := release.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		in := testCase.input(t)
		in.Layers = overrides
		out, err := render.JobSet(in, render.Options{Release: r})
		if want := "Trainer " + name + " rejects the TrainJob"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: an unknown job: got %v, want %q", name, err, want)
		}
		if got := mustJSON(t, jobNames(out, r)); got != `["node"]` {
			t.Errorf("%s: the jobs are %s", name, got)
		}
		pod := rjob(out, "node").Template.Spec.Template.Spec
		if pod.ServiceAccountName != "sa" || len(pod.Tolerations) != 1 ||
			pod.Tolerations[0].Key != "mine" || len(pod.Containers[1].Env) != 2 ||
			pod.Containers[1].Env[0].Name != "B" {
			t.Errorf("%s: got %s", name, mustJSON(t, pod))
		}
		sources := ""
		for path, claims := range out.History.All() {
			if strings.HasSuffix(path.String(), ".serviceAccountName") {
				sources = fmt.Sprint(claims[len(claims)-1].Owner, " ", claims[len(claims)-1].At)
			}
		}
		want := map[string]string{"2.0": "override/0 .spec.podSpecOverrides[0].serviceAccountName",
			"2.1": "override/0 .spec.podTemplateOverrides[0].spec.serviceAccountName"}[name]
		if sources != want {
			t.Errorf("%s: serviceAccountName comes from %s, want %s", name, sources, want)
		}
		further := testCase.input(t)
		further.Patches = []trainer.RuntimePatch{{Manager: "x.io/y"}}
		if out, err := render.JobSet(further, render.Options{Release: r}); err == nil ||
			out.JobSet != nil ||
			!strings.Contains(err.Error(), "reads spec."+string(r.Overrides)+" instead") {
			t.Errorf("%s: a further patch: got %v", name, err)
		}
	}
}

// TestTurnsEndInTheOtherRelease turns all switches of a release into another's, one at a time. The
// cases then have the JobSets and companions of the other release. Each one that differs has a
// switch whose turn changed it.
func TestTurnsEndInTheOtherRelease(t *testing.T) {
	objects := func(s releaseCase, r *release.Release) string {
		out := s.render(t, r)
		return mustJSON(t, []any{out.JobSet, out.Companions, s.got(out, r)})
	}
	known := release.Compared()
	for _, s := range releaseCases {
		for i, from := range known {
			to := known[(i+1)%len(known)] // also from the last one back to the first
			now, was, causes := from, objects(s, &from), 0
			moved := was != objects(s, &to)
			for _, sw := range release.Switches() {
				if !sw.Set(&now, &to) {
					continue
				}
				if is := objects(s, &now); is != was {
					was = is
					causes++
				}
			}
			if was != objects(s, &to) {
				t.Errorf("%s/%s: the turns from %s to %s end elsewhere", s.of, s.name, from.Name,
					to.Name)
			}
			if moved && causes == 0 {
				t.Errorf("%s/%s: from %s to %s no switch is the cause", s.of, s.name, from.Name,
					to.Name)
			}
		}
	}
}
