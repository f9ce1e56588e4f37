package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// TestReleases_Rules wants the verdict of each release on a case of each rule.
func TestReleases_Rules(t *testing.T) {
	const accepted = ""
	policy := func(text string) string {
		return strings.Replace(torchRuntime, "torch: {}", text, 1)
	}
	named := func(name, runtime string) string {
		return strings.Replace(runtime, "{name: torch}", "{name: "+name+"}", 1)
	}
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
		{rule: release.NameOnCreate, name: "1st",
			want:   [4]string{"TW502", "TW502", "TW502", "TW502"},
			reason: "a webhook, and then a rule of the definition"},
		{name: "a.b", want: [4]string{"TW502", "TW502", "TW502", "TW502"},
			reason: "a subdomain is not a label"},
		{rule: release.InitializerMount, runtime: initializer(""),
			job:    "\tinitializer: {dataset: {}}\n",
			want:   [4]string{accepted, accepted, accepted, "TW512"},
			reason: "nothing looks at the volume before"},
		{runtime: initializer(", volumeMounts: [{name: other, mountPath: /x}]"),
			job:  "\tinitializer: {dataset: {}}\n",
			want: [4]string{accepted, accepted, accepted, "TW512"}, reason: "the name counts"},
		{rule: release.TorchAlways, job: trainerOf("env: [{name: PET_NNODES, value: '1'}]"),
			want:   [4]string{accepted, accepted, "TW513", "TW513"},
			reason: "the webhook returned early"},
		{job: trainerOf("numProcPerNode: 1, env: [{name: PET_NNODES, value: '1'}]"),
			want:   [4]string{"TW513", "TW513", "TW513", "TW513"},
			reason: "with a number it went on"},
		{rule: release.TorchProcesses, job: trainerOf("numProcPerNode: many"),
			want: [4]string{"TW501", "TW501", "TW103", "TW103"}, reason: "three words are known"},
		{job: trainerOf("numProcPerNode: auto"),
			want: [4]string{accepted, accepted, "TW103", "TW103"}, reason: "one of them"},
		{job: trainerOf("numProcPerNode: gpu"),
			want: [4]string{accepted, accepted, "TW103", "TW103"}, reason: "one of them"},
		{job: trainerOf("numProcPerNode: 1.5"), want: [4]string{"TW103", "TW103", "TW103", "TW103"},
			reason: "an integer or a string"},
		{rule: release.TorchTuneNodes, runtime: named("tune-llama3.2-1b", torchRuntime),
			job:  trainerOf("numProcPerNode: 1, command: [tune, run]"),
			want: [4]string{"TW514", "TW514", accepted, accepted}, reason: "the webhook crashed"},
		{runtime: named("tune-llama3.2-1b", torchRuntime), job: trainerOf("command: [tune, run]"),
			reason: "it did not without numProcPerNode"},
		{runtime: named("tune-llama3.2-3b", torchRuntime),
			job:    trainerOf("numProcPerNode: 1, " + tune),
			want:   [4]string{"TW514", accepted, accepted, accepted},
			reason: "2.0 has another model"},
		{runtime: named("tune-llama3.2-7b", torchRuntime),
			job:  trainerOf("numProcPerNode: 1, " + tune),
			want: [4]string{accepted, "TW514", "TW514", "TW514"}, reason: "this one"},
		{runtime: named("tune-llama3.2-7b", torchRuntime), job: trainerOf(tune),
			want:   [4]string{accepted, accepted, "TW514", "TW514"},
			reason: "the webhook returned early"},
		{rule: release.TorchTuneQLoRA, runtime: named("tune-qwen2.5-1.5b", torchRuntime),
			job:    trainerOf("numProcPerNode: 1, " + tune + ", args: [model.quantize_base=True]"),
			want:   [4]string{"TW514", "TW514", "TW514", "TW514"},
			reason: "2.0 lacks the model, and the others the recipe"},
		{runtime: named("tune-llama3.2-1b", torchRuntime),
			job: trainerOf(
				"numProcPerNode: 2, " + tune + gpus + ", args: [model.quantize_base=True]"),
			want: [4]string{accepted, "TW514", "TW514", "TW514"}, reason: "one device only"},
		{runtime: named("tune-llama3.2-1b", torchRuntime),
			job: trainerOf(
				"numProcPerNode: 2, " + tune + gpus + ", args: [model.quantize_base=False]"),
			want: [4]string{accepted, "TW514", "TW514", accepted}, reason: "values did not count"},
		{runtime: named("tune-llama3.2-1b", torchRuntime),
			job: trainerOf(
				"numProcPerNode: 2, " + tune + gpus +
					", args: [model.quantize_base=True, model.use_dora=False]"),
			want: [4]string{accepted, accepted, accepted, "TW514"}, reason: "nor those of DoRA"},
		{rule: release.TorchTuneOneNode, runtime: named("tune-llama3.3-70b", torchRuntime),
			job: trainerOf(
				"numProcPerNode: 2, command: [tune, run], numNodes: 2, args: " +
					"[model.lora_attn_modules=a]"),
			want:   [4]string{accepted, accepted, accepted, "TW514"},
			reason: "it became a full fine-tuning"},
		{rule: release.TorchTuneArgs, runtime: named("tune-llama3.2-1b", torchRuntime),
			job:    trainerOf("numProcPerNode: 1, " + tune + ", args: [output_dir=/x]"),
			want:   [4]string{accepted, accepted, accepted, "TW514"},
			reason: "the runtime's argument came later"},
		{rule: release.MPIProcesses, runtime: policy("mpi: {}"),
			job:    trainerOf("numProcPerNode: auto"),
			want:   [4]string{"TW103", "TW103", "TW103", "TW103"},
			reason: "the webhook, and then the definition"},
		{rule: release.MPIEnv, runtime: policy("mpi: {}"),
			job:    trainerOf("env: [{name: OMPI_MCA_plm_rsh_args, value: a}]"),
			want:   [4]string{accepted, accepted, accepted, "TW513"},
			reason: "the variable won before"},
		{rule: release.FluxProcesses, runtime: policy("flux: {numProcPerNode: 1}"),
			job:    trainerOf("numProcPerNode: 0, numNodes: 1"),
			want:   [4]string{"TW101", "TW101", accepted, "TW516"},
			reason: "the runtime's number alone counted"},
		{rule: release.RuntimeContainers, runtime: unnamed,
			want: [4]string{accepted, "TW511", "TW511", "TW511"}, reason: "2.0 wrote nowhere"},
		{rule: release.RuntimeLauncher, runtime: torchRuntime + launchers,
			want:   [4]string{"TW510", accepted, accepted, accepted},
			reason: "a launcher without a label"},
		{rule: release.RuntimeUnchecked,
			runtime: strings.Replace(unnamed, "{name: torch}",
				"{name: torch, labels: {trainer.kubeflow.org/webhook-validation: disabled}}", 1),
			want: [4]string{accepted, "TW511", "TW511", accepted}, reason: "the label is 2.3's"},
		{rule: release.PatchedJobsExist,
			job:    strings.Replace(patchYAML("{}"), "name: node", "name: ghost", 1),
			want:   [4]string{"TW101", "TW101", "TW202", "TW202"},
			reason: "an error of all, since the job never starts"},

		// A TrainJob with each API on each release, as kubectl sends it.
		{job: "\tpodSpecOverrides: [{targetJobs: [{name: node}], serviceAccountName: a}]\n",
			want: [4]string{accepted, "TW101", "TW101", "TW101"}, reason: "2.0"},
		{job: "\tpodTemplateOverrides: [{targetJobs: [{name: node}], spec: {serviceAccountName: " +
			"a}}]\n", want: [4]string{"TW101", accepted, "TW101", "TW101"}, reason: "2.1"},
		{job: "\tlabels: {a: b}\n\tannotations: {a: b}\n",
			want: [4]string{accepted, accepted, "TW101", "TW101"}, reason: "2.0 and 2.1"},
		{job: patchYAML("{spec: {serviceAccountName: a}}"),
			want: [4]string{"TW101", "TW101", accepted, accepted}, reason: "2.2 and later"},
		{job: patchYAML("{spec: {terminationGracePeriodSeconds: 1}}"),
			want: [4]string{"TW101", "TW101", "TW101", accepted}, reason: "2.3"},
		{job: "\tactiveDeadlineSeconds: 1\n", want: [4]string{"TW101", "TW101", accepted, accepted},
			reason: "2.2 and later"},
		{runtime: policy("torch: {numProcPerNode: 2}"),
			want: [4]string{accepted, accepted, "TW101", "TW101"}, reason: "2.0 and 2.1"},
		{runtime: policy("jax: {}"), want: [4]string{"TW101", "TW101", accepted, accepted},
			reason: "2.2 and later"},
		{runtime: policy(
			"torch: {envInjection: {targets: [{jobName: node, containerNames: [logs]}]}}"),
			want: [4]string{"TW101", "TW101", "TW101", accepted}, reason: "2.3"},
		{runtime: strings.Replace(torchRuntime, "\ttemplate:\n",
			"\tpodGroupPolicy: {volcano: {}}\n\ttemplate:\n", 1),
			want: [4]string{"TW101", accepted, accepted, accepted}, reason: "2.1 and later"},
		{job: "\tinitializer: {dataset: {storageUri: data}}\n",
			runtime: strings.ReplaceAll(
				initializer(", volumeMounts: [{name: initializer, mountPath: /x}]"), "name: other",
				"name: initializer"), want: [4]string{accepted, accepted, accepted, "TW502"},
			reason: "the scheme is a rule of 2.3"},
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
			for i, r := range release.Compared() {
				runtime, found := admission.AdmitRuntime(t.Context(), &r, object(t, text),
					"default")
				job := object(t, jobYAML(c.job))
				job["spec"].(map[string]any)["runtimeRef"] = map[string]any{
					"name": runtime.ID().Name}
				if c.name != "" {
					job["metadata"].(map[string]any)["name"] = c.name
				}
				found = append(
					found, admission.Check(
						t.Context(), admission.Input{
							Release: &r, TrainJob: job, Runtime: runtime})...)
				got := accepted
				if at := slices.IndexFunc(found, func(f finding.Finding) bool {
					return f.Severity == finding.Error
				}); at >= 0 {
					got = string(found[at].Code)
				}
				if got != c.want[i] {
					t.Errorf("%s: %q, want %q: %s\n%v", r.Name, got, c.want[i], c.reason, found)
				}
			}
		})
	}
}

