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

	"github.com/trainweld/trainweld/internal/host"
)

const module = "github.com/trainweld/trainweld/"

// rooms are the packages that commands share, in the order in which they import one another: each imports those before
// it only.
var rooms = []string{
	"internal/exit", "internal/process", "internal/host", "internal/parallel", "internal/page", "internal/report", "internal/commandline", "internal/workspace", "internal/build", "internal/revision", "internal/option",
	"internal/output", "internal/repair", "internal/pipeline", "internal/objectmerge", "internal/comparison", "internal/blameview", "internal/live", "internal/resourcelist",
}

// TestRooms holds that imports point one way: rooms, commands, this package, the program. No command imports another, and
// the library imports none of them, except that a golden case starts from a workspace.
func TestRooms(t *testing.T) {
	const commands, program = "internal/command/", "cmd/trainweld"
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
			case name == "render/golden" && (used == "internal/workspace" || used == "internal/host"): // its cases are workspaces of a bounded tree
			case name == "internal/testenv" && used == "internal/process": // it takes rights away from fuzz targets
			case name == "conformance" && used == "internal/process": // it starts the program that it judges
			case usedRank >= 0 && rank < 0 && name != "internal/cli" && name != "internal/playground" && !strings.HasPrefix(name, commands):
				t.Errorf("%s imports %s; only commands may", name, used)
			case strings.HasPrefix(used, commands) && name != "internal/cli":
				t.Errorf("%s imports the command %s; only internal/cli and the programs for browsers may", name, used)
			case used == "internal/cli" && name != program:
				t.Errorf("%s imports %s; only %s may", name, used, program)
			}
		}
	}
	if seen < len(rooms)+10 {
		t.Errorf("only %d rooms and commands; this test looks at the wrong things", seen)
	}
}

// library are the packages that programs link, and the rooms within them, in the order in which they import one another.
var library = []string{
	"release", "internal/printable", "fieldpath", "schema", "internal/jsonfields", "internal/jsonvalue", "engine", "finding", "docs", "conflict", "compose", "merge", "check", "legacy", "legacy/trainingjob", "trainjob",
	"manifest/internal/encode", "manifest/internal/source", "manifest",
	"render/mlpolicy", "render/internal/defaults", "render/internal/children", "render/internal/migration", "render",
	"render/explain", "policy", "render/diff", "render/blame", "render/golden",
	"render/admission/internal/apirule", "render/admission/internal/podapi", "render/admission/internal/jobapi", "render/admission",
}

// TestRooms_Library holds that each package of the library imports only those of the library that come before it.
func TestRooms_Library(t *testing.T) {
	all := packages(t)
	for name, imports := range all {
		rank := slices.Index(library, name)
		folder, _, _ := strings.Cut(name, "/")
		if rank < 0 && slices.Contains(library, folder) && name != "release/generate" {
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
			t.Errorf("there is no package %s", name)
		}
	}
}

// TestRooms_Flags holds that the library declares no flags of commands.
func TestRooms_Flags(t *testing.T) {
	for name, imports := range packages(t) {
		for _, used := range imports {
			if strings.HasPrefix(used, "github.com/spf13/") && !strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "cmd/") {
				t.Errorf("%s imports %s; only internal and cmd may", name, used)
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
	files, err := filepath.Glob("../../cmd/trainweld/*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 || len(files) > 3 {
		t.Errorf("cmd/trainweld has the files %q, want at most 3", files)
	}
}

// listed is what the go command says of the packages, once for all tests.
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

// TestRooms_Programs holds that one package starts programs. Those that build the project are no part of the program.
func TestRooms_Programs(t *testing.T) {
	starters, seen := []string{"internal/process"}, 0
	for name, imports := range packages(t) {
		if slices.Contains([]string{"release/generate", "internal/packaging", "internal/testenv", "fuzz/mutants"}, name) {
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
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(filepath.ToSlash(name), "internal/process/") {
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
