package cli

import (
	"slices"
	"testing"
)

func TestInvoked(t *testing.T) {
	args := []string{"render", ""}
	for _, tc := range []struct {
		file, name string
		args       []string
		reason     string
	}{
		{"trainweld", "trainweld", args, "its own name"},
		{"/usr/local/bin/trainweld", "trainweld", args, "a path is no name"},
		{"/tmp/build-1/b001/exe/main", "trainweld", args, "any other name is not for it to take"},
		{"/home/me/.krew/bin/kubectl-trainweld", "kubectl trainweld", args, "as krew links it"},
		{"kubectl-trainweld.exe", "kubectl trainweld", args, "as Windows has it"},
		{"KUBECTL-TRAINWELD.EXE", "kubectl trainweld", args, "Windows does not tell capitals apart"},
		{"bin/kubectl_complete-trainweld", "kubectl trainweld", []string{"__complete", "render", ""}, "a question of kubectl's"},
	} {
		name, got := invoked(tc.file, args)
		if name != tc.name || !slices.Equal(got, tc.args) {
			t.Errorf("%s: %s: %q %q, want %q %q", tc.reason, tc.file, name, got, tc.name, tc.args)
		}
	}
}
