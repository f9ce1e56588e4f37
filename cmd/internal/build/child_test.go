package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/internal/testenv"
)

// buildHere builds a directory in this process, as the process does that is started for it.
func buildHere(t *testing.T, dir string) *product {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	a := build(request{Dir: []byte(dir), Roots: [][]byte{[]byte("/")}})
	if a.Error != "" {
		t.Fatal(a.Error)
	}
	return a.Product
}

// builtVariable has the directory that TestChild_Build builds for the growth of its work.
const builtVariable = "TRAINWELD_BUILT"

// TestChild_Build holds that a build in this process and in its own process have the same output.
// So tests may measure its growth here.
func TestChild_Build(t *testing.T) {
	if dir := os.Getenv(builtVariable); dir != "" {
		buildHere(t, dir)
		return
	}
	for name, files := range growing() {
		write(t, files(2))
		b := newBuilder(t, workspace.Flags{Kustomize: []string{"top"}})
		built := b.Build("top")
		if made := buildHere(t, "top"); string(made.Text) != string(built.Text) ||
			len(made.Text) == 0 || built.Findings != nil {
			t.Errorf("%s: %s, and by the process %s, %v", name, made.Text, built.Text,
				built.Findings)
		}
	}
}

// growing returns kustomizations of a size.
func growing() map[string]func(n int) map[string]string {
	const job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
		"a%d}\nspec:\n  runtimeRef: {name: torch}\n  trainer:\n    env:\n"
	times := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	// on returns one TrainJob and a kustomization with n times a text.
	on := func(before, format string) func(n int) map[string]string {
		return func(n int) map[string]string {
			return map[string]string{"top/a.yaml": fmt.Sprintf(job, 0),
				"top/kustomization.yaml": "resources: [a.yaml]\n" + before + times(n, format)}
		}
	}
	// folders returns n folders that a kustomization names.
	folders := func(key, file, text string) func(n int) map[string]string {
		return func(n int) map[string]string {
			files := map[string]string{
				"top/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
				"top/kustomization.yaml": "resources: [a.yaml]\n" + key + ":\n" +
					times(n, "- ../f%d\n")}
			if key == "resources" {
				files["top/kustomization.yaml"] = key + ":\n- a.yaml\n" + times(n, "- ../f%d\n")
			}
			for i := range n {
				files[fmt.Sprintf("f%d/kustomization.yaml", i)],
					files[fmt.Sprintf("f%d/b.yaml", i)] = file, fmt.Sprintf(text, i)
			}
			return files
		}
	}
	return map[string]func(n int) map[string]string{
		"objects": func(n int) map[string]string {
			return map[string]string{"top/a.yaml": times(n, "---\n"+job),
				"top/kustomization.yaml": "resources: [a.yaml]\n"}
		},
		"variables": func(n int) map[string]string {
			return map[string]string{
				"top/a.yaml": fmt.Sprintf(job, 0) +
					times(n, "    - {name: V%d, value: a}\n"),
				"top/kustomization.yaml": "resources: [a.yaml]\n"}
		},
		"files": func(n int) map[string]string {
			files := map[string]string{
				"top/kustomization.yaml": "resources:\n" + times(n, "- a%d.yaml\n")}
			for i := range n {
				files[fmt.Sprintf("top/a%d.yaml", i)] = fmt.Sprintf(job, i)
			}
			return files
		},
		"bases": folders("resources", "resources: [b.yaml]\n", job),
		"components": folders("components",
			"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [b.yaml]\n",
			job),
		"patches": on(
			"patches:\n",
			"- {target: {kind: TrainJob}, patch: '[{\"op\": \"add\", \"path\": "+
				"\"/metadata/annotations\", \"value\": {\"a\": \"b%d\"}}]'}\n"),
		"patched objects": func(n int) map[string]string {
			return map[string]string{"top/a.yaml": times(n, "---\n"+job),
				"top/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: b-\nlabels: [{pairs: " +
					"{a: b}}]\npatches:\n- {target: {kind: TrainJob}, patch: '[{\"op\": \"add\", " +
					"\"path\": \"/metadata/annotations\", \"value\": {\"a\": \"b\"}}]'}\n"}
		},
		"operations": on("patches:\n- target: {kind: TrainJob}\n  patch: |\n",
			"    - {op: add, path: /metadata/annotations, value: {a: b%d}}\n"),
		"replacements": on("replacements:\n",
			"- {source: {kind: TrainJob, fieldPath: metadata.name}, targets: [{select: {name: "+
				"a%d}, fieldPaths: [spec.runtimeRef.name]}]}\n"),
		"labels": on("labels:\n- pairs:\n", "    l%d: a\n"),
		"images": on("images:\n", "- {name: i%d, newTag: b}\n"),
		"generators": on("generatorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator:\n",
			"- {name: c%d, literals: [a=b]}\n"),
		"literals": on("configMapGenerator:\n- name: c\n  literals:\n", "  - a%d=b\n"),
	}
}

// TestChild_MemoryIsLinear holds that ten times the input takes little more than ten times the
// bytes, including the bytes of kustomize.
func TestChild_MemoryIsLinear(t *testing.T) {
	if testenv.LongOnly(t, "it builds many objects"); testenv.Race {
		t.Skip("the race detector allocates memory of its own")
	}
	cases := growing()
	// Kustomize writes an annotation of all transformations so far after each image, also by
	// itself.
	delete(cases, "images")
	for name, files := range cases {
		t.Run(name, func(t *testing.T) {
			allocated := func(n int) uint64 {
				write(t, files(n))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				buildHere(t, "top")
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			allocated(1) // fills the caches
			few, many := allocated(30), allocated(300)
			if e := testenv.Exponent(few, many); e > 1.17 { // of patches
				t.Errorf("10 times the input takes %d bytes, and not %d: exponent %.2f", many,
					few, e)
			}
		})
	}
}

// TestChild_WorkIsLinear holds the same for the statements of trainweld that the process runs. The
// statements of kustomize grow with the square of the objects: it compares the names of each with
// all others. The limit of a build ends that.
func TestChild_WorkIsLinear(t *testing.T) {
	if testenv.LongOnly(t, "it builds a test binary, and counts statements"); testenv.Race {
		t.Skip("it builds a test binary, and counts statements")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "build.test")
	build := exec.Command("go", "test", "-vet=off", "-c", "-cover", "-covermode=count",
		"-coverpkg=github.com/trainweld/trainweld/...", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	steps := func(t *testing.T, files map[string]string) uint64 {
		write(t, files)
		top, err := filepath.Abs("top")
		if err != nil {
			t.Fatal(err)
		}
		profile := filepath.Join(t.TempDir(), "profile")
		cmd := exec.Command(binary, "-test.run=^TestChild_Build$", "-test.coverprofile="+profile)
		cmd.Env = append(slices.Clone(os.Environ()), builtVariable+"="+top)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(profile)
		if err != nil {
			t.Fatal(err)
		}
		return testenv.Statements(string(text))
	}
	for name, files := range growing() {
		t.Run(name, func(t *testing.T) {
			few, many := steps(t, files(30)), steps(t, files(300))
			if e := testenv.Exponent(few, many); e > 1.114 { // as for all commands
				t.Errorf("10 times the input takes %d steps, and not %d: exponent %.2f", many,
					few, e)
			}
		})
	}
}
