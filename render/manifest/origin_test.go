package manifest_test

import (
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// TestDocument_Trace moves the positions of a generated object to its source.
func TestDocument_Trace(t *testing.T) {
	documents, _ := manifest.Decode("made", []byte("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n  suspend: false\n  wrong: 1\n"))
	if len(documents) != 1 || len(documents[0].Findings) != 1 {
		t.Fatalf("Decode() = %v, want one document with one finding", documents)
	}
	d, source := documents[0], fieldpath.Position{File: "source", Line: 7}
	d.Trace(func(_ *manifest.Document, path fieldpath.Path) fieldpath.Position {
		return fieldpath.Position{File: "source", Line: 5 + len(path)}
	})
	suspend := fieldpath.Fields("spec", "suspend")
	if at := d.Position(suspend); at != source {
		t.Errorf("Position() = %s, want %s", at, source)
	}
	if at := d.Findings[0].Position; at != source {
		t.Errorf("the finding is at %s, want %s", at, source)
	}
	if at := d.TextPosition(suspend); at.File != "made" || at.Line != 5 {
		t.Errorf("TextPosition() = %s, want made:5", at)
	}
	if text, ok := d.Text(suspend); text != "false" || !ok {
		t.Errorf("Text() = %q, %t, want false", text, ok)
	}
	if _, ok := d.Text(fieldpath.Fields("spec")); ok {
		t.Error("Text() has a text for a map")
	}
}
