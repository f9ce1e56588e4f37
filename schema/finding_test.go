package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/trainweld/trainweld/schema"
)

func ExampleFindings_Err() {
	findings := schema.Findings{
		{Code: schema.CodeOverride, Severity: schema.Note, Message: "the runtime sets 1, and the patches change it to 2"},
		{
			Code: schema.CodeUnknownJob, Severity: schema.Error,
			Object:   schema.Object{Kind: "TrainJob", Namespace: "team-a", Name: "llm"},
			Path:     schema.Fields("spec", "runtimePatches"),
			Position: schema.Position{File: "job.yaml", Line: 14, Column: 17},
			Message:  `the runtime has no replicated job "worker"`, Help: "it has node",
		},
	}
	fmt.Println(findings.Err())
	fmt.Println(findings[:1].Err())
	// Output:
	// job.yaml:14:17: TW202: TrainJob team-a/llm: .spec.runtimePatches: the runtime has no replicated job "worker"; it has node
	// <nil>
}

func TestFindingsAsErrors(t *testing.T) {
	findings := schema.Findings{
		{Code: schema.CodeOverlap, Severity: schema.Warning, Message: "one"},
		{Code: schema.CodeUnion, Severity: schema.Error, Message: "two"},
		{Code: schema.CodeNoRuntime, Severity: schema.Error, Message: "three"},
	}
	err := fmt.Errorf("wrapped: %w", findings.Err())
	if got, want := err.Error(), "wrapped: TW301: two\nTW400: three"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var all schema.Findings
	if !errors.As(err, &all) || len(all) != 2 {
		t.Errorf("errors.As finds %d findings of severity Error, want 2", len(all))
	}
	var one schema.Finding
	if !errors.As(err, &one) || one.Code != schema.CodeUnion {
		t.Errorf("errors.As finds the finding %v, want the first", one)
	}
	if (schema.Findings{{Severity: schema.Warning}}).Err() != nil || schema.Findings(nil).Err() != nil {
		t.Error("no error, and yet an error")
	}
}

func TestFindingsSort(t *testing.T) {
	at := func(file string, line, column int) schema.Position {
		return schema.Position{File: file, Line: line, Column: column}
	}
	findings := schema.Findings{
		{Position: at("b", 1, 1), Code: "6"},
		{Position: at("a", 10, 1), Code: "5"},
		{Position: at("a", 2, 10), Code: "4"},
		{Position: at("a", 2, 9), Object: schema.Object{Kind: "TrainJob", Name: "z"}, Code: "3"},
		{Position: at("a", 2, 9), Object: schema.Object{Kind: "TrainJob", Name: "a"}, Path: schema.Fields("b"), Code: "2"},
		{Position: at("a", 2, 9), Object: schema.Object{Kind: "TrainJob", Name: "a"}, Path: schema.Fields("a"), Code: "1", Message: "first"},
		{Position: at("a", 2, 9), Object: schema.Object{Kind: "TrainJob", Name: "a"}, Path: schema.Fields("a"), Code: "1", Message: "second"},
		{Code: "0"},
	}
	findings.Sort()
	got := ""
	for _, f := range findings {
		got += string(f.Code) + f.Message
	}
	if got != "01first1second23456" {
		t.Error(got)
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		got  fmt.Stringer
		want string
	}{
		{schema.Object{Kind: "TrainJob", Namespace: "team-a", Name: "llm"}, "TrainJob team-a/llm"},
		{schema.Object{Kind: "ClusterTrainingRuntime", Name: "torch"}, "ClusterTrainingRuntime torch"},
		{schema.Object{Kind: "TrainJob"}, "TrainJob"},
		{schema.Object{}, ""},
		{schema.Position{File: "a.yaml", Line: 3, Column: 7}, "a.yaml:3:7"},
		{schema.Position{File: "a.yaml", Line: 3}, "a.yaml:3"},
		{schema.Position{File: "a.yaml"}, "a.yaml"},
		{schema.Position{}, ""},
		{schema.Note, "note"},
		{schema.Warning, "warning"},
		{schema.Error, "error"},
		{schema.Severity(0), "Severity(0)"},
		{schema.Presence{}, "present"},
	} {
		if got := tc.got.String(); got != tc.want {
			t.Errorf("%#v: %q, want %q", tc.got, got, tc.want)
		}
	}
	text, err := json.Marshal(map[string]any{"severity": schema.Warning, "object": schema.Object{Kind: "TrainJob", Name: "llm"}})
	if got, want := string(text), `{"object":"TrainJob llm","severity":"warning"}`; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestLayers(t *testing.T) {
	if name, ok := schema.Manager("a.example.com/x").Manager(); name != "a.example.com/x" || !ok {
		t.Errorf("%q, %v", name, ok)
	}
	for _, layer := range []schema.Layer{schema.Runtime, schema.TrainJob, schema.Default, schema.JobSet, schema.Job, schema.Policy("torch"), schema.Scheduler("volcano")} {
		if name, ok := layer.Manager(); ok {
			t.Errorf("%s is the manager %q", layer, name)
		}
	}
}
