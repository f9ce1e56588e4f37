package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/casefile"
	"github.com/trainweld/trainweld/render/codes"
)

// TestFix_Codes repairs a file for each code with a repair. The file is as wanted, the finding is gone, and a second run changes
// nothing. Every code with a repair in render/codes/codes.txt has a case here, and no other.
func TestFix_Codes(t *testing.T) {
	t.Parallel()
	dir := casefile.UnpackGroups(t, filepath.Join(testdata, "fix"))
	cases, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	repaired := map[finding.Code]bool{}
	for _, c := range cases {
		code, _, _ := strings.Cut(c.Name(), "-")
		repaired[finding.Code(code)] = true
		t.Run(c.Name(), func(t *testing.T) { fixCode(t, filepath.Join(dir, c.Name()), code) })
	}
	for _, code := range codes.Codes() {
		page, _ := codes.Of(code)
		if has := strings.Contains(page.Markdown, "\n\nRepair: "); has != repaired[code] {
			t.Errorf("render/codes/codes.txt: %s has a repair: %t; a case repairs it: %t", code, has, repaired[code])
		}
	}
}

// fixCode repairs the file of a case.
func fixCode(t *testing.T, dir, code string) {
	in := filepath.Join(dir, "in.yaml")
	check := func(more ...string) string {
		var out bytes.Buffer
		p := host.Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Files: host.Files{}}
		arguments := []string{"check", in, "-r", filepath.Join(testdata, "fix", "runtime.yaml"), "--on-conflict=last"}
		if status := runLine(&p, append(arguments, more...)); status == exit.Failed {
			t.Fatalf("check: %s", out.String())
		}
		return out.String()
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if before := check(); !strings.Contains(before, " "+code+": ") {
		t.Fatalf("the file has no %s:\n%s", code, before)
	}
	after := check("--fix")
	if strings.Contains(after, " "+code+": ") || !strings.Contains(after, code) {
		t.Errorf("%s is not repaired:\n%s", code, after)
	}
	got := read("in.yaml")
	if want := read("want.yaml"); got != want {
		t.Errorf("the file after the repair:\n%s\nwant:\n%s", got, want)
	}
	check("--fix")
	if again := read("in.yaml"); again != got {
		t.Errorf("a second run changes the file:\n%s\nto:\n%s", got, again)
	}
}
