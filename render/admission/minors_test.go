package admission_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/release/minor"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMinors_Changes holds what the minor versions of Kubernetes say of new objects: a case for
// each change of 1.37 to Pods, Jobs and claims. A file of the archive is one object, or the spec
// of a Pod whose container c is given beside it, and then the findings of the versions.
func TestMinors_Changes(t *testing.T) {
	path := filepath.Join("testdata", "minors.txtar")
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range archive.Files {
		file := &archive.Files[i]
		object, want, _ := strings.Cut(string(file.Data), separator)
		got := ""
		names := minor.Names()
		for len(names) > 0 {
			found := findingsOf(t, names[0], object)
			same := 1
			for same < len(names) && findingsOf(t, names[same], object) == found {
				same++
			}
			versions := names[0]
			if same > 1 {
				versions += " to " + names[same-1]
			}
			got += fmt.Sprintf("%s:%s\n", versions, found)
			names = names[same:]
		}
		if got != want && !*update {
			t.Errorf("%s: got\n%swant\n%s", file.Name, got, want)
		}
		file.Data = []byte(object + separator + got)
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const separator = "---\n"

// findingsOf returns the codes, paths and messages of a version's findings, or "kept" for none.
func findingsOf(t *testing.T, kubernetes, text string) string {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	if fields["kind"] == nil {
		container := map[string]any{"name": "c", "image": "i"}
		if own, ok := fields["c"].(map[string]any); ok {
			for name, value := range own {
				container[name] = value
			}
		}
		delete(fields, "c")
		fields["containers"] = []any{container}
		fields = map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": fields,
			"metadata": map[string]any{"name": "a", "namespace": "b"}}
	}
	var lines []string
	for _, f := range admission.AdmitBuiltIn(kubernetes, fmt.Sprint(fields["apiVersion"]),
		fmt.Sprint(fields["kind"]), fields) {
		lines = append(lines, fmt.Sprintf("%s %s: %s", f.Code, strings.TrimPrefix(f.Path.String(), "."),
			strings.ReplaceAll(f.Message, "Kubernetes "+kubernetes+" drops it: ", "dropped: ")))
	}
	if lines == nil {
		return " kept"
	}
	slices.Sort(lines)
	return "\n  " + strings.Join(slices.Compact(lines), "\n  ")
}
