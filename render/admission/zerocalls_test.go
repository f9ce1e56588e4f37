package admission_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/admission"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		admission.AdmitJobSet, admission.AdmitRuntime, admission.Check, admission.Encode, admission.Stamp,
		admission.Update, admission.UpdateJobSet, admission.UpdateRuntime,
		new(admission.Runtime),
	)
}
