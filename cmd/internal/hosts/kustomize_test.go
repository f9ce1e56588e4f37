package hosts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// build is kustomize build --enable-alpha-plugins --enable-exec.
func build(dir string) (string, error) {
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
	options.PluginConfig.FnpLoadingOptions.EnableExec = true
	result, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return "", err
	}
	text, err := result.AsYaml()
	return string(text), err
}

func mustBuild(t *testing.T, dir string) string {
	t.Helper()
	text, err := build(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := build(dir)
	if err != nil || again != text {
		t.Errorf("building once more gives %v:\n%s\nand not:\n%s", err, again, text)
	}
	return text
}

func want(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func wantNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("there is %q in:\n%s", part, text)
		}
	}
}

// TestKustomizeREADME runs the builds of the README with the real kustomize.
func TestKustomizeREADME(t *testing.T) {
	dir := example(t, "kustomize")
	wants := map[string][]string{
		"generator": {"JobSet team-a/llm"},
		"transformer": {"ConfigMap team-b/budget", "JobSet team-b/llm",
			"TrainingRuntime team-b/torch"},
	}
	built := 0
	for _, line := range commands(t, dir) {
		folder, ok := strings.CutPrefix(
			line, "kustomize build --enable-alpha-plugins --enable-exec ")
		if !ok || wants[folder] == nil {
			t.Errorf("this test does not know how to run %q", line)
			continue
		}
		built++
		got := objects(t, mustBuild(t, filepath.Join(dir, folder)))
		slices.Sort(got)
		if !slices.Equal(got, wants[folder]) {
			t.Errorf("%s builds %q, want %q", folder, got, wants[folder])
		}
	}
	if built != len(wants) {
		t.Errorf("the README builds %d folders, want %d", built, len(wants))
	}
}

// TestKustomizeGenerator checks the generator's objects for the patch of the platform and the
// labels of the kustomization.
func TestKustomizeGenerator(t *testing.T) {
	text := mustBuild(t, filepath.Join(example(t, "kustomize"), "generator"))
	want(t, text, "pool: a100", "example.com/team: a", "image: registry.example.com/llm:1",
		"parallelism: 2")
	wantNot(t, text, "internal.config.kubernetes.io", "config.kubernetes.io/", "local-config",
		"TrainJob\n")
}

// TestKustomizeTransformer checks the transformer's objects after the kustomization's own patch.
func TestKustomizeTransformer(t *testing.T) {
	dir := filepath.Join(example(t, "kustomize"), "transformer")
	text := mustBuild(t, dir)
	want(t, text, "parallelism: 4", `gpus: "8"`, "namespace: team-b")
	wantNot(t, text, "config.kubernetes.io/", "kind: TrainJob", "team-a")

	edit(t, filepath.Join(dir, "jobsets.yaml"), "mode: replace", "mode: add")
	got := objects(t, mustBuild(t, dir))
	slices.Sort(got)
	if want := []string{"ConfigMap team-b/budget", "JobSet team-b/llm", "TrainJob team-b/llm",
		"TrainingRuntime team-b/torch"}; !slices.Equal(got, want) {
		t.Errorf("mode: add builds %q, want %q", got, want)
	}
}

// TestKustomizeConflict lets two managers disagree: the build fails, or, with onConflict: last,
// does not.
func TestKustomizeConflict(t *testing.T) {
	dir := filepath.Join(example(t, "kustomize"), "transformer")
	patch := `
    - manager: NAME
      trainingRuntimeSpec:
        template:
          spec:
            replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      spec:
                        nodeSelector:
                          pool: POOL`
	edit(t, filepath.Join(dir, "job.yaml"), "spec:\n  runtimeRef:", "spec:\n  runtimePatches:"+
		strings.NewReplacer("NAME", "a.example.com/sdk", "POOL", "reserved").Replace(patch)+
		strings.NewReplacer("NAME", "b.example.com/queue", "POOL", "spot").Replace(patch)+
		"\n  runtimeRef:")
	if text, err := build(dir); err == nil {
		t.Errorf("managers disagree, and the build gives:\n%s", text)
	} else if !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("the build fails for another reason: %v", err)
	}
	edit(t, filepath.Join(dir, "jobsets.yaml"), "onConflict: fail", "onConflict: last")
	text := mustBuild(t, dir)
	want(t, text, "pool: spot")
	wantNot(t, text, "pool: reserved")
}
