package docs_test

import (
	"encoding/xml"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitecture holds that the files exist that architecture.md and CONTRIBUTING.md name, and
// that no walk goes through a file twice.
func TestArchitecture(t *testing.T) {
	const root = ".."
	named := regexp.MustCompile(
		"`([\\w.-]+(?:/[\\w.-]+)+|[\\w-]+\\.(?:go|md|mod))`|\\]\\(([^)#:]+)[)#]")
	for _, page := range []string{"docs/architecture.md", "docs/CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		files := 0
		for _, section := range strings.Split(string(text), "\n## ") {
			title, _, _ := strings.Cut(section, "\n")
			seen := map[string]bool{}
			for _, match := range named.FindAllStringSubmatch(section, -1) {
				file := filepath.Join(root, match[1])
				if match[2] != "" {
					file = filepath.Join(root, filepath.Dir(page), match[2])
				}
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s, %q: %v", page, title, err)
				}
				if strings.HasPrefix(title, "One ") && seen[file] {
					t.Errorf("%s, %q: goes through %s twice", page, title, file)
				}
				seen[file] = true
				files++
			}
		}
		if files < 20 {
			t.Errorf("%s names %d files: the test reads the wrong text", page, files)
		}
	}
}

// TestPerformance holds that the files and tests exist that performance.md names.
func TestPerformance(t *testing.T) {
	text, err := os.ReadFile("performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(
		"`([a-z][\\w-]*(?:/[\\w-]+)*/[\\w-]+\\.go)`").FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("..", match[1])); err != nil {
			t.Error(err)
		}
	}
	tests := regexp.MustCompile("`((?:Test|Benchmark)[A-Z]\\w+)`").FindAllStringSubmatch(
		string(text), -1)
	if len(tests) < 10 {
		t.Fatalf("performance.md names %d tests: the test reads the wrong text", len(tests))
	}
	names := declared(t)
	for _, match := range tests {
		if !names[match[1]] {
			t.Errorf("no test is called %s", match[1])
		}
	}
}

// TestDependencies holds that dependencies.md has the modules that a go.mod requires directly, and
// the programs of the Makefile, and no other.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, match := range regexp.MustCompile(
		"`([\\w-]+(?:\\.[\\w-]+)+/[\\w./-]+)`").FindAllStringSubmatch(string(text), -1) {
		named[match[1]] = false
	}
	need := func(file string, required *regexp.Regexp) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range required.FindAllStringSubmatch(string(text), -1) {
			if _, known := named[match[1]]; !known &&
				!strings.HasPrefix(match[1], "github.com/trainweld/") {
				t.Errorf("%s requires %s, and dependencies.md has no row for it", file, match[1])
			}
			named[match[1]] = true
		}
	}
	need("../Makefile", regexp.MustCompile(`(?m)^(?:GORELEASER|KO) := (\S+)@v`))
	need("../Makefile", regexp.MustCompile(`(?m)^CYCLONEDX := (\S+)/cmd/\S+@v`))
	eachFile(t, func(file, _ string) {
		if filepath.Base(file) == "go.mod" {
			need(file, regexp.MustCompile(
				`(?m)^(?:\t|require )([\w-]+(?:\.[\w-]+)+/[\w./-]+) v\S+$`))
		}
	})
	for name, isRequired := range named {
		if !isRequired {
			t.Errorf("dependencies.md has %s, which nothing requires", name)
		}
	}
	if len(named) < 30 {
		t.Errorf("%d modules: the test reads the wrong text", len(named))
	}
}

