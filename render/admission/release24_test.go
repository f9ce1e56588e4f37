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
	policy := func(text string) string {
		return strings.Replace(torchRuntime, "torch: {}", text, 1)
	}
	renamed := func(name, metadata string) string {
		return strings.NewReplacer("- name: node\n", "- name: "+name+"\n", "{name: torch}",
			"{name: torch"+metadata+"}").Replace(torchRuntime)
	}
	env := func(name string) string {
		return jobYAML("\ttrainer: {env: [{name: " + name + ", value: a}]}\n")
	}
	const twenty = "abcdefghijklmnopqrst"
	deprecated := strings.NewReplacer("ClusterTrainingRuntime", "TrainingRuntime", "{name: torch}",
		"{name: torch, namespace: default, labels: {trainer.kubeflow.org/support: deprecated}}").Replace(torchRuntime)
	ofNamespace := func(spec string) string {
		return strings.Replace(jobYAML(spec), "{name: torch}",
			"{name: torch, kind: TrainingRuntime}", 1)
	}
	claiming := func(name string) string {
		return strings.NewReplacer("name: node, image: \"pytorch:2\"",
			"name: node, image: \"pytorch:2\", resources: {claims: [{name: "+name+"}]}",
			"containers:\n",
			"resourceClaims: [{name: mine, resourceClaimName: one}]\n\t\t\t\t\t\t\t\tcontainers:\n").Replace(torchRuntime)
	}
	for _, c := range []struct {
		rule          release.Rule
		runtime, job  string
		before, after string // the codes
		reason        string
	}{
		{release.MPIPrteEnv, policy("mpi: {}"), env("PRTE_MCA_plm_ssh_args"), "", "TW513",
			"reserved since"},
		{release.MPIPrteEnv, policy("mpi: {}"), env("PRTE_MCA_prte_default_hostfile"), "", "TW513",
			"so is this one"},
		{release.MPIPrteEnv, policy("mpi: {}"), env("PRTE_MCA_prte_keep_fqdn_hostnames"), "",
			"TW513", "and this one"},
		{release.MPIPrteEnv, policy("mpi: {}"), env("PRTE_MCA_prte_set_default_slots"), "", "TW513",
			"and this one"},
		{release.MPIPrteEnv, policy("mpi: {}"), env("PRTE_MCA_other"), "", "", "no other is"},
		{release.FluxUnchecked, policy("flux: {numProcPerNode: 1}"),
			jobYAML("\ttrainer: {numProcPerNode: 0, numNodes: 1}\n"), "TW516", "TW502",
			"the definition says it"},
		{release.ShortJobNames, renamed(twenty, ""), jobYAML(""), "", "", "20 characters pass"},
		{release.ShortJobNames, renamed(twenty+"u", ""), jobYAML(""), "", "TW519 TW520",
			"21 do not"},
		{release.ShortJobNames,
			renamed(twenty+"u", ", labels: {trainer.kubeflow.org/webhook-validation: disabled}"),
			jobYAML(""), "", "TW519 TW520", "the label exempts from the webhook only"},
		{release.RuntimesDeprecated, deprecated, ofNamespace(""), "", "", "a second warning"},
		{release.ClaimsExist, claiming("gpu"), jobYAML("\ttrainer: {}\n"), "TW602", "TW521",
			"a claim that the Pod lacks"},
		{release.ClaimsExist, claiming("mine"), jobYAML("\ttrainer: {}\n"), "", "",
			"its Pod has it"},
		{release.ClaimsExist, claiming("gpu"),
			jobYAML("\ttrainer: {resourceClaimsPerNode: [{name: gpu, resourceClaimTemplateName: " +
				"a}]}\n"), "TW101 TW602", "", "the TrainJob adds it"},
		{"", torchRuntime, jobYAML("\ttrainer: {resourcesPerNode: {claims: [{name: a}]}}\n"), "",
			"TW502", "claims belong elsewhere"},
		{"", torchRuntime, jobYAML("\ttrainer: {resourceClaimsPerNode: [{name: a}]}\n"), "TW101",
			"TW500", "a template is required"},
		{"", torchRuntime,
			jobYAML("\ttrainer: {resourceClaimsPerNode: [{name: a, resourceClaimTemplateName: " +
				"b}, {name: a, resourceClaimTemplateName: c}]}\n"), "TW101", "TW208",
			"a map by name"},
		{"", torchRuntime,
			jobYAML("\ttrainer: {resourceClaimsPerNode: [{name: '', resourceClaimTemplateName: " +
				"b}]}\n"), "TW101", "TW501 TW602", "a name has a character"},
		{"", torchRuntime,
			jobYAML("\ttrainer: {resourceClaimsPerNode: [" + strings.Repeat(
				"{name: a, resourceClaimTemplateName: b}, ", 33) + "]}\n"), "TW101",
			"TW208 TW501", "at most 32"},
		{release.ClaimsExist,
			strings.Replace(torchRuntime, "containers:\n", "initContainers: [{name: init, image: "+
				"i, resources: {claims: [{name: a}]}}]\n\t\t\t\t\t\t\t\tcontainers:\n", 1),
			jobYAML(""), "TW602", "TW521", "init containers count"},
		{"", torchRuntime,
			jobYAML(patchYAML(
				"{spec: {resourceClaims: [{name: a, resourceClaimName: b}], containers: [{name: " +
					"node, resources: {limits: {cpu: 1}, claims: [{name: a}]}}]}}")), "TW101", "",
			"patches may set both"},
		{release.ClaimsExist, torchRuntime,
			jobYAML(patchYAML(
				"{spec: {containers: [{name: node, resources: {claims: [{name: a}]}}]}}")), "TW101",
			"TW521", "the merged Pod counts"},
		{"", torchRuntime,
			jobYAML(patchYAML(
				"{spec: {resourceClaims: [{name: a, resourceClaimName: b, " +
					"resourceClaimTemplateName: c}]}}")), "TW101", "TW615", "two sources"},
		{"", torchRuntime,
			jobYAML(patchYAML("{spec: {resourceClaims: [{name: a, resourceClaimName: b}]}}") +
				strings.NewReplacer("\n\truntimePatches:\n", "", "/m", "/n").Replace(patchYAML(
					"{spec: {resourceClaims: [{name: a, resourceClaimTemplateName: b}]}}"))),
			"TW101", "TW301", "two sources of two managers"},
		{"", torchRuntime, jobYAML("\ttrainer: {numNodes: -1}\n"), "TW606", "TW501",
			"the minimum of numNodes"},
		{"", torchRuntime, jobYAML("\ttrainer: {numProcPerNode: 0}\n"), "", "TW502",
			"the minimum of numProcPerNode"},
		{"", policy("mpi: {numProcPerNode: 0}"), jobYAML(""), "", "TW502 TW519",
			"the minimum of MPI's"},
	} {
		for r, want := range map[*release.Release]string{
			release.Latest(): c.before, v24(t): c.after} {
			runtime, found := admission.AdmitRuntime(t.Context(), r, object(t, c.runtime),
				"default")
			found = append(
				found, admission.Check(
					t.Context(), admission.Input{Release: r, TrainJob: object(t, c.job),
						Runtime: runtime})...)
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
		_, found := admission.UpdateRuntime(t.Context(), v24(t), object(t, stored),
			object(t, changed), "default")
		if got := strings.Join(codesOf(found), " "); got != want {
			t.Errorf("an update of a stored runtime: %q, want %q", got, want)
		}
	}
}

