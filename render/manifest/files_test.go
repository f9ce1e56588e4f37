package manifest_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// machine takes every path, as the program's own file system does.
type machine struct{ root string }

func (m machine) Open(name string) (fs.File, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(m.root, name)
	}
	return os.Open(name)
}

// sourceTree writes empty files below a new directory; a name that ends in / is a directory.
func sourceTree(t *testing.T, names ...string) machine {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine{root}
}

func TestFiles(t *testing.T) {
	fsys := sourceTree(t, "b.yaml", "a.yml", "c.json", "notes.txt", ".hidden.yaml", "dir/e.yaml",
		"dir/d.yaml", "dir/sub/f.yaml",
		".git/g.yaml", "cases/a/job.yaml", "cases/a/want/a.yaml", "cases/want/b.yaml", "empty/",
		"odd[1].yaml", "deep/er/h.yaml", "x/1/m.yaml", "x/2/m.yaml", "x/-", "special/")
	for _, link := range [][2]string{{"dir/d.yaml", "link.yaml"}, {"..", "deep/up"},
		{"gone", "deep/dangling.yaml"}, {os.DevNull, "special/null.yaml"}} {
		if err := os.Symlink(link[0], filepath.Join(fsys.root, link[1])); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for _, tc := range []struct {
		name      string
		paths     []string
		recursive bool
		want      []string
		findings  []string
		reason    string
	}{
		{"none", nil, false, nil, nil, "nothing was asked for"},
		{"files", []string{"b.yaml", "notes.txt", "a.yml"}, false,
			[]string{"b.yaml", "notes.txt", "a.yml"}, nil, "as given, whatever their names"},
		{"stdin", []string{"-", "a.yml", "-"}, false, []string{"-", "a.yml"}, nil,
			"standard input is read once"},
		{"a file named like stdin", []string{"-", "x/../x/-"}, false, []string{"-", "x/../x/-"},
			nil, "only a bare dash is standard input"},
		{"directory", []string{"."}, false,
			[]string{"a.yml", "b.yaml", "c.json", "link.yaml", "odd[1].yaml"}, nil,
			"sorted, without hidden files and directories"},
		{"recursive", []string{"dir"}, true, []string{"dir/d.yaml", "dir/e.yaml", "dir/sub/f.yaml"},
			nil, "sorted within each directory"},
		{"golden case", []string{"cases"}, true, []string{"cases/want/b.yaml"},
			[]string{"cases/a: note TW111 golden case is skipped"},
			"its TrainJobs may be wrong on purpose; want alone is a folder as any other"},
		{"golden case by name", []string{"cases/a"}, true, []string{"cases/a/job.yaml"}, nil,
			"its output is not an input"},
		{"not recursive", []string{"dir"}, false, []string{"dir/d.yaml", "dir/e.yaml"}, nil,
			"kubectl's default"},
		{"recursive past links", []string{"deep"}, true, []string{"deep/er/h.yaml"},
			[]string{"deep/dangling.yaml: error TW108 is a link to a file that does not exist"},
			"a link to a directory could lead in circles"},
		{"hidden by name", []string{".hidden.yaml", ".git"}, false,
			[]string{".hidden.yaml", ".git/g.yaml"}, nil, "a path names them"},
		{"twice", []string{"a.yml", "./a.yml", "dir/../a.yml", ".", "a.yml"}, false,
			[]string{"a.yml", "b.yaml", "c.json", "link.yaml", "odd[1].yaml"}, nil,
			"a file is read once, where it was first named"},
		{"absolute", []string{filepath.ToSlash(fsys.root) + "/a.yml"}, false,
			[]string{filepath.ToSlash(fsys.root) + "/a.yml"}, nil, "any path of the machine"},
		{"parents", []string{"../" + filepath.Base(fsys.root) + "/dir"}, false,
			[]string{"../" + filepath.Base(fsys.root) + "/dir/d.yaml",
				"../" + filepath.Base(fsys.root) + "/dir/e.yaml"}, nil,
			"paths that io/fs calls invalid"},
		{"pattern", []string{"*.y*ml"}, false,
			[]string{"a.yml", "b.yaml", "link.yaml", "odd[1].yaml"}, nil,
			"sorted, without hidden files"},
		{"pattern of hidden files", []string{".h*"}, false, []string{".hidden.yaml"}, nil,
			"a dot in the pattern asks for them"},
		{"pattern in the middle", []string{"x/*/m.yaml"}, false,
			[]string{"x/1/m.yaml", "x/2/m.yaml"}, nil, "every element may be a pattern"},
		{"absolute pattern", []string{filepath.ToSlash(fsys.root) + "/[ab].y*"}, false,
			[]string{filepath.ToSlash(fsys.root) + "/a.yml",
				filepath.ToSlash(fsys.root) + "/b.yaml"}, nil, "fs.Glob would fail here"},
		{"device in a directory", []string{"special", "special/*"}, false, nil,
			[]string{"special/null.yaml: error TW108 must be a regular file",
				"special/null.yaml: error TW108 must be a regular file"},
			"reading a named pipe could block forever"},
		{"device by name", []string{"special/null.yaml"}, false, []string{"special/null.yaml"}, nil,
			"a shell gives the output of a command as one"},
		{"pattern of directories", []string{"d*"}, false, []string{"dir/d.yaml", "dir/e.yaml"},
			[]string{"deep/dangling.yaml: error TW108 is a link to a file that does not exist"},
			"a directory that matches gives its files"},
		{"name with brackets", []string{"odd[1].yaml"}, false, []string{"odd[1].yaml"}, nil,
			"a file that exists is not a pattern"},
		{"missing", []string{"nope.yaml", "a.yml"}, false, []string{"a.yml"},
			[]string{"nope.yaml: error TW108 does not exist"}, "the others are read all the same"},
		{"no match", []string{"*.toml"}, false, nil,
			[]string{"*.toml: error TW108 matches no file"},
			"a quoted pattern that hits nothing is a mistake"},
		{"malformed", []string{"[a"}, false, nil, []string{"[a: error TW108 invalid pattern"},
			"it can never match"},
		{"empty directory", []string{"empty", "x"}, false, nil,
			[]string{"empty: error TW108 holds no *.yaml, *.yml or *.json file",
				"x: error TW108 holds no *.yaml, *.yml or *.json file"},
			"a job that checks nothing should not pass"},
		{"file as a directory", []string{"a.yml/b"}, false, nil,
			[]string{"a.yml/b: error TW108 cannot be read: not a directory"},
			"the system's reason, without the path"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && tc.name == "file as a directory" {
				t.Skip("another reason there")
			}
			files, findings := manifest.Files(fsys, tc.paths, tc.recursive)
			if diff := cmp.Diff(tc.want, files); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			var got []string
			for _, f := range findings {
				got = append(got, f.Position.String()+": "+f.Severity.String()+" "+string(f.Code)+
					" "+f.Message)
				if f.Remedy.Text == "" {
					t.Errorf("%v has no help", f)
				}
			}
			if diff := cmp.Diff(tc.findings, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// denied is a file system with a directory and a file that may not be read. Tests run as root, who
// may read everything.
type denied struct{ fstest.MapFS }

func (d denied) Open(name string) (fs.File, error) {
	f, err := d.MapFS.Open(name)
	if err == nil && strings.HasSuffix(name, "secret.yaml") {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f, err
}

func (d denied) ReadDir(name string) ([]fs.DirEntry, error) {
	if strings.HasSuffix(name, "locked") {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrPermission}
	}
	return d.MapFS.ReadDir(name)
}

func TestUnreadable(t *testing.T) {
	fsys := denied{fstest.MapFS{
		"a/locked/x.yaml": {}, "a/z.yaml": {Data: []byte("z")}, "a/secret.yaml": {},
		"a/b/y.yaml": {},
	}}
	files, findings := manifest.Files(fsys, []string{"a", "a/locked"}, true)
	if diff := cmp.Diff([]string{"a/b/y.yaml", "a/secret.yaml", "a/z.yaml"}, files); diff != "" {
		t.Errorf("a directory that cannot be read stops the others (-want +got):\n%s", diff)
	}
	want := "a/locked: TW108: cannot be read: permission denied; check the path, and that you " +
		"may read it"
	if len(findings) != 2 || findings[0].Error() != want || findings[1].Error() != want {
		t.Errorf("got %v, want twice %s", findings, want)
	}
	for _, tc := range []struct{ file, data, want string }{
		{"a/z.yaml", "z", ""},
		{"a/secret.yaml", "",
			"a/secret.yaml: TW108: cannot be read: permission denied; check the path, and that " +
				"you may read it"},
		{"a/nope.yaml", "",
			"a/nope.yaml: TW108: does not exist; check the path; it is relative to the working " +
				"directory"},
		{"a", "", "a: TW108: is a directory; name the files in it, or list it first"},
	} {
		data, f := manifest.Read(fsys, nil, tc.file)
		got := ""
		if f != nil {
			got = f.Error()
		}
		if string(data) != tc.data || got != tc.want {
			t.Errorf("%s: got %q and %q, want %q and %q", tc.file, data, got, tc.data, tc.want)
		}
	}
}

func TestReadStdin(t *testing.T) {
	if data, f := manifest.Read(nil, strings.NewReader("a"), manifest.Stdin); string(data) != "a" ||
		f != nil {
		t.Errorf("got %q, %v", data, f)
	}
	if _, f := manifest.Read(nil, nil, manifest.Stdin); f == nil || f.Code != codes.Unreadable {
		t.Errorf("got %v without a standard input", f)
	}
	if _, f := manifest.Read(nil, io.MultiReader(strings.NewReader("a"), broken{}),
		manifest.Stdin); f == nil || f.Message != "cannot be read: the pipe broke" {
		t.Errorf("got %v", f)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the pipe broke") }

// endless gives spaces forever, and counts them.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte(" "), len(p)))
	e.read += len(p)
	return len(p), nil
}

func TestReadStopsAtTheLimit(t *testing.T) {
	var e endless
	data, f := manifest.Read(nil, &e, manifest.Stdin)
	if data != nil || f == nil ||
		f.Error() != "-: TW100: is larger than 64 MiB; split it into several files" {
		t.Errorf("got %d bytes, %v", len(data), f)
	}
	if e.read > 96<<20 {
		t.Errorf("read %d MiB of a stream", e.read>>20)
	}
	name := filepath.Join(t.TempDir(), "large.yaml")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	// takes no room on the disk
	if err := errors.Join(file.Truncate(100<<20), file.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, f := manifest.Read(machine{"/"}, nil, filepath.ToSlash(name)); f == nil ||
		f.Message != "is larger than 64 MiB" {
		t.Errorf("got %v", f)
	}
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<20 {
		t.Errorf("spent %d bytes on a file that is refused by its size", spent)
	}
}

func TestMayHoldRuntime(t *testing.T) {
	const job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: " +
		"a\nspec:\n"
	for _, tc := range []struct {
		name, text string
		want       bool
		reason     string
	}{
		{"a TrainJob", job + "  runtimeRef:\n    name: torch\n", false, "it names no kind"},
		{"a TrainJob with a kind",
			job + "  runtimeRef:\n    name: torch\n    kind: ClusterTrainingRuntime\n", false,
			"the kind belongs to its reference"},
		{"the kind first", job + "  runtimeRef:\n    kind: TrainingRuntime\n\n    name: torch\n",
			false, "the kind belongs to its reference"},
		{"with line ends of Windows",
			strings.ReplaceAll(job+"  runtimeRef:\n    kind: TrainingRuntime\n", "\n", "\r\n"),
			false, "the kind belongs to its reference"},
		{"two TrainJobs", job + "  runtimeRef:\n    kind: TrainingRuntime\n---\n" + job, false,
			"neither is a runtime"},
		{"a script", job + "  trainer:\n    command:\n    - |\n      a \\\n      b\n", false,
			"nothing is in double quotes"},
		{"a runtime", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n",
			true, "it is one"},
		{"a runtime behind a TrainJob",
			job + "  runtimeRef:\n    kind: TrainingRuntime\n---\nkind: TrainingRuntime\n", true,
			"the second is one"},
		{"an indented runtime",
			"  apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainingRuntime\n", true,
			"documents may be indented"},
		{"a List", "kind: List\napiVersion: v1\nitems:\n- apiVersion: " +
			"trainer.kubeflow.org/v1alpha1\n  kind: TrainingRuntime\n", true, "its item is one"},
		{"a typed List",
			"kind: ClusterTrainingRuntimeList\napiVersion: trainer.kubeflow.org/v1alpha1\nitems: " +
				"[{}]\n", true, "its items are some"},
		{"JSON", `{"kind": "TrainingRuntime"}`, true, "it is one"},
		{"an escape", `{"kind": "\u0054rainingRuntime"}`, true, "it is one"},
		{"on a line of its own",
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind:\n  TrainingRuntime\n", true,
			"a value may stand below its key"},
		{"in quotes", job + "  runtimeRef:\n    kind: \"TrainingRuntime\"\n", true,
			"in doubt it is looked at"},
		{"a merge key", "a: &a\n  runtimeRef: &r\n    kind: TrainingRuntime\n<<: *r\n", true,
			"the kind goes to the top"},
		{"a tag", "kind: !!binary VHJhaW5pbmdSdW50aW1l\n", true, "base64 spells it"},
		{"a text that looks like a reference",
			"kind: ClusterTrainingRuntime\nspec: |\n  runtimeRef:\n    kind: TrainingRuntime\n",
			true, "the other one is one"},
		{"below a text", "a: |\n  runtimeRef:\n kind: TrainingRuntime\n", true,
			"the line is not below runtimeRef"},
		{"a ConfigMap", "apiVersion: v1\nkind: ConfigMap\n", true, "it may be a snapshot"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := manifest.MayHoldRuntime([]byte(tc.text)); got != tc.want {
				t.Errorf("%v, want %v: %s", got, tc.want, tc.reason)
			}
			mustHoldNone(t, tc.name, []byte(tc.text))
		})
	}
}

// TestMayHoldRuntimeOfAllInputs reads all inputs of the project's tests. If MayHoldRuntime says no,
// an input holds no runtime.
func TestMayHoldRuntimeOfAllInputs(t *testing.T) {
	no := 0
	for _, dir := range []string{filepath.Join("..", "..", "testdata"), "testdata"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			files := []txtar.File{{Name: path, Data: text}}
			if filepath.Ext(path) == ".txtar" {
				files = txtar.Parse(text).Files
			}
			for _, file := range files {
				if strings.HasPrefix(file.Name, "want/") ||
					!slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file.Name)) {
					continue
				}
				if len(file.Data) <= 1<<16 && mustHoldNone(t, path, file.Data) {
					no++
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if no < 10 {
		t.Errorf("it says no of %d files only", no)
	}
}

// mustHoldNone fails if a no is wrong, and says whether it was a no.
func mustHoldNone(t *testing.T, name string, text []byte) bool {
	t.Helper()
	if manifest.MayHoldRuntime(text) {
		return false
	}
	documents, _ := manifest.Decode(name, text)
	for _, d := range documents {
		switch d.ID.Kind {
		case "TrainingRuntime", "ClusterTrainingRuntime", "ConfigMap":
			t.Errorf("%s holds %s", name, d.ID)
		}
	}
	return true
}
