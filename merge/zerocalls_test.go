package merge_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		merge.Apply, merge.Force, merge.JobSetTemplate, merge.ManagedFields, merge.Review, merge.Upsert,
		merge.FormatClaim, merge.FromRuntime, merge.IsSecretOf, merge.OverrideLayer, merge.OverrideOf, merge.PatchPath, merge.PolicyLayer, merge.SchedulerLayer,
		new(merge.PatchError),
	)
}
