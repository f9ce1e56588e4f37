package upstream_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/render"
)

// breaks are changes that aim at one rule each. They say false where they find nothing to change.
// Chance alone would seldom meet the rules that hang on the runtime's policy.
var breaks = []struct {
	aim    string
	change func(m mutator, job, runtime upstream.Object) bool
}{
	{"unknown field", func(m mutator, job, _ upstream.Object) bool {
		return set(job, "x", "spec", "wrong")
	}},
	{"wrong type", func(m mutator, job, _ upstream.Object) bool {
		return set(job, "2", "spec", "trainer", "numNodes")
	}},
	{"required", func(m mutator, job, _ upstream.Object) bool {
		return set(job, nil, "spec", "runtimeRef")
	}},
	{"bad value", func(m mutator, job, _ upstream.Object) bool {
		return set(job, pick(m, int64(0), math.MaxInt64/int64(time.Second)+1), "spec",
			"activeDeadlineSeconds")
	}},
	{"rule", func(m mutator, job, _ upstream.Object) bool {
		return set(job, "elsewhere.example.com/x", "spec", "managedBy")
	}},
	{"name", func(m mutator, job, _ upstream.Object) bool {
		return set(job, pick(m, "Upper", "a.b", "1a", strings.Repeat("n", 64)), "metadata", "name")
	}},
	{"label", func(m mutator, job, _ upstream.Object) bool {
		return set(job, "a b", "metadata", "labels", "x")
	}},
	{"manager", func(m mutator, job, _ upstream.Object) bool {
		return setManager(
			m, job, pick[any](m, "kueue", "/x", "A.example.com/x", "a.example.com/", "",
				strings.Repeat("m", 254)+"/x"))
	}},
	{"manager twice", func(m mutator, job, _ upstream.Object) bool {
		patches := list(job, "spec", "runtimePatches")
		return len(patches) > 0 && set(job, append(slices.Clone(patches), patches[0]), "spec",
			"runtimePatches")
	}},
	{"item twice", func(m mutator, job, runtime upstream.Object) bool {
		return patchPod(m, job, runtime,
			upstream.Object{"volumes": []any{emptyDir("v"), emptyDir("v")}})
	}},
	{"mounts at one path", func(m mutator, job, runtime upstream.Object) bool {
		return patchContainer(m, job, runtime, upstream.Object{"volumeMounts": []any{
			upstream.Object{"name": "a", "mountPath": "/x"},
			upstream.Object{"name": pick(m, "a", "b"), "mountPath": "/x"},
		}})
	}},
	{"no key", func(m mutator, job, runtime upstream.Object) bool {
		if m.IntN(2) == 0 {
			eachPod(runtime, func(pod upstream.Object) {
				pod["imagePullSecrets"] = []any{upstream.Object{"name": "pull"}}
			})
		}
		return patchPod(m, job, runtime,
			upstream.Object{"imagePullSecrets": []any{upstream.Object{}}})
	}},
	{"directive", func(m mutator, job, runtime upstream.Object) bool {
		if m.IntN(2) == 0 {
			eachPod(runtime, func(pod upstream.Object) {
				pod["nodeSelector"] = upstream.Object{"pool": "a"}
			})
		}
		directive := pick(m, "$patch", "$retainKeys", "$setElementOrder/x",
			"$deleteFromPrimitiveList", "$deleteFromPrimitiveList/pool")
		return patchPod(m, job, runtime,
			upstream.Object{
				"nodeSelector": upstream.Object{
					directive: pick(m, "delete", "replace", "merge", "x")}})
	}},
	{"unknown runtime", func(m mutator, job, _ upstream.Object) bool {
		field := pick(m, "name", "kind", "apiGroup")
		return set(job,
			pick(m, "Other", "ClusterTrainingRuntime", "TrainingRuntime", "other.example.com", ""),
			"spec", "runtimeRef", field)
	}},
	{"no runtime's kind", func(_ mutator, job, _ upstream.Object) bool {
		return set(job, upstream.Object{"name": "torch", "kind": "", "apiGroup": ""}, "spec",
			"runtimeRef")
	}},
	{"env on main", func(m mutator, job, runtime upstream.Object) bool {
		container := upstream.Object{
			"name": pick(m, "node", "dataset-initializer", "model-initializer", "other"),
			"env":  []any{variable("A")}}
		return patchPod(m, job, runtime,
			upstream.Object{
				pick(m, "containers", "containers", "initContainers"): []any{container}})
	}},
	{"env injection", func(m mutator, _, runtime upstream.Object) bool {
		target := upstream.Object{"jobName": pick(m, "node", "ghost"),
			"containerNames": []any{pick(m, "ghost", "sidecar", "node")}}
		return set(runtime,
			upstream.Object{
				"torch": upstream.Object{
					"envInjection": upstream.Object{"targets": []any{target}}}}, "spec", "mlPolicy")
	}},
	{"reserved variable", func(m mutator, job, runtime upstream.Object) bool {
		policy := pick(m, slices.Sorted(maps.Keys(policyEnv))...)
		return set(runtime, upstream.Object{policy: upstream.Object{}}, "spec", "mlPolicy") &&
			set(job, []any{variable(pick(m, policyEnv[policy]...))}, "spec", "trainer", "env")
	}},
	{"a large hostfile", func(m mutator, job, runtime upstream.Object) bool {
		return set(runtime, upstream.Object{"mpi": upstream.Object{}}, "spec", "mlPolicy") &&
			set(job, int64(100_000), "spec", "trainer", "numNodes")
	}},
	{"flux's image", func(m mutator, job, runtime upstream.Object) bool {
		from := upstream.Object{"configMapKeyRef": upstream.Object{"name": "a", "key": "b"}}
		set(runtime, upstream.Object{"flux": upstream.Object{}}, "spec", "mlPolicy")
		set(job, int64(1), "spec", "trainer", "numNodes")
		return set(job, []any{upstream.Object{"name": "FLUX_VIEW_IMAGE", "valueFrom": from}},
			"spec", "trainer", "env")
	}},
	{"torchtune", breakTorchTune},
	{"torchtune", breakTorchTune}, // the widest of the rules
	{"two values", func(m mutator, job, runtime upstream.Object) bool {
		both := variable("A")
		both["valueFrom"] = upstream.Object{
			"fieldRef": upstream.Object{"fieldPath": "metadata.name"}}
		return patchContainer(m, job, runtime, upstream.Object{"env": []any{both}})
	}},
	{"initializer", breakInitializer},
	{"initializer", breakInitializer},
	{"no launcher", func(m mutator, job, runtime upstream.Object) bool {
		set(runtime, upstream.Object{"mpi": upstream.Object{"runLauncherAsNode": m.IntN(4) > 0}},
			"spec", "mlPolicy")
		return set(job, int64(1+m.IntN(3)), "spec", "trainer", "numNodes")
	}},
	{"flux", func(m mutator, job, runtime upstream.Object) bool {
		set(runtime, upstream.Object{"flux": upstream.Object{}}, "spec", "mlPolicy")
		if m.IntN(2) == 0 {
			return set(job, int64(m.IntN(3)-1), "spec", "trainer", "numProcPerNode")
		}
		installer := upstream.Object{"name": "flux-installer", "image": "x"}
		if m.IntN(2) == 0 {
			eachPod(runtime, func(pod upstream.Object) { pod["initContainers"] = []any{installer} })
			return true
		}
		return patchPod(m, job, runtime,
			upstream.Object{"initContainers": []any{upstream.Object{"name": "flux-installer"}}})
	}},
	{"a runtime's flux processes", func(m mutator, _, runtime upstream.Object) bool {
		return set(runtime,
			upstream.Object{"flux": upstream.Object{"numProcPerNode": int64(m.IntN(2))}}, "spec",
			"mlPolicy")
	}},
	{"two policies", func(m mutator, _, runtime upstream.Object) bool {
		return set(runtime,
			upstream.Object{"torch": upstream.Object{}, pick(m, "mpi", "jax"): upstream.Object{}},
			"spec", "mlPolicy")
	}},
	{"order", func(m mutator, _, runtime upstream.Object) bool {
		eachJob(runtime, func(job upstream.Object) {
			job["dependsOn"] = []any{
				upstream.Object{"name": "x", "status": pick(m, "Complete", "Ready", "Other")}}
		})
		return set(runtime, pick(m, "InOrder", "AnyOrder"), "spec", "template", "spec",
			"startupPolicy", "startupPolicyOrder")
	}},
	{"claims", func(m mutator, _, runtime upstream.Object) bool {
		claim := upstream.Object{"metadata": upstream.Object{"name": pick(m, "a", "b")},
			"spec": upstream.Object{}}
		if m.IntN(2) == 0 {
			set(claim, "elsewhere", "metadata", "namespace")
		}
		return set(runtime, []any{upstream.Object{"templates": []any{claim}}}, "spec", "template",
			"spec", "volumeClaimPolicies")
	}},
	{"managedBy of a runtime", func(m mutator, _, runtime upstream.Object) bool {
		return set(runtime, pick(m, "a.example.com/x", "b.example.com/x"), "spec", "template",
			"spec", "managedBy")
	}},
	{"storage", func(m mutator, job, _ upstream.Object) bool {
		return set(job, pick(m, "", "x", "s3://b"), "spec", "initializer",
			pick(m, "dataset", "model"), "storageUri")
	}},
	{"no queue", func(m mutator, job, runtime upstream.Object) bool {
		const queue = "scheduling.volcano.sh/queue-name"
		set(runtime, upstream.Object{"volcano": upstream.Object{}}, "spec", "podGroupPolicy")
		if m.IntN(2) == 0 {
			return set(runtime, pick(m, "", "q"), "spec", "template", "metadata", "annotations",
				queue)
		}
		return addPatch(
			m, job, upstream.Object{
				"metadata": upstream.Object{
					"annotations": upstream.Object{queue: pick(m, "", "q")}}})
	}},
	{"queue of Kueue", func(m mutator, job, _ upstream.Object) bool {
		return set(job, pick[any](m, "a", "b", nil), "metadata", "labels", render.QueueLabel)
	}},
	{"name of a runtime", func(m mutator, _, runtime upstream.Object) bool {
		return set(runtime, pick(m, "Upper", "a/b", ""), "metadata", "name")
	}},
	{"runtime's replicas", func(m mutator, _, runtime upstream.Object) bool {
		return eachJob(runtime, func(job upstream.Object) { job["replicas"] = int64(m.IntN(3)) })
	}},
	{"runtime's container", func(m mutator, _, runtime upstream.Object) bool {
		return eachJob(runtime, func(job upstream.Object) {
			set(job, pick(m, "trainer", "dataset-initializer", "other"), "template", "metadata",
				"labels", "trainer.kubeflow.org/trainjob-ancestor-step")
		})
	}},
	{"unchecked runtime", func(m mutator, _, runtime upstream.Object) bool {
		return set(runtime, "disabled", "metadata", "labels",
			"trainer.kubeflow.org/webhook-validation")
	}},
	{"deprecated runtime", func(m mutator, _, runtime upstream.Object) bool {
		return set(runtime, "deprecated", "metadata", "labels", "trainer.kubeflow.org/support")
	}},
	{"immutable", func(m mutator, job, _ upstream.Object) bool {
		return set(job, "registry.example.com/other", "spec", "trainer", "image")
	}},
	{"patches", func(m mutator, job, runtime upstream.Object) bool {
		return patchPod(m, job, runtime,
			upstream.Object{"nodeSelector": upstream.Object{"pool": pick(m, "a", "b")}})
	}},
	{"no patches", func(m mutator, job, _ upstream.Object) bool {
		return set(job, nil, "spec", "runtimePatches")
	}},
	{"time", func(m mutator, job, _ upstream.Object) bool {
		for _, patch := range list(job, "spec", "runtimePatches") {
			set(patch, pick(m, "2024-01-02T03:04:05Z", "yesterday"), "time")
		}
		return true
	}},
}

