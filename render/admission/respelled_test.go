package admission_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

// TestRespelled has values whose canonical form differs from their text, in immutable fields, and
// the write that meets them: a later apply where the webhook sets the time of a patch on creation,
// and the patch of a queue where it sets none.
func TestRespelled(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name, Labels, Trainer, Patches string
		Want                           []string
	}](t, "testdata/respelled.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			job := object(
				t, fmt.Sprintf(
					"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {%s "+
						"name: llm}, spec: {runtimeRef: {name: plain}, trainer: %s, "+
						"runtimePatches: %s}}", tc.Labels, tc.Trainer, tc.Patches))
			var paths []string
			for _, f := range admission.Check(context.Background(),
				admission.Input{TrainJob: job}).Of(codes.Respelled) {
				paths = append(paths, f.Path.String())
			}
			if !slices.Equal(paths, tc.Want) {
				t.Errorf("TW706 at %q, want %q", paths, tc.Want)
			}
		})
	}
}
