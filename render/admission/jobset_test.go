package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/admission"
)

// jobSetYAML is a JobSet of one job, called node, with one container. The texts go into the spec,
// the Job's spec, the Pod's spec and the container.
func jobSetYAML(spec, job, pod, container string) string {
	return `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: llm, namespace: default}
spec:
` + spec + `	replicatedJobs:
	- name: node
		template:
			spec:
				completions: 2
				parallelism: 2
` + job + `				template:
					spec:
` + pod + `						containers:
						- name: node
` + container + `							image: "pytorch:2"
`
}

// Each row breaks one rule of the JobSet's definition, of its webhook or of the Job API.
func TestJobSet(t *testing.T) {
	const inContainer = "\t\t\t\t\t\t\t"
	for _, c := range casefile.Table[struct {
		Name                      string
		Spec, Job, Pod, Container string
		Want                      string // code of the only error, or of each
		Path                      string
		Reason                    string
	}](t, "testdata/jobset.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			text := jobSetYAML(c.Spec, c.Job, c.Pod, c.Container)
			if strings.Contains(c.Container, "image:") {
				text = strings.Replace(text, inContainer+"image: \"pytorch:2\"\n", "", 1)
			}
			switch c.Name {
			case "first job depends":
				text = strings.Replace(text, "\t- name: node\n",
					"\t- name: node\n\t\tdependsOn: [{name: other, status: Ready}]\n", 1)
			case "depends on itself":
				text += "\t- name: late\n\t\tdependsOn: [{name: late, status: " +
					"Ready}]\n\t\ttemplate: {spec: {template: {spec: {containers: [{name: a, " +
					"image: a}]}}}}\n"
			case "no replicas":
				text += "\t- name: none\n\t\treplicas: 0\n\t\ttemplate: {spec: {template: {spec: " +
					"{containers: [{name: a, image: a, volumeMounts: [{name: ghost, mountPath: " +
					"/a}]}]}}}}\n"
			case "reserved label":
				text = strings.Replace(text, "\t\t\t\ttemplate:\n",
					"\t\t\t\ttemplate:\n\t\t\t\t\tmetadata: {labels: "+
						"{batch.kubernetes.io/job-name: mine}}\n", 1)
			}
			found := admission.AdmitJobSet(t.Context(), nil, object(t, text), "")
			if got := strings.Join(codesOf(found), " "); got != c.Want {
				t.Errorf("%q, want %q: %s\n%v", got, c.Want, c.Reason, found)
			}
			at := func(f finding.Finding) bool {
				return f.Severity == finding.Error && f.Path.String() == c.Path
			}
			if c.Path != "" && !slices.ContainsFunc(found, at) {
				t.Errorf("no error at %s: %s\n%v", c.Path, c.Reason, found)
			}
		})
	}
}
