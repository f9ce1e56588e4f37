package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/release"
)

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
