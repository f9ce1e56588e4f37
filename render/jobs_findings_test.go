package render_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
)

func TestJobsFindings(t *testing.T) {
	const exclusive = "metadata: {name: llm, namespace: team, annotations: " +
		"{alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}\nspec:"
	hosts := func(line string) string {
		return strings.Replace(oneNode, "image: trainer:1", line, 1)
	}
	for _, c := range []struct {
		name, reason, text string
		companions         []runtime.Object
		want               []string // severity, code and path
	}{
		{name: "plain", reason: "nothing to tell", text: oneNode},
		{
			name: "suspended", reason: "its Pods are not there yet",
			text: oneNode + "  suspend: true",
			want: []string{"warning TW420 .spec.suspend"},
		}, {
			name: "managed elsewhere", reason: "this cluster makes nothing",
			text: oneNode + "  managedBy: kueue.x-k8s.io/multikueue",
			want: []string{"warning TW421 .spec.managedBy"},
		}, {
			name: "managed here", reason: "the controller's own name is the default",
			text: oneNode + "  managedBy: jobset.sigs.k8s.io/jobset-controller",
		}, {
			name: "a Job managed elsewhere", reason: "this cluster makes no Pods of it",
			text: strings.Replace(oneNode, "parallelism",
				"managedBy: example.com/jobs\n        parallelism", 1),
			want: []string{
				`warning TW421 .spec.replicatedJobs[name="node"].template.spec.managedBy`},
		}, {
			name: "a Job managed here", reason: "the controller's own name is the default",
			text: strings.Replace(oneNode, "parallelism",
				"managedBy: kubernetes.io/job-controller\n        parallelism", 1),
		}, {
			name: "a deadline that is over", reason: "the duration overflows",
			text: strings.Replace(oneNode, "parallelism",
				"activeDeadlineSeconds: 9223372037\n        parallelism", 1),
			want: []string{
				`warning TW423 .spec.replicatedJobs[name="node"].template.spec.activeDeadlineSeconds`},
		}, {
			name: "exclusive", reason: "the second Pod waits", text: exclusive + oneNode,
			want: []string{`note TW425 .spec.replicatedJobs[name="node"]`},
		}, {
			name: "exclusive and not indexed", reason: "the Pods have no leader to follow",
			text: exclusive +
				strings.Replace(oneNode, "parallelism",
					"completionMode: NonIndexed\n        parallelism", 1),
			want: []string{
				`error TW423 .spec.replicatedJobs[name="node"].template.spec.completionMode`},
		}, {
			name: "priority class", reason: "only the cluster knows its value",
			text: strings.Replace(oneNode, "containers:",
				"priorityClassName: high\n            containers:", 1),
			want: []string{
				`warning TW424 .spec.replicatedJobs[name="node"].template.spec.template.spec.priorityClassName`},
		}, {
			name: "system priority class", reason: "every cluster has it",
			text: strings.Replace(oneNode, "containers:",
				"priorityClassName: system-node-critical\n            containers:", 1),
		}, {
			name: "endpoints that exist", reason: "the Pods 0 and 1 of Job 0 do",
			text: hosts("env: [{name: PET_MASTER_ADDR, value: llm-node-0-0.llm}, {name: X, "+
				"value: 'llm-node-0-1.llm:29500'}], args: ['--rdzv=llm-node-0-1.llm.team.svc']") +
				"  coordinator: {replicatedJob: node, podIndex: 1}",
		}, {
			name: "endpoints that do not", reason: "every place where they can stand is read",
			text: hosts("env: [{name: A, value: llm-node-0-2.llm}, {name: B, value: "+
				"'tcp://llm-node-1-0.llm:1'}], command: [run, llm-ghost-0-0.llm], args: "+
				"['x,llm-node-0-9.llm']") +
				"  coordinator: {replicatedJob: ghost}",
			want: []string{
				`warning TW422 .spec.coordinator`,
				`warning TW422 .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].command[1]`,
				`warning TW422 .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].args[0]`,
				`warning TW422 .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].env[name="A"].value`,
				`warning TW422 .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].env[name="B"].value`,
			},
		}, {
			name: "subdomain", reason: "with a subdomain of its own, the JobSet's name is not one",
			text: hosts("env: [{name: A, value: llm-node-0-0.llm}, {name: B, value: "+
				"llm-node-0-0.net}]") + "  network: {subdomain: net}",
			want: []string{
				`warning TW422 .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].env[name="A"].value`},
		}, {
			name: "no hostnames", reason: "no Pod has a host",
			text: hosts("env: [{name: A, value: llm-node-0-0.llm}]") +
				"  network: {enableDNSHostnames: false}",
			want: []string{
				`warning TW422 .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].env[name="A"].value`},
		}, {
			name: "not indexed", reason: "its Pods have no index, so no host",
			text: strings.Replace(hosts("env: [{name: A, value: llm-node-0-0.llm}]"), "parallelism",
				"completionMode: NonIndexed\n        parallelism", 1),
			want: []string{
				`warning TW422 .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].env[name="A"].value`},
		}, {
			name: "hosts of others", reason: "a host unlike the Pods of this JobSet is not judged",
			text: hosts("env: [{name: A, value: llm-eval-node-0-0.llm-eval}, {name: B, value: " +
				"llm-redis.llm}, {name: C, value: my-llm-node-0-7.llm}, {name: D, value: " +
				"llm-node-0-7.llmx}]"),
		}, {
			name: "the host of another name", reason: "the Pods of a JobSet meet at one of them",
			text: hosts("env: [{name: MASTER_ADDR, value: sft-node-0-0.sft}, {name: PEER, value: " +
				"sft-node-0-0.sft}, {name: PET_RDZV_ENDPOINT, value: 'redis.svc:29500'}], " +
				"args: [--rdzv-endpoint, 'sft-node-0-1.sft:29500', '--hostfile=/etc/hosts', " +
				"--peer=sft-node-0-0.sft]"),
			want: []string{
				`warning TW422 .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].args[1]`,
				`warning TW422 .spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].env[name="MASTER_ADDR"].value`,
			},
		}, {
			name: "hostfile", reason: "the files next to the JobSet also name Pods", text: oneNode,
			companions: []runtime.Object{
				&corev1.ConfigMap{
					Data: map[string]string{
						"hostfile": "llm-node-0-0.llm slots=1\nllm-node-0-5.llm slots=1\n"}},
				&corev1.Secret{}},
			want: []string{`warning TW422 .data["hostfile"]`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := render.Jobs(jobSet(t, c.text), render.JobsOptions{Companions: c.companions})
			if out == nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range out.Findings {
				got = append(got, f.Severity.String()+" "+string(f.Code)+" "+f.Path.String())
				if f.Severity == finding.Error && (f.Remedy.Text == "" || err == nil) {
					t.Errorf("%v: an error has a help and is returned", f)
				}
				if strings.Contains(f.Message, ".llm") {
					t.Errorf("%q quotes a value", f.Message)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s\ngot  %s\nwant %s", c.reason, strings.Join(got, "\n     "),
					strings.Join(c.want, "\n     "))
			}
		})
	}
}

func TestJobs_Invalid(t *testing.T) {
	if _, err := render.Jobs(nil, render.JobsOptions{}); err == nil {
		t.Error("a nil JobSet is taken")
	}
	if _, err := render.Jobs(&jobset.JobSet{}, render.JobsOptions{}); err == nil ||
		!strings.Contains(err.Error(), ".metadata.name") {
		t.Errorf("a JobSet without a name: %v", err)
	}
	js := jobSet(t, oneNode)
	js.Spec.ReplicatedJobs[0].Replicas = 2_000_000_000
	out, err := render.Jobs(js, render.JobsOptions{})
	if err == nil || len(out.Jobs) > 0 {
		t.Errorf("%d Jobs, error %v: a mistyped number must not take all memory",
			len(out.Jobs), err)
	}
	js.Spec.ReplicatedJobs[0].Replicas = -1
	if out := jobs(t, js, render.JobsOptions{}); len(out.Jobs) != 0 {
		t.Errorf("%d Jobs of -1 replicas", len(out.Jobs))
	}
}
