package hosts

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type hook struct {
	ID, Name, Entry, Language string
	Files                     string
	PassFilenames             *bool `yaml:"pass_filenames"`
	Args                      []string
}

// preCommit runs the hooks of a repository's configuration on its files, as pre-commit does. A
// command has the words of the entry, the arguments, and the names of the files that both patterns
// allow. A hook that changes files has failed.
func preCommit(t *testing.T, dir string) map[string]ran {
	t.Helper()
	var hooks []hook
	decode(t, read(t, filepath.Join(repository, ".pre-commit-hooks.yaml")), &hooks)
	var config struct {
		Repos []struct{ Hooks []hook }
	}
	decode(t, read(t, filepath.Join(dir, ".pre-commit-config.yaml")), &config)
	results := map[string]ran{}
	for _, used := range config.Repos[0].Hooks {
		i := slices.IndexFunc(hooks, func(h hook) bool { return h.ID == used.ID })
		if i < 0 {
			t.Fatalf("hook %q is missing", used.ID)
		}
		h := hooks[i]
		if h.Name == "" || h.Language != "golang" {
			t.Errorf("pre-commit needs a name and a language of the hook %+v", h)
		}
		if used.Files != "" {
			h.Files = used.Files // the configuration's word counts
		}
		if used.Args != nil {
			h.Args = used.Args
		}
		words := append(strings.Fields(h.Entry), h.Args...)
		files, named := regexp.MustCompile(h.Files), 0
		for name := range strings.Lines(must(t, dir, nil, "git", "ls-files").stdout) {
			if name = strings.TrimSpace(name); files.MatchString(name) {
				named++
				if h.PassFilenames == nil || *h.PassFilenames {
					words = append(words, name)
				}
			}
		}
		if named == 0 {
			continue
		}
		before := must(t, dir, nil, "git", "diff").stdout // pre-commit does not look at other files
		r := run(t, dir, nil, words[0], words[1:]...)
		if r.status == 0 && before != must(t, dir, nil, "git", "diff").stdout {
			r.status = 1
		}
		results[h.ID] = r
	}
	return results
}

// TestPreCommit runs both hooks of the example: on correct files, on files that render differently,
// and on a mistake.
func TestPreCommit(t *testing.T) {
	need(t, "git")
	dir := example(t, "github")
	commit(t, dir, "the example")
	status := func(check, render int) map[string]ran {
		t.Helper()
		got := preCommit(t, dir)
		if got["trainweld-check"].status != check || got["trainweld-render"].status != render {
			t.Errorf("check and render: %+v, want status %d and %d", got, check, render)
		}
		return got
	}
	status(0, 1) // the rendered files were not there
	status(0, 1) // nobody has added them
	commit(t, dir, "render")
	status(0, 0)
	edit(t, filepath.Join(dir, "jobs", "llm.yaml"), "numNodes: 2", "numNodes: 3")
	status(0, 1)
	status(0, 0)
	second := filepath.Join("jobs", "second.yaml")
	write(t, filepath.Join(dir, second),
		strings.Replace(read(t, filepath.Join(dir, "jobs", "llm.yaml")), "name: llm",
			"name: second", 1))
	commit(t, dir, "a second one")
	status(0, 1)
	commit(t, dir, "render it")
	status(0, 0)
	must(t, dir, nil, "git", "rm", "-q", second)
	status(0, 1) // its rendered file is removed
	status(0, 0)
	edit(t, filepath.Join(dir, "jobs", "llm.yaml"), "    name: torch", "    name: toch")
	got := status(1, 1)
	want(t, got["trainweld-check"].stdout, "jobs/llm.yaml:8:5: error TW400", "did you mean")
	if strings.Contains(read(t, filepath.Join(dir, "rendered", "team-a_llm.yaml")), "toch") {
		t.Error("a TrainJob with an error was rendered")
	}
}

// TestPreCommit_Parts runs the hook without settings in a repository with a kustomization, a chart
// and a policy.
func TestPreCommit_Parts(t *testing.T) {
	need(t, "git")
	dir := example(t, "github")
	write(t, filepath.Join(dir, ".pre-commit-config.yaml"),
		"repos:\n- hooks:\n  - id: trainweld-check\n")
	job := read(t, filepath.Join(dir, "jobs", "llm.yaml"))
	for file, text := range map[string]string{
		"jobs/kustomization.yaml": "resources: [llm.yaml]\n",
		"overlays/kustomization.yaml": "resources: [../jobs]\npatches: [{path: " +
			"nodes.yaml}]\n",
		"overlays/nodes.yaml": "apiVersion: " +
			"trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm, namespace: " +
			"team-a}\nspec: {trainer: {numNodes: 4}}\n",
		"charts/train/Chart.yaml":  "apiVersion: v2\nname: train\nversion: 1.0.0\n",
		"charts/train/values.yaml": "nodes: 2\n",
		"charts/train/templates/trainjob.yaml": strings.Replace(job, "name: llm",
			"name: {{ .Release.Name }}", 1),
		"trainweld.yaml": "managers:\n- name: " +
			"platform.example.com/pool\npatches:\n- file: policy/pool.yaml\n",
		"policy/pool.yaml": "manager: platform.example.com/pool\n",
	} {
		write(t, filepath.Join(dir, file), text)
	}
	commit(t, dir, "a kustomization, a chart and a policy")
	if got := preCommit(t, dir)["trainweld-check"]; got.status != 0 {
		t.Errorf("the hook rejects parts of a build: %+v", got)
	}
	edit(t, filepath.Join(dir, "jobs", "llm.yaml"), "    name: torch", "    name: toch")
	want(t, preCommit(t, dir)["trainweld-check"].stdout, "jobs/llm.yaml:8:5: error TW400")
}

// TestPreCommit_Install installs the hooks of the tree as pre-commit does in a clone of any
// revision. It installs the tree's packages, then the packages that the hook names.
func TestPreCommit_Install(t *testing.T) {
	var hooks []struct {
		AdditionalDependencies []string `yaml:"additional_dependencies"`
	}
	decode(t, read(t, filepath.Join(repository, ".pre-commit-hooks.yaml")), &hooks)
	if len(hooks) == 0 {
		t.Fatal("there are no hooks")
	}
	for _, hook := range hooks {
		bin := t.TempDir()
		for _, packages := range append([]string{"./..."}, hook.AdditionalDependencies...) {
			must(t, repository, []string{"GOBIN=" + bin}, "go", "install", packages)
		}
		must(t, bin, nil, filepath.Join(bin, "trainweld"), "version")
	}
}
