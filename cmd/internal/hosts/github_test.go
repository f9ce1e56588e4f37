package hosts

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type step struct {
	Name, ID, If, Uses, Run, Shell string
	With, Env                      map[string]string
}

type workflow struct {
	On struct {
		PullRequest struct{ Paths []string } `yaml:"pull_request"`
	}
	Permissions map[string]string
	Jobs        map[string]struct{ Steps []step }
}

type action struct {
	Name, Description string
	Inputs            map[string]struct {
		Description, Default string
		Required             bool
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

// runner runs steps as GitHub's runner does. It runs bash with GitHub's options, in the repository,
// with the files by which steps exchange data. GitHub's own actions, such as checking out, are done
// already or stubbed.
type runner struct {
	t         *testing.T
	dir, temp string
	context   map[string]string // what expressions stand for
	log       strings.Builder
	comments  string // the file that holds what gh was given
	failed    bool
}

func newRunner(t *testing.T, dir string) *runner {
	t.Helper()
	need(t, "bash", "git", "go")
	source, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{t: t, dir: dir, temp: t.TempDir(),
		comments: filepath.Join(t.TempDir(), "comments"),
		context:  map[string]string{"github.action_path": source}}
	gh := filepath.Join(r.temp, "stubs", "gh")
	write(t, gh, "#!/usr/bin/env bash\nset -eu\nprintf '%s\\n' \"$*\" >> \"$COMMENTS\"\nfor "+
		"file; do :; done\ncat \"$file\" >> \"$COMMENTS\"\n")
	if err := os.Chmod(gh, 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// expand replaces expressions by their values. An unknown expression fails the test.
func (r *runner) expand(text string) string {
	r.t.Helper()
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		name := expression.FindStringSubmatch(e)[1]
		value, ok := r.context[name]
		if !ok {
			r.t.Errorf("nothing is known of the expression %q", name)
		}
		return value
	})
}

var comparison = regexp.MustCompile(`^([\w.-]+) (==|!=) '([^']*)'$`)

// wanted evaluates the condition of a step. Without a condition that names failures, a step does
// not run after a failed one.
func (r *runner) wanted(condition string) bool {
	r.t.Helper()
	condition = strings.TrimSpace(condition)
	if m := expression.FindStringSubmatch(condition); m != nil {
		condition = m[1]
	}
	rest, always := strings.CutPrefix(condition, "!cancelled() && ")
	if r.failed && !always {
		return false
	}
	if rest == "" {
		return true
	}
	m := comparison.FindStringSubmatch(rest)
	if m == nil {
		r.t.Fatalf("this test cannot evaluate %q", condition)
	}
	return (r.context[m[1]] == m[3]) == (m[2] == "==")
}

// step runs a step that has a script.
func (r *runner) step(s step) {
	r.t.Helper()
	if !r.wanted(s.If) {
		return
	}
	if strings.Contains(s.Run, "${{") {
		r.t.Errorf("step %q puts an expression into a script, where it could be anything", s.Name)
	}
	output, path := filepath.Join(r.temp, "output"), filepath.Join(r.temp, "path")
	write(r.t, output, "")
	script := filepath.Join(r.temp, "script.sh")
	write(r.t, script, s.Run)
	env := []string{
		"RUNNER_TEMP=" + r.temp, "GITHUB_OUTPUT=" + output, "GITHUB_PATH=" + path,
		"GITHUB_STEP_SUMMARY=" + filepath.Join(r.temp, "summary"), "COMMENTS=" + r.comments,
	}
	search := filepath.Join(r.temp, "stubs")
	if added, err := os.ReadFile(path); err == nil {
		search = strings.Join(append(strings.Fields(string(added)), search),
			string(os.PathListSeparator))
	}
	env = append(env, "PATH="+search+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+r.expand(s.Env[name]))
	}
	got := run(r.t, r.dir, env, "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	r.log.WriteString(got.stdout + got.stderr)
	r.failed = r.failed || got.status != 0
	for line := range strings.Lines(read(r.t, output)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		r.context["steps."+s.ID+".outputs."+name] = value
	}
}

// action runs action.yml with the inputs of a step.
func (r *runner) action(s step) {
	r.t.Helper()
	if !r.wanted(s.If) {
		return
	}
	var a action
	decode(r.t, read(r.t, filepath.Join(repository, "action.yml")), &a)
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" {
		r.t.Errorf("GitHub takes no action of %+v", a)
	}
	for name := range s.With {
		if _, ok := a.Inputs[name]; !ok {
			r.t.Errorf("the action has no input %q", name)
		}
	}
	for name, input := range a.Inputs {
		value, given := s.With[name]
		if !given {
			value = input.Default
		}
		if input.Required && !given {
			r.t.Errorf("the action is not given %q", name)
		}
		r.context["inputs."+name] = r.expand(value)
	}
	for _, inner := range a.Runs.Steps {
		if inner.Run == "" {
			r.uses(inner)
			continue
		}
		if inner.Shell != "bash" {
			r.t.Errorf("step %q of the action has no shell", inner.Name)
		}
		r.step(inner)
	}
	for name, output := range a.Outputs {
		// Of a step that did not run, an output is empty.
		r.context["steps."+s.ID+".outputs."+name] = r.context[expression.FindStringSubmatch(
			output.Value)[1]]
	}
}

// uses accepts what GitHub offers itself, by its commit.
func (r *runner) uses(s step) {
	r.t.Helper()
	if !regexp.MustCompile(`^actions/(checkout|setup-go)@[0-9a-f]{40}$`).MatchString(s.Uses) {
		r.t.Errorf("%q is not known here, or not pinned", s.Uses)
	}
}

// pull is the example in a repository with a branch on which a pull request stands.
func pull(t *testing.T, change func(dir string)) *runner {
	t.Helper()
	need(t, "git")
	dir := example(t, "github")
	commit(t, dir, "the example")
	base := strings.TrimSpace(must(t, dir, nil, "git", "rev-parse", "HEAD").stdout)
	must(t, dir, nil, "git", "checkout", "-q", "-b", "topic")
	change(dir)
	commit(t, dir, "the change")
	r := newRunner(t, dir)
	r.context["github.event.pull_request.base.sha"] = base
	r.context["github.event.pull_request.html_url"] = "https://github.com/example/jobs/pull/7"
	r.context["github.token"] = "none"

	var w workflow
	decode(t, read(t, filepath.Join(dir, ".github", "workflows", "trainjobs.yaml")), &w)
	if !maps.Equal(w.Permissions, map[string]string{"contents": "read", "pull-requests": "write"}) {
		t.Errorf("the workflow may do %v", w.Permissions)
	}
	for _, s := range w.Jobs["trainjobs"].Steps {
		switch {
		case strings.HasPrefix(s.Uses, "trainweld/trainweld@"):
			r.action(s)
		case s.Uses != "":
			r.uses(s)
		default:
			r.step(s)
		}
	}
	return r
}

// TestGitHubComments runs the workflow of a pull request that changes a runtime: both TrainJobs
// change.
func TestGitHubComments(t *testing.T) {
	r := pull(t, func(dir string) {
		edit(t, filepath.Join(dir, "runtimes", "torch.yaml"), "                    - name: node\n",
			"                    - name: node\n                      env: [{name: NCCL_DEBUG, "+
				"value: hunter2}]\n")
	})
	if r.failed {
		t.Fatalf("the workflow fails:\n%s", r.log.String())
	}
	comment := read(t, r.comments)
	want(t, comment,
		"pr comment https://github.com/example/jobs/pull/7 --edit-last --create-if-none "+
			"--body-file ", "team-a/llm", "team-a/vision", "NCCL_DEBUG")
	wantNot(t, comment+r.log.String(), "hunter2")
	if summary := read(t, filepath.Join(r.temp, "summary")); summary == "" ||
		!strings.HasSuffix(comment, summary) {
		t.Errorf("the summary differs from the comment:\n%s", summary)
	}
	rendered := slices.Sorted(maps.Keys(tree(t, filepath.Join(r.temp, "rendered"))))
	if want := []string{"team-a_llm.yaml", "team-a_vision.yaml"}; !slices.Equal(rendered, want) {
		t.Errorf("rendered %q, want %q", rendered, want)
	}
}

// TestGitHub_NoFindings runs it for one that changes no object.
func TestGitHub_NoFindings(t *testing.T) {
	r := pull(t, func(dir string) {
		edit(t, filepath.Join(dir, "jobs", "llm.yaml"), "spec:\n", "# A comment.\nspec:\n")
	})
	if r.failed {
		t.Fatalf("the workflow fails:\n%s", r.log.String())
	}
	if _, err := os.Stat(r.comments); err == nil {
		t.Errorf("it comments:\n%s", read(t, r.comments))
	}
}

// TestGitHubFails runs it for one with a mistake: the finding stands at its line, and the job
// fails.
func TestGitHubFails(t *testing.T) {
	r := pull(t, func(dir string) {
		edit(t, filepath.Join(dir, "jobs", "vision.yaml"), "numNodes: 1",
			"numNodes: 1\n    env: [{name: A, value: a}, {name: A, value: b}]")
		edit(t, filepath.Join(dir, "jobs", "llm.yaml"), "numNodes: 2", "numNodes: 4")
	})
	if !r.failed {
		t.Errorf("the workflow passes:\n%s", r.log.String())
	}
	want(t, r.log.String(), "::error file=jobs/vision.yaml,line=11,",
		"::error file=jobs/llm.yaml,line=9,col=3,title=TW700")
	if _, err := os.Stat(filepath.Join(r.temp, "rendered")); err == nil {
		t.Error("it renders all the same")
	}
	want(t, read(t, r.comments), "team-a/llm")
}

// TestGitHub_BrokenTrainJob runs it for a TrainJob that does not render. The check reports the
// reason next to its line, and the comment names the TrainJob.
func TestGitHub_BrokenTrainJob(t *testing.T) {
	r := pull(t, func(dir string) {
		edit(t, filepath.Join(dir, "jobs", "llm.yaml"), "    name: torch", "    name: toch")
	})
	if !r.failed {
		t.Errorf("the workflow passes:\n%s", r.log.String())
	}
	want(t, r.log.String(), "::error file=jobs/llm.yaml,line=8,", "did you mean")
	want(t, read(t, r.comments), "<code>team-a/llm</code> is refused", "TW400")
}

// TestGitHubAction_Overlays runs the action on overlays with a policy and a release, with a program
// that is there already.
func TestGitHubAction_Overlays(t *testing.T) {
	need(t, "go")
	dir := example(t, "github")
	for file, text := range map[string]string{
		"jobs/kustomization.yaml":     "resources: [llm.yaml]\n",
		"overlays/kustomization.yaml": "resources: [../jobs]\npatches: [{path: nodes.yaml}]\n",
		"overlays/nodes.yaml": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " +
			"TrainJob\nmetadata: {name: llm, namespace: team-a}\nspec: {trainer: {numNodes: 3}}\n",
		"team policy.yaml": "managers:\n- name: platform.example.com/pool\n",
	} {
		write(t, filepath.Join(dir, file), text)
	}
	commit(t, dir, "overlays")
	edit(t, filepath.Join(dir, "overlays/nodes.yaml"), "numNodes: 3", "numNodes: x")
	commit(t, dir, "a mistake")
	binary := filepath.Join(t.TempDir(), "trainweld")
	must(t, repository, nil, "go", "build", "-o", binary, "./cmd/trainweld")
	r := newRunner(t, dir)
	r.context["github.action_path"] = filepath.Join(dir, "nowhere") // nothing is built
	r.action(step{ID: "trainweld", With: map[string]string{
		"kustomize": "overlays", "runtimes": "runtimes", "policy": "team policy.yaml",
		"trainer-version": "2.2", "binary": binary, "base": "HEAD~1",
	}})
	if !r.failed {
		t.Error("the action passes with a mistake in an overlay")
	}
	want(t, r.log.String(), "::error file=overlays/nodes.yaml,line=4,", "Trainer 2.2")

	edit(t, filepath.Join(dir, "overlays/nodes.yaml"), "numNodes: x", "numNodes: 4")
	commit(t, dir, "another number")
	for recreate, title := range map[string]string{"false": "title=TW700", "true": ""} {
		r := newRunner(t, dir)
		r.action(step{ID: "trainweld", With: map[string]string{
			"kustomize": "overlays", "runtimes": "runtimes", "trainer-version": "2.2",
			"binary": binary, "base": "HEAD~2", "recreate": recreate,
		}})
		if r.failed != (title != "") {
			t.Errorf("recreate %s: failed = %t:\n%s", recreate, r.failed, r.log.String())
		}
		want(t, r.log.String(), title)
	}
}

// TestGitHubREADME runs the manual commands of the README.
func TestGitHubREADME(t *testing.T) {
	need(t, "sh", "git")
	dir := example(t, "github")
	commit(t, dir, "the example")
	must(t, dir, nil, "git", "checkout", "-q", "-b", "topic")
	edit(t, filepath.Join(dir, "jobs", "llm.yaml"), "spec:\n", "spec:\n  suspend: true\n")
	commit(t, dir, "suspend")
	r := must(t, dir, nil, "sh", "-ec", strings.Join(commands(t, dir), "\n"))
	want(t, r.stdout, "team-a/llm", "suspend: true")
	wantNot(t, r.stdout, "team-a/vision")
}
