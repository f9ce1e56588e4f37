package manifest_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file, or writes it.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); run with -update if it should:\n%s", file, diff)
	}
}

// report writes findings as a person would read them, one after the other, with the place marked.
func report(findings finding.List, line func(int) string) []byte {
	var b bytes.Buffer
	for _, f := range findings {
		fmt.Fprintf(&b, "%s: %s %s: %s", f.Position, f.Severity, f.Code, f.Object)
		if len(f.Path) > 0 {
			fmt.Fprintf(&b, ": %s", f.Path)
		}
		fmt.Fprintf(&b, "\n    %s\n    help: %s\n", f.Message, f.Remedy.Text)
		if f.Position.Column > 0 {
			fmt.Fprintf(&b, "    |%s\n    |%s^\n", line(f.Position.Line),
				strings.Repeat(" ", f.Position.Column-1))
		}
	}
	return b.Bytes()
}

func TestFindings(t *testing.T) {
	files, err := filepath.Glob("testdata/findings/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, findings := manifest.Decode(filepath.Base(file), data)
			for _, f := range findings {
				if f.Severity == finding.Error && f.Remedy.Text == "" {
					t.Errorf("%v has no help", f)
				}
				if strings.Contains(f.Message+f.Remedy.Text, "12345678") {
					t.Errorf("%v shows the value of an environment variable", f)
				}
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden",
				report(findings, manifest.Lines(data)))
		})
	}
}