// TestSecurity holds that each promise of SECURITY.md names its guard, its tests or its scripts,
// and that they exist.
func TestSecurity(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	names := declared(t)
	for _, target := range regexp.MustCompile(`(?m)^(\w+):`).FindAllStringSubmatch(string(makefile),
		-1) {
		names["make "+target[1]] = true
	}
	guarding, named := regexp.MustCompile("`([a-z]+\\.[A-Za-z]+)`"),
		regexp.MustCompile("`(Test\\w+|make \\w+|[a-z_]+)`")
	rows := regexp.MustCompile(
		`(?m)^\| ([A-Z][^|]*\.) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$`).FindAllStringSubmatch(
		string(text), -1)
	if len(rows) < 20 || len(rows) != strings.Count(string(text), "\n| ")-2 {
		t.Fatalf("SECURITY.md has %d promises: the test reads the wrong text", len(rows))
	}
	guards := 0
	for _, row := range rows {
		for _, guard := range guarding.FindAllStringSubmatch(row[2], -1) {
			if guards++; !names[guard[1]] {
				t.Errorf("no function is called %s", guard[1])
			}
		}
		holders := named.FindAllStringSubmatch(row[3], -1)
		if len(holders) == 0 {
			t.Errorf("no test holds this promise: %s", row[0])
		}
		for _, holder := range holders {
			name := holder[1]
			_, err := os.Stat("../cmd/trainweld/testdata/script/" + name + ".txtar")
			if !names[name] && err != nil {
				t.Errorf("no test, target or script is called %s", name)
			}
		}
	}
	if guards < 30 {
		t.Errorf("SECURITY.md names %d guards: the test reads the wrong text", guards)
	}
}

// declared returns the functions and methods of all packages, as folder.Name, and the names of all
// tests and benchmarks.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	names, declaration := map[string]bool{}, regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)`)
	eachFile(t, func(file, text string) {
		isTest := strings.HasSuffix(file, "_test.go")
		if filepath.Ext(file) != ".go" {
			return
		}
		for _, match := range declaration.FindAllStringSubmatch(text, -1) {
			name := match[1]
			if !isTest {
				name = filepath.Base(filepath.Dir(file)) + "." + name
			}
			names[name] = true
		}
	})
	return names
}

// eachFile calls use for each file of Go and each go.mod, but not for those of folders that targets
// of the Makefile build or fetch.
func eachFile(t *testing.T, use func(file, text string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"bin", "dist", "node_modules"}, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(file) != ".go" && entry.Name() != "go.mod":
			return nil
		}
		text, err := os.ReadFile(file)
		use(file, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPicture holds that the picture is well-formed, and loads nothing.
func TestPicture(t *testing.T) {
	file, err := os.Open("way.svg")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := xml.NewDecoder(file)
	texts := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local == "text" {
			texts++
		}
		for _, attribute := range start.Attr {
			if name := attribute.Name.Local; name == "href" || name == "src" ||
				start.Name.Local == "script" {
				t.Errorf("%s has %s", start.Name.Local, name)
			}
		}
	}
	if texts < 10 {
		t.Errorf("%d texts", texts)
	}
}

// TestGoVersion holds that go.mod states the Go version, and that every other file agrees.
func TestGoVersion(t *testing.T) {
	const root = ".."
	stated := regexp.MustCompile(`(?m)^go (1\.\d+)(\.\d+)?$`)
	read := func(file string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	// The core works with an older version, and has one of its own.
	want := stated.FindStringSubmatch(read("cmd/go.mod"))
	if want == nil {
		t.Fatal("cmd/go.mod states no version")
	}
	modules := 0
	eachFile(t, func(file, text string) {
		if filepath.Base(file) != "go.mod" || strings.Contains(file, "testdata") {
			return
		}
		modules++
		if got := stated.FindStringSubmatch(text); file != filepath.Join(root, "go.mod") &&
			(got == nil || got[0] != want[0]) {
			t.Errorf("%s states %q, and cmd/go.mod %q", file, got, want[0])
		}
	})
	if modules < 8 {
		t.Errorf("found %d modules", modules)
	}
	for _, page := range []string{"README.md", "docs/CONTRIBUTING.md"} {
		if !strings.Contains(read(page), "Go "+want[1]+" ") {
			t.Errorf("%s does not name Go %s", page, want[1])
		}
	}
	if !strings.Contains(read("action.yml"),
		"go-version-file: ${{ github.action_path }}/cmd/go.mod") {
		t.Error("action.yml does not take the version from go.mod")
	}
}
