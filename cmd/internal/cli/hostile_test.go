package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/manifest"
)

// hostile is a text that any string of an input may hold. It has characters that a terminal acts
// on, and lines that end a comment and begin an object. It also has commands of workflows, and the
// syntax of reports.
const hostile = "x\x1b[31m\u009b2J\u202e\u2066\u061c\u2028\u200b\u200d\ufeff\x7f\a\r\n::error::pwned\n  ::warning::pwned\n##[error]pwned ##vso[x]\n---\nkind: Injected\n```\n`</code></details><script>| ]]> %0A::error::pwned"

// hostileName ends the names of files.
const hostileName = "-x\x1b[31m\u202e\n::error::pwned ##[error]`<script>.yaml"

// hostileLines returns the command lines of testdata/hostile.txtar, and more for each verb. It
// writes the files that they name to the working directory.
func hostileLines(t *testing.T) (lines [][]string) {
	t.Helper()
	texts, files := archiveOf(t, "hostile")
	t.Chdir(t.TempDir()) // so that a line may begin with the name of a file
	escaped, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	const cases = "cases/x\x1b[31m\n::error::pwned/"
	for _, f := range files {
		data, err := yaml.YAMLToJSON(f.Data)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string][]string{"job.yaml": {cases + "job.yaml"},
			"runtime.yaml": {"cases/runtime.yaml"}, "jobset.yaml": {cases + "want/default_llm.yaml"}}
		for _, name := range append(names[f.Name], strings.Replace(f.Name, ".yaml", hostileName, 1)) {
			testenv.WriteIn(t, ".", name, strings.ReplaceAll(string(data), "HOSTILE",
				string(escaped[1:len(escaped)-1])))
		}
	}
	testenv.WriteIn(t, ".", "cases/options.yaml", "on-conflict: last\n")
	testenv.WriteIn(t, ".", "broken"+hostileName,
		"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n# \u202e\u2066 "+
			"##[error]pwned\nspec: {a: \"\u202e ##[error]pwned: *\u202ex\n")
	for _, cmd := range Root(&host.Program{}, nil).Commands() {
		texts = append(texts, alternatives(cmd.Name()+" {--badHOSTILE,-\x1b,HOSTILE HOSTILE}")...)
		texts = append(texts, alternatives(cmd.Name()+" -f job.yaml -r runtime.yaml {-o,-n,-f,--to,"+
			"--as,--on-conflict,--severity,--color,--feature-gates,--update,--run,--manager,--old,"+
			"--job,--patch,--num-nodes,--output-dir} HOSTILE")...)
	}
	words := strings.NewReplacer("HOSTILE", hostile, "EMPTY", "", ".yaml", hostileName)
	for _, text := range texts {
		args := strings.Fields(text)
		for i := range args {
			args[i] = words.Replace(args[i])
		}
		lines = append(lines, args)
	}
	return lines
}

// TestHostile gives every command hostile text in every input and every format. The text must not
// act on a terminal, begin a command of a workflow, or become part of a document.
func TestHostile(t *testing.T) {
	findingsSchema, err := filepath.Abs(
		filepath.Join(repository, "docs", "json", "findings.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range hostileLines(t) {
		stdin := ""
		if file, isInput := strings.CutPrefix(args[len(args)-1], "<"); isInput {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			args, stdin = args[:len(args)-1], string(data)
		}
		_, stdout, stderr := ran(stdin, args...)
		format := ""
		if at := slices.Index(args, "-o"); at >= 0 && at+1 < len(args) {
			format = args[at+1]
		}
		tame(t, args, "standard error", stderr, "")
		switch isTable := format == "table" || format == "wide"; {
		case args[0] == "migrate" && !slices.Contains(args, "-d") &&
			!slices.Contains(args, "--list"):
			// The files themselves, rewritten where they are old.
		case args[0] == "fn" || args[0] == "render" && !isTable:
			if i := strings.IndexFunc(stdout, acts); i >= 0 {
				t.Errorf("%.60q writes %.80q to standard output", args, stdout[i:])
			}
			documents, _ := manifest.Decode("out", []byte(stdout))
			for _, d := range documents {
				if d.ID.Kind == "Injected" {
					t.Errorf("%.60q writes an object of an input's text:\n%s", args, stdout)
				}
			}
		default:
			tame(t, args, "standard output", stdout, format)
		}
		if format == "html" && stdout != "" {
			isPage(t, args, stdout)
		}
		if format == "json" && stdout != "" &&
			slices.Contains([]string{"check", "conflicts"}, args[0]) {
			validate(t, findingsSchema, []byte(stdout))
		}
	}
}

// acts reports whether a terminal may act on a character, or show others otherwise for it.
func acts(r rune) bool {
	return r != '\n' && r != '\t' &&
		(unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

// tame looks for text that a report must mask.
func tame(t *testing.T, args []string, where, text, format string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%.60q writes invalid UTF-8 to %s", args, where)
	}
	if i := strings.IndexFunc(text, acts); i >= 0 {
		t.Errorf("%.60q writes %.80q to %s", args, text[max(0, i-20):], where)
	}
	// Only flags and messages of JSON may have the escapes of Go.
	if i := strings.Index(text, `-x\x1b[31m\u202e\n::error`); i >= 0 && format != "json" &&
		format != "sarif" {
		t.Errorf("%.60q writes the name of a file without the quotes of git to %s: %.120q", args,
			where, text[max(0, i-60):])
	}
	workflowCommand := regexp.MustCompile(`^::(error|warning|notice) [^:]*::`)
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		isCommand := format == "github" && workflowCommand.MatchString(trimmed)
		if strings.HasPrefix(trimmed, "::") && !isCommand || !isCommand && format != "json" &&
			format != "sarif" && strings.Contains(trimmed, "##[") {
			t.Errorf("%.60q writes a command to %s: %q", args, where, line)
		}
		if strings.HasPrefix(line, "kind: Injected") || strings.HasPrefix(trimmed, "pwned") {
			t.Errorf("%.60q writes a line of the input to %s: %q", args, where, line)
		}
	}
	if format == "markdown" {
		text = regexp.MustCompile("(?ms)^(`{3,})diff\n.*?^`{3,}$").ReplaceAllString(text, "")
		text = regexp.MustCompile("`` .*? ``|`[^`\n]*`").ReplaceAllString(text, "")
		if strings.Contains(text, "<script>") {
			t.Errorf("%.60q writes HTML of an input: %s", args, text)
		}
	}
}
