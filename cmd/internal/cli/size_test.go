//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// These flags make the programs of a release: .goreleaser.yaml.
var stripped = []string{"-ldflags=-s -w", "-tags=kustomize_disable_go_plugin_support"}

// TestSize holds the size of the program of a release.
func TestSize(t *testing.T) {
	if testenv.LongOnly(t, "it links the program once more"); testenv.Race {
		t.Skip("it links the program once more")
	}
	const most = 41 << 20
	program := filepath.Join(t.TempDir(), "trainweld")
	goTool(t, append([]string{"build", "-o", program}, append(stripped, "../../trainweld")...)...)
	if size := sizeOf(t, program); size > most {
		t.Errorf("the program has %.1f MB, want at most %d MB", float64(size)/1e6, most/1_000_000)
	}
}

// features are parts of the program. A program of a part links its references and all references
// before it.
var features = []struct {
	name       string
	references []reference
}{
	{"go", []reference{{"fmt", "%s.Println"}}},
	{"manifests", []reference{{module + "render/manifest", "%s.Files, %[1]s.Read, %[1]s.Encode"}}},
	{"merge", []reference{{module + "render/check", "%s.Patches"},
		{module + "render/runtimepatch", "%s.Apply, %[1]s.Force, %[1]s.ManagedFields"},
		{module + "conflict", "%s.Find"}}},
	{"render", []reference{
		{module + "render",
			"%s.JobSet, %[1]s.Jobs, %[1]s.Pods, %[1]s.Migrate, %[1]s.OwnersOfChildren"},
		{module + "cmd/internal/blame", "%s.New"}, {module + "cmd/internal/diff", "%s.Compare"},
		{module + "render/explain", "%s.Field"},
	}},
	{"training-jobs", []reference{{module + "cmd/internal/trainingjob", "%s.Convert"}}},
	{"builtin-kinds", []reference{{module + "cmd/internal/builtin", "%s.TypeOf"}}},
	{"verdicts", []reference{
		{module + "render/admission", "%s.Check, %[1]s.AdmitJobSet, %[1]s.Update"}}},
	{"kustomize", []reference{{"sigs.k8s.io/kustomize/api/krusty", "(*%s.Kustomizer).Run"}}},
	{"commands", []reference{{module + "cmd/internal/cli", "%s.Run"}}},
}

// reference is a package, and the functions of it that a program links, with %s for its name.
type reference struct{ path, functions string }

// BenchmarkFeatures links a program for each feature and those before it, without symbols. It
// reports what each one adds.
func BenchmarkFeatures(b *testing.B) {
	sizes := make([]float64, len(features))
	for b.Loop() {
		var references []reference
		for i, f := range features {
			references = append(references, f.references...)
			program := filepath.Join(b.TempDir(), f.name)
			buildHere(b, program, programOf(references), stripped...)
			sizes[i] = float64(sizeOf(b, program))
		}
	}
	b.ReportMetric(0, "ns/op") // of the linker
	before := 0.0
	for i, f := range features {
		b.ReportMetric((sizes[i]-before)/1e6, "MB/"+f.name)
		before = sizes[i]
	}
	b.ReportMetric(before/1e6, "MB/all")
}

// programOf returns a program that links all code that the references reach.
func programOf(references []reference) string {
	imports, values := "", ""
	for i, reference := range references {
		name := fmt.Sprint("p", i)
		imports += fmt.Sprintf("\t%s %q\n", name, reference.path)
		values += "\t" + fmt.Sprintf(reference.functions, name) + ",\n"
	}
	return "package main\n\nimport (\n" + imports + ")\n\nvar Linked = []any{\n" + values +
		"}\n\nfunc main() { println(len(Linked)) }\n"
}

func sizeOf(tb testing.TB, file string) int64 {
	tb.Helper()
	info, err := os.Stat(file)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}
