package codes_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

func ExampleReport() {
	var found codes.Report
	// Two TrainJobs name one runtime, so a check of each finds the same.
	for range 2 {
		found.Add(finding.Finding{
			Code: codes.NoImage, Severity: finding.Error,
			Object:  fieldpath.Object{Kind: "ClusterTrainingRuntime", Name: "torch"},
			Path:    fieldpath.Fields("spec", "template"),
			Message: "the container has no image",
			Remedy:  finding.Remedy{Do: finding.SetValue, Text: "set it"},
		})
	}
	for _, f := range found.List() {
		fmt.Println(f)
	}
	// Output: TW600: ClusterTrainingRuntime torch: .spec.template: the container has no image; set it
}

func TestReport(t *testing.T) {
	at := func(line int, f finding.Finding) finding.Finding {
		f.Position = fieldpath.Position{File: "a.yaml", Line: line}
		return f
	}
	base := finding.Finding{Code: codes.BadValue, Severity: finding.Error,
		Path: fieldpath.Fields("spec"), Message: "m"}
	other := func(change func(*finding.Finding)) finding.Finding {
		f := base
		change(&f)
		return f
	}
	for _, tc := range []struct {
		name  string
		found finding.List
		want  int
	}{
		{"nothing", nil, 0},
		{"one twice", finding.List{base, base}, 1},
		{"other claims and another remedy", finding.List{base, other(func(f *finding.Finding) {
			f.Claims, f.Remedy.Text = []merge.Claim{{}}, "t"
		})}, 1},
		{"another code",
			finding.List{base, other(func(f *finding.Finding) { f.Code = codes.MissingField })}, 2},
		{"another severity",
			finding.List{
				base, other(func(f *finding.Finding) { f.Severity = finding.Warning })}, 2},
		{"another object",
			finding.List{base, other(func(f *finding.Finding) { f.Object.Name = "n" })}, 2},
		{"another field", finding.List{base, other(func(f *finding.Finding) { f.Path = nil })}, 2},
		{"another message",
			finding.List{base, other(func(f *finding.Finding) { f.Message = "n" })}, 2},
		{"another place", finding.List{base, at(1, base)}, 2},
		{"a wrong type in other words", finding.List{
			{Code: codes.WrongType, Message: "a"}, {Code: codes.WrongType, Message: "b"},
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s codes.Report
			s.Add(tc.found...)
			if got := s.List(); len(got) != tc.want {
				t.Errorf("the report holds %d findings, want %d: %v", len(got), tc.want, got)
			}
			if got := codes.Distinct(tc.found); !reflect.DeepEqual(got, s.List()) {
				t.Errorf("Distinct() = %v, want %v", got, s.List())
			}
			for _, f := range tc.found {
				if !s.Has(codes.KeyOf(f)) {
					t.Errorf("the report lacks %v", f)
				}
			}
			if s.Has(codes.KeyOf(finding.Finding{Code: "TW999"})) {
				t.Error("the report has what was not added")
			}
		})
	}
}

