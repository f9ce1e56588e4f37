package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

const repository = "../../.."

// TestREADMECommands runs every command of the console blocks of the README and of pages, as a
// reader would. It runs them in the repository's root, or in the folder of an example. It compares
// their output with the document.
func TestREADMECommands(t *testing.T) {
	for document, least := range map[string]int{"README.md": 3, "docs/policy.md": 2, "docs/kueue.md": 1, "docs/examples/kueue/readmission/README.md": 5, "docs/examples/extended/README.md": 3,
		"docs/examples/origins/README.md": 7} {
		commands := 0
		for _, block := range blocks(t, document, "console") {
			for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
				commands++
				command, want, _ := strings.Cut(part, "\n")
				cmd := exec.Command("sh", "-c", command)
				cmd.Dir = repository
				if strings.HasPrefix(document, "docs/examples/") {
					cmd.Dir = filepath.Join(repository, filepath.Dir(document))
				}
				cmd.Env = append(os.Environ(), "TMPDIR=")
				// The status is the command's own business: documents show failing ones as well.
				got, _ := cmd.CombinedOutput()
				if string(got) != want {
					t.Errorf("$ %s\nprints:\n%s\n%s says:\n%s", command, got, document, want)
				}
			}
		}
		if commands < least {
			t.Errorf("found %d commands in %s; this test looks for other blocks", commands,
				document)
		}
	}
}

// TestDocs_Names holds that the pages name no declaration of a promised package that it lacks. The
// changelog also names former ones.
func TestDocs_Names(t *testing.T) {
	api := map[string]string{}
	for _, name := range promised {
		text, err := os.ReadFile(
			filepath.Join(repository, "docs", "api", strings.ReplaceAll(name, "/", "-")+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		api[path.Base(name)] = string(text)
	}
	documents, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	span, found := regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w*)"), 0
	for _, document := range append(documents, filepath.Join(repository, "README.md")) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range span.FindAllStringSubmatch(string(text), -1) {
			declared, isPromised := api[m[1]]
			if !isPromised || filepath.Base(document) == "CHANGELOG.md" {
				continue
			}
			if found++; !regexp.MustCompile(`\b` + m[2] + `\b`).MatchString(declared) {
				t.Errorf("%s names %s.%s, which is no declaration", document, m[1], m[2])
			}
		}
	}
	if found < 20 {
		t.Errorf("the pages name %d declarations; this test looks for other names", found)
	}
}

// TestREADMELibrary holds the README's Go against an example that is compiled and run.
func TestREADMELibrary(t *testing.T) {
	example, err := os.ReadFile(
		filepath.Join(repository, "render", "runtimepatch", "conflict_example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	unindent := regexp.MustCompile(`(?m)^\t+`)
	for _, block := range blocks(t, "README.md", "go") {
		if !bytes.Contains(unindent.ReplaceAll(example, nil),
			unindent.ReplaceAll([]byte(block), nil)) {
			t.Errorf("render/runtimepatch/conflict_example_test.go does not hold this block of "+
				"the README:\n%s", block)
		}
	}
}

// TestLibraryDoc holds the Go of docs/library.md against the webhook and the examples, which are
// compiled and run.
func TestLibraryDoc(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	unindent := regexp.MustCompile(`(?m)^\t+`)
	var code []byte
	for _, file := range []string{"docs/examples/webhook/validator.go",
		"docs/examples/kueue/reconciler.go", "render/runtimepatch/reconcile_example_test.go",
		"merge/example_test.go", "fuzz/strategic/applyconfig_test.go",
		"render/jobs_example_test.go"} {
		source, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, unindent.ReplaceAll(source, nil)...)
	}
	found := blocksOf(string(text), "go")
	if len(found) < 8 {
		t.Errorf("found %d blocks of Go in docs/library.md; this test looks for other blocks",
			len(found))
	}
	for _, block := range found {
		if !bytes.Contains(code, unindent.ReplaceAll([]byte(block), nil)) {
			t.Errorf("neither the webhook nor an example holds this block of docs/library.md:\n%s",
				block)
		}
	}
}

// TestREADMETargets runs the commands of the quick start, except the tests, which would run
// themselves.
func TestREADMETargets(t *testing.T) {
	text := document(t, "README.md")
	for _, target := range []string{"make demo", "make test"} {
		if !strings.Contains(text, "    "+target+" ") {
			t.Errorf("the README's quick start does not name %q", target)
		}
	}
	testenv.LongOnly(t, "make demo links the program")
	cmd := exec.Command("make", "--no-print-directory", "demo")
	cmd.Dir = repository
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make demo: %v\n%s", err, out)
	}
	if want := strings.Join(blocks(t, "README.md", "console")[:2], ""); string(out) != want {
		t.Errorf("make demo prints:\n%s\nREADME.md says:\n%s", out, want)
	}
}

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are a document's code blocks of one language.
func blocks(t *testing.T, name, language string) []string {
	t.Helper()
	found := blocksOf(document(t, name), language)
	if len(found) == 0 {
		t.Errorf("%s has no block of %s", name, language)
	}
	return found
}

// blocksOf are the code blocks of one language in a text.
func blocksOf(text, language string) []string {
	var found []string
	for _, match := range regexp.MustCompile(
		"(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}
