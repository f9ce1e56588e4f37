package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
)

// TestCheck_Suspended wants an error for each object that the cluster rejects at the resume. Only a
// field that can change before makes it a warning.
func TestCheck_Suspended(t *testing.T) {
	const container = `- {name: logs, image: "fluent:1"}`
	const before = "\t\t\t- name: init\n\t\t\t\ttemplate: {spec: {template: {spec: {containers: " +
		"[{name: c, image: i}]}}}}\n"
	later := func(text string) string {
		text = strings.Replace(text, "\t\t\t- name: node\n",
			before+"\t\t\t- name: node\n\t\t\t\tdependsOn: [{name: init, status: Complete}]\n", 1)
		return text
	}
	of := func(pod string) string {
		return strings.Replace(torchRuntime, "\t\t\t\t\t\t\t\tcontainers:",
			"\t\t\t\t\t\t\t\t"+pod+"\n\t\t\t\t\t\t\t\tcontainers:", 1)
	}
	for _, c := range []struct {
		name, runtime string
		severity      finding.Severity
	}{
		{"requests above limits",
			strings.Replace(torchRuntime, container,
				`- {name: logs, image: "fluent:1", resources: {requests: {cpu: 2}, limits: {cpu: 1}}}`, 1), finding.Error},
		{"a priority", of("priority: 5"), finding.Error},
		{"two sources of a volume", of("volumes: [{name: v, emptyDir: {}, hostPath: {path: /x}}]"),
			finding.Error},
		{"a mount without a volume",
			strings.Replace(torchRuntime, container,
				`- {name: logs, image: "fluent:1", volumeMounts: [{name: v, mountPath: /v}]}`, 1),
			finding.Error},
		{"tolerations", of("tolerations: [{operator: Bogus}]"), finding.Warning},
		{"a node selector", of("nodeSelector: {a: 'b c'}"), finding.Warning},
		{"a label", strings.Replace(torchRuntime, "\t\t\t\t\t\ttemplate:\n",
			"\t\t\t\t\t\ttemplate:\n\t\t\t\t\t\t\tmetadata: {labels: {a: 'b c'}}\n", 1),
			finding.Warning},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.runtime == torchRuntime {
				t.Fatal("the case changes nothing")
			}
			check := func(text, spec string) finding.List {
				runtime, _ := admission.AdmitRuntime(t.Context(), nil, object(t, text), "default")
				return slices.DeleteFunc(
					admission.Check(
						t.Context(), admission.Input{
							TrainJob: object(t, jobYAML("\ttrainer: {}\n"+spec)),
							Runtime:  runtime}), func(f finding.Finding) bool {
						return f.Severity < finding.Warning
					})
			}
			if check(c.runtime, "").Err() == nil {
				t.Fatal("the cluster accepts the case in any state")
			}
			if check(c.runtime, "\tsuspend: true\n").Err() == nil {
				t.Error("no error for a Job that exists while it is suspended, or for its Pods")
			}
			found := check(later(c.runtime), "\tsuspend: true\n")
			if len(found) == 0 || slices.ContainsFunc(found, func(f finding.Finding) bool {
				return f.Severity != c.severity
			}) {
				t.Errorf("after the resume: got %v, want %s", found, c.severity)
			}
			const hint = "unless Kueue or another manager changes the field before"
			for _, f := range found {
				if strings.Contains(f.Message, hint) != (c.severity == finding.Warning) {
					t.Errorf("got %q, want the words %q of a warning only", f.Message, hint)
				}
			}
		})
	}
}
