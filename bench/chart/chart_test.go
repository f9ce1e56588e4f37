package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCharts holds that the charts of the docs show the recorded results, that docs/performance.md shows each of them, and that a
// chart is XML.
func TestCharts(t *testing.T) {
	dir, docs := t.TempDir(), filepath.Join("..", "..", "docs")
	if err := run([]string{"-output", dir, filepath.Join("..", "results.txt")}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range charts {
		drawn, err := os.ReadFile(filepath.Join(dir, c.file))
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join(docs, c.file))
		if err != nil {
			t.Fatal(err)
		}
		if string(drawn) != string(committed) {
			t.Errorf("docs/%s differs from the chart of bench/results.txt: run make charts", c.file)
		}
		if !strings.Contains(string(page), "]("+c.file+")") {
			t.Errorf("docs/performance.md does not show %s", c.file)
		}
		for d := xml.NewDecoder(strings.NewReader(string(drawn))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", c.file, err)
				break
			}
		}
	}
}

func TestParse(t *testing.T) {
	const output = `goos: linux
cpu: Some Processor
BenchmarkCheck-2   	       1	         1.918 check-cpu-ms	       960.0 check-documents/s
    check_test.go:1: BenchmarkCheck
BenchmarkApply/jobs=3/managers=16-16         	       1	      1000 smd/DeepCopy
BenchmarkCheck-2   	       1	         1.5 check-cpu-ms
PASS
`
	found, err := parse(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range (results{
		"BenchmarkCheck check-cpu-ms": 1.5, "BenchmarkCheck check-documents/s": 960, "BenchmarkApply/jobs=3/managers=16 smd/DeepCopy": 1000,
	}) {
		if got := found[name]; got != want {
			t.Errorf("%s = %g, want %g", name, got, want)
		}
	}
	if len(found) != 3 {
		t.Errorf("parse finds %d results, want 3: %v", len(found), found)
	}
	if _, err := parse(strings.NewReader("BenchmarkA-2 1 x ns/op\n")); err == nil || !strings.Contains(err.Error(), `line 1: invalid value "x" of BenchmarkA`) {
		t.Errorf("error %v for a value that is not a number", err)
	}
}

func TestRun_Errors(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.txt")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"", "got 0 arguments"},
		{"missing.txt", "missing.txt"},
		{empty, `no result "BenchmarkCheck yaml-cpu-ms"`},
	} {
		dir := t.TempDir()
		if err := run(append([]string{"-output", dir}, strings.Fields(tc.args)...)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("run(%q) = %v, want %q", tc.args, err, tc.want)
		}
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("run(%q) fails and leaves %d files", tc.args, len(files))
		}
	}
}

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{0.034: "0.03", 1.5: "1.50", 43.14: "43.1", 263.7: "264", 1000: "1,000", 1693.5: "1,694"} {
		if got := number(value); got != want {
			t.Errorf("number(%g) = %q, want %q", value, got, want)
		}
	}
}
