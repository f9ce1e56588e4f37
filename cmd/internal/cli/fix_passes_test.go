package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestFix_Passes compares the report of a repair with a check of the repaired files. The repair judges only the TrainJobs that it touched.
func TestFix_Passes(t *testing.T) {
	t.Parallel()
	misspelt := func(text string) string { return strings.Replace(text, "nodeSelector:", "nodeSelecter:", 1) }
	repeated := func(text string) string {
		return strings.Replace(text, "    numNodes: 4\n", "    numNodes: 4\n    numNodes: 4\n", 1)
	}
	// The managers disagree about the account, which no repair decides.
	conflicting := func(text string) string {
		text = strings.Replace(text, "                        volumes:", "                        serviceAccountName: a\n                        volumes:", 1)
		return strings.Replace(text, "                        nodeSelector:", "                        serviceAccountName: b\n                        nodeSelector:", 1)
	}
	for name, tc := range map[string]struct {
		files map[string]string
		links map[string]string
		flags []string
	}{
		"another file": {files: map[string]string{"runtime.yaml": testenv.Runtime, "a.yaml": misspelt(testenv.TrainJob(1)), "b.yaml": conflicting(testenv.TrainJob(2))}},
		"the same file": {files: map[string]string{"runtime.yaml": testenv.Runtime,
			"a.yaml": repeated(testenv.TrainJob(1)) + "---\n" + conflicting(testenv.TrainJob(2))}},
		"the runtime": {files: map[string]string{"runtime.yaml": strings.Replace(testenv.Runtime, "image: registry.example.com/metrics", "imagee: registry.example.com/metrics", 1),
			"a.yaml": conflicting(testenv.TrainJob(1)), "b.yaml": misspelt(testenv.TrainJob(2))}},
		"the runtime beside a TrainJob": {files: map[string]string{"a.yaml": testenv.TrainJob(1), "b.yaml": conflicting(testenv.TrainJob(2)) + "---\n" +
			strings.Replace(testenv.Runtime, "image: registry.example.com/metrics", "imagee: registry.example.com/metrics", 1)}},
		"a patch of a flag": {flags: []string{"--patch", "x.example.org/y=patches/p.yaml"}, files: map[string]string{"in/runtime.yaml": testenv.Runtime, "in/a.yaml": conflicting(testenv.TrainJob(1)),
			"patches/p.yaml": "trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {serviceAccountNam: c}}}}}]}}}\n"}},
		"a link": {links: map[string]string{"z.yaml": "a.yaml"}, files: map[string]string{"runtime.yaml": testenv.Runtime,
			"a.yaml": repeated(conflicting(testenv.TrainJob(1)))}},
		"a kind": {files: map[string]string{"runtime.yaml": strings.Replace(testenv.Runtime, "kind: Cluster", "kind: Clustre", 1), "a.yaml": misspelt(testenv.TrainJob(1)), "b.yaml": testenv.TrainJob(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range tc.files {
				testenv.WriteIn(t, dir, file, text)
			}
			for link, to := range tc.links {
				if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			findings := func(flags ...string) any {
				args := append([]string{"check", "-R", dir, "-o", "json"}, flags...)
				for i, flag := range tc.flags {
					args = append(args, strings.Replace(flag, "=", "="+dir+"/", 1))
					if i == 1 {
						args[2] = filepath.Join(dir, "in")
					}
				}
				var stdout, stderr bytes.Buffer
				root := Root(&host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}, args)
				root.SetArgs(args)
				if err := root.Execute(); err != nil && !errors.Is(err, exit.Status(exit.Findings)) {
					t.Fatalf("%q: %v\n%s", args, err, stderr.String())
				}
				var report struct{ Findings any }
				if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
					t.Fatal(err)
				}
				return report.Findings
			}
			before := findings()
			repaired := findings("--fix")
			if cmp.Equal(before, repaired) {
				t.Fatalf("the repair does nothing: %v", before)
			}
			if d := cmp.Diff(findings(), repaired); d != "" {
				t.Errorf("check after --fix, and --fix (+):\n%s", d)
			}
		})
	}
}
