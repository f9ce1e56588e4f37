package admission_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/release"
)

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
