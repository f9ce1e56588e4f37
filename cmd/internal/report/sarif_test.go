package report_test

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// sarifLog has the fields that the tests read. The tests of cmd/internal/fuzz/sarif have the schema
// of SARIF, and check the files by it.
type sarifLog struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Rules []struct {
					ID string `json:"id"`
				} `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	} `json:"runs"`
}

type sarifResult struct {
	RuleID    string `json:"ruleId"`
	RuleIndex int    `json:"ruleIndex"`
	Message   struct {
		Text string `json:"text"`
	} `json:"message"`
	Locations []struct {
		PhysicalLocation struct {
			ArtifactLocation struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				StartLine, StartColumn, EndLine, EndColumn int
			} `json:"region"`
		} `json:"physicalLocation"`
	} `json:"locations"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
}

func parseSARIF(t *testing.T, text string) sarifLog {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(log.Runs) != 1 {
		t.Fatalf("%d runs", len(log.Runs))
	}
	return log
}

// TestSARIFFingerprints wants fingerprints that differ, that stay when lines move, and that say
// nothing of values.
func TestSARIFFingerprints(t *testing.T) {
	fingerprints := func(edit func(*finding.Finding)) []string {
		all := append(findings(t), findings(t)[0])
		for i := range all {
			edit(&all[i])
		}
		var prints []string
		for _, r := range parseSARIF(t, written(t, "sarif", all, options())).Runs[0].Results {
			prints = append(prints, r.PartialFingerprints["trainweld/v1"])
		}
		return prints
	}
	before := fingerprints(func(*finding.Finding) {})
	seen := map[string]bool{}
	for _, print := range before {
		if print == "" || seen[print] {
			t.Errorf("%q is not the fingerprint of one result: %v", print, before)
		}
		seen[print] = true
	}
	after := fingerprints(func(f *finding.Finding) {
		f.Position.Line += 7
		f.Position.Column++
		for i := range f.Claims {
			f.Claims[i].Position.Line += 7
			f.Claims[i].Value = "another"
		}
	})
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the fingerprints change with the lines: %s", diff)
	}
}

func TestSARIFURI(t *testing.T) {
	absolute := map[string]string{"/jobs/a b.yaml": "file:///jobs/a%20b.yaml"}
	if runtime.GOOS == "windows" {
		absolute = map[string]string{`C:\jobs\a b.yaml`: "file:///C:/jobs/a%20b.yaml"}
	}
	want := map[string]string{
		"a.yaml":                           "a.yaml",
		"./a.yaml":                         "a.yaml",
		filepath.Join("..", "b", "a.yaml"): "../b/a.yaml",
		"50% #1?.yaml":                     "50%25%20%231%3F.yaml",
		"größe.yaml":                       "gr%C3%B6%C3%9Fe.yaml",
		"a:b.yaml":                         "./a:b.yaml",
		"\xff.yaml":                        "%FF.yaml",
		"-":                                "-",
	}
	for file, uri := range absolute {
		want[file] = uri
	}
	for file, uri := range want {
		found := finding.Finding{Code: codes.Syntax, Severity: finding.Error,
			Position: fieldpath.Position{File: file, Line: 1, Column: 1}, Message: "m",
			Remedy: finding.Remedy{Text: "h"}}
		got := parseSARIF(
			t, written(t, "sarif", finding.List{found},
				report.Options{})).Runs[0].Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI
		if got != uri {
			t.Errorf("the URI of %q is %q, want %q", file, got, uri)
		}
	}
}

// TestSARIFLinks wants no link in a message: what looks like one comes from an input.
func TestSARIFLinks(t *testing.T) {
	all := findings(t)
	for _, r := range parseSARIF(
		t, written(t, "sarif", all[len(all)-1:], options())).Runs[0].Results {
		for i := range len(r.Message.Text) {
			if r.Message.Text[i] == '[' && (i == 0 || r.Message.Text[i-1] != '\\') {
				t.Errorf("the message may hold a link: %s", r.Message.Text)
			}
		}
	}
}
