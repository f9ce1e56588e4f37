package finding_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

func ExampleList_Err() {
	findings := finding.List{
		{Code: "TW302", Severity: finding.Note,
			Message: "the runtime sets 1, and the patches change it to 2"},
		{
			Code: "TW202", Severity: finding.Error,
			Object:   fieldpath.Object{Kind: "TrainJob", Namespace: "team-a", Name: "llm"},
			Path:     fieldpath.Fields("spec", "runtimePatches"),
			Position: fieldpath.Position{File: "job.yaml", Line: 14, Column: 17},
			Message:  `the runtime has no replicated job "worker"`,
			Remedy:   finding.Remedy{Text: "it has node"},
		},
	}
	fmt.Println(findings.Err())
	fmt.Println(findings[:1].Err())
	// Output:
	// job.yaml:14:17: TW202: TrainJob team-a/llm: .spec.runtimePatches: the runtime has no replicated job "worker"; it has node
	// <nil>
}

// A webhook answers with the sentence, an editor offers the options.
func ExampleRemedy() {
	f := finding.Finding{
		Code: finding.CodeOverlap, Severity: finding.Error,
		Message: "managers set different values",
		Remedy: finding.Remedy{
			Do: finding.LetOneWin, Options: []string{"a.example.com/sdk", "b.example.com/queue"},
			Text: "set the field in one patch only, or agree on one value",
		},
	}
	fmt.Printf("%s: %s\n", f.Message, f.Remedy.Text)
	if f.Remedy.Do == finding.LetOneWin {
		for _, manager := range f.Remedy.Options {
			fmt.Println("keep the value of", manager)
		}
	}
	// Output:
	// managers set different values: set the field in one patch only, or agree on one value
	// keep the value of a.example.com/sdk
	// keep the value of b.example.com/queue
}

func TestFindingsAsErrors(t *testing.T) {
	findings := finding.List{
		{Code: finding.CodeOverlap, Severity: finding.Warning, Message: "one"},
		{Code: finding.CodeUnion, Severity: finding.Error, Message: "two"},
		{Code: "TW400", Severity: finding.Error, Message: "three"},
	}
	err := fmt.Errorf("wrapped: %w", findings.Err())
	if got, want := err.Error(), "wrapped: TW301: two\nTW400: three"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var all finding.List
	if !errors.As(err, &all) || len(all) != 2 {
		t.Errorf("errors.As finds %d findings of severity Error, want 2", len(all))
	}
	var one finding.Finding
	if !errors.As(err, &one) || one.Code != finding.CodeUnion {
		t.Errorf("errors.As finds the finding %v, want the first", one)
	}
	if (finding.List{{Severity: finding.Warning}}).Err() != nil || finding.List(nil).Err() != nil {
		t.Error("no error, and yet an error")
	}
}

func TestFindingsSort(t *testing.T) {
	at := func(file string, line, column int) fieldpath.Position {
		return fieldpath.Position{File: file, Line: line, Column: column}
	}
	findings := finding.List{
		{Position: at("b", 1, 1), Code: "6"},
		{Position: at("a", 10, 1), Code: "5"},
		{Position: at("a", 2, 10), Code: "4"},
		{Position: at("a", 2, 9), Object: fieldpath.Object{Kind: "TrainJob", Name: "z"}, Code: "3"},
		{Position: at("a", 2, 9), Object: fieldpath.Object{Kind: "TrainJob", Name: "a"},
			Path: fieldpath.Fields("b"), Code: "2"},
		{Position: at("a", 2, 9), Object: fieldpath.Object{Kind: "TrainJob", Name: "a"},
			Path: fieldpath.Fields("a"), Code: "1", Message: "first"},
		{Position: at("a", 2, 9), Object: fieldpath.Object{Kind: "TrainJob", Name: "a"},
			Path: fieldpath.Fields("a"), Code: "1", Message: "second"},
		{Code: "0"},
	}
	want := "01first1second23456"
	for i := range 20 { // enough for a sort that is not stable
		findings = append(findings,
			finding.Finding{Position: at("c", 1, 1), Code: "7", Message: string(rune('a' + i))})
		want += "7" + string(rune('a'+i))
	}
	findings.Sort()
	got := ""
	for _, f := range findings {
		got += string(f.Code) + f.Message
	}
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		got  fmt.Stringer
		want string
	}{
		{finding.Note, "note"},
		{finding.Warning, "warning"},
		{finding.Error, "error"},
		{finding.Severity(0), "Severity(0)"},
	} {
		if got := tc.got.String(); got != tc.want {
			t.Errorf("%#v: %q, want %q", tc.got, got, tc.want)
		}
	}
	text, err := json.Marshal(
		map[string]any{
			"severity": finding.Warning, "object": fieldpath.Object{Kind: "TrainJob", Name: "llm"}})
	if got, want := string(text), `{"object":"TrainJob llm","severity":"warning"}`; err != nil ||
		got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
