package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
)

const module = "github.com/trainweld/trainweld/"

// rooms are the packages that commands share, in the order of their imports. Each imports only
// packages before it.
var rooms = []string{
	"cmd/internal/exit", "cmd/internal/process", "cmd/internal/host", "cmd/internal/parallel",
	"cmd/internal/page", "cmd/internal/report", "cmd/internal/commandline",
	"cmd/internal/origins", "cmd/internal/workspace", "cmd/internal/build", "cmd/internal/revision", "cmd/internal/option",
	"cmd/internal/output", "cmd/internal/pipeline", "cmd/internal/podgroups", "cmd/internal/objectmerge",
	"cmd/internal/blameview", "cmd/internal/live", "cmd/internal/comparison",
	"cmd/internal/resourcelist",
}

// TestRooms holds that imports point one way: rooms, commands, this package, the program. No
// command imports another, and the library imports none of them, except that a golden case is
// rendered as the command render does.
func TestRooms(t *testing.T) {
	const commands, program = "cmd/internal/command/", "cmd/trainweld"
	seen := 0
	for name, imports := range packages(t) {
		rank := slices.Index(rooms, name)
		if rank >= 0 || strings.HasPrefix(name, commands) {
			seen++
		}
		for _, used := range imports {
			switch usedRank := slices.Index(rooms, used); {
			case usedRank >= 0 && rank >= 0 && usedRank > rank:
				t.Errorf("%s imports %s, which comes after it", name, used)
			// its cases are workspaces of a bounded tree, rendered with options of render
			case name == "cmd/golden" && slices.Contains([]string{"cmd/internal/workspace",
				"cmd/internal/host", "cmd/internal/option", "cmd/internal/output",
				"cmd/internal/pipeline"}, used):
			case usedRank >= 0 && rank < 0 && name != "cmd/internal/cli" &&
				!strings.HasPrefix(name, commands):
				t.Errorf("%s imports %s; only commands may", name, used)
			case strings.HasPrefix(used, commands) && name != "cmd/internal/cli":
				t.Errorf("%s imports the command %s; only cmd/internal/cli may", name, used)
			case used == "cmd/internal/cli" && name != program:
				t.Errorf("%s imports %s; only %s may", name, used, program)
			}
		}
	}
	if seen < len(rooms)+10 {
		t.Errorf("only %d rooms and commands; this test looks at the wrong things", seen)
	}
}

// library are the packages that programs link, and the rooms within them, in the order of their
// imports.
var library = []string{
	"fieldpath", "merge/tree",
	"schema", "merge", "finding", "conflict",
	"render/nearest", "render/codes", "render/release/minor", "render/release",
	"render/internal/items",
	"render/internal/patched", "render/runtimepatch", "render/check", "render/legacy",
	"render/manifest/internal/encode", "render/manifest/internal/source", "render/manifest",
	"render/mlpolicy", "render/internal/defaults", "render/internal/children",
	"render/internal/migration", "render",
	"render/explain", "render/policy",
	"render/admission/serverside", "render/admission/internal/kubeapi",
	"render/admission",
}

// TestRooms_Library holds that a package of the library imports no package that comes after it in
// the library.
func TestRooms_Library(t *testing.T) {
	all := packages(t)
	for name, imports := range all {
		rank := slices.Index(library, name)
		folder, _, _ := strings.Cut(name, "/")
		if rank < 0 && folder != "cmd" && folder != "internal" && folder != "docs" &&
			name != "render/release/generate" {
			t.Errorf("%s is not in the table of the library", name)
		}
		for _, used := range imports {
			if rank >= 0 && slices.Index(library, used) > rank {
				t.Errorf("%s imports %s, which comes after it", name, used)
			}
		}
	}
	for _, name := range library {
		if all[name] == nil {
			t.Errorf("package %s is missing", name)
		}
	}
}

// TestRooms_Modules holds that no module imports an internal package of another. The core links
// only modules that the types of the API require as well.
func TestRooms_Modules(t *testing.T) {
	module := func(name string) string {
		folder, _, _ := strings.Cut(name, "/")
		if folder != "cmd" && folder != "render" {
			return ""
		}
		return folder
	}
	for name, imports := range packages(t) {
		for _, used := range imports {
			own := slices.Contains(library, used) || strings.HasPrefix(used, "cmd/") ||
				strings.HasPrefix(used, "render/") || strings.HasPrefix(used, "internal/")
			if own && strings.Contains("/"+used+"/", "/internal/") && module(used) != module(name) {
				t.Errorf("%s imports %s of another module", name, used)
			}
			if first, _, _ := strings.Cut(used, "/"); module(name) == "" &&
				strings.Contains(first, ".") &&
				!strings.HasPrefix(used, "k8s.io/apimachinery/") &&
				!strings.HasPrefix(used, "sigs.k8s.io/json") &&
				!strings.HasPrefix(used, "sigs.k8s.io/yaml") {
				t.Errorf("%s imports %s, which the core must not link", name, used)
			}
		}
	}
}

