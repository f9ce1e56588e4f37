package finding_test

import (
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// TestZeroNulls merges a Go value whose type has no omitempty, and one whose type has it, as apply
// configurations do.
func TestZeroNulls(t *testing.T) {
	type selector struct {
		App string `json:"app,omitempty"`
	}
	type bare struct {
		Replicas int       `json:"replicas,omitempty"`
		Selector *selector `json:"selector"`
	}
	type configured struct {
		Replicas int       `json:"replicas,omitempty"`
		Selector *selector `json:"selector,omitempty"`
	}
	base := bare{Selector: &selector{App: "a"}}
	found := zeroNulls(t, base, bare{Replicas: 3})
	if len(found) != 1 || found[0].Code != finding.CodeZeroNull ||
		found[0].Severity != finding.Warning || found[0].Path.String() != ".selector" {
		t.Errorf("a type without omitempty: %v, want one warning TW313 about .selector", found)
	}
	if found := zeroNulls(t, base, configured{Replicas: 3}); found != nil {
		t.Errorf("a type with omitempty: %v, want none", found)
	}
	if found := zeroNulls(t, base, bare{Selector: &selector{App: "b"}}); found != nil {
		t.Errorf("a field that is set: %v, want none", found)
	}
}

// zeroNulls returns the findings on the nulls of a patch.
func zeroNulls[T, P any](t *testing.T, base T, patch P) finding.List {
	t.Helper()
	result, err := merge.Strategic(&base, []merge.Patch{{Manager: "web", Value: &patch}})
	if err != nil {
		t.Fatal(err)
	}
	return finding.ZeroNulls(result.Notes)
}