func TestReport_Explains(t *testing.T) {
	job, other := fieldpath.Object{Kind: "TrainJob", Name: "a"},
		fieldpath.Object{Kind: "TrainJob", Name: "b"}
	spec, labels := fieldpath.Fields("spec"), fieldpath.Fields("spec", "labels")
	place := fieldpath.Position{File: "a.yaml", Line: 1}
	from := func(path fieldpath.Path) []merge.Claim { return []merge.Claim{{}, {At: path}} }
	for _, tc := range []struct {
		name string
		by   finding.Finding
		f    finding.Finding
		want bool
	}{
		{"anywhere", finding.Finding{Code: codes.MasterAddress},
			finding.Finding{Code: codes.NoSuchPod, Object: job}, true},
		{"no row for the code", finding.Finding{Code: codes.MasterAddress},
			finding.Finding{Code: codes.NoImage}, false},
		{"the row is for one direction", finding.Finding{Code: codes.NoSuchPod},
			finding.Finding{Code: codes.MasterAddress}, false},
		{"one field", finding.Finding{Code: codes.BrokenRule, Object: job, Path: spec},
			finding.Finding{Code: codes.BadMetadata, Object: job, Path: spec}, true},
		{"a field within", finding.Finding{Code: codes.BrokenRule, Object: job, Path: spec},
			finding.Finding{Code: codes.BadMetadata, Object: job, Path: labels}, false},
		{"one field of another object",
			finding.Finding{Code: codes.BrokenRule, Object: other, Path: spec},
			finding.Finding{Code: codes.BadMetadata, Object: job, Path: spec}, false},
		{"within the field", finding.Finding{Code: codes.BadManager, Object: job, Path: spec},
			finding.Finding{Code: codes.BadValue, Object: job, Path: labels}, true},
		{"around the field", finding.Finding{Code: codes.BadManager, Object: job, Path: labels},
			finding.Finding{Code: codes.BadValue, Object: job, Path: spec}, false},
		{"a patch around the field",
			finding.Finding{Code: codes.UnknownField, Object: job, Path: labels},
			finding.Finding{Code: codes.IdlePatch, Object: job, Path: spec}, true},
		{"a patch within the field",
			finding.Finding{Code: codes.UnknownField, Object: job, Path: spec},
			finding.Finding{Code: codes.IdlePatch, Object: job, Path: labels}, false},
		{"a patch of another object",
			finding.Finding{Code: codes.UnknownField, Object: other, Path: labels},
			finding.Finding{Code: codes.IdlePatch, Object: job, Path: spec}, false},
		{"one place", finding.Finding{Code: codes.NoMergeKey, Position: place},
			finding.Finding{Code: codes.NoMerge, Position: place}, true},
		{"no place", finding.Finding{Code: codes.NoMergeKey}, finding.Finding{Code: codes.NoMerge},
			false},
		{"the source", finding.Finding{Code: codes.Env, Claims: from(labels)},
			finding.Finding{Code: codes.EnvWithoutName, Path: labels}, true},
		{"around the source", finding.Finding{Code: codes.Env, Claims: from(labels)},
			finding.Finding{Code: codes.EnvWithoutName, Path: spec}, true},
		{"within the source", finding.Finding{Code: codes.Env, Claims: from(spec)},
			finding.Finding{Code: codes.EnvWithoutName, Path: labels}, false},
		{"no source", finding.Finding{Code: codes.Env}, finding.Finding{Code: codes.EnvWithoutName},
			false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s codes.Report
			s.Add(tc.by)
			if got := s.Explains(tc.f); got != tc.want {
				t.Errorf("Explains(%v) = %v, want %v", tc.f, got, tc.want)
			}
		})
	}
}

func TestReport_Follow(t *testing.T) {
	job := fieldpath.Object{Kind: "TrainJob", Name: "a"}
	spec, labels := fieldpath.Fields("spec"), fieldpath.Fields("spec", "labels")
	first := finding.Finding{Code: codes.BadValue, Severity: finding.Error, Object: job, Path: spec}
	for _, tc := range []struct {
		reason string
		f      finding.Finding
		want   bool
	}{
		{"the same error within the value", finding.Finding{Code: codes.BadValue,
			Severity: finding.Error, Object: job, Path: labels, Message: "later"}, false},
		{"another error there", finding.Finding{Code: codes.MissingField, Severity: finding.Error,
			Object: job, Path: labels}, true},
		{"a warning is a consequence", finding.Finding{Code: codes.NeverCreated,
			Severity: finding.Warning, Object: job, Path: labels}, false},
		{"a warning around the value", finding.Finding{Code: codes.NeverCreated,
			Severity: finding.Warning, Object: job}, true},
		{"another object", finding.Finding{Code: codes.BadValue, Severity: finding.Error,
			Path: labels}, true},
	} {
		var r codes.Report
		r.Add(first)
		r.Follow(tc.f)
		if got := len(r.List()) == 2; got != tc.want {
			t.Errorf("%s: the report takes it: %t, want %t", tc.reason, got, tc.want)
		}
	}
}

// TestReport_Change holds that errors are found by their new fields, and not by their old ones.
func TestReport_Change(t *testing.T) {
	spec, labels := fieldpath.Fields("spec"), fieldpath.Fields("spec", "labels")
	r := codes.NewReport(finding.List{{Code: codes.NoImage}}, nil)
	r.Rate = func(f *finding.Finding) {
		if f.Code == codes.LeftOut {
			f.Severity = 0
		}
	}
	r.Add(finding.Finding{Code: codes.LeftOut, Severity: finding.Error, Path: spec},
		finding.Finding{Code: codes.BadValue, Severity: finding.Error, Path: labels})
	if r.HasError(fieldpath.Object{}, spec) || !r.HasErrorWithin(fieldpath.Object{}, spec) {
		t.Errorf("the report has %v", r.List())
	}
	r.Errors(func(at int, _ finding.Finding) {
		r.Change(at, func(f *finding.Finding) { f.Path = spec })
	})
	if !r.HasError(fieldpath.Object{}, labels) ||
		r.HasErrorWithin(fieldpath.Object{}, labels) || len(r.List()) != 1 {
		t.Errorf("after a change, the report has %v", r.List())
	}
}