// TestRooms_Read holds that a person who does not know the code finds the way: architecture.md
// names each package that is not within another, and a package of several files names the first
// one.
func TestRooms_Read(t *testing.T) {
	firstFile := regexp.MustCompile(`(?m)^// Its first file to read is ([a-z_]+\.go)\.\npackage `)
	text, err := os.ReadFile(filepath.Join(repository, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := packages(t)
	for name := range all {
		files, err := filepath.Glob(filepath.Join(repository, filepath.FromSlash(name), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var first string
		sources := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			sources++
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if match := firstFile.FindSubmatch(source); match != nil {
				first = string(match[1])
			}
		}
		if sources > 1 && !slices.Contains(files,
			filepath.Join(repository, filepath.FromSlash(name), first)) {
			t.Errorf("the comment of %s names no first file, or one that is not there: %q", name, first)
		}
		around, _, isWithin := strings.Cut(name, "/internal/")
		if isWithin = isWithin && around != "cmd" && all[around] != nil; !isWithin &&
			!strings.HasPrefix(name, "docs") && !strings.HasPrefix(name, "cmd/internal/command/") &&
			!strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("architecture.md does not name %s", name)
		}
	}
}

// TestRooms_Flags holds that the library declares no flags of commands.
func TestRooms_Flags(t *testing.T) {
	for name, imports := range packages(t) {
		for _, used := range imports {
			if strings.HasPrefix(used, "github.com/spf13/") && !strings.HasPrefix(name, "cmd/") {
				t.Errorf("%s imports %s; only cmd may", name, used)
			}
		}
	}
}

// TestRooms_Commands holds that each folder of commands is in the table, and that the program
// itself stays small.
func TestRooms_Commands(t *testing.T) {
	folders, err := filepath.Glob("../command/*")
	if err != nil {
		t.Fatal(err)
	}
	var names, listed []string
	for _, folder := range folders {
		names = append(names, filepath.Base(folder))
	}
	for _, command := range commands() {
		listed = append(listed, command(&host.Program{}, &option.Global{}).Name())
	}
	slices.Sort(listed)
	if !slices.Equal(names, listed) {
		t.Errorf("the folders are %q, the table has %q", names, listed)
	}
	files, err := filepath.Glob("../../trainweld/*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 || len(files) > 3 {
		t.Errorf("cmd/trainweld has the files %q, want at most 3", files)
	}
}

// listed returns the output of go list for the packages, once for all tests.
var listed = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		module+"...").Output()
})

// packages are the packages of the module with what they import, without the module's name.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		for i := range fields {
			fields[i] = strings.TrimPrefix(fields[i], module)
		}
		imports[fields[0]] = fields[1:]
	}
	return imports
}

// guarded is what only some files of the product may have, each with its reason in its comments.
var guarded = []struct {
	what, code string
	files      []string
}{
	{"starts programs",
		`"os/exec"|\bos\.StartProcess\b|\b(syscall|unix)\.(ForkExec|StartProcess|Exec|SYS_EXECVE)\b|go:linkname`, []string{"cmd/internal/process/process.go"}},
	{"opens sockets",
		`"net/(http|rpc|smtp|textproto|http/\w+)"|"google\.golang\.org/grpc|\bnet\.(Dial|Listen|Lookup|Resolve|Pipe|FileConn)|\b(syscall|unix)\.(Socket|Connect|Bind|Listen|Sendto|SYS_SOCKET)`, []string{"cmd/internal/process/process.go"}},
	{"leaves the rules of Go", `^(import )?\s*(_ )?"unsafe"|^import "C"|"plugin"$`, nil},
	{"opens files by a path that may be a link",
		`\bos\.(Open|OpenFile|ReadFile|Create|WriteFile|DirFS|CopyFS|ReadDir)\(`, []string{
			"cmd/internal/host/worktree.go",   // looks at the file before
			"cmd/internal/host/host.go",       // what the user names
			"cmd/internal/option/render.go",   // a folder that the user names
			"cmd/internal/process/process.go", // os.DevNull
		}},
}

// TestRooms_Guards holds that few files start programs, open sockets or follow links, and none
// leaves the rules of Go.
func TestRooms_Guards(t *testing.T) {
	others := regexp.MustCompile(
		`^(fuzz|cmd/internal/(fuzz|hosts)|docs/examples|internal/testenv|internal/casefile|render/release/generate|bin)/`)
	seen, files := map[string]bool{}, 0
	err := filepath.WalkDir("../../..", func(name string, d fs.DirEntry, err error) error {
		relative := strings.TrimPrefix(filepath.ToSlash(name), "../../../")
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") ||
			strings.HasSuffix(name, "_test.go") || others.MatchString(relative) {
			return err
		}
		files++
		text, err := os.ReadFile(name)
		for _, law := range guarded {
			code := regexp.MustCompile("(?m)" + law.code).Find(text)
			if code == nil {
				continue
			}
			if seen[law.what+relative] = true; !slices.Contains(law.files, relative) {
				t.Errorf("%s %s: %s; only %q may", relative, law.what, code, law.files)
			}
		}
		return err
	})
	if err != nil || files < 400 {
		t.Errorf("%d files, %v: the test looks at the wrong things", files, err)
	}
	for _, law := range guarded {
		for _, file := range law.files {
			if !seen[law.what+file] {
				t.Errorf("%s is in the table, and %s no more", file, law.what)
			}
		}
	}
}
