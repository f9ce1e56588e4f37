package finding_test

import (
	"testing"

	"github.com/trainweld/trainweld/finding"
)

func TestNearest(t *testing.T) {
	for _, tc := range []struct {
		name       string
		candidates []string
		want       string
		reason     string
	}{
		{"nodeSelectr", []string{"nodeName", "nodeSelector"}, "nodeSelector", "a letter is missing"},
		{"runtimeref", []string{"runtimeRef"}, "runtimeRef", "only the case differs"},
		{"RUNTIMEREF", []string{"runtimePatches", "runtimeRef"}, "runtimeRef", "case never counts"},
		{"plian", []string{"planet", "plain"}, "plain", "swapped neighbours are one edit"},
		{"evn", []string{"env"}, "env", "short names may have one edit"},
		{"foo", []string{"env"}, "", "and not more"},
		{"image", []string{"volumes", "containers"}, "", "nothing is near"},
		{"ab", []string{"ac", "ad"}, "ac", "among equals the first"},
		{"nöde", []string{"node"}, "node", "letters count, not bytes"},
		{"a", nil, "", "no candidates"},
		{"replicatedJob", []string{"replicatedJobs"}, "replicatedJobs", "a plural"},
	} {
		if got := finding.Nearest(tc.name, tc.candidates); got != tc.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q: %s", tc.name, tc.candidates, got, tc.want, tc.reason)
		}
	}
}
