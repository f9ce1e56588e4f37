package nearest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/render/nearest"
)

func TestTo(t *testing.T) {
	for _, tc := range []struct {
		name       string
		candidates []string
		want       string
		reason     string
	}{
		{"nodeSelectr", []string{"nodeName", "nodeSelector"}, "nodeSelector",
			"a letter is missing"},
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
		if got := nearest.To(tc.name, tc.candidates); got != tc.want {
			t.Errorf("To(%q, %q) = %q, want %q: %s", tc.name, tc.candidates, got, tc.want,
				tc.reason)
		}
	}
}

// TestIsClear tells misspellings from other names.
func TestIsClear(t *testing.T) {
	for _, tc := range []struct {
		name, near string
		candidates []string
		want       bool
		reason     string
	}{
		{"plian", "plain", []string{"plain", "torch"}, true, "swapped letters"},
		{"Plain", "plain", []string{"plain", "plains"}, true, "only the case differs"},
		{"torch-v1", "torch-v2", []string{"torch-v2"}, false, "another number is another name"},
		{"node-a", "node-b", []string{"node-b"}, false, "so is another letter as a word"},
		{"worker", "workers", []string{"workers", "worked"}, false, "two names are as near"},
		{"kueue.x-k8s.io/managr", "kueue.x-k8s.io/manager", []string{"kueue.x-k8s.io/manager"},
			true, "a letter is missing"},
	} {
		if got := nearest.IsClear(tc.name, tc.near, tc.candidates); got != tc.want {
			t.Errorf("IsClear(%q, %q, %q) = %v, want %v: %s", tc.name, tc.near, tc.candidates, got,
				tc.want, tc.reason)
		}
	}
}

// TestNames_Around holds that the nearest names come first, also in a long list, where Around
// compares only a part.
func TestNames_Around(t *testing.T) {
	few := nearest.NewNames([]string{"torch", "jax", "touch", "JAX", "torch"})
	if got, want := few.Around("torhc"), []string{"torch", "touch", "jax", "JAX"}; few.IsLong() ||
		few.Len() != len(want) || !slices.Equal(got, want) {
		t.Errorf("Around(torhc) = %q, want %q", got, want)
	}
	if got := (nearest.Names{}).Around("a"); len(got) > 0 {
		t.Errorf("the zero Names has %q", got)
	}
	names := []string{"torch-distributed", "deepspeed-zero", "mpi-launcher"}
	for i := range 1000 {
		names = append(names, fmt.Sprintf("team-%d-runtime", i))
	}
	many := nearest.NewNames(names)
	for name, want := range map[string]string{
		"torch-distribted": "torch-distributed", "Torch-Distributed": "torch-distributed",
		"eepspeed-zero": "deepspeed-zero", "mpi_launcher": "mpi-launcher",
		"team-500-runtme": "team-500-runtime",
	} {
		if got := many.Around(name); !many.IsLong() || len(got) > 32 || got[0] != want {
			t.Errorf("Around(%q) = %q, want %q first, and 32 at most", name, got, want)
		}
	}
}
