package admission_test

import (
	"context"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
)

// TestCheck_ListItems wants an object of too many list items refused as a whole: one finding for a hundred thousand.
func TestCheck_ListItems(t *testing.T) {
	env := make([]any, 100_000)
	for i := range env {
		env[i] = map[string]any{}
	}
	found := admission.Check(context.Background(), admission.Input{TrainJob: map[string]any{
		"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"runtimeRef": map[string]any{"name": "a"}, "trainer": map[string]any{"env": env}},
	}})
	if len(found) != 1 || found[0].Code != finding.CodeSyntax || !strings.Contains(found[0].Message, "has 100000 list items: must be at most 16384") {
		t.Errorf("got %d findings, the first of them %.300v", len(found), found)
	}
}