// TestReleases_Overrides judges overrides by the releases that read them. They are merged: the Pods
// show it.
func TestReleases_Overrides(t *testing.T) {
	spec := func(overrides string) string { return "\tpodSpecOverrides: " + overrides + "\n" }
	template := func(overrides string) string {
		return "\tpodTemplateOverrides: " + overrides + "\n"
	}
	for _, c := range []struct {
		job    string
		in     string
		want   []string
		reason string
	}{
		{spec("[{targetJobs: [{name: node}], volumes: [{name: v, emptyDir: {}}], containers: " +
			"[{name: node, volumeMounts: [{name: v, mountPath: /v}]}]}]"), "2.0", nil,
			"the mount has its volume"},
		{spec("[{targetJobs: [{name: node}], containers: [{name: node, volumeMounts: [{name: v, " +
			"mountPath: /v}]}]}]"), "2.0",
			[]string{`TW603 .spec.template.spec.containers[name="node"].volumeMounts[mountPath="/v"].name`}, "it has none"},
		{template("[{targetJobs: [{name: node}], spec: {containers: [{name: node, volumeMounts: " +
			"[{name: v, mountPath: /v}]}]}}]"), "2.1",
			[]string{`TW603 .spec.template.spec.containers[name="node"].volumeMounts[mountPath="/v"].name`}, "it has none"},
		{spec("[{targetJobs: [{name: node}]}, {targetJobs: [{name: node}]}]"), "2.0",
			[]string{"TW208 .spec.podSpecOverrides[1].targetJobs[0].name"}, "one override a job"},
		{spec("[{targetJobs: [{name: node}, {name: node}]}]"), "2.0",
			[]string{"TW208 .spec.podSpecOverrides[0].targetJobs[1].name"}, "one target, too"},
		{template("[{targetJobs: [{name: node}]}, {targetJobs: [{name: node}, {name: node}]}]"),
			"2.1", nil, "the last one wins"},
		{spec("[{targetJobs: [{name: ghost}]}]"), "2.0",
			[]string{"TW202 .spec.podSpecOverrides[0].targetJobs[0]"},
			"the webhook looks for the job"},
		{template("[{targetJobs: [{name: ghost}]}]"), "2.1",
			[]string{"TW202 .spec.podTemplateOverrides[0].targetJobs[0]"}, "as in 2.1"},
		{spec("[{targetJobs: [{name: node}], containers: [{name: node, env: [{name: A}]}]}]"),
			"2.0", []string{`TW204 .spec.podSpecOverrides[0].containers[name="node"].env`},
			"spec.trainer.env is for it"},
		{template("[{targetJobs: [{name: node}], spec: {containers: [{name: node, env: [{name: " +
			"A}]}]}}]"), "2.1",
			[]string{`TW204 .spec.podTemplateOverrides[0].spec.containers[name="node"].env`},
			"spec.trainer.env is for it"},
		{template("[{spec: {}}]"), "2.1",
			[]string{"TW500 .spec.podTemplateOverrides[0].targetJobs"}, "targets are required"},
		{spec("[{targetJobs: [{name: node}], spec: {}}]"), "2.0",
			[]string{"TW101 .spec.podSpecOverrides[0].spec"}, "the fields are the override's own"},
		{spec("[{targetJobs: [{name: node}], tolerations: {}}]"), "2.0",
			[]string{"TW103 .spec.podSpecOverrides[0].tolerations"}, "a list"},
	} {
		r, err := release.Parse(c.in)
		if err != nil {
			t.Fatal(err)
		}
		runtime, _ := admission.AdmitRuntime(t.Context(), r, object(t, torchRuntime), "default")
		var got []string
		for _, f := range admission.Check(
			t.Context(), admission.Input{Release: r, TrainJob: object(t, jobYAML(c.job)),
				Runtime: runtime}) {
			if f.Severity == finding.Error {
				got = append(got, string(f.Code)+" "+f.Path.String())
				if text := f.Message + f.Remedy.Text; strings.Contains(text, "runtimePatches") ||
					strings.Contains(text, "trainer.kubeflow.org/") {
					t.Errorf("%s: %q names what %s lacks", c.job, text, c.in)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q in %s: %s", c.job, got, c.want, c.in, c.reason)
		}
	}
}

// TestReleases_Update changes a TrainJob in each release.
func TestReleases_Update(t *testing.T) {
	change := func(r *release.Release) string {
		switch r.Overrides {
		case release.PodSpecOverrides:
			return "\tpodSpecOverrides: [{targetJobs: [{name: node}], nodeSelector: {a: b}}]\n"
		case release.PodTemplateOverrides:
			return "\tpodTemplateOverrides: [{targetJobs: [{name: node}], spec: {nodeSelector: " +
				"{a: b}}}]\n"
		default:
			return patchYAML("{spec: {nodeSelector: {a: b}}}")
		}
	}
	none := func(*release.Release) string { return "" }
	const idle = "\nstatus: {jobsStatus: [{name: node, ready: 0, succeeded: 0, failed: 0, " +
		"active: 0, suspended: 0}]}\n"
	for _, c := range []struct {
		old, new string
		change   func(*release.Release) string
		want     [4]string
		reason   string
	}{
		{"\tsuspend: true\n", "\tsuspend: true\n", change, [4]string{}, "suspended all the time"},
		{"\tsuspend: true\n", "\tsuspend: false\n", change, [4]string{"TW701", "TW701", "", ""},
			"what Kueue does at once"},
		{"\tsuspend: false\n", "\tsuspend: false\n", change,
			[4]string{"TW701", "TW701", "TW701", "TW701"}, "never suspended"},
		{"\tsuspend: false\n", "\tsuspend: true\n", change,
			[4]string{"TW701", "TW701", "TW701", "TW701"}, "its Pods are still there"},
		{"\tsuspend: false\n",
			"\tsuspend: true\n\tmanagedBy: trainer.kubeflow.org/trainjob-controller" + idle, change,
			[4]string{"TW701", "TW701", "TW701", "TW701"}, "the status of the old object counts"},
		{"\tmanagedBy: kueue.x-k8s.io/multikueue\n",
			"\tsuspend: true\n\tmanagedBy: kueue.x-k8s.io/multikueue\n", change,
			[4]string{"TW701", "TW701", "TW701", ""},
			"before 2.3 the cluster has a JobSet all the same"},
		{"\tsuspend: true\n\ttrainer: {numNodes: 2}\n",
			"\tsuspend: true\n\ttrainer: {numNodes: 3}\n", none,
			[4]string{"TW702", "TW702", "TW700 TW702", "TW700 TW702"},
			"the definition forbids it since 2.2; the JobSet did before"},
		{"\ttrainer: {numNodes: 2}\n", "\ttrainer: {numNodes: 3}\n", none,
			[4]string{"", "", "TW700", "TW700"}, "a running job's JobSet stays as it is"},
	} {
		for i, r := range release.Compared() {
			runtime, _ := admission.AdmitRuntime(t.Context(), &r, object(t, torchRuntime),
				"default")
			found := admission.Update(t.Context(),
				admission.Input{Release: &r, TrainJob: object(t, jobYAML(c.old)), Runtime: runtime},
				admission.Input{Release: &r, TrainJob: object(t, jobYAML(c.change(&r)+c.new)),
					Runtime: runtime})
			if got := strings.Join(codesOf(found), " "); got != c.want[i] {
				t.Errorf("%s: %q, want %q: %s\n%v", r.Name, got, c.want[i], c.reason, found)
			}
		}
	}
}

// TestReleases_LiveRuntime changes the runtime of a suspended TrainJob. Trainer 2.3 goes on with
// the old one.
func TestReleases_LiveRuntime(t *testing.T) {
	for i, r := range release.Compared() {
		before, _ := admission.AdmitRuntime(t.Context(), &r, object(t, torchRuntime), "default")
		after, _ := admission.AdmitRuntime(t.Context(), &r,
			object(t, strings.Replace(torchRuntime, "pytorch:2", "pytorch:3", 1)), "default")
		found := admission.Update(t.Context(),
			admission.Input{Release: &r, TrainJob: object(t, jobYAML("\tsuspend: true\n")),
				Runtime: before},
			admission.Input{Release: &r, TrainJob: object(t, jobYAML("\tsuspend: true\n")),
				Runtime: after})
		rejected := slices.ContainsFunc(found, func(f finding.Finding) bool {
			return f.Code == codes.EndlessUpdate
		})
		ignored := slices.ContainsFunc(found, func(f finding.Finding) bool {
			return f.Code == codes.UpdateIgnored
		})
		if live := i < len(release.Compared())-1; rejected != live || ignored == live {
			t.Errorf("%s: refused: %t, ignored: %t\n%v", r.Name, rejected, ignored, found)
		}
	}
}

// TestReleases_JobSet judges JobSets by the JobSet of each release.
func TestReleases_JobSet(t *testing.T) {
	const second = "\t- {name: late, dependsOn: DEPENDS, template: {spec: {template: {spec: " +
		"{containers: [{name: a, image: a}]}}}}}\n"
	named := func(name string) string {
		return strings.Replace(jobSetYAML("\tcoordinator: {replicatedJob: node}\n", "", "", ""),
			"name: llm", "name: "+name, 1)
	}
	depends := func(on string) string {
		return jobSetYAML("", "", "", "") + strings.Replace(second, "DEPENDS", on, 1)
	}
	for _, c := range []struct {
		text   string
		want   [4]string
		reason string
	}{
		{jobSetYAML("", "", "", ""), [4]string{}, "nothing is wrong"},
		{strings.Replace(depends("[]"), "- name: node\n", "- name: node\n\t\tgroupName: g_1\n", 1),
			[4]string{"TW101 TW532", "TW530", "TW530", "TW530"}, "groups have names since 0.9"},
		{depends("[]"), [4]string{"TW532", "", "", ""}, "0.8 looked at the first item"},
		{depends("[{name: node, status: Ready}]"), [4]string{}, "one item"},
		{depends("[{name: node, status: Ready}, {name: late, status: Ready}]"),
			[4]string{"TW501", "TW423", "TW423", "TW423"},
			"several items since 0.9; the last of these never comes"},
		{named(strings.Repeat("a", 40)), [4]string{"TW608", "TW608", "TW534", "TW534"},
			"the address has 40 characters twice"},
		{jobSetYAML("\tvolumeClaimPolicies: [{templates: [{metadata: {name: v}, spec: "+
			"{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1}}}}]}]\n", "", "",
			"\t\t\t\t\t\t\tvolumeMounts: [{name: v, mountPath: /v}]\n"),
			[4]string{"TW101 TW603", "TW101 TW603", "", ""}, "claims since 0.11"},
		{jobSetYAML("\tfailurePolicy: {restartStrategy: InPlaceRestart}\n", "", "", ""),
			[4]string{"TW501", "TW501", "TW537", "TW537"}, "a gate since 0.11"},
	} {
		for i, r := range release.Compared() {
			found := admission.AdmitJobSet(t.Context(), &r, object(t, c.text), "")
			if got := strings.Join(codesOf(found), " "); got != c.want[i] {
				t.Errorf("%s: %q, want %q: %s\n%v", r.Name, got, c.want[i], c.reason, found)
			}
			// Labels of the Pods can be changed while the JobSet is suspended, in every release.
			old := strings.Replace(c.text, "spec:\n", "spec:\n\tsuspend: true\n", 1)
			changed := strings.Replace(old, "\t\t\t\ttemplate:\n",
				"\t\t\t\ttemplate:\n\t\t\t\t\tmetadata: {labels: {a: b}}\n", 1)
			if found := admission.UpdateJobSet(t.Context(), &r, object(t, old), object(t, changed),
				""); c.want == [4]string{} && found.Err() != nil {
				t.Errorf("%s: an update of %s: %v", r.Name, c.reason, found)
			}
		}
	}
}

// TestReleases_Deprecated wants the warnings of the releases that read the label.
func TestReleases_Deprecated(t *testing.T) {
	text := strings.Replace(torchRuntime, "{name: torch}",
		"{name: torch, labels: {trainer.kubeflow.org/support: deprecated}}", 1)
	for i, r := range release.Compared() {
		runtime, found := admission.AdmitRuntime(t.Context(), &r, object(t, text), "default")
		found = append(
			found, admission.Check(
				t.Context(), admission.Input{
					Release: &r, TrainJob: object(t, jobYAML("\ttrainer: {}\n")),
					Runtime: runtime})...)
		warnings := 0
		for _, f := range found {
			if f.Code == codes.Deprecated {
				warnings++
			}
		}
		if want := 2 * min(i, 1); warnings != want {
			t.Errorf("%s: %d warnings, want %d: %v", r.Name, warnings, want, found)
		}
	}
}

// TestReleases_Definitions wants a finding for a release without definitions, and no panic.
func TestReleases_Definitions(t *testing.T) {
	unknown := &release.Release{Schema: "1.0.0", JobSetSchema: "1.0.0"}
	runtime, found := admission.AdmitRuntime(t.Context(), unknown, object(t, torchRuntime), "")
	in := admission.Input{Release: unknown, TrainJob: object(t, jobYAML("")),
		Runtime: admitted(t, torchRuntime)}
	for name, found := range map[string]finding.List{
		"AdmitRuntime": found,
		"Check":        admission.Check(t.Context(), in),
		"Update":       admission.Update(t.Context(), in, in),
		"AdmitJobSet": admission.AdmitJobSet(t.Context(), unknown,
			object(t, jobSetYAML("", "", "", "")), ""),
		"UpdateJobSet": admission.UpdateJobSet(t.Context(), unknown,
			object(t, jobSetYAML("", "", "", "")), object(t, jobSetYAML("", "", "", "")), ""),
		"UpdateRuntime": second(
			admission.UpdateRuntime(t.Context(), unknown, object(t, torchRuntime),
				object(t, torchRuntime), "")),
	} {
		if len(found) != 1 || !strings.Contains(found[0].Message, "1.0.0") {
			t.Errorf("%s: %v, want the error that Trainer 1.0.0 is unknown", name, found)
		}
	}
	if runtime != nil {
		t.Error("there is a runtime of an unknown release")
	}
	for _, r := range release.Compared() {
		text := strings.Replace(torchRuntime, "ClusterTrainingRuntime", "TrainingRuntime", 1)
		if _, found := admission.AdmitRuntime(t.Context(), &r, object(t, text),
			""); found.Err() != nil {
			t.Errorf("%s: %v", r.Name, found)
		}
	}
}

// TestReleases_Switches turns one release into another, one switch after the other. No state
// between the two may crash, and the last one judges as the other release.
func TestReleases_Switches(t *testing.T) {
	jobs := []string{
		"\ttrainer: {numProcPerNode: auto, numNodes: 2, env: [{name: PET_NNODES, value: " +
			"a}]}\n\tlabels: {a: b}\n",
		"\ttrainer: {numProcPerNode: 1, command: [tune, run]}\n" +
			patchYAML("{spec: {nodeSelector: {a: b}}}"),
		"\tpodSpecOverrides: [{targetJobs: [{name: node}, {name: ghost}]}]\n",
		"\tsuspend: true\n\tpodTemplateOverrides: [{targetJobs: [{name: node}, {name: ghost}]}]\n",
	}
	judge := func(r *release.Release, job string) string {
		runtime, found := admission.AdmitRuntime(t.Context(), r, object(t, torchRuntime), "default")
		in := admission.Input{Release: r, TrainJob: object(t, jobYAML(job)), Runtime: runtime}
		return append(found, admission.Update(t.Context(), in, in)...).Error()
	}
	known := release.Compared()
	for i, from := range known {
		for _, to := range []release.Release{known[max(i-1, 0)], known[min(i+1, len(known)-1)]} {
			for _, job := range jobs {
				now, last := from, ""
				for _, s := range release.Switches() {
					if s.Set(&now, &to) {
						last = judge(&now, job)
					}
				}
				now.Name, now.Version, now.JobSetVersion = to.Name, to.Version, to.JobSetVersion
				if got, want := judge(&now, job), judge(&to, job); got != want {
					t.Errorf("from %s to %s: %s, want %s (before: %s)", from.Name, to.Name, got,
						want, last)
				}
			}
		}
	}
}

func second[A, B any](_ A, b B) B { return b }
