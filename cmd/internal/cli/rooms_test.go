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
)

const module = "github.com/trainweld/trainweld/"

// rooms are the packages that commands share, in the order of their imports. Each imports only packages before it.
var rooms = []string{
	"cmd/internal/exit", "cmd/internal/process", "cmd/internal/host", "cmd/internal/parallel", "cmd/internal/page", "cmd/internal/report", "cmd/internal/commandline", "cmd/internal/workspace", "cmd/internal/build", "cmd/internal/revision", "cmd/internal/option",
	"cmd/internal/output", "cmd/internal/pipeline", "cmd/internal/objectmerge", "cmd/internal/comparison", "cmd/internal/blameview", "cmd/internal/live", "cmd/internal/resourcelist",
}

// TestRooms holds that imports point one way: rooms, commands, this package, the program. No command imports another, and
// the library imports none of them, except that a golden case starts from a workspace.
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
			case name == "cmd/golden" && (used == "cmd/internal/workspace" || used == "cmd/internal/host"): // its cases are workspaces of a bounded tree
			case usedRank >= 0 && rank < 0 && name != "cmd/internal/cli" && !strings.HasPrefix(name, commands):
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

// library are the packages that programs link, and the rooms within them, in the order of their imports.
var library = []string{
	"fieldpath/printable", "fieldpath", "schema", "schema/walk", "merge/jsonfields", "merge/quantity", "merge/tree", "merge", "finding", "conflict",
	"render/nearest", "render/codes", "render/release", "render/release/definition", "render/compose", "render/internal/jsontext", "render/runtimepatch", "render/internal/patched", "render/check", "render/legacy", "render/trainjob",
	"render/manifest/internal/encode", "render/manifest/internal/source", "render/manifest",
	"render/mlpolicy", "render/internal/defaults", "render/internal/children", "render/internal/migration", "render",
	"render/explain", "render/policy", "render/diff", "render/blame",
	"render/admission/serverside", "render/admission/internal/apirule", "render/admission/internal/podapi", "render/admission/internal/jobapi", "render/admission/internal/netapi", "render/admission", "render/admission/vap",
	"render/casefile", "render/fuzz",
}

// TestRooms_Library holds that a package of the library imports no package that comes after it in the library.
func TestRooms_Library(t *testing.T) {
	all := packages(t)
	for name, imports := range all {
		rank := slices.Index(library, name)
		folder, _, _ := strings.Cut(name, "/")
		if rank < 0 && folder != "cmd" && folder != "internal" && folder != "docs" && name != "render/release/generate" {
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

// TestRooms_Modules holds that no module imports an internal package of another. The core links only modules that the types of the
// API link as well.
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
			own := slices.Contains(library, used) || strings.HasPrefix(used, "cmd/") || strings.HasPrefix(used, "render/") || strings.HasPrefix(used, "internal/")
			if own && strings.Contains("/"+used+"/", "/internal/") && module(used) != module(name) {
				t.Errorf("%s imports %s of another module", name, used)
			}
			if first, _, _ := strings.Cut(used, "/"); module(name) == "" && strings.Contains(first, ".") &&
				!strings.HasPrefix(used, "k8s.io/apimachinery/") && !strings.HasPrefix(used, "sigs.k8s.io/json") && !strings.HasPrefix(used, "sigs.k8s.io/yaml") {
				t.Errorf("%s imports %s, which the core must not link", name, used)
			}
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

// TestRooms_Commands holds that each folder of commands is in the table, and that the program itself stays small.
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
		listed = append(listed, command(&host.Program{}).Name())
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
	return exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
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

// TestRooms_Programs holds that one package starts programs. Packages that build the project are not part of the program.
func TestRooms_Programs(t *testing.T) {
	starters, seen := []string{"cmd/internal/process"}, 0
	for name, imports := range packages(t) {
		if slices.Contains([]string{"render/release/generate", "cmd/internal/packaging", "internal/testenv"}, name) {
			continue
		}
		for _, used := range imports {
			if used == "os/exec" {
				if seen++; !slices.Contains(starters, name) {
					t.Errorf("%s imports %s; only %q may", name, used, starters)
				}
			}
		}
	}
	if seen != len(starters) {
		t.Errorf("%d packages start programs, want %q", seen, starters)
	}
	files := 0
	err := filepath.WalkDir("../../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(filepath.ToSlash(name), "cmd/internal/process/") ||
			filepath.ToSlash(name) == "../../../cmd/internal/fuzz/kueue/linked.go" { // links a function of Kueue
			return err
		}
		files++
		text, err := os.ReadFile(name)
		if call := regexp.MustCompile(`\b(os\.StartProcess|(syscall|unix)\.(ForkExec|StartProcess|Exec|SYS_EXECVE)|go:linkname)\b`).Find(text); call != nil {
			t.Errorf("%s has %s; only %q may start programs", name, call, starters)
		}
		return err
	})
	if err != nil || files < 500 {
		t.Errorf("%d files, %v: the test looks at the wrong things", files, err)
	}
}
