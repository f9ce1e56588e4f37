package manifest_test

import (
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

func TestDocument_Further(t *testing.T) {
	const text = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a, namespace: x}
spec:
  runtimeRef: {nam: torch}
  trainer: {numNodes: two, imagee: a}
  initializer: 3
  runtimePatches:
  - {manager: a.io/b, extra: {c: 1}}
`
	documents, _ := manifest.Decode("a.yaml", []byte(text))
	if len(documents) != 1 || documents[0].Findings.Err() == nil {
		t.Fatalf("%d documents, %v", len(documents), documents[0].Findings)
	}
	d := documents[0]
	for _, test := range []struct {
		code    finding.Code
		path    string
		further bool
	}{
		{finding.CodeUnknownField, `.spec.trainer.imagee`, false},
		{finding.CodeUnknownField, `.spec.trainer.image`, true},
		{finding.CodeUnknownField, `.spec.runtimePatches[0].extra`, false},
		{finding.CodeUnknownField, `.spec.runtimePatches[manager="a.io/b"].extra.c`, false},
		{finding.CodeWrongType, `.spec.trainer.numNodes`, false},
		{finding.CodeWrongType, `.spec.trainer`, false}, // its field has the wrong type
		{finding.CodeWrongType, `.spec.runtimePatches`, true},
		{finding.CodeMissingField, `.spec.runtimeRef.name`, false}, // nam
		{finding.CodeMissingField, `.spec.runtimeRef.kind`, true},
		{finding.CodeMissingField, `.spec.initializer.model`, false},
		{finding.CodeMissingField, ``, true},
		{finding.CodeBadValue, `.spec.initializer.model`, false},
		{finding.CodeBadValue, `.spec.trainer`, true},
		{finding.CodeBadValue, `.spec.trainer.imagee`, true},
		{finding.CodeBrokenRule, `.spec.trainer`, false},
		{finding.CodeBrokenRule, `.spec.trainer.imagee`, true},
		{finding.CodeBrokenRule, `.spec.runtimePatches[0]`, true},
		{finding.CodeIdlePatch, `.spec.runtimePatches[manager="a.io/b"]`, false},
		{finding.CodeIdlePatch, `.spec.runtimeRef.name`, true},
		{finding.CodeImmutable, `.spec.trainer.numNodes`, true},
	} {
		path, err := fieldpath.ParsePath(test.path)
		if err != nil {
			t.Fatal(err)
		}
		found := finding.List{{Code: test.code, Severity: finding.Error, Object: d.ID, Path: path}}
		if further := len(d.Further(found)) == 1; further != test.further || len(found) != 1 {
			t.Errorf("%s at %s: %t, after\n%v", test.code, test.path, further, d.Findings)
		}
		found[0].Object.Kind = "JobSet"
		if test.code != finding.CodeIdlePatch && len(d.Further(found)) != 1 {
			t.Errorf("%s at %s of another kind is none of the document", test.code, test.path)
		}
	}
}
