package manifest_test

import (
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

func TestDocument_Report(t *testing.T) {
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
		{codes.UnknownField, `.spec.trainer.imagee`, false},
		{codes.UnknownField, `.spec.trainer.image`, true},
		{codes.UnknownField, `.spec.runtimePatches[0].extra`, false},
		{codes.UnknownField, `.spec.runtimePatches[manager="a.io/b"].extra.c`, false},
		{codes.WrongType, `.spec.trainer.numNodes`, false},
		{codes.WrongType, `.spec.trainer`, false}, // its field has the wrong type
		{codes.WrongType, `.spec.runtimePatches`, true},
		{codes.MissingField, `.spec.runtimeRef.name`, false}, // nam
		{codes.MissingField, `.spec.runtimeRef.kind`, true},
		{codes.MissingField, `.spec.initializer.model`, false},
		{codes.MissingField, ``, true},
		{codes.BadValue, `.spec.initializer.model`, false},
		{codes.BadValue, `.spec.trainer`, true},
		{codes.BadValue, `.spec.trainer.imagee`, true},
		{codes.BrokenRule, `.spec.trainer`, false},
		{codes.BrokenRule, `.spec.trainer.imagee`, true},
		{codes.BrokenRule, `.spec.runtimePatches[0]`, true},
		{codes.IdlePatch, `.spec.runtimePatches[manager="a.io/b"]`, false},
		{codes.IdlePatch, `.spec.runtimeRef.name`, true},
		{codes.Immutable, `.spec.trainer.numNodes`, true},
	} {
		path, err := fieldpath.ParsePath(test.path)
		if err != nil {
			t.Fatal(err)
		}
		found := finding.List{{Code: test.code, Severity: finding.Error, Object: d.ID, Path: path}}
		if further := len(added(d, found)) == 1; further != test.further || len(found) != 1 {
			t.Errorf("%s at %s: %t, after\n%v", test.code, test.path, further, d.Findings)
		}
		found[0].Object.Kind = "JobSet"
		if test.code != codes.IdlePatch && len(added(d, found)) != 1 {
			t.Errorf("%s at %s of another kind is none of the document", test.code, test.path)
		}
	}
}

// added returns the findings that a document's report takes.
func added(d *manifest.Document, found finding.List) finding.List {
	r := d.Report()
	r.Add(found...)
	return r.List()
}
