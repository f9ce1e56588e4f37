package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/codes"
)

// reported is a finding of check -o json.
type reported struct {
	Code, Object string
	Remedy       *remedy
}

// remedy is the remedy of a finding in JSON.
type remedy struct {
	Action, Path string
	Value        any
}

// TestRemedies makes the change of each remedy that check reports for a file, as a program with the
// JSON would. The finding is gone then. Every code with a remedy in render/codes/codes.txt has a
// case here, and no other.
func TestRemedies(t *testing.T) {
	t.Parallel()
	dir := casefile.UnpackGroups(t, filepath.Join(testdata, "remedies"))
	cases, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[finding.Code]bool{}
	for _, c := range cases {
		code, _, _ := strings.Cut(c.Name(), "-")
		shown[finding.Code(code)] = true
		t.Run(c.Name(), func(t *testing.T) {
			makeRemedies(t, filepath.Join(dir, c.Name(), "in.yaml"), code)
		})
	}
	for _, code := range codes.Codes() {
		page, _ := codes.Of(code)
		if has := strings.Contains(page.Markdown, "\n\nRemedy: "); has != shown[code] {
			t.Errorf("render/codes/codes.txt: %s has a remedy: %t; a case shows it: %t", code, has,
				shown[code])
		}
	}
}

// makeRemedies makes the changes that the file's findings of a code have as their remedies, one
// after the other.
func makeRemedies(t *testing.T, file, code string) {
	const most = 10
	for n := range most {
		found := slices.DeleteFunc(reportOf(t, file), func(f reported) bool {
			return f.Code != code
		})
		at := slices.IndexFunc(found, func(f reported) bool { return f.Remedy != nil })
		switch {
		case n == 0 && at < 0:
			t.Fatalf("no %s with a remedy in %+v", code, found)
		case len(found) == 0:
			return
		case at < 0 || n == most-1:
			t.Fatalf("%+v remains", found)
		case found[at].Remedy.Action == "migrate":
			return // the tests of migrate make it
		}
		changeFile(t, file, found[at])
	}
}

// changeFile makes the change of a remedy in a file.
func changeFile(t *testing.T, file string, f reported) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	at := slices.IndexFunc(documents, func(document string) bool {
		kind, name, _ := strings.Cut(f.Object, " ")
		return len(documents) == 1 || strings.Contains(document, "kind: "+kind+"\n") &&
			strings.Contains(document, "name: "+name[strings.Index(name, "/")+1:])
	})
	if at < 0 {
		t.Fatalf("no document is %s", f.Object)
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(documents[at]), &object); err != nil {
		t.Fatal(err)
	}
	f.Remedy.perform(t, object)
	changed, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	documents[at] = string(changed)
	if err := os.WriteFile(file, []byte(strings.Join(documents, "\n---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func reportOf(t *testing.T, file string) []reported {
	t.Helper()
	status, stdout, stderr := ran("", "check", file, "-r",
		filepath.Join(testdata, "remedies", "runtime.yaml"), "--on-conflict=last", "-o", "json")
	if status == exit.Failed {
		t.Fatalf("check: %s", stderr)
	}
	var report struct{ Findings []reported }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	return report.Findings
}

// perform changes an object.
func (r remedy) perform(t *testing.T, object map[string]any) {
	t.Helper()
	path, err := fieldpath.ParsePath(r.Path)
	if err != nil || len(path) == 0 {
		t.Fatalf("the path %q of a remedy: %v", r.Path, err)
	}
	name := fmt.Sprint(r.Value)
	var moved any
	remove := func(old any) any { moved = old; return nil }
	switch key, _, isItem := path[len(path)-1].Item(); {
	case r.Action == "set":
		changeAt(object, path, func(any) any { return r.Value })
	case r.Action == "quote":
		changeAt(object, path, func(old any) any { return fmt.Sprint(old) })
	case r.Action == "remove":
		changeAt(object, path, remove)
	case r.Action == "rename" && isItem:
		changeAt(object, path.Append(fieldpath.Field(key)), func(any) any { return name })
	case r.Action == "rename":
		changeAt(object, path, remove)
		changeAt(object, path[:len(path)-1].Append(fieldpath.Field(name)), func(any) any {
			return moved
		})
	case r.Action == "move":
		to, err := fieldpath.ParsePath(name)
		if err != nil {
			t.Fatal(err)
		}
		changeAt(object, path, remove)
		changeAt(object, to, func(any) any { return moved })
	default:
		t.Fatalf("a remedy's action %q", r.Action)
	}
}

// changeAt returns a value with another one at a path. Nil removes the old one.
func changeAt(value any, path fieldpath.Path, change func(old any) any) any {
	if len(path) == 0 {
		return change(value)
	}
	if name, isNamed := path[0].Name(); isNamed {
		object, _ := value.(map[string]any)
		if object == nil {
			object = map[string]any{}
		}
		if object[name] = changeAt(object[name], path[1:], change); object[name] == nil {
			delete(object, name)
		}
		return object
	}
	list, _ := value.([]any)
	at, isIndex := path[0].Index()
	if key, want, isItem := path[0].Item(); isItem {
		at = slices.IndexFunc(list, func(item any) bool {
			return item.(map[string]any)[key] == want
		})
	} else if !isIndex {
		return value
	}
	if at < 0 || at >= len(list) {
		return value
	}
	if list[at] = changeAt(list[at], path[1:], change); list[at] == nil {
		list = slices.Delete(list, at, at+1)
	}
	return list
}
