package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// command is a command of a plugin: Argo CD runs the words of command, then the words of args.
type command struct {
	Command, Args []string
}

func (c command) run(t *testing.T, dir string, env ...string) ran {
	t.Helper()
	words := append(slices.Clone(c.Command), c.Args...)
	if len(words) == 0 {
		t.Fatal("the plugin lacks a command")
	}
	need(t, words[0])
	return run(t, dir, env, words[0], words[1:]...)
}

type plugin struct {
	object `yaml:",inline"`
	Spec   struct {
		Init, Generate command
		Discover       struct{ Find command }
	}
}

func argoPlugin(t *testing.T) (plugin, string) {
	t.Helper()
	need(t, "sh", "find", "grep")
	dir := example(t, "argocd")
	var p plugin
	decode(t, read(t, filepath.Join(dir, "plugin.yaml")), &p)
	if p.Kind != "ConfigManagementPlugin" || p.APIVersion != "argoproj.io/v1alpha1" ||
		p.Metadata.Name == "" {
		t.Fatalf("Argo CD takes no %s of %s", p.Kind, p.APIVersion)
	}
	return p, filepath.Join(dir, "app")
}

// TestArgoGenerate runs the plugin in a copy of an application, as Argo CD does: init, then
// generate.
func TestArgoGenerate(t *testing.T) {
	p, app := argoPlugin(t)
	if r := p.Spec.Init.run(t, app); r.status != 0 {
		t.Errorf("init: exit status %d\n%s", r.status, r.stderr)
	}
	r := p.Spec.Generate.run(t, app, "ARGOCD_APP_NAMESPACE=team-a")
	if got := objects(t, r.stdout); r.status != 0 ||
		!slices.Equal(got, []string{"JobSet team-a/llm"}) {
		t.Errorf("exit status %d, %q\n%s", r.status, got, r.stderr)
	}
	want(t, r.stderr, "warning TW457") // the JobSet has no TrainJob
	if again := p.Spec.Generate.run(t, app, "ARGOCD_APP_NAMESPACE=team-a"); again != r {
		t.Errorf("the second time it is\n%+v\nand not\n%+v", again, r)
	}
}

// TestArgoEnvironment sets what an application may set.
func TestArgoEnvironment(t *testing.T) {
	p, app := argoPlugin(t)
	elsewhere := filepath.Join(t.TempDir(), "the runtimes") // a space is no end of a word
	if err := os.Rename(filepath.Join(app, "runtimes"), elsewhere); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(app, "jobs", "llm.yaml"), "  namespace: team-a\n", "")
	r := p.Spec.Generate.run(t, app, "ARGOCD_APP_NAMESPACE=team-a")
	if r.status != 1 || r.stdout != "" || !strings.Contains(r.stderr, "TW400") {
		t.Errorf("without its runtime: %+v", r)
	}
	r = p.Spec.Generate.run(t, app, "ARGOCD_APP_NAMESPACE=team-c", "ARGOCD_ENV_RUNTIMES="+elsewhere)
	if got := objects(t, r.stdout); r.status != 0 ||
		!slices.Equal(got, []string{"JobSet team-c/llm"}) {
		t.Errorf("with its runtime: exit status %d, %q\n%s", r.status, got, r.stderr)
	}

	for name, pool := range map[string]string{"own": "reserved", "platform": "spot"} {
		patch := strings.NewReplacer("NAME", name, "POOL", pool).Replace(
			"manager: NAME.example.com/x\ntrainingRuntimeSpec: {template: {spec: " +
				"{replicatedJobs: [{name: node, template: {spec: {template: {spec: " +
				"{nodeSelector: {pool: POOL}}}}}}]}}}\n")
		write(t, filepath.Join(elsewhere, "..", name), patch)
	}
	patches := filepath.Join(t.TempDir(), "patches.yaml")
	write(t, patches, read(t, filepath.Join(elsewhere, "..", "own"))+"---\n"+
		read(t, filepath.Join(elsewhere, "..", "platform")))
	env := []string{"ARGOCD_ENV_RUNTIMES=" + elsewhere, "ARGOCD_ENV_PATCH=" + patches}
	r = p.Spec.Generate.run(t, app, env...)
	if r.status != 1 || r.stdout != "" || !strings.Contains(r.stderr, "TW300") {
		t.Errorf("managers disagree: %+v", r)
	}
	r = p.Spec.Generate.run(t, app, append(env, "ARGOCD_ENV_ON_CONFLICT=last")...)
	if r.status != 0 || !strings.Contains(r.stdout, "pool: spot") ||
		!strings.Contains(r.stderr, "warning TW300") {
		t.Errorf("the last one wins: %+v", r)
	}
	objects(t, r.stdout)
}

// TestArgoDiscover asks whether an application is one for the plugin: Argo CD takes a status of 0
// and any output for yes.
func TestArgoDiscover(t *testing.T) {
	p, app := argoPlugin(t)
	if r := p.Spec.Discover.Find.run(t, app); r.status != 0 || r.stdout == "" {
		t.Errorf("an application with TrainJobs: %+v", r)
	}
	other := t.TempDir()
	write(t, filepath.Join(other, "a.yaml"),
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: TrainJob\n")
	if r := p.Spec.Discover.Find.run(t, other); r.status != 0 || r.stdout != "" {
		t.Errorf("an application without any: %+v", r)
	}
	if r := p.Spec.Discover.Find.run(t, t.TempDir()); r.status != 0 || r.stdout != "" {
		t.Errorf("an empty application: %+v", r)
	}
}

// TestArgoREADME runs the manual commands of the README.
func TestArgoREADME(t *testing.T) {
	need(t, "sh", "find", "grep")
	dir := example(t, "argocd")
	r := must(t, dir, nil, "sh", "-ec", strings.Join(commands(t, dir)[:3], "\n"))
	found, stream, _ := strings.Cut(r.stdout, "\n")
	if found != "./jobs/llm.yaml" ||
		!slices.Equal(objects(t, stream), []string{"JobSet team-a/llm"}) {
		t.Errorf("it prints:\n%s", r.stdout)
	}
}
