package runtimepatch_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// podRule returns a rule for a field of all Pods.
func podRule(kind compose.Kind, field string) compose.Rule {
	path := fieldpath.Fields("spec", "replicatedJobs").Append(fieldpath.Item("name", "")).Append(fieldpath.Fields("template", "spec", "template", "spec", field)...)
	return compose.Rule{Path: path, Kind: kind}
}

// podsIn returns the Pods of the job node in the merge of the patches.
func podsIn(t *testing.T, base *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) *corev1.PodSpec {
	t.Helper()
	result, err := runtimepatch.Apply(base, patches, runtimepatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &result.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
}

// keysOf returns the keys of tolerations.
func keysOf(tolerations []corev1.Toleration) []string {
	keys := []string{}
	for _, t := range tolerations {
		keys = append(keys, t.Key)
	}
	return keys
}

// tolerant returns the template with tolerations of the runtime.
func tolerant(keys ...string) *trainer.JobSetTemplateSpec {
	base := template()
	for _, key := range keys {
		pod := &base.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
		pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: key})
	}
	return base
}

// TestCompose_Tolerations is https://github.com/kubernetes-sigs/kueue/issues/15161: the queue's patch drops the tolerations of the
// runtime and of the user. With the rule, the queue's entry keeps them.
func TestCompose_Tolerations(t *testing.T) {
	const queue = "kueue.x-k8s.io/manager"
	base, rules := tolerant("runtime"), compose.Rules{podRule(compose.KindUnion, "tolerations")}
	patches := []trainer.RuntimePatch{pods("sdk", tolerates("user")), pods(queue, tolerates("flavor"))}
	if diff := cmp.Diff([]string{"flavor"}, keysOf(podsIn(t, base, patches).Tolerations)); diff != "" {
		t.Fatalf("the cluster keeps other tolerations than the issue says (-want +got):\n%s", diff)
	}
	want := []string{"flavor", "runtime", "user"}
	for _, manager := range []string{queue, "platform.example.com/compose"} {
		entry, err := runtimepatch.Compose(base, patches, manager, rules)
		if err != nil {
			t.Fatal(err)
		}
		composed := runtimepatch.Upsert(patches, entry)
		if diff := cmp.Diff(want, keysOf(podsIn(t, base, composed).Tolerations)); diff != "" {
			t.Errorf("tolerations of %s (-want +got):\n%s", manager, diff)
		}
		again, err := runtimepatch.Compose(base, composed, manager, rules)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entry, again); diff != "" {
			t.Errorf("a second Compose changes the entry of %s (-first +second):\n%s", manager, diff)
		}
	}
}

