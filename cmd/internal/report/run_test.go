package report_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// TestBefore distinguishes new findings from lasting ones.
func TestBefore(t *testing.T) {
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
		s := report.Before{}
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

// TestRun holds what a run does with the findings of its parts.
func TestRun(t *testing.T) {
	at := func(code finding.Code, severity finding.Severity, file string,
		line int) finding.Finding {
		return finding.Finding{Code: code, Severity: severity, Message: "m",
			Position: fieldpath.Position{File: file, Line: line}}
	}
	first, second := at(codes.Syntax, finding.Error, "b", 1), at(codes.Syntax, finding.Error, "a", 2)
	note := at(codes.NoImage, finding.Warning, "a", 1)
	none := at(codes.NoTrainJob, finding.Error, "", 0)
	for _, tc := range []struct {
		name         string
		before       finding.List // nil without a version before
		strict, lost bool
		want         []finding.Finding
		kept, status int
	}{
		{"each once, by file and line", nil, false, false, []finding.Finding{none, first, note,
			second}, 0, exit.Findings},
		{"what the version before has", finding.List{first, second}, false, false,
			[]finding.Finding{note}, 2, exit.Done},
		{"strict", finding.List{first, second}, true, false, []finding.Finding{note}, 2,
			exit.Findings},
		{"a version before without objects", finding.List{first, second}, false, true,
			[]finding.Finding{none, first, note, second}, 0, exit.Findings},
	} {
		r := report.Run{Strict: tc.strict, Rate: func(l finding.List) finding.List { return l }}
		if tc.before != nil {
			r.AddBefore(tc.before)
		}
		r.Add(finding.List{second, note, first, first, none}, []string{"b", "a"})
		if tc.lost {
			r.ForgetBefore()
		}
		if got := r.Findings(); !reflect.DeepEqual([]finding.Finding(got), tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
		status := exit.Status(exit.Done)
		errors.As(r.Status(), &status)
		if len(r.Kept()) != tc.kept || int(status) != tc.status {
			t.Errorf("%s: %d kept, %v, want %d and %d", tc.name, len(r.Kept()), status, tc.kept,
				tc.status)
		}
	}
}
