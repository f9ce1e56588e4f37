package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/release"
	"github.com/trainweld/trainweld/render/admission"
)

// TestReleases_Rules wants the verdict of each release on a case of each rule.
func TestReleases_Rules(t *testing.T) {
	const accepted = ""
	policy := func(text string) string { return strings.Replace(torchRuntime, "torch: {}", text, 1) }
	named := func(name, runtime string) string { return strings.Replace(runtime, "{name: torch}", "{name: "+name+"}", 1) }
	trainerOf := func(fields string) string { return "\ttrainer: {" + fields + "}\n" }
	initializer := func(mount string) string {
		return torchRuntime + `
			- name: dataset-initializer
				template:
					metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
					spec: {template: {spec: {containers: [{name: dataset-initializer, image: a` + mount + `}], volumes: [{name: other, emptyDir: {}}]}}}
`
	}
	const launchers = `
			- name: launcher
				replicas: 2
				template: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}
`
	unnamed := strings.Replace(torchRuntime, "name: node, image", "name: work, image", 1)
	tune := "command: [tune, run], numNodes: 1"
	gpus := ", resourcesPerNode: {limits: {nvidia.com/gpu: 2}}"
	for _, c := range []struct {
		rule          release.Rule
		name, runtime string
		job           string
		want          [4]string // the code of the first error in each release
		reason        string
	}{
		{rule: release.NameOnCreate, name: "1st", want: [4]string{"TW502", "TW502", "TW502", "TW502"}, reason: "a webhook, and then a rule of the definition"},
		{name: "a.b", want: [4]string{"TW502", "TW502", "TW502", "TW502"}, reason: "a subdomain is no label"},
		{rule: release.InitializerMount, runtime: initializer(""), job: "\tinitializer: {dataset: {}}\n", want: [4]string{accepted, accepted, accepted, "TW512"}, reason: "nothing looks at the volume before"},
		{runtime: initializer(", volumeMounts: [{name: other, mountPath: /x}]"), job: "\tinitializer: {dataset: {}}\n", want: [4]string{accepted, accepted, accepted, "TW512"}, reason: "the name counts"},
		{rule: release.TorchAlways, job: trainerOf("env: [{name: PET_NNODES, value: '1'}]"), want: [4]string{accepted, accepted, "TW513", "TW513"}, reason: "the webhook returned early"},
		{job: trainerOf("numProcPerNode: 1, env: [{name: PET_NNODES, value: '1'}]"), want: [4]string{"TW513", "TW513", "TW513", "TW513"}, reason: "with a number it went on"},
		{rule: release.TorchProcesses, job: trainerOf("numProcPerNode: many"), want: [4]string{"TW501", "TW501", "TW103", "TW103"}, reason: "three words are known"},
		{job: trainerOf("numProcPerNode: auto"), want: [4]string{accepted, accepted, "TW103", "TW103"}, reason: "one of them"},
		{job: trainerOf("numProcPerNode: gpu"), want: [4]string{accepted, accepted, "TW103", "TW103"}, reason: "one of them"},
		{job: trainerOf("numProcPerNode: 1.5"), want: [4]string{"TW103", "TW103", "TW103", "TW103"}, reason: "an integer or a string"},
		{rule: release.TorchTuneNodes, runtime: named("tune-llama3.2-1b", torchRuntime), job: trainerOf("numProcPerNode: 1, command: [tune, run]"), want: [4]string{"TW514", "TW514", accepted, accepted}, reason: "the webhook crashed"},
		{runtime: named("tune-llama3.2-1b", torchRuntime), job: trainerOf("command: [tune, run]"), reason: "it did not without numProcPerNode"},
		{runtime: named("tune-llama3.2-3b", torchRuntime), job: trainerOf("numProcPerNode: 1, " + tune), want: [4]string{"TW514", accepted, accepted, accepted}, reason: "2.0 has another model"},
		{runtime: named("tune-llama3.2-7b", torchRuntime), job: trainerOf("numProcPerNode: 1, " + tune), want: [4]string{accepted, "TW514", "TW514", "TW514"}, reason: "this one"},
		{runtime: named("tune-llama3.2-7b", torchRuntime), job: trainerOf(tune), want: [4]string{accepted, accepted, "TW514", "TW514"}, reason: "the webhook returned early"},
		{rule: release.TorchTuneQLoRA, runtime: named("tune-qwen2.5-1.5b", torchRuntime), job: trainerOf("numProcPerNode: 1, " + tune + ", args: [model.quantize_base=True]"), want: [4]string{"TW514", "TW514", "TW514", "TW514"}, reason: "2.0 lacks the model, and the others the recipe"},
		{runtime: named("tune-llama3.2-1b", torchRuntime), job: trainerOf("numProcPerNode: 2, " + tune + gpus + ", args: [model.quantize_base=True]"), want: [4]string{accepted, "TW514", "TW514", "TW514"}, reason: "one device only"},
		{runtime: named("tune-llama3.2-1b", torchRuntime), job: trainerOf("numProcPerNode: 2, " + tune + gpus + ", args: [model.quantize_base=False]"), want: [4]string{accepted, "TW514", "TW514", accepted}, reason: "values did not count"},
		{runtime: named("tune-llama3.2-1b", torchRuntime), job: trainerOf("numProcPerNode: 2, " + tune + gpus + ", args: [model.quantize_base=True, model.use_dora=False]"), want: [4]string{accepted, accepted, accepted, "TW514"}, reason: "nor those of DoRA"},
		{rule: release.TorchTuneOneNode, runtime: named("tune-llama3.3-70b", torchRuntime), job: trainerOf("numProcPerNode: 2, command: [tune, run], numNodes: 2, args: [model.lora_attn_modules=a]"), want: [4]string{accepted, accepted, accepted, "TW514"}, reason: "it became a full fine-tuning"},
		{rule: release.TorchTuneArgs, runtime: named("tune-llama3.2-1b", torchRuntime), job: trainerOf("numProcPerNode: 1, " + tune + ", args: [output_dir=/x]"), want: [4]string{accepted, accepted, accepted, "TW514"}, reason: "the runtime's argument came later"},
		{rule: release.MPIProcesses, runtime: policy("mpi: {}"), job: trainerOf("numProcPerNode: auto"), want: [4]string{"TW103", "TW103", "TW103", "TW103"}, reason: "the webhook, and then the definition"},
		{rule: release.MPIEnv, runtime: policy("mpi: {}"), job: trainerOf("env: [{name: OMPI_MCA_plm_rsh_args, value: a}]"), want: [4]string{accepted, accepted, accepted, "TW513"}, reason: "the variable won before"},
		{rule: release.FluxProcesses, runtime: policy("flux: {numProcPerNode: 1}"), job: trainerOf("numProcPerNode: 0, numNodes: 1"), want: [4]string{"TW101", "TW101", accepted, "TW516"}, reason: "the runtime's number alone counted"},
		{rule: release.RuntimeContainers, runtime: unnamed, want: [4]string{accepted, "TW511", "TW511", "TW511"}, reason: "2.0 wrote nowhere"},
		{rule: release.RuntimeLauncher, runtime: torchRuntime + launchers, want: [4]string{"TW510", accepted, accepted, accepted}, reason: "a launcher without a label"},
		{rule: release.RuntimeUnchecked, runtime: strings.Replace(unnamed, "{name: torch}", "{name: torch, labels: {trainer.kubeflow.org/webhook-validation: disabled}}", 1), want: [4]string{accepted, "TW511", "TW511", accepted}, reason: "the label is 2.3's"},
		{rule: release.PatchedJobsExist, job: strings.Replace(patchYAML("{}"), "name: node", "name: ghost", 1), want: [4]string{"TW101", "TW101", "TW202", "TW202"}, reason: "an error of all, since the job never starts"},

		// A TrainJob with each API on each release, as kubectl sends it.
		{job: "\tpodSpecOverrides: [{targetJobs: [{name: node}], serviceAccountName: a}]\n", want: [4]string{accepted, "TW101", "TW101", "TW101"}, reason: "2.0"},
		{job: "\tpodTemplateOverrides: [{targetJobs: [{name: node}], spec: {serviceAccountName: a}}]\n", want: [4]string{"TW101", accepted, "TW101", "TW101"}, reason: "2.1"},
		{job: "\tlabels: {a: b}\n\tannotations: {a: b}\n", want: [4]string{accepted, accepted, "TW101", "TW101"}, reason: "2.0 and 2.1"},
		{job: patchYAML("{spec: {serviceAccountName: a}}"), want: [4]string{"TW101", "TW101", accepted, accepted}, reason: "2.2 and later"},
		{job: patchYAML("{spec: {terminationGracePeriodSeconds: 1}}"), want: [4]string{"TW101", "TW101", "TW101", accepted}, reason: "2.3"},
		{job: "\tactiveDeadlineSeconds: 1\n", want: [4]string{"TW101", "TW101", accepted, accepted}, reason: "2.2 and later"},
		{runtime: policy("torch: {numProcPerNode: 2}"), want: [4]string{accepted, accepted, "TW101", "TW101"}, reason: "2.0 and 2.1"},
		{runtime: policy("jax: {}"), want: [4]string{"TW101", "TW101", accepted, accepted}, reason: "2.2 and later"},
		{runtime: policy("torch: {envInjection: {targets: [{jobName: node, containerNames: [logs]}]}}"), want: [4]string{"TW101", "TW101", "TW101", accepted}, reason: "2.3"},
		{runtime: strings.Replace(torchRuntime, "\ttemplate:\n", "\tpodGroupPolicy: {volcano: {}}\n\ttemplate:\n", 1), want: [4]string{"TW101", accepted, accepted, accepted}, reason: "2.1 and later"},
		{job: "\tinitializer: {dataset: {storageUri: data}}\n", runtime: strings.ReplaceAll(initializer(", volumeMounts: [{name: initializer, mountPath: /x}]"), "name: other", "name: initializer"), want: [4]string{accepted, accepted, accepted, "TW502"}, reason: "the scheme is a rule of 2.3"},
	} {
		name := string(c.rule)
		if name == "" {
			name = c.reason
		}
		t.Run(name, func(t *testing.T) {
			text := c.runtime
			if text == "" {
				text = torchRuntime
			}
			for i, r := range release.Known() {
				runtime, found := admission.AdmitRuntime(t.Context(), &r, object(t, text), "default")
				job := object(t, jobYAML(c.job))
				job["spec"].(map[string]any)["runtimeRef"] = map[string]any{"name": runtime.ID().Name}
				if c.name != "" {
					job["metadata"].(map[string]any)["name"] = c.name
				}
				found = append(found, admission.Check(t.Context(), admission.Input{Release: &r, TrainJob: job, Runtime: runtime})...)
				got := accepted
				if at := slices.IndexFunc(found, func(f finding.Finding) bool { return f.Severity == finding.Error }); at >= 0 {
					got = string(found[at].Code)
				}
				if got != c.want[i] {
					t.Errorf("%s: %q, want %q: %s\n%v", r.Name, got, c.want[i], c.reason, found)
				}
			}
		})
	}
}
