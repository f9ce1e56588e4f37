package report_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// secret is in the sources and in the claims of the findings, as the value of a variable only.
const secret = "hunter2-marker"

// sources are the files of the findings.
var sources = map[string]string{
	"jobs/llm.yaml": `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  trainer:
    env:
    - name: TOKEN
      value: ` + secret + `
    - {value: ` + secret + `, name: KEY, kind: wrong}
    - name: LONG
      value: |
        ` + secret + `
          and: more of ` + secret + `
  nodeSelector:
    pool: a100-reserved
`,
	"jobs/größe 50%.yaml": "a:\tb: c\n日本語: ✓ pool: 一\n" + strings.Repeat("x", 200) + ": {" +
		strings.Repeat("y ", 100) + "}\n\x1b[31mred\x00 \u202eevil\u009b\n",
}

func line(p fieldpath.Position) string {
	lines := strings.Split(sources[p.File], "\n")
	if p.Line < 1 || p.Line > len(lines) {
		return ""
	}
	return lines[p.Line-1]
}

func path(t *testing.T, text string) fieldpath.Path {
	t.Helper()
	p, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hostile is what an input may hold to break a report.
const hostile = "a\nb\r::error file=x::y %0A%25 ]]> <b>&amp; \x1b[2J\x1b]0;t\x07 \x00 \x7f " +
	"\u009b \u202e \xff\xfe [z](http://x) {0} \"q\" ,;:"

// findings are of every severity, with and without claims and places.
func findings(t *testing.T) finding.List {
	const llm, größe = "jobs/llm.yaml", "jobs/größe 50%.yaml"
	job := fieldpath.Object{Kind: "TrainJob", Namespace: "team-a", Name: "llm"}
	pod := `.spec.replicatedJobs[name="node"].template.spec.template.spec`
	env := pod + `.containers[name="sidecar"].env[name="TOKEN"]`
	patch := func(manager, rest string) fieldpath.Path {
		return path(t, `.spec.runtimePatches[manager="`+manager+
			`"].trainingRuntimeSpec.template`+rest)
	}
	return finding.List{
		{
			Code: codes.Overlap, Severity: finding.Error, Object: job,
			Path:     path(t, pod+`.nodeSelector["pool"]`),
			Position: fieldpath.Position{File: llm, Line: 15, Column: 11},
			Claims: []merge.Claim{
				{Owner: merge.Manager("a.example.com/sdk"), Value: "a100-reserved",
					At:       patch("a.example.com/sdk", pod+`.nodeSelector["pool"]`),
					Position: fieldpath.Position{File: llm, Line: 15, Column: 11}},
				{Owner: merge.Manager("queue.example.com/日本"), Value: "一二",
					At:       patch("queue.example.com/日本", pod+`.nodeSelector["pool"]`),
					Position: fieldpath.Position{File: größe, Line: 2, Column: 13}},
			},
			Message: "managers set different values: a.example.com/sdk, queue.example.com/日本",
			Remedy:  finding.Remedy{Text: "agree on one value"},
		},
		{
			Code: codes.Union, Severity: finding.Error, Object: job, Path: path(t, env),
			Position: fieldpath.Position{File: llm, Line: 8, Column: 14},
			Claims: []merge.Claim{
				{Owner: merge.Manager("a.example.com/sdk"), Value: secret,
					At:       patch("a.example.com/sdk", env+`.value`),
					Position: fieldpath.Position{File: llm, Line: 8, Column: 14}},
				{Owner: merge.Manager("b.example.com/x"), Value: "key",
					At: patch("b.example.com/x", env+`.valueFrom.secretKeyRef.key`)},
			},
			Message: "managers set different members of one union",
			Remedy:  finding.Remedy{Text: "keep the one member that is meant"},
		},
		{
			Code: codes.UnknownField, Severity: finding.Warning, Object: job,
			Path:     path(t, `.spec.trainer.env[1].kind`),
			Position: fieldpath.Position{File: llm, Line: 9, Column: 45},
			Message:  "the place stands behind a value on one line, so the line is not shown",
			Remedy:   finding.Remedy{Text: "none"},
		},
		{
			Code: codes.Syntax, Severity: finding.Error,
			Position: fieldpath.Position{File: llm, Line: 13, Column: 3},
			Message:  "the place is within the text of a value, so the line is not shown",
			Remedy:   finding.Remedy{Text: "none"},
		},
		{
			Code: codes.Syntax, Severity: finding.Error,
			Position: fieldpath.Position{File: größe, Line: 1, Column: 7},
			Message:  "a tab is before the column", Remedy: finding.Remedy{Text: "none"},
		},
		{
			Code: codes.Syntax, Severity: finding.Warning,
			Position: fieldpath.Position{File: größe, Line: 2, Column: 7},
			Message:  "wide characters are before the column", Remedy: finding.Remedy{Text: "none"},
		},
		{
			Code: codes.Syntax, Severity: finding.Warning,
			Position: fieldpath.Position{File: größe, Line: 3, Column: 201},
			Message:  "the column is in the middle of a long line",
			Remedy:   finding.Remedy{Text: "none"},
		},
		{
			Code: codes.Syntax, Severity: finding.Warning,
			Position: fieldpath.Position{File: größe, Line: 4, Column: 6},
			Message:  "control characters are in the line", Remedy: finding.Remedy{Text: "none"},
		},
		{
			Code: codes.AmbiguousWord, Severity: finding.Warning,
			Position: fieldpath.Position{File: llm, Line: 14},
			Message:  "a line without a column", Remedy: finding.Remedy{Text: "none"},
		},
		{
			Code: codes.OldVersion, Severity: finding.Note, Object: job,
			Position: fieldpath.Position{File: llm, Line: 1, Column: 13},
			Message:  "a note",
		},
		{
			Code: codes.NoTrainJob, Severity: finding.Error,
			Message: "no TrainJob in the inputs", Remedy: finding.Remedy{Text: "name files"},
		},
		{
			Code: codes.Unreadable, Severity: finding.Error,
			Object:   fieldpath.Object{Kind: "TrainJob", Name: hostile},
			Path:     fieldpath.Fields("metadata", "labels").Append(fieldpath.Key(hostile)),
			Position: fieldpath.Position{File: hostile, Line: 3, Column: 4},
			Claims: []merge.Claim{
				{Owner: merge.Manager(hostile), Value: hostile,
					At:       fieldpath.Fields("metadata", "name"),
					Position: fieldpath.Position{File: hostile, Line: 9, Column: 9}}},
			Message: hostile, Remedy: finding.Remedy{Text: hostile},
		},
	}
}

func options() report.Options {
	return report.Options{
		ShowNotes: true, Line: line, Version: "v1.2.3",
		Files: []string{"jobs/llm.yaml", "jobs/größe 50%.yaml", "runtimes/torch.yaml"},
	}
}

func written(t *testing.T, format string, findings finding.List, opts report.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, format, findings, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGolden compares each format with its golden file, for findings of every kind and for none.
func TestGolden(t *testing.T) {
	plain, values, color := options(), options(), options()
	plain.ShowNotes = false
	values.ShowValues = true
	color.Color = true
	for _, format := range report.Formats() {
		got := []txtar.File{
			{Name: "all", Data: []byte(written(t, format, findings(t), options()))},
			{Name: "none", Data: []byte(written(t, format, nil, options()))},
			{Name: "plain", Data: []byte(written(t, format, findings(t)[:3], plain))},
			{Name: "values", Data: []byte(written(t, format, findings(t)[:4], values))},
		}
		if format == "text" {
			got = append(
				got, txtar.File{
					Name: "color", Data: []byte(written(t, format, findings(t)[:3], color))})
		}
		golden(t, format, got)
	}
}

// golden compares all reports of one format with the format's archive.
func golden(t *testing.T, format string, reports []txtar.File) {
	t.Helper()
	file, got := filepath.Join("testdata", format+".txtar"),
		txtar.Format(&txtar.Archive{Files: reports})
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
	for i, read := range txtar.Parse(got).Files {
		if i >= len(reports) || !bytes.Equal(read.Data, reports[i].Data) {
			t.Errorf("%s does not hold the report %s as it is written", file, read.Name)
		}
	}
}

// TestValuesAreMasked looks for the value of a variable in every format.
func TestValuesAreMasked(t *testing.T) {
	for _, format := range report.Formats() {
		if got := written(t, format, findings(t), options()); strings.Contains(got, secret) {
			t.Errorf("%s shows the value of a variable:\n%s", format, got)
		}
		shown := options()
		shown.ShowValues = true
		if got := written(t, format, findings(t), shown); !strings.Contains(got, secret) {
			t.Errorf("%s shows no value of a variable, though it was asked to:\n%s", format, got)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	var b bytes.Buffer
	err := report.Write(&b, "yaml", nil, report.Options{})
	if err == nil || !strings.Contains(err.Error(), `"yaml"`) || b.Len() > 0 {
		t.Errorf("an unknown format gives %v and writes %q", err, b.String())
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestWriteFails wants the error of a writer, whatever the format.
func TestWriteFails(t *testing.T) {
	for _, format := range report.Formats() {
		if err := report.Write(full{}, format, findings(t), options()); !errors.Is(err, errFull) {
			t.Errorf("%s onto a full disk gives %v", format, err)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, tc := range []struct {
		code   finding.Code
		remedy finding.Remedy
		want   string
	}{
		{codes.NoName, finding.Remedy{Text: "t"}, "t"},
		{codes.NoName, finding.Remedy{Do: finding.SetValue, Options: []string{"a"}, Text: "t"},
			"t"},
		{codes.Overlap,
			finding.Remedy{Do: finding.LetOneWin, Options: []string{"a", "b"}, Text: "t"},
			"t"},
		{codes.Union, finding.Remedy{Do: finding.ChooseOne, Text: "t"}, "t"},
		{codes.OldAPI, finding.Remedy{Do: finding.Migrate, Text: "t"}, "t with trainweld migrate"},
		{codes.NoRuntime,
			finding.Remedy{Do: finding.Provide, Options: []string{"TrainingRuntime"}, Text: "t"},
			"t with -r FILE"},
		{codes.LeftOut, finding.Remedy{Do: finding.Provide, Options: []string{"Secret"}, Text: "t"},
			"t with --generate-secrets"},
		{codes.NoPriorityClass,
			finding.Remedy{Do: finding.Provide, Options: []string{"PriorityClass"}, Text: "t"},
			"t"},
	} {
		if got := report.Help(
			finding.Finding{Code: tc.code, Severity: finding.Error, Remedy: tc.remedy}); got !=
			tc.want {
			t.Errorf("Help(%s, %v) = %q, want %q", tc.code, tc.remedy, got, tc.want)
		}
	}
}

// many returns n findings of one code in one file.
func many(n int) finding.List {
	all := make(finding.List, n)
	for i := range all {
		all[i] = finding.Finding{
			Code: codes.WrongType, Severity: finding.Error, Message: fmt.Sprintf("m%d", i),
			Remedy:   finding.Remedy{Text: "h"},
			Position: fieldpath.Position{File: "a.yaml", Line: i + 1, Column: 1},
		}
	}
	return all
}

// TestWrite_Limits wants formats for people to count what they do not show, and the others to hold
// all.
func TestWrite_Limits(t *testing.T) {
	all := append(many(report.MaxShown+20), finding.Finding{
		Code: codes.WrongType, Severity: finding.Error, Message: "other",
		Remedy:   finding.Remedy{Text: "h"},
		Position: fieldpath.Position{File: "b.yaml", Line: 1, Column: 1},
	})
	for format, want := range map[string]int{"text": report.MaxShown, "github": report.MaxShown,
		"json": report.MaxShown + 20, "sarif": report.MaxShown + 20,
		"junit": report.MaxShown + 20} {
		text := written(t, format, all, report.Options{})
		got := 0
		for i := range all {
			if strings.Contains(text, fmt.Sprintf("m%d", i)) &&
				strings.Contains(text, fmt.Sprintf("m%d\n", i)) ||
				strings.Contains(text, fmt.Sprintf(`m%d"`, i)) ||
				strings.Contains(text, fmt.Sprintf(`m%d\n`, i)) ||
				strings.Contains(text, fmt.Sprintf(`m%d%%0A`, i)) {
				got++
			}
		}
		if got != want {
			t.Errorf("%s shows %d findings, want %d", format, got, want)
		}
		if !strings.Contains(text, "other") {
			t.Errorf("%s does not show the finding of another file", format)
		}
		const rest = "20 more findings of TW103"
		if counts := strings.Contains(text, rest); counts != (want == report.MaxShown) {
			t.Errorf("%s: says %q: %t", format, rest, counts)
		}
	}
}

// TestWrite_LimitOfTheRun wants a last finding that counts the others.
func TestWrite_LimitOfTheRun(t *testing.T) {
	text := written(t, "json", many(report.MaxFindings+7), report.Options{})
	if got := strings.Count(text, `"code"`); got != report.MaxFindings+1 {
		t.Errorf("the report holds %d findings, want %d", got, report.MaxFindings+1)
	}
	if want := fmt.Sprintf("the run has %d findings", report.MaxFindings+7); !strings.Contains(
		text, want) {
		t.Errorf("the report does not say %q", want)
	}
}
