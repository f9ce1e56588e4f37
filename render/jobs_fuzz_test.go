package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render"
)

// FuzzJobs: whatever a JobSet says, Jobs and Pods return. Every Pod belongs to a Job that is there,
// and defaulting twice changes nothing.
func FuzzJobs(f *testing.F) {
	for _, text := range []string{
		oneNode,
		oneNode + "  suspend: true\n  coordinator: {replicatedJob: node, podIndex: -1}",
		"  network: {subdomain: \"\\xff(\"}" + oneNode,
		strings.Replace(oneNode, "completions: 2",
			"completions: -2\n        completionMode: NonIndexed", 1),
		"  volumeClaimPolicies: [{templates: [{metadata: {name: c}}]}]" +
			strings.Replace(oneNode, "spec:\n            containers",
				"metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}\n  "+
					"        spec:\n            priorityClassName: x\n            containers", 1),
	} {
		data, err := yaml.YAMLToJSON([]byte("metadata: {name: llm}\nspec:\n" + text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, true, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, stored, allIndexes bool) {
		js := &jobset.JobSet{}
		if json.Unmarshal(data, js) != nil {
			return
		}
		replicas := 0
		for _, rjob := range js.Spec.ReplicatedJobs {
			if replicas += int(max(1, rjob.Replicas)); replicas > 1000 {
				return // right, but slow
			}
		}
		defaulted := render.DefaultJobSet(js)
		once, _ := json.Marshal(defaulted)
		twice, _ := json.Marshal(render.DefaultJobSet(defaulted))
		if string(once) != string(twice) {
			t.Errorf("defaulting twice: %s\nonce: %s", twice, once)
		}
		options := render.JobsOptions{Stored: stored, OwnerReferences: true}
		out, err := render.Jobs(js, options)
		if out == nil {
			if err == nil {
				t.Error("neither output nor error")
			}
			return
		}
		names := map[string]bool{}
		for _, child := range append(out.Jobs, out.Later...) {
			names[child.Job.Name] = true
		}
		n := 0
		for pod, err := range render.Pods(
			js, render.PodsOptions{JobsOptions: options, AllIndexes: allIndexes}) {
			if err != nil {
				t.Fatal(err)
			}
			if owner := pod.OwnerReferences[0].Name; !names[owner] {
				t.Errorf("Pod %s of Job %s, which is not there", pod.GenerateName, owner)
			}
			if n++; n > 200 {
				break
			}
		}
	})
}