// TestUnread_Updates changes TrainJobs whose runtime has changed since, and TrainJobs that have
// failed.
func TestUnread_Updates(t *testing.T) {
	reserved := strings.Replace(torchRuntime, "torch: {}", "mpi: {}", 1)
	const suspended = "\tsuspend: true\n\ttrainer: {env: [{name: OMPI_MCA_plm_rsh_args, value: " +
		"a}]}\n"
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
		failed["status"] = map[string]any{
			"conditions": []any{
				map[string]any{"type": "Failed", "status": "True", "reason": "JobSetFailed",
					"message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}
		next := object(t, jobYAML("\tsuspend: true\n\tlabels: {}\n"))
		delete(next["spec"].(map[string]any), "labels")
		broken, _ := admission.AdmitRuntime(t.Context(), r,
			object(t, strings.Replace(torchRuntime, "image: pytorch:2", "image: 'a b'", 1)),
			"default")
		found = admission.Update(t.Context(),
			admission.Input{Release: r, TrainJob: failed, Runtime: broken},
			admission.Input{Release: r, TrainJob: next, Runtime: broken})
		if got := len(found) > 0; got != want {
			t.Errorf("%s makes objects of a failed TrainJob: %t, want %t\n%v", r.Name, got, want,
				found)
		}
	}
}

// TestUnread_Claims wants claims of patches to be immutable, and resources of patches to change
// only before Pods run.
func TestUnread_Claims(t *testing.T) {
	runtime, _ := admission.AdmitRuntime(t.Context(), v24(t), object(t, torchRuntime), "default")
	for _, c := range []struct{ rest, old, new, want string }{
		{"\tsuspend: true\n", "resourceClaims: [{name: a, resourceClaimName: b}]",
			"resourceClaims: [{name: a, resourceClaimName: c}]", "TW700 TW702"},
		{"\tsuspend: true\n", "containers: [{name: node, resources: {limits: {cpu: 1}}}]",
			"containers: [{name: node, resources: {limits: {cpu: 2}}}]", "TW700 TW702"},
		{"", "containers: [{name: node, resources: {limits: {cpu: 1}}}]",
			"containers: [{name: node, resources: {limits: {cpu: 1}}}]", ""},
		{"", "tolerations: [{key: a}], resourceClaims: []",
			"tolerations: [{key: a}], resourceClaims: [{name: a, resourceClaimName: c}]",
			"TW700 TW701"},
	} {
		found := admission.Update(t.Context(),
			admission.Input{
				Release:  v24(t),
				TrainJob: object(t, jobYAML(c.rest+patchYAML("{spec: {"+c.old+"}}"))),
				Runtime:  runtime},
			admission.Input{
				Release:  v24(t),
				TrainJob: object(t, jobYAML(c.rest+patchYAML("{spec: {"+c.new+"}}"))),
				Runtime:  runtime})
		if got := strings.Join(codesOf(found), " "); got != c.want {
			t.Errorf("%s: %q, want %q\n%v", c.new, got, c.want, found)
		}
	}
}
