package trainingjob_test

import (
	"bytes"
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/trainingjob"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/manifest"
)

// FuzzConvert converts any job of the Training Operator. It gives objects or an error, the same
// each time, and leaves the job as it is.
func FuzzConvert(f *testing.F) {
	for i, archive := range casefile.Read(f, "testdata/*.txtar") {
		if text := archive.Text("job.yaml"); text != nil {
			f.Add(text, uint8(i))
		}
	}
	for _, kind := range trainingjob.Kinds() {
		f.Add([]byte("kind: "+kind+"\n"), uint8(0))
	}
	const unnamed = "{replicas: 2, template: {metadata: {annotations: %s}, spec: {containers: " +
		"[{image: a, env: [{name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}]}}}"
	for _, annotations := range []string{"null", "{a: b}"} {
		r := fmt.Sprintf(unnamed, annotations)
		f.Add(fmt.Appendf(
			nil, "kind: MPIJob\nmetadata: {name: a}\nspec: {mpiReplicaSpecs: {Launcher: %s, "+
				"Worker: %s}}\n", r, r), uint8(0))
		f.Add(fmt.Appendf(
			nil, "kind: PyTorchJob\nmetadata: {name: a}\nspec: {pytorchReplicaSpecs: {Master: "+
				"%s, Worker: %s}}\n", r, r), uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		if len(data) > 1<<14 {
			t.Skip("larger than the jobs of a fuzzer need to be")
		}
		var head struct{ Kind string }
		if yaml.Unmarshal(data, &head) != nil {
			return
		}
		job := trainingjob.New(head.Kind)
		if job == nil || yaml.Unmarshal(data, job) != nil {
			return
		}
		before := asYAML(t, job)
		opts := []trainingjob.Options{{}, {Gang: trainingjob.Volcano}}[which%2]
		result, findings := trainingjob.Convert(job, opts)
		if (result == nil) != (findings.Err() != nil) {
			t.Fatalf("%q: both objects and errors, or neither: %v", data, findings.Err())
		}
		for _, f := range findings {
			if f.Message == "" || f.Severity >= finding.Error && f.Remedy.Text == "" {
				t.Errorf("%q: a finding without a message, or an error without a remedy: %+v",
					data, f)
			}
		}
		again, same := trainingjob.Convert(job, opts)
		if after := asYAML(t, job); after != before {
			t.Errorf("the job changes from\n%s\nto\n%s", before, after)
		}
		if findingsText(findings) != findingsText(same) {
			t.Errorf("%q: finds\n%s\nand then\n%s", data, findingsText(findings),
				findingsText(same))
		}
		if result == nil {
			return
		}
		if asYAML(t, result) != asYAML(t, again) {
			t.Errorf("%q converts to two results", data)
		}
		if err := manifest.Encode(new(bytes.Buffer), manifest.YAML,
			result.Objects()...); err != nil {
			t.Errorf("%q converts to objects that cannot be written: %v", data, err)
		}
	})
}
