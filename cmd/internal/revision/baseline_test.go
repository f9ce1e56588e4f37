package revision_test

import (
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// TestBaseline distinguishes new findings from lasting ones.
func TestBaseline(t *testing.T) {
	old := finding.Finding{
		Code: codes.UnknownField, Severity: finding.Error, Message: "m",
		Path:     fieldpath.Fields("spec", "a"),
		Object:   fieldpath.Object{Kind: "TrainJob", Namespace: "default", Name: "a"},
		Position: fieldpath.Position{File: "a.yaml", Line: 3, Column: 5},
	}
	file := finding.Finding{Code: codes.Syntax, Severity: finding.Error, Message: "m",
		Position: fieldpath.Position{File: "b.yaml", Line: 1, Column: 1}}
	for _, tc := range []struct {
		reason string
		of     finding.Finding
		change func(*finding.Finding)
		want   bool
	}{
		{"unchanged", old, func(*finding.Finding) {}, true},
		{"another line", old, func(f *finding.Finding) { f.Position.Line = 30 }, true},
		{"another file of an object", old, func(f *finding.Finding) {
			f.Position.File = "c.yaml"
		}, true},
		{"another line of a file", file, func(f *finding.Finding) { f.Position.Line = 7 }, true},
		{"another file without an object", file, func(f *finding.Finding) {
			f.Position.File = "c.yaml"
		}, false},
		{"another message", old, func(f *finding.Finding) { f.Message = "n" }, false},
		{"another severity", old, func(f *finding.Finding) { f.Severity = finding.Warning }, false},
		{"another field", old, func(f *finding.Finding) {
			f.Path = fieldpath.Fields("spec", "b")
		}, false},
		{"another object", old, func(f *finding.Finding) { f.Object.Name = "b" }, false},
	} {
		s := revision.Baseline{}
		s.Add(finding.List{old, file, old})
		f := tc.of
		tc.change(&f)
		if got := s.Take(f); got != tc.want {
			t.Errorf("%s: Take = %t, want %t", tc.reason, got, tc.want)
		}
		if s.Take(f) {
			t.Errorf("%s: Take returns true for a second finding", tc.reason)
		}
	}
}
