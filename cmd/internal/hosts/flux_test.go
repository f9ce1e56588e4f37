package hosts

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// fluxBuild builds a path as Flux does. If the path has no kustomization.yaml, it makes one of all
// manifests below. It builds without functions.
func fluxBuild(t *testing.T, dir string) string {
	t.Helper()
	kustomization := filepath.Join(dir, "kustomization.yaml")
	if _, err := os.Stat(kustomization); err != nil {
		text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
		for _, name := range slices.Sorted(maps.Keys(tree(t, dir))) {
			if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
				text += "  - " + name + "\n"
			}
		}
		write(t, kustomization, text)
		defer os.Remove(kustomization)
	}
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(
		filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := result.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFlux runs the README's commands in a repository, and builds the folder that Flux applies.
func TestFlux(t *testing.T) {
	need(t, "sh", "git")
	dir := example(t, "flux")
	commit(t, dir, "the example")
	before := tree(t, dir)
	script := strings.Join(commands(t, dir), "\n")
	must(t, dir, nil, "sh", "-ec", script)
	if !maps.Equal(before, tree(t, dir)) {
		t.Error("rendering again changes the example; run the commands of " +
			"docs/examples/flux/README.md in there")
	}

	var flux struct {
		object `yaml:",inline"`
		Spec   struct {
			Path  string
			Prune bool
		}
	}
	decode(t, read(t, filepath.Join(dir, "clusters", "trainjobs.yaml")), &flux)
	if flux.Kind != "Kustomization" || flux.APIVersion != "kustomize.toolkit.fluxcd.io/v1" ||
		!flux.Spec.Prune {
		t.Errorf("Flux is not asked to keep the cluster at the rendered objects: %+v", flux)
	}
	text := fluxBuild(t, filepath.Join(dir, flux.Spec.Path))
	got := objects(t, text)
	slices.Sort(got)
	if want := []string{"JobSet team-a/llm", "JobSet team-a/vision"}; !slices.Equal(got, want) {
		t.Errorf("Flux applies %q, want %q", got, want)
	}
	want(t, text, "pool: a100")

	// The command fails if someone forgot to render.
	words := strings.Fields(commands(t, dir)[1])
	must(t, dir, nil, words[0], words[1:]...)
	edit(t, filepath.Join(dir, "platform.yaml"), "a100", "h100")
	must(t, dir, nil, "git", "rm", "-q", "jobs/vision.yaml")
	if r := run(t, dir, nil, words[0], words[1:]...); r.status != 1 {
		t.Errorf("a changed patch and a removed TrainJob: %+v", r)
	} else {
		want(t, r.stderr, "wrote rendered/team-a_llm.yaml\n",
			"removed rendered/team-a_vision.yaml\n")
	}
}