// policyEnv are variables that mean something to the policies, and one that does not.
var policyEnv = map[string][]string{
	"torch": {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR",
		"PET_MASTER_PORT", "MASTER_ADDR"},
	"xgboost": {"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER",
		"DMLC_ROLE"},
	"mpi": {"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args",
		"OMPI_MCA_orte_keep_fqdn_hostnames",
		"OMPI_MCA_orte_set_default_slots", "OMPI_MCA_btl"},
	"jax":  {"JAX_PROCESS_ID"},
	"flux": {"FLUX_VIEW_IMAGE"},
}

// breakTorchTune runs torchtune: the runtime's name tells the model.
func breakTorchTune(m mutator, job, runtime upstream.Object) bool {
	name := "torchtune-" + pick(m, "llama3.2-1b", "llama3.2-3b", "llama3.3-70b", "qwen2.5-1.5b",
		"qwen2.5-1.5b", "llama3.1-8b", "llama3.2", "gemma-2-2b")
	set(runtime, name, "metadata", "name")
	set(runtime, upstream.Object{"torch": upstream.Object{}}, "spec", "mlPolicy")
	set(job, name, "spec", "runtimeRef", "name")
	set(job, []any{"tune", "run"}, "spec", "trainer", "command")
	set(job, pick[any](m, nil, int64(0), int64(1), int64(1), int64(2)), "spec", "trainer",
		"numNodes")
	if m.IntN(2) == 0 {
		set(job, pick[any](m, int64(1), int64(2), int64(2), "auto"), "spec", "trainer",
			"numProcPerNode")
	}
	if m.IntN(3) == 0 {
		set(job, pick(m, "1", "2"), "spec", "trainer", "resourcesPerNode",
			pick(m, "limits", "requests"), "nvidia.com/gpu")
	}
	args := []any{}
	if m.IntN(3) > 0 {
		args = append(args, "model.lora_attn_modules=[q_proj]", "model.quantize_base=True")
	}
	for range m.IntN(4) {
		args = append(
			args, pick[any](m, "model.lora_attn_modules=[q_proj]", "model.quantize_base=True",
				"model.quantize_base=true", "model.use_dora=True",
				"model.quantize_base=True", "model.quantize_base=TRUE",
				"model.lora_attn_modules=[q_proj,v_proj]",
				"output_dir=/x", "tokenizer.path=/x", "checkpointer.checkpoint_dir=/x",
				"tokenizer.merges_file=/x", "batch_size=4"))
	}
	return set(job, args, "spec", "trainer", "args")
}

// breakInitializer asks for an initializer that the runtime may have no place for.
func breakInitializer(m mutator, job, runtime upstream.Object) bool {
	section := pick(m, "dataset", "model")
	name, asked := section+"-initializer",
		set(job, "hf://a/b", "spec", "initializer", section, "storageUri")
	for i, j := range list(runtime, "spec", "template", "spec", "replicatedJobs") {
		if i > 0 {
			break
		}
		if m.IntN(4) > 0 {
			set(j, name, "name")
		}
		for k, container := range list(j, "template", "spec", "template", "spec", "containers") {
			if k == 0 && m.IntN(4) > 0 {
				set(j, name, "template", "metadata", "labels",
					"trainer.kubeflow.org/trainjob-ancestor-step")
				set(container, name, "name")
				set(container,
					[]any{upstream.Object{"name": pick(m, "initializer", "other"),
						"mountPath": "/x"}}, "volumeMounts")
			} else if k == 0 { // and without its label: then the runtime's webhook has no say
				set(j, nil, "template", "metadata", "labels")
			}
		}
	}
	return asked
}
