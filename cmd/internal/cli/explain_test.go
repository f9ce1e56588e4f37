package cli

import (
	"slices"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/command/explain"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// TestSwitchesOf wants the switches of each code to exist, and some codes to have one.
func TestSwitchesOf(t *testing.T) {
	found := 0
	for _, code := range codes.Codes() {
		for _, id := range explain.SwitchesOf(code) {
			found++
			if !slices.ContainsFunc(release.Switches(), func(s release.Switch) bool {
				return s.ID == id
			}) {
				t.Errorf("%s names the switch %s, which does not exist", code, id)
			}
		}
	}
	if found == 0 {
		t.Error("no code has a switch")
	}
}
