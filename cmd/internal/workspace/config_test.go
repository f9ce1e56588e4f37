package workspace_test

import (
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

const plainJob = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
	"NAME}\nspec: {runtimeRef: {name: torch-distributed}}\n"

// jobsOf returns the releases of the TrainJobs by their names.
func jobsOf(in *workspace.Input) map[string]string {
	versions := map[string]string{}
	for _, j := range in.Jobs {
		versions[j.Name] = ""
		if r := j.Release(); r != nil {
			versions[j.Name] = r.Version
		}
	}
	return versions
}

// TestReleases wants the flag to win, then the nearest trainweld.yaml. Standard input belongs to
// the working directory.
func TestReleases(t *testing.T) {
	files := fstest.MapFS{
		"trainweld.yaml":      {Data: []byte("trainerVersion: 2.0\n")},
		"a.yaml":              {Data: []byte(strings.Replace(plainJob, "NAME", "a", 1))},
		"b/b.yaml":            {Data: []byte(strings.Replace(plainJob, "NAME", "b", 1))},
		"c/trainweld.yaml":    {Data: []byte("# of c\ntrainerVersion: v2.1.0\n")},
		"c/c.yaml":            {Data: []byte(strings.Replace(plainJob, "NAME", "c", 1))},
		"c/d/e/e.yaml":        {Data: []byte(strings.Replace(plainJob, "NAME", "e", 1))},
		"f/.git/HEAD":         {},
		"f/f.yaml":            {Data: []byte(strings.Replace(plainJob, "NAME", "f", 1))},
		"g/trainweld.yaml/x":  {},
		"g/g.yaml":            {Data: []byte(strings.Replace(plainJob, "NAME", "g", 1))},
		"h/trainweld.yaml":    {Data: []byte(strings.Replace(plainJob, "NAME", "h", 1))},
		"h/other.yaml":        {Data: []byte(strings.Replace(plainJob, "NAME", "i", 1))},
		"z/unused/empty.yaml": {},
	}
	in := workspace.Read(source(files), workspace.Flags{Files: []string{"."}, Recursive: true})
	want := map[string]string{"a": "2.0.1", "b": "2.0.1", "c": "2.1.0", "e": "2.1.0", "f": "",
		"g": "2.0.1", "h": "2.0.1", "i": "2.0.1"}
	if got := jobsOf(in); !maps.Equal(got, want) || in.Findings.Err() != nil {
		t.Errorf("got %v, want %v: %v", got, want, in.Findings)
	}
	var used []string
	for _, r := range in.Releases() {
		used = append(used, r.Name)
	}
	if !slices.Equal(used, []string{"2.0", "2.1"}) {
		t.Errorf("the releases are %q", used)
	}
	latest := workspace.Read(source(files),
		workspace.Flags{Files: []string{"c"}, Release: release.Latest()})
	if got := jobsOf(latest); !maps.Equal(got, map[string]string{"c": release.Latest().Version}) {
		t.Errorf("the flag does not win: %v", got)
	}
	any := workspace.Read(source(files), workspace.Flags{Files: []string{"c"}, AnyRelease: true})
	if got := jobsOf(any); !maps.Equal(got, map[string]string{"c": ""}) {
		t.Errorf("any release is one: %v", got)
	}
	piped := workspace.Read(streamed{source(files), strings.NewReader(plainJob)},
		workspace.Flags{Files: []string{"-"}})
	if got := jobsOf(piped); !maps.Equal(got, map[string]string{"NAME": "2.0.1"}) {
		t.Errorf("standard input has the releases %v, want the release of the working directory",
			got)
	}
}

type streamed struct {
	source
	stdin io.Reader
}

func (s streamed) Inputs() (fs.FS, io.Reader) { return fstest.MapFS(s.source), s.stdin }

// TestReleases_AboveTheWorkingDirectory wants the search to leave the working directory, and to end
// at the repository.
func TestReleases_AboveTheWorkingDirectory(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"trainweld.yaml": "trainerVersion: 2.1\n", "repo/.git/HEAD": "",
		"repo/jobs/x/job.yaml": plainJob, "plain/jobs/x/job.yaml": plainJob,
	} {
		testenv.WriteIn(t, root, name, text)
	}
	for dir, want := range map[string]string{"plain/jobs/x": "2.1.0", "plain/jobs": "2.1.0",
		"repo/jobs/x": "", "repo": ""} {
		t.Run(dir, func(t *testing.T) {
			t.Chdir(filepath.Join(root, dir))
			for _, path := range []string{".", filepath.Join(root, dir)} {
				in := workspace.Read(&host.Program{Files: host.Files{}},
					workspace.Flags{Files: []string{path}, Recursive: true})
				if got := jobsOf(in); !maps.Equal(got, map[string]string{"NAME": want}) {
					t.Errorf("%s: got %v, want %q", path, got, want)
				}
			}
		})
	}
}

