package golden_test

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/golden"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

var had = golden.UpdateFlag()

// TestUpdateFlag defines the flag once, and only where there is none.
func TestUpdateFlag(t *testing.T) {
	if had {
		t.Error("importing the package defines the flag, over which a package with one of its " +
			"own would panic")
	}
	if !golden.UpdateFlag() || flag.Lookup("update") == nil {
		t.Error("asked again, the flag is not there")
	}
}

// trainJob is a TrainJob of the runtime of files.
const trainJob = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
	"llm}\nspec: {runtimeRef: {name: plain}}\n"

// withFiles are the files, with some more.
func withFiles(more map[string]string) fstest.MapFS {
	all := maps.Clone(files)
	for name, text := range more {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

func TestFind(t *testing.T) {
	for _, tc := range []struct {
		name   string
		more   map[string]string
		want   []string
		reason string
	}{
		{"a TrainJob", map[string]string{"a/job.yaml": trainJob}, []string{"a", "nodes"},
			"a folder with a TrainJob is a case, also before it has want"},
		{"json and yml",
			map[string]string{"a/job.yml": trainJob, "b/job.json": `{"kind": "TrainJob"}`},
			[]string{"a", "b", "nodes"}, "as the other commands read them"},
		{"only want", map[string]string{"a/want/x.yaml": "x"}, []string{"a", "nodes"},
			"one whose TrainJob is gone fails, instead of passing unseen"},
		{"broken", map[string]string{"a/job.yaml": "kind: TrainJob\nspec: {"},
			[]string{"a", "nodes"}, "one that cannot be read fails, instead of passing unseen"},
		{"another kind", map[string]string{"a/queue.yaml": "kind: Queue # of each TrainJob\n"},
			[]string{"nodes"}, "the word alone makes no case"},
		{"nested", map[string]string{"nodes/more/job.yaml": trainJob, "nodes-2/job.yaml": trainJob},
			[]string{"nodes", "nodes/more", "nodes-2"},
			"the files of a folder come right behind it"},
		{"hidden", map[string]string{".git/job.yaml": trainJob, "a/.job.yaml": trainJob,
			"a/want/job/job.yaml": trainJob}, []string{"a", "nodes"},
			"dots hide, and want holds no cases"},
		{"the root", map[string]string{"job.yaml": trainJob, "want/a.yaml": "a"},
			[]string{".", "nodes"}, "the folder that is searched may be one"},
		{"beside the runtime",
			map[string]string{"a/job.yaml": trainJob, "a/b/job.yaml": trainJob,
				"a/runtime.yaml": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " +
					"TrainingRuntime\n", "c/job.yaml": trainJob, "c/d/job.yaml": trainJob},
			[]string{"a/b", "c", "c/d", "nodes"},
			"a TrainJob above cases is a manifest next to their runtime"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cases, err := golden.Find(withFiles(tc.more), "")
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range cases {
				names = append(names, c.Name)
			}
			if !slices.Equal(names, tc.want) {
				t.Errorf("%q, want %q: %s", names, tc.want, tc.reason)
			}
		})
	}
}

func TestFindFailsForWhatCannotBeRead(t *testing.T) {
	if _, err := golden.Find(os.DirFS(filepath.Join(t.TempDir(), "nowhere")), ""); !errors.Is(
		err, fs.ErrNotExist) {
		t.Errorf("%v, want that it does not exist", err)
	}
}

// TestFind_Deep rejects folders in a hundred others.
func TestFind_Deep(t *testing.T) {
	for folders, want := range map[int]string{
		99: "", 101: "lies in 100 folders: cases must lie in fewer"} {
		name := strings.Repeat("a/", folders) + "job.yaml"
		if _, err := golden.Find(withFiles(map[string]string{name: trainJob}), ""); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Find() in %d folders: %v, want %q", folders, err, want)
		}
	}
}

