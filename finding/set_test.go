package finding_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

func ExampleSet() {
	var found finding.Set
	// Two TrainJobs name one runtime, so a check of each finds the same.
	for range 2 {
		found.Add(finding.Finding{
			Code: finding.CodeNoImage, Severity: finding.Error,
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

func TestSet(t *testing.T) {
	at := func(line int, f finding.Finding) finding.Finding {
		f.Position = fieldpath.Position{File: "a.yaml", Line: line}
		return f
	}
	base := finding.Finding{Code: finding.CodeBadValue, Severity: finding.Error, Path: fieldpath.Fields("spec"), Message: "m"}
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
		{"another code", finding.List{base, other(func(f *finding.Finding) { f.Code = finding.CodeMissingField })}, 2},
		{"another severity", finding.List{base, other(func(f *finding.Finding) { f.Severity = finding.Warning })}, 2},
		{"another object", finding.List{base, other(func(f *finding.Finding) { f.Object.Name = "n" })}, 2},
		{"another field", finding.List{base, other(func(f *finding.Finding) { f.Path = nil })}, 2},
		{"another message", finding.List{base, other(func(f *finding.Finding) { f.Message = "n" })}, 2},
		{"another place", finding.List{base, at(1, base)}, 2},
		{"a wrong type in other words", finding.List{
			{Code: finding.CodeWrongType, Message: "a"}, {Code: finding.CodeWrongType, Message: "b"},
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s finding.Set
			s.Add(tc.found...)
			if got := s.List(); len(got) != tc.want {
				t.Errorf("the set holds %d findings, want %d: %v", len(got), tc.want, got)
			}
			if got := tc.found.Distinct(); !reflect.DeepEqual(got, s.List()) {
				t.Errorf("Distinct() = %v, want %v", got, s.List())
			}
			for _, f := range tc.found {
				if !s.Has(f.Key()) {
					t.Errorf("the set lacks %v", f)
				}
			}
			if s.Has(finding.Finding{Code: "TW999"}.Key()) {
				t.Error("the set has what was not added")
			}
		})
	}
}

func TestSupersedes(t *testing.T) {
	job, other := fieldpath.Object{Kind: "TrainJob", Name: "a"}, fieldpath.Object{Kind: "TrainJob", Name: "b"}
	spec, labels := fieldpath.Fields("spec"), fieldpath.Fields("spec", "labels")
	place := fieldpath.Position{File: "a.yaml", Line: 1}
	from := func(path fieldpath.Path) []merge.Claim { return []merge.Claim{{}, {Source: path}} }
	for _, tc := range []struct {
		name string
		by   finding.Finding
		f    finding.Finding
		want bool
	}{
		{"anywhere", finding.Finding{Code: finding.CodeMasterAddress}, finding.Finding{Code: finding.CodeNoSuchPod, Object: job}, true},
		{"no row for the code", finding.Finding{Code: finding.CodeMasterAddress}, finding.Finding{Code: finding.CodeNoImage}, false},
		{"the row is for one direction", finding.Finding{Code: finding.CodeNoSuchPod}, finding.Finding{Code: finding.CodeMasterAddress}, false},
		{"one field", finding.Finding{Code: finding.CodeBrokenRule, Object: job, Path: spec}, finding.Finding{Code: finding.CodeBadMetadata, Object: job, Path: spec}, true},
		{"a field within", finding.Finding{Code: finding.CodeBrokenRule, Object: job, Path: spec}, finding.Finding{Code: finding.CodeBadMetadata, Object: job, Path: labels}, false},
		{"one field of another object", finding.Finding{Code: finding.CodeBrokenRule, Object: other, Path: spec}, finding.Finding{Code: finding.CodeBadMetadata, Object: job, Path: spec}, false},
		{"within the field", finding.Finding{Code: finding.CodeBadManager, Object: job, Path: spec}, finding.Finding{Code: finding.CodeBadValue, Object: job, Path: labels}, true},
		{"around the field", finding.Finding{Code: finding.CodeBadManager, Object: job, Path: labels}, finding.Finding{Code: finding.CodeBadValue, Object: job, Path: spec}, false},
		{"a patch around the field", finding.Finding{Code: finding.CodeUnpatchable, Object: job, Path: labels}, finding.Finding{Code: finding.CodeIdlePatch, Object: job, Path: spec}, true},
		{"a patch within the field", finding.Finding{Code: finding.CodeUnpatchable, Object: job, Path: spec}, finding.Finding{Code: finding.CodeIdlePatch, Object: job, Path: labels}, false},
		{"a patch of another object", finding.Finding{Code: finding.CodeUnpatchable, Object: other, Path: labels}, finding.Finding{Code: finding.CodeIdlePatch, Object: job, Path: spec}, false},
		{"one place", finding.Finding{Code: finding.CodeNoMergeKey, Position: place}, finding.Finding{Code: finding.CodeNoMerge, Position: place}, true},
		{"no place", finding.Finding{Code: finding.CodeNoMergeKey}, finding.Finding{Code: finding.CodeNoMerge}, false},
		{"the source", finding.Finding{Code: finding.CodeEnv, Claims: from(labels)}, finding.Finding{Code: finding.CodeEnvWithoutName, Path: labels}, true},
		{"around the source", finding.Finding{Code: finding.CodeEnv, Claims: from(labels)}, finding.Finding{Code: finding.CodeEnvWithoutName, Path: spec}, true},
		{"within the source", finding.Finding{Code: finding.CodeEnv, Claims: from(spec)}, finding.Finding{Code: finding.CodeEnvWithoutName, Path: labels}, false},
		{"no source", finding.Finding{Code: finding.CodeEnv}, finding.Finding{Code: finding.CodeEnvWithoutName}, false},
		{"one source", finding.Finding{Code: finding.CodeDuplicateItem, Claims: from(spec)}, finding.Finding{Code: finding.CodeBadName, Claims: from(labels)}, true},
		{"another source", finding.Finding{Code: finding.CodeDuplicateItem, Claims: from(labels)}, finding.Finding{Code: finding.CodeBadName, Claims: from(spec)}, false},
		{"one source and none", finding.Finding{Code: finding.CodeDuplicateItem, Claims: from(nil)}, finding.Finding{Code: finding.CodeBadName}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s finding.Set
			s.Add(tc.by)
			if got := s.Supersedes(tc.f); got != tc.want {
				t.Errorf("Supersedes(%v) = %v, want %v", tc.f, got, tc.want)
			}
		})
	}
}
