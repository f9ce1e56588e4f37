package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Parts of the program that read no text of others.
const (
	ownText     = "it reads text that this program has written"
	ownData     = "it reads data that the program embeds"
	ownMachine  = "it runs while the project is built, on files of the project"
	testedTexts = "only tests use it"
)

// readers names the fuzz target of each package that decodes JSON or YAML or parses strings. If
// there is none, it gives the reason.
func readers() map[string]string {
	return map[string]string{
		"merge":                             "fuzz.FuzzFieldsV1",
		"fieldpath":                         "fieldpath.FuzzParsePath",
		"cmd/internal/builtin":              ownData,
		"cmd/internal/build":                "cmd/internal/build.FuzzKustomization",
		"cmd/internal/origins":              "cmd/internal/origins.FuzzTrace",
		"cmd/internal/command/blame":        "cmd/internal/cli.FuzzCommands",
		"cmd/internal/command/fn":           "cmd/internal/cli.FuzzCommands",
		"cmd/internal/host":                 "cmd/internal/host.FuzzGitFiles",
		"merge/tree":                        "render/manifest.FuzzCodec",
		"render/legacy":                     "fuzz.FuzzDecode",
		"cmd/internal/live":                 "cmd/internal/live.FuzzRead",
		"cmd/internal/objectmerge":          "cmd/internal/cli.FuzzCommands",
		"cmd/internal/report":               "cmd/internal/cli.FuzzCommands",
		"cmd/internal/option":               "cmd/internal/cli.FuzzCommands",
		"cmd/internal/pipeline":             "cmd/internal/cli.FuzzCommands",
		"cmd/internal/resourcelist":         "cmd/internal/resourcelist.FuzzRead",
		"render/admission/serverside":       ownData,
		"internal/casefile":                 testedTexts,
		"internal/testenv":                  testedTexts,
		"internal/yamltext":                 "internal/yamltext.FuzzToJSON",
		"cmd/internal/workspace":            "cmd/internal/cli.FuzzCommands",
		"cmd/internal/trainingjob":          "cmd/internal/trainingjob.FuzzConvert",
		"render/manifest":                   "fuzz.FuzzDecode",
		"render/manifest/internal/encode":   ownText,
		"render/manifest/internal/source":   "fuzz.FuzzDecode",
		"render/policy":                     "cmd/internal/workspace.FuzzPolicy",
		"render/release":                    ownData,
		"render/release/generate":           ownMachine,
		"render":                            "cmd/internal/cli.FuzzCommands",
		"render/admission":                  "render/admission.FuzzKinds",
		"cmd/internal/blame":                ownText,
		"cmd/internal/diff":                 ownText,
		"cmd/golden":                        "cmd/golden.FuzzCase",
		"schema":                            "fuzz.FuzzParseOpenAPI",
		"render/admission/internal/kubeapi": "cmd/internal/cli.FuzzCommands",
	}
}

// decoding matches a call that reads text.
var decoding = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(Unmarshal\w*|NewDecoder|NewReaderDecoder|YAMLToJSON\w*)$|^Parse[A-Z]?\w*$`)
})

// TestTargets holds that each package that reads text has a fuzz target or a reason for none. Each
// target has seeds in the tree.
func TestTargets(t *testing.T) {
	readers, reads, targets := readers(), map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(repository, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(
				[]string{"node_modules", "testdata", "bin", "examples", "hosts", "web"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		folder, err := filepath.Rel(repository, filepath.Dir(name))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.go") {
			for target, isSeeded := range targetsOf(file) {
				targets[folder+"."+target] = true
				if _, err := os.Stat(
					filepath.Join(filepath.Dir(name), "testdata", "fuzz", target)); !isSeeded &&
					err != nil {
					t.Errorf("%s in %s has no seeds", target, folder)
				}
			}
		} else if folder != "fuzz" && !strings.HasPrefix(folder, "fuzz/") &&
			!strings.HasPrefix(folder, "cmd/internal/fuzz/") && isReader(file) {
			reads[folder] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) < 20 || len(reads) < 20 {
		t.Fatalf("%d targets and %d readers: the test looks at the wrong files", len(targets),
			len(reads))
	}
	for folder := range reads {
		if readers[folder] == "" {
			t.Errorf("%s reads text: add a fuzz target, and name it in readers", folder)
		}
	}
	for folder, target := range readers {
		if !reads[folder] {
			t.Errorf("%s reads no text: remove it from readers", folder)
		}
		if !strings.Contains(target, " ") && !targets[target] {
			t.Errorf("the target %s of %s does not exist", target, folder)
		}
	}
}

// targetsOf returns the fuzz targets of a file, and whether each adds seeds.
func targetsOf(file *ast.File) map[string]bool {
	targets := map[string]bool{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Fuzz") {
			continue
		}
		targets[f.Name.Name] = false
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Add" {
				targets[f.Name.Name] = true
			}
			return true
		})
	}
	return targets
}

// isReader reports whether a file calls a decoder of a package whose name says so.
func isReader(file *ast.File) bool {
	decoders := map[string]bool{}
	for _, i := range file.Imports {
		name := path.Base(strings.Trim(i.Path.Value, `"`))
		if slices.Contains([]string{"v3", "yaml"}, name) {
			name = "yaml"
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		if slices.Contains(
			[]string{"json", "yaml", "kjson", "sigsyaml", "labels", "tree", "resource",
				"strconv"}, name) {
			decoders[name] = true
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && decoding().MatchString(s.Sel.Name) {
			if from, ok := s.X.(*ast.Ident); ok && decoders[from.Name] {
				found = true
			}
		}
		return true
	})
	return found
}
