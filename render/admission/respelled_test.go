package admission_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

// TestRespelled has values whose canonical form differs from their text, in immutable fields, and
// the write that meets them: a later apply where the webhook sets the time of a patch on creation,
// and the patch of a queue where it sets none.
func TestRespelled(t *testing.T) {
	const (
		patch    = `[{manager: a.example.com/b, %s trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: %s}}}}]}}}}]`
		plain    = "{nodeSelector: {a: b}}"
		stamped  = `time: "2026-01-02T03:04:05Z",`
		noLabels = ""
		queued   = "labels: {kueue.x-k8s.io/queue-name: q},"
		inPatch  = `.spec.runtimePatches[manager="a.example.com/b"].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec`
	)
	limits := func(text string) string { return "{resourcesPerNode: {limits: {" + text + "}}}" }
	patched := func(time, pod string) string { return fmt.Sprintf(patch, time, pod) }
	for _, tc := range []struct {
		name, labels, trainer, patches string
		want                           []string
	}{
		{"number", noLabels, limits("cpu: 1"), patched("", plain),
			[]string{`.spec.trainer.resourcesPerNode.limits["cpu"]`}},
		{"milli", noLabels, limits("cpu: 1000m"), patched("", plain),
			[]string{`.spec.trainer.resourcesPerNode.limits["cpu"]`}},
		{"mega", noLabels, limits("memory: 1024Mi"), patched("", plain),
			[]string{`.spec.trainer.resourcesPerNode.limits["memory"]`}},
		{"decimals", noLabels, limits(`cpu: "0.5"`), patched("", plain),
			[]string{`.spec.trainer.resourcesPerNode.limits["cpu"]`}},
		{"canonical", noLabels, limits(`cpu: "1", memory: 1Gi, ephemeral-storage: 500m`),
			patched("", plain), nil},
		// Upstream keeps the text of some quantities that it would write otherwise.
		{"plus", noLabels, limits("memory: +1Gi"), patched("", plain), nil},
		{"leading zero", noLabels, limits("memory: 01Gi"), patched("", plain), nil},
		{"point", noLabels, limits(`cpu: "1."`), patched("", plain), nil},
		{"exponent", noLabels, limits(`cpu: "1e03"`), patched("", plain), nil},
		{"leading zero and decimals", noLabels, limits(`cpu: "01.5"`), patched("", plain),
			[]string{`.spec.trainer.resourcesPerNode.limits["cpu"]`}},
		{"zeros", noLabels, limits(`cpu: "00"`), patched("", plain),
			[]string{`.spec.trainer.resourcesPerNode.limits["cpu"]`}},
		{"two", noLabels, `{resourcesPerNode: {limits: {cpu: 2}, requests: {cpu: 1000m}}}`,
			patched("", plain),
			[]string{`.spec.trainer.resourcesPerNode.limits["cpu"]`,
				`.spec.trainer.resourcesPerNode.requests["cpu"]`}},
		{"divisor", noLabels,
			`{env: [{name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, containerName: node}}}]}`, patched("", plain), []string{`.spec.trainer.env[name="CPU"].valueFrom.resourceFieldRef.divisor`}},
		{"divisor in text", noLabels,
			`{env: [{name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, containerName: node, divisor: 1000m}}}]}`, patched("", plain), []string{`.spec.trainer.env[name="CPU"].valueFrom.resourceFieldRef.divisor`}},
		{"divisor in canonical text", noLabels,
			`{env: [{name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, containerName: node, divisor: "1"}}}]}`, patched("", plain), nil},
		{"size limit", noLabels, "{numNodes: 2}",
			patched("", "{volumes: [{name: v, emptyDir: {sizeLimit: 1024Mi}}]}"),
			[]string{inPatch + `.volumes[name="v"].emptyDir.sizeLimit`}},
		{"time of the file", noLabels, limits("cpu: 1"), patched(stamped, plain), nil},
		{"no patch", noLabels, limits("cpu: 1"), "[]", nil},
		{"queue", queued, limits("nvidia.com/gpu: 2"), "[]",
			[]string{`.spec.trainer.resourcesPerNode.limits["nvidia.com/gpu"]`}},
		{"queue, text", queued, limits(`nvidia.com/gpu: "2"`), "[]", nil},
		{"queue, time of the file", queued, limits("cpu: 1000m"), patched(stamped, plain),
			[]string{`.spec.trainer.resourcesPerNode.limits["cpu"]`}},
		{"queue, divisor", queued,
			`{env: [{name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, containerName: node}}}]}`, "[]", []string{`.spec.trainer.env[name="CPU"].valueFrom.resourceFieldRef.divisor`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			job := object(
				t, fmt.Sprintf(
					"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {%s "+
						"name: llm}, spec: {runtimeRef: {name: plain}, trainer: %s, "+
						"runtimePatches: %s}}", tc.labels, tc.trainer, tc.patches))
			var paths []string
			for _, f := range admission.Check(context.Background(),
				admission.Input{TrainJob: job}).Of(codes.Respelled) {
				paths = append(paths, f.Path.String())
			}
			if !slices.Equal(paths, tc.want) {
				t.Errorf("TW706 at %q, want %q", paths, tc.want)
			}
		})
	}
}
