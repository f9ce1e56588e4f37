package admission_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

// TestStricterCodes wants a row of docs/differences.md for each stricter code, and none for
// others.
func TestStricterCodes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Stricter than admission\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []finding.Code
	for _, row := range regexp.MustCompile(`(?m)^\| (TW[0-9]+) \| \S.* \|$`).FindAllStringSubmatch(
		section, -1) {
		documented = append(documented, finding.Code(row[1]))
	}
	if diff := cmp.Diff(documented, admission.StricterCodes()); !found || diff != "" {
		t.Errorf("docs/differences.md (-documented +admission.StricterCodes):\n%s", diff)
	}
}

// TestStricter asks single findings.
func TestStricter(t *testing.T) {
	for _, tc := range []struct {
		kind   string
		code   finding.Code
		want   bool
		reason string
	}{
		{"TrainJob", codes.BadManager, false, "the webhook rejects it"},
		{"TrainJob", codes.NoMerge, false, "the webhook crashes, and so refuses it"},
		{"TrainJob", codes.NoMergeKey, true, "the cluster takes it"},
		{"TrainingRuntime", codes.BadValue, false, "the definition refuses it"},
		{"JobSet", codes.BadValue, true, "the JobSet is made later, and the TrainJob is taken"},
		{"ClusterTrainingRuntime", codes.TwoSources, true, "the Job API rejects it"},
		{"", codes.UnknownKind, false, "an object of no known kind is refused"},
	} {
		f := finding.Finding{Object: fieldpath.Object{Kind: tc.kind}, Code: tc.code,
			Severity: finding.Error}
		if got := admission.Stricter(nil, f); got != tc.want {
			t.Errorf("%s on a %q: Stricter is %v, want %v: %s", tc.code, tc.kind, got, tc.want,
				tc.reason)
		}
	}
}
