package workspace_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestRead_PolicyOutside reads a policy, and a patch that a policy names, outside of the
// repository. Each is a finding, and nothing of the file is read.
func TestRead_PolicyOutside(t *testing.T) {
	const policy = "patches:\n- manager: example.com/a\n  file: %s\n"
	for name, tc := range map[string]struct {
		policy string
		links  map[string]string
		want   string
	}{
		"patch above": {policy: fmt.Sprintf(policy, "../patch.yaml"),
			want: "is outside of the repository"},
		"linked patch": {policy: fmt.Sprintf(policy, "patch.yaml"),
			links: map[string]string{"patch.yaml": "../patch.yaml"},
			want:  "is outside of the repository"},
		"linked policy": {links: map[string]string{"trainweld.yaml": "../policy.yaml"},
			want: "is outside of the repository"},
		"device": {links: map[string]string{"trainweld.yaml": os.DevNull},
			want: "is outside of the repository"},
		"linked inside": {policy: fmt.Sprintf(policy, "patch.yaml"),
			links: map[string]string{"patch.yaml": "own.yaml"}},
		"patch directly": {policy: fmt.Sprintf(policy, "own.yaml")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			const patch = "trainingRuntimeSpec: {template: {spec: {suspend: true}}}\n"
			for file, text := range map[string]string{
				"patch.yaml": patch, "policy.yaml": "unknown: hunter2\n",
				"repository/.git/HEAD": "", "repository/own.yaml": patch,
				"repository/job.yaml": testenv.TrainJob(0), "repository/trainweld.yaml": tc.policy,
			} {
				if text != "" || strings.HasSuffix(file, "HEAD") {
					testenv.WriteIn(t, dir, file, text)
				}
			}
			t.Chdir(dir + "/repository")
			for file, to := range tc.links {
				if err := os.Symlink(to, file); err != nil {
					t.Skip("needs symbolic links: ", err)
				}
			}
			in := workspace.Read(&host.Program{Files: host.Files{}},
				workspace.Flags{Files: []string{"job.yaml"}})
			if got := fmt.Sprint(in.Findings); !strings.Contains(got, tc.want) ||
				strings.Contains(got, "hunter2") ||
				strings.Contains(got, "outside") != (tc.want != "") {
				t.Errorf("Read() finds %s, want %q", got, tc.want)
			}
		})
	}
}
