package admission_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

func v24(t *testing.T) *release.Release {
	t.Helper()
	r, err := release.Parse("2.4")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestUnread_Rules wants the verdicts of Trainer 2.3 and 2.4 on a case of each rule that 2.4 adds.
func TestUnread_Rules(t *testing.T) {
	policy := func(text string) string { return strings.Replace(torchRuntime, "torch: {}", text, 1) }
	renamed := func(name, metadata string) string {
		return strings.NewReplacer("- name: node\n", "- name: "+name+"\n", "{name: torch}", "{name: torch"+metadata+"}").Replace(torchRuntime)
	}
	const twenty = "abcdefghijklmnopqrst"
	deprecated := strings.NewReplacer("ClusterTrainingRuntime", "TrainingRuntime", "{name: torch}", "{name: torch, namespace: default, labels: {trainer.kubeflow.org/support: deprecated}}").Replace(torchRuntime)
	ofNamespace := func(spec string) string {
		return strings.Replace(jobYAML(spec), "{name: torch}", "{name: torch, kind: TrainingRuntime}", 1)
	}
	for _, c := range []struct {
		rule          release.Rule
		runtime, job  string
		before, after string // the codes
		reason        string
	}{
		{release.MPIPrteEnv, policy("mpi: {}"), jobYAML("\ttrainer: {env: [{name: PRTE_MCA_plm_ssh_args, value: a}]}\n"), "", "TW513", "reserved since"},
		{release.FluxUnchecked, policy("flux: {numProcPerNode: 1}"), jobYAML("\ttrainer: {numProcPerNode: 0, numNodes: 1}\n"), "TW516", "TW502", "the definition says it"},
		{release.ShortJobNames, renamed(twenty, ""), jobYAML(""), "", "", "20 characters pass"},
		{release.ShortJobNames, renamed(twenty+"u", ""), jobYAML(""), "", "TW519 TW520", "21 do not"},
		{release.ShortJobNames, renamed(twenty+"u", ", labels: {trainer.kubeflow.org/webhook-validation: disabled}"), jobYAML(""), "", "TW519 TW520", "the label exempts from the webhook only"},
		{release.RuntimesDeprecated, deprecated, ofNamespace(""), "", "", "a second warning"},
		{"", torchRuntime, jobYAML("\ttrainer: {numNodes: -1}\n"), "TW606", "TW501", "the minimum of numNodes"},
		{"", torchRuntime, jobYAML("\ttrainer: {numProcPerNode: 0}\n"), "", "TW502", "the minimum of numProcPerNode"},
		{"", policy("mpi: {numProcPerNode: 0}"), jobYAML(""), "", "TW502 TW519", "the minimum of MPI's"},
	} {
		for r, want := range map[*release.Release]string{release.Latest(): c.before, v24(t): c.after} {
			runtime, found := admission.AdmitRuntime(t.Context(), r, object(t, c.runtime), "default")
			found = append(found, admission.Check(t.Context(), admission.Input{Release: r, TrainJob: object(t, c.job), Runtime: runtime})...)
			if deprecated := found.Of(codes.Deprecated) != nil; deprecated != (c.rule == release.RuntimesDeprecated && r.Rules.Has(c.rule)) {
				t.Errorf("%s, %s: the runtime is deprecated: %t", c.reason, r.Name, deprecated)
			}
			if got := strings.Join(codesOf(found), " "); got != want {
				t.Errorf("%s, %s: %q, want %q\n%v", c.reason, r.Name, got, want, found)
			}
		}
	}
	stored := renamed(twenty+"u", "")
	longer := strings.Replace(stored, twenty+"u", twenty+"uv", 1)
	for changed, want := range map[string]string{stored: "", longer: "TW520"} {
		_, found := admission.UpdateRuntime(t.Context(), v24(t), object(t, stored), object(t, changed), "default")
		if got := strings.Join(codesOf(found), " "); got != want {
			t.Errorf("an update of a stored runtime: %q, want %q", got, want)
		}
	}
}

// TestUnread_Updates changes TrainJobs whose runtime has changed since, and TrainJobs that have failed.
func TestUnread_Updates(t *testing.T) {
	reserved := strings.Replace(torchRuntime, "torch: {}", "mpi: {}", 1)
	const suspended = "\tsuspend: true\n\ttrainer: {env: [{name: OMPI_MCA_plm_rsh_args, value: a}]}\n"
	for r, want := range map[*release.Release]bool{release.Latest(): true, v24(t): false} {
		before, _ := admission.AdmitRuntime(t.Context(), r, object(t, torchRuntime), "default")
		after, _ := admission.AdmitRuntime(t.Context(), r, object(t, reserved), "default")
		found := admission.Update(t.Context(),
			admission.Input{Release: r, TrainJob: object(t, jobYAML(suspended)), Runtime: before},
			admission.Input{Release: r, TrainJob: object(t, jobYAML(suspended)), Runtime: after})
		if got := strings.Contains(strings.Join(codesOf(found), " "), "TW513"); got != want {
			t.Errorf("%s judges by the changed runtime: %t, want %t\n%v", r.Name, got, want, found)
		}
		failed := object(t, jobYAML("\tsuspend: true\n"))
		failed["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True", "reason": "JobSetFailed", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}
		next := object(t, jobYAML("\tsuspend: true\n\tlabels: {}\n"))
		delete(next["spec"].(map[string]any), "labels")
		broken, _ := admission.AdmitRuntime(t.Context(), r, object(t, strings.Replace(torchRuntime, "image: pytorch:2", "image: 'a b'", 1)), "default")
		found = admission.Update(t.Context(),
			admission.Input{Release: r, TrainJob: failed, Runtime: broken}, admission.Input{Release: r, TrainJob: next, Runtime: broken})
		if got := len(found) > 0; got != want {
			t.Errorf("%s makes objects of a failed TrainJob: %t, want %t\n%v", r.Name, got, want, found)
		}
	}
}