// TestStockRuntime wants the runtime that the release installs if the input lacks the runtime. A
// flag or a policy accepts it without a note.
func TestStockRuntime(t *testing.T) {
	own := strings.NewReplacer("name: r", "name: torch-distributed", "kind: T",
		"kind: ClusterT").Replace(runtimeText)
	for _, tc := range []struct {
		name, text string
		release    string
		stock      bool
	}{
		{"the latest release", plainJob, "", true},
		{"an unknown runtime", strings.Replace(plainJob, "torch-distributed", "none", 1), "",
			false},
		{"a release", plainJob, "2.1", true},
		{"a runtime of the inputs", plainJob + "---\n" + own, "2.1", false},
		{"a broken runtime of the inputs",
			plainJob + "---\n" + strings.Replace(own, "spec: {}", "spec: []", 1), "2.1", false},
		{"a runtime of a later release",
			strings.Replace(plainJob, "torch-distributed", "jax-distributed", 1), "2.1", false},
		{"the later release", strings.Replace(plainJob, "torch-distributed", "jax-distributed", 1),
			"2.2", true},
		{"a TrainingRuntime",
			strings.Replace(plainJob, "{name: torch-distributed}",
				"{name: torch-distributed, kind: TrainingRuntime}", 1), "2.2", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			flags := workspace.Flags{Files: []string{"in.yaml"}}
			if tc.release != "" {
				flags.Release, _ = release.Parse(tc.release)
			}
			in := workspace.Read(source{"in.yaml": {Data: []byte(tc.text)}}, flags)
			spec, _ := in.RuntimeOf(in.Jobs[0])
			s := in.SourceOf(in.Jobs[0])
			if got := s != nil && s.Stock; got != tc.stock ||
				got && (spec == nil ||
					in.Earlier(in.Jobs[0]).TorchNumProcPerNode == nil != (tc.release == "2.2" ||
						tc.release == "")) {
				t.Errorf("stock: %t, want %t; %v", got, tc.stock, in.Earlier(in.Jobs[0]))
			}
			found := in.ReleaseFindings(in.Jobs[0], render.Fail)
			if isNoted := len(found) == 1 && codes.AssumesRuntime(found[0]) &&
				found[0].Position.File == "in.yaml"; isNoted != (tc.stock && tc.release == "") {
				t.Errorf("found %v", found)
			}
		})
	}
}

// TestSnapshot_OfARelease wants a snapshot to count only in releases whose controller keeps some.
func TestSnapshot_OfARelease(t *testing.T) {
	text := jobText + "---\n" + runtimeText +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: j-runtime-snapshot, namespace: " +
		"default}\ndata:\n  runtime: |\n    apiVersion: trainer.kubeflow.org/v1alpha1\n    kind: " +
		"ClusterTrainingRuntime\n    metadata: {name: r}\n    spec: {}\n"
	for version, want := range map[string]bool{"2.2": false, "2.3": true} {
		r, err := release.Parse(version)
		if err != nil {
			t.Fatal(err)
		}
		in := workspace.Read(source{"in.yaml": {Data: []byte(text)}},
			workspace.Flags{Files: []string{"in.yaml"}, Release: r})
		if s := in.SourceOf(in.Jobs[0]); s == nil || (s.Snapshot != nil) != want {
			t.Errorf("%s: the source is %+v", version, s)
		}
	}
}