// TestFind_Links finds cases with links. A link to a file of the repository is an input, and a link
// out of it is an error.
func TestFind_Links(t *testing.T) {
	dir := t.TempDir()
	testenv.WriteIn(t, dir, "repository/.git/HEAD", "")
	testenv.WriteIn(t, dir, "repository/cases/a/want/README", "")
	testenv.WriteIn(t, dir, "repository/job.yaml", testenv.TrainJob(0))
	testenv.WriteIn(t, dir, "outside/job.yaml", testenv.TrainJob(0))
	link := filepath.Join(dir, "repository/cases/a/job.yaml")
	for to, want := range map[string]error{
		"../../job.yaml": nil, "../../../outside/job.yaml": host.ErrOutside} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
		if cases, err := golden.Find(
			host.BoundedFolder(filepath.Join(dir, "repository/cases")), ""); !errors.Is(
			err, want) || want == nil && len(cases) != 1 {
			t.Errorf("Find() with a link to %s = %v, %v", to, cases, err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

// one runs a single case of the files.
func one(t *testing.T, fsys fs.FS, name string) *golden.Result {
	t.Helper()
	cases, err := golden.Find(fsys, "")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(cases, func(c *golden.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("%s is no case", name)
	}
	r, err := cases[i].Run(golden.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun_Cases(t *testing.T) {
	want := string(
		bytes.ReplaceAll(files["nodes/want/default_llm.yaml"].Data, []byte(": 2\n"),
			[]byte(": 3\n")))
	for _, tc := range []struct {
		name    string
		more    map[string]string
		changes []string // of want
		first   string   // what the first failure's message holds
		reason  string
	}{
		{"as reviewed", map[string]string{"nodes/want/default_llm.yaml": want}, nil, "",
			"nothing differs"},
		{"ends of lines",
			map[string]string{
				"nodes/want/default_llm.yaml": strings.ReplaceAll(want, "\n", "\r\n")}, nil, "",
			"git may have changed them"},
		{"a comment", map[string]string{"nodes/want/default_llm.yaml": "# reviewed\n" + want},
			[]string{"default_llm.yaml"}, "differs", "the file would not be what render writes"},
		{"empty", map[string]string{"nodes/want/default_llm.yaml": ""},
			[]string{"default_llm.yaml"}, "differs", "an empty file is there"},
		{"no YAML", map[string]string{"nodes/want/default_llm.yaml": "{"},
			[]string{"default_llm.yaml"}, "differs", "any file can be written over"},
		{"an object more",
			map[string]string{"nodes/want/default_llm.yaml": want + "---\nkind: ConfigMap\n"},
			[]string{"default_llm.yaml"}, "differs", "it is gone"},
		{"stale", map[string]string{"nodes/want/default_llm.yaml": want,
			"nodes/want/default_old.yaml": "", "nodes/want/findings.txt": ""},
			[]string{"default_old.yaml", "findings.txt"},
			"obsolete file: no TrainJob renders to it", "empty ones, too"},
		{"foreign files",
			map[string]string{"nodes/want/default_llm.yaml": want, "nodes/want/notes.md": "",
				"nodes/want/.hidden.yaml": "", "nodes/want/a/b.yaml": ""},
			nil, "", "they are nobody's business"},
		{"another TrainJob above",
			map[string]string{"nodes/want/default_llm.yaml": want, "job.yaml": trainJob}, nil, "",
			"TrainJobs are not shared"},
		{"an index of the last release above, and a job with one",
			map[string]string{"nodes/want/default_llm.yaml": want,
				"options.yaml": "to: pods\nindex: 0\n", "nodes/options.yaml": "job: node/1\n"},
			[]string{"default_llm.yaml"}, "differs", "the nearer one counts"},
		{"a broken runtime above",
			map[string]string{"nodes/want/default_llm.yaml": want,
				"other.yaml": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " +
					"ClusterTrainingRuntime\nmetadata: {name: other}\nspec: {no: 1}\n"},
			nil, "", "it is not the one that the case is about"},
		{"a second runtime of the name",
			map[string]string{"nodes/want/default_llm.yaml": want,
				"nodes/again.yaml": string(files["runtime.yaml"].Data)},
			[]string{"findings.txt"}, "the findings differ",
			"which one is meant, nobody could say"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := one(t, withFiles(tc.more), "nodes")
			var changes []string
			for _, c := range r.Changes {
				changes = append(changes, strings.TrimPrefix(c.File, "nodes/want/"))
				if (c.Old == nil) == (c.New == nil) && bytes.Equal(c.Old, c.New) {
					t.Errorf("%s changes in nothing", c.File)
				}
				if c.Diff() == "" {
					t.Errorf("%s has no diff", c.File)
				}
			}
			if !slices.Equal(changes, tc.changes) || r.Passed() != (tc.changes == nil) {
				t.Errorf("changes %q, want %q: %s", changes, tc.changes, tc.reason)
			}
			if len(r.Failures) > 0 && !strings.Contains(r.Failures[0].Message, tc.first) {
				t.Errorf("%q, want %q", r.Failures[0].Message, tc.first)
			}
		})
	}
}

// TestUpdate_CasesPass writes what failed and runs it again, links and permissions included.
func TestUpdate_CasesPass(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	file := filepath.Join(dir, "nodes", "want", "default_llm.yaml")
	if err := errors.Join(os.WriteFile(outside, []byte("outside"), 0o600),
		os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}
	r := one(t, os.DirFS(dir), "nodes")
	if err := golden.Update(dir, r); err != nil {
		t.Fatal(err)
	}
	if r = one(t, os.DirFS(dir), "nodes"); !r.Passed() {
		t.Errorf("after the update: %v", r.Failures)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v, want the permissions that it had", info.Mode(), err)
	}

	// Where a link leads, nothing is written: it is replaced, or rejected.
	if err := errors.Join(os.Remove(file), os.Symlink(outside, file)); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	if err := golden.Update(dir, one(t, os.DirFS(dir), "nodes")); err == nil {
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			t.Errorf("the link is still there: %v, %v", info.Mode(), err)
		}
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "outside" {
		t.Errorf("%q, %v: a file outside of the case was written", text, err)
	}
}

// TestRun runs this binary's TestCases as go test does, without and with -update.
func TestRun(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	testenv.WriteIn(t, outside, "job.yaml", trainJob)
	if err := os.CopyFS(
		dir, withFiles(
			map[string]string{"job.yaml": trainJob, "want/.keep": "",
				"a/b/job.yaml": trainJob})); err != nil {
		t.Fatal(err)
	}
	run := func(arguments ...string) (string, error) { return runCases(dir, arguments...) }
	out, err := run()
	for _, want := range []string{
		"--- FAIL: TestCases/nodes ", "--- FAIL: TestCases/a/b ", "--- FAIL: TestCases/case ",
		"nodes/want/default_llm.yaml:16:1: differs from the rendering; -update writes that",
		"nodes/trainjob.yaml:7:13)\n",
	} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v, want a failure with %q:\n%s", err, want, out)
		}
	}
	if out, err = run("-update"); err != nil ||
		!strings.Contains(out, "wrote "+filepath.ToSlash(dir)+"/a/b/want/default_llm.yaml") {
		t.Errorf("with -update: %v\n%s", err, out)
	}
	if out, err = run("-test.run=^TestCases$/^a$/^b$"); err != nil ||
		strings.Contains(out, "TestCases/nodes") ||
		!strings.Contains(out, "--- PASS: TestCases/a/b ") {
		t.Errorf("one of them, by its path: %v\n%s", err, out)
	}
	if out, err = run(); err != nil {
		t.Errorf("after the update: %v\n%s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "nodes")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "a")),
		os.Remove(filepath.Join(dir, "job.yaml")),
		os.RemoveAll(filepath.Join(dir, "want"))); err != nil {
		t.Fatal(err)
	}
	if out, err = run(); err == nil || !strings.Contains(out, "there is no case in "+dir) {
		t.Errorf("no case must not pass: %v\n%s", err, out)
	}
	if err := os.Symlink(filepath.Join(outside, "job.yaml"),
		filepath.Join(dir, "job.yaml")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	if out, err = run(); err == nil || !strings.Contains(out, "is outside of the repository") {
		t.Errorf("with a link out of the folder: %v\n%s", err, out)
	}
}

// TestRun_ShowValues: a failure masks the values of environment variables, and names the option
// that shows them.
func TestRun_ShowValues(t *testing.T) {
	dir := t.TempDir()
	testenv.WriteIn(t, dir, "runtime.yaml", string(files["runtime.yaml"].Data))
	job := func(value string) {
		testenv.WriteIn(t, dir, "a/job.yaml", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: "+
			"TrainJob\nmetadata: {name: llm}\nspec: {runtimeRef: {name: plain}, trainer: {env: "+
			"[{name: TOKEN, value: "+value+"}]}}\n")
	}
	job("one")
	if out, err := runCases(dir, "-update"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	job("two")
	const advice = "; Options.ShowValues shows the masked values\n"
	for _, tc := range []struct{ shown, want, not string }{
		{"", advice, "two"}, {"yes", "+     two\n", advice},
	} {
		t.Setenv("TRAINWELD_CASES_SHOWN", tc.shown)
		if out, err := runCases(dir); err == nil || !strings.Contains(out, tc.want) ||
			strings.Contains(out, tc.not) {
			t.Errorf("shown %q: %v, want %q, and not %q:\n%s", tc.shown, err, tc.want, tc.not, out)
		}
	}
}

// TestCases is what runCases runs.
func TestCases(t *testing.T) {
	dir := os.Getenv("TRAINWELD_CASES_IN")
	if dir == "" {
		t.Skip("TestRun runs it")
	}
	if os.Getenv("TRAINWELD_CASES_SHOWN") != "" {
		golden.Run(t, dir, golden.Options{ShowValues: true})
		return
	}
	golden.Run(t, dir)
}

// runCases runs the cases in a folder with this binary, and returns what it prints.
func runCases(dir string, arguments ...string) (string, error) {
	cmd := exec.Command(os.Args[0],
		append([]string{"-test.run=^TestCases$", "-test.v"}, arguments...)...)
	cmd.Env = append(os.Environ(), "TRAINWELD_CASES_IN="+dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestRun_Deterministic runs a case many times over.
func TestRun_Deterministic(t *testing.T) {
	first := one(t, files, "nodes")
	for range 20 {
		if diff := cmp.Diff(first.Failures, one(t, files, "nodes").Failures); diff != "" {
			t.Fatal(diff)
		}
	}
}

// FuzzCase feeds a case with anything. It ends with a result, and it compares with the files that
// Update would write.
func FuzzCase(f *testing.F) {
	f.Add("to: pods\n", trainJob, string(files["nodes/want/default_llm.yaml"].Data))
	f.Add("to: jobs\nas: stored\n", trainJob+"---\n"+trainJob, "---\n---\nkind: Pod\n")
	f.Add("index: 1..2\npatch: [job.yaml]\n", "kind: TrainJob\n", "{")
	f.Add("- a\n", "kind: TrainJob\nspec: {", "a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, options, job, want string) {
		fsys := withFiles(
			map[string]string{"nodes/options.yaml": options, "nodes/trainjob.yaml": job,
				"nodes/want/default_llm.yaml": want})
		r := one(t, fsys, "nodes")
		if r.Passed() != (len(r.Failures) == 0) || r.Passed() && len(r.Changes) > 0 {
			t.Fatalf("%q %q %q: passed with changes", options, job, want)
		}
		for _, c := range r.Changes {
			_ = c.Diff()
			if delete(fsys, c.File); c.New != nil {
				fsys[c.File] = &fstest.MapFile{Data: c.New}
			}
		}
		if again := one(t, fsys, "nodes"); r.Updatable() && !again.Passed() {
			t.Fatalf("%q %q %q: fails after its update: %v", options, job, want, again.Failures)
		}
	})
}

// TestLinksNoTestFramework lists the packages that a runtime's author links along with this
// package.
func TestLinksNoTestFramework(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dependency := range strings.Lines(string(out)) {
		for _, unwanted := range []string{"testify", "gomega", "ginkgo", "go-cmp", "testscript",
			"controller-runtime", "client-go", "cel-go"} {
			if strings.Contains(dependency, unwanted) {
				t.Errorf("it links %s", dependency)
			}
		}
	}
}