// TestPlan_Rules holds that a rule settles the conflict on tolerations.
func TestPlan_Rules(t *testing.T) {
	const queue = "kueue.x-k8s.io/manager"
	base, rules := tolerant("runtime"), compose.Rules{podRule(compose.KindUnion, "tolerations"), podRule(compose.KindMaximum, "terminationGracePeriodSeconds")}
	seconds := func(n int64) func(*trainer.PodSpecPatch) {
		return func(p *trainer.PodSpecPatch) { p.TerminationGracePeriodSeconds = &n }
	}
	for _, tc := range []struct {
		name    string
		patches []trainer.RuntimePatch
		want    trainer.RuntimePatch
		plan    trainer.RuntimePatch
		reason  string
	}{
		{"the runtime's", nil, pods(queue, tolerates("flavor")), pods(queue, tolerates("flavor", "runtime")), "the runtime takes part"},
		{"the user's", []trainer.RuntimePatch{pods("sdk", tolerates("user"))}, pods(queue, tolerates("flavor")), pods(queue, tolerates("flavor", "runtime", "user")), "the issue's case with the user's patch"},
		{"nothing to add", nil, pods(queue, tolerates("runtime")), trainer.RuntimePatch{Manager: queue}, "the runtime holds the union"},
		{"order", []trainer.RuntimePatch{pods("sdk", tolerates("user", "runtime", "flavor"))}, pods(queue, tolerates("flavor")), trainer.RuntimePatch{Manager: queue}, "the user's patch holds the union in its own order"},
		{"maximum of another", []trainer.RuntimePatch{pods("sdk", seconds(600))}, pods(queue, seconds(60)), trainer.RuntimePatch{Manager: queue}, "the other manager's period is longer"},
		{"maximum", []trainer.RuntimePatch{pods("sdk", seconds(60))}, pods(queue, seconds(600)), pods(queue, seconds(600)), "the own period is longer"},
		{
			"old entry", []trainer.RuntimePatch{pods(queue, tolerates("flavor", "old", "runtime"))}, pods(queue, tolerates("flavor")),
			pods(queue, tolerates("flavor", "runtime")), "https://github.com/kubernetes-sigs/kueue/pull/15162: the tolerations of an earlier admission go",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan, err := runtimepatch.Minimal(base, tc.patches, tc.want, rules...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.plan, plan); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPlan_RulesFail(t *testing.T) {
	lasting := func(n int64) func(*trainer.PodSpecPatch) {
		return func(p *trainer.PodSpecPatch) { p.Tolerations = []corev1.Toleration{{Key: "a", TolerationSeconds: &n}} }
	}
	agree := podRule(compose.KindAgree, "nodeSelector")
	owner := podRule(compose.KindOwner, "nodeSelector")
	owner.Owner = "sdk"
	for _, tc := range []struct {
		name, message string
		code          finding.Code
		rule          compose.Rule
		patches       []trainer.RuntimePatch
		want          trainer.RuntimePatch
	}{
		{"seconds", `tolerations of the key "a" have different tolerationSeconds: sdk, queue`, codes.NoComposition, podRule(compose.KindUnion, "tolerations"), []trainer.RuntimePatch{pods("sdk", lasting(1))}, pods("queue", lasting(2))},
		{"agree", "managers must set the same value: sdk, queue", codes.NoComposition, agree, []trainer.RuntimePatch{pods("sdk", selects(map[string]string{"pool": "a"}))}, pods("queue", selects(map[string]string{"pool": "b"}))},
		{"not the owner", "only sdk may set the field: queue", codes.NoComposition, owner, nil, pods("queue", selects(map[string]string{"pool": "b"}))},
		{"before another patch", "the last patch does not set the union of all values: queue, sdk", codes.NotComposed, podRule(compose.KindUnion, "tolerations"), []trainer.RuntimePatch{{Manager: "queue"}, pods("sdk", tolerates("user"))}, pods("queue", tolerates("flavor"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan, err := runtimepatch.Minimal(template(), tc.patches, tc.want, tc.rule)
			var found finding.List
			if !errors.As(err, &found) || len(found) != 1 || found[0].Code != tc.code || found[0].Message != tc.message {
				t.Errorf("Plan = %v, %v, want %s %s", plan, err, tc.code, tc.message)
			}
		})
	}
	_, err := runtimepatch.Compose(template(), []trainer.RuntimePatch{pods("queue", tolerates("a")), pods("sdk", tolerates("b"))}, "queue", compose.Rules{podRule(compose.KindUnion, "tolerations")})
	var found finding.List
	if !errors.As(err, &found) || found[0].Remedy.Text != "move the patch of queue behind the one of sdk" {
		t.Errorf("Compose returns %v, want the order of the patches", err)
	}
}

// TestCompose_Env is https://github.com/kubeflow/trainer/issues/3887 for the plugins that are managers. Two set one variable of a
// container, and the last one wins without notice. A rule names the owner, whose value counts in every order, or demands agreement.
func TestCompose_Env(t *testing.T) {
	variable := func(value string) func(*trainer.PodSpecPatch) {
		return func(p *trainer.PodSpecPatch) {
			p.Containers = []trainer.ContainerPatch{{Name: "proxy", Env: []corev1.EnvVar{{Name: "TRACKER", Value: value}}}}
		}
	}
	base := template()
	pod := &base.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.Containers = append(pod.Containers, corev1.Container{Name: "proxy"})
	rule := podRule(compose.KindOwner, "containers")
	rule.Path = rule.Path.Append(fieldpath.Item("name", ""), fieldpath.Field("env"))
	rule.Owner = "one.example.com/plugin"
	one, other := pods("one.example.com/plugin", variable("tcp://one")), pods("other.example.com/plugin", variable("tcp://other"))
	value := func(patches []trainer.RuntimePatch) string {
		containers := podsIn(t, base, patches).Containers
		return containers[len(containers)-1].Env[0].Value
	}
	for _, patches := range [][]trainer.RuntimePatch{{one, other}, {other, one}} {
		if got, last := value(patches), patches[1]; got != podOf(last).Containers[0].Env[0].Value {
			t.Errorf("the cluster sets %q, and the issue says that the last one wins", got)
		}
		entry, err := runtimepatch.Compose(base, patches, "platform.example.com/compose", compose.Rules{rule})
		if err != nil {
			t.Fatal(err)
		}
		if got := value(runtimepatch.Upsert(patches, entry)); got != "tcp://one" {
			t.Errorf("with the owner's rule the cluster sets %q, want tcp://one", got)
		}
	}
	rule.Kind = compose.KindAgree
	var found finding.List
	if _, err := runtimepatch.Compose(base, []trainer.RuntimePatch{one, other}, "platform.example.com/compose", compose.Rules{rule}); !errors.As(err, &found) || found[0].Code != codes.NoComposition {
		t.Errorf("Compose returns %v, want %s", err, codes.NoComposition)
	}
}
