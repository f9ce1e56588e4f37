package finding_test

import (
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		finding.FormatValue, finding.HideSecrets, finding.IsSecret, finding.Nearest, finding.StricterCodes,
		new(finding.Finding), new(finding.List), new(finding.Set), new(finding.Severity),
	)
}
