package hosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/runfn"
)

// TestMergePatches runs the build of the README. Lists merge by the definitions, and the build
// drops the definitions.
func TestMergePatches(t *testing.T) {
	dir := example(t, "merge")
	if got := commands(t, dir); len(got) != 1 ||
		got[0] != "kustomize build --enable-alpha-plugins --enable-exec ." {
		t.Fatalf("this test does not know how to run %q", got)
	}
	text := mustBuild(t, dir)
	got := objects(t, text)
	if want := "LeaderWorkerSet /llm,Rollout /gateway,ClusterQueue /serving"; strings.Join(
		got, ",") != want {
		t.Errorf("the build has %q, want %q", got, want)
	}
	want(t, text, "server:1", "metrics:3", "pool: reserved", "setWeight: 20", "maxSurge: 25%",
		"gateway:2", "reclaimWithinCohort: Any", "nominalQuota: 64")
	wantNot(t, text, "gateway:1", "config.kubernetes.io", "replicas: 2", "replicas: 3")
}

// TestMergePatches_Renamed lets a prefix and a namespace of the kustomization come first: targets
// and ConfigMaps select former names.
func TestMergePatches_Renamed(t *testing.T) {
	dir := example(t, "merge")
	overlay := filepath.Join(filepath.Dir(dir), "overlay")
	write(t, filepath.Join(overlay, "kustomization.yaml"),
		"namePrefix: a-\nnamespace: a\nresources: [../base]\ntransformers: [patches.yaml]\n")
	write(t, filepath.Join(overlay, "patches.yaml"), read(t, filepath.Join(dir, "patches.yaml")))
	edit(t, filepath.Join(dir, "kustomization.yaml"), "transformers:\n- patches.yaml\n", "")
	if err := os.Rename(dir, filepath.Join(filepath.Dir(dir), "base")); err != nil {
		t.Fatal(err)
	}
	want(t, mustBuild(t, overlay), "name: a-gateway", "gateway:2", "metrics:3")
}

// TestMergePatches_Conflict lets two managers disagree: the build fails, or the last one wins.
func TestMergePatches_Conflict(t *testing.T) {
	dir := example(t, "merge")
	patches := filepath.Join(dir, "patches.yaml")
	edit(t, patches, "strategy: {canary: {maxSurge: 25%}}", "replicas: 9")
	if text, err := build(dir); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("managers disagree, and the build gives %v:\n%s", err, text)
	}
	edit(t, patches, "configMaps:", "onConflict: last\nconfigMaps:")
	want(t, mustBuild(t, dir), "replicas: 9")
}

// TestMergePatches_InPlace runs the function as kpt does: over the files of a folder, which keep
// their comments. The definitions are among the files. A second run changes nothing.
func TestMergePatches_InPlace(t *testing.T) {
	dir := example(t, "merge")
	results := t.TempDir()
	if err := os.Remove(filepath.Join(dir, "kustomization.yaml")); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "patches.yaml"), "configMaps: [definitions]\n", "")
	run := func() {
		t.Helper()
		if err := (runfn.RunFns{Path: dir, EnableExec: true, WorkingDir: dir,
			ResultsDir: results}).Execute(); err != nil {
			t.Fatal(err)
		}
	}
	run()
	lws := filepath.Join(dir, "leaderworkerset.yaml")
	want(t, read(t, lws),
		"- name: server # the model server\n          image: registry.example.com/server:1\n     "+
			"     args: [--tensor-parallel=8]\n        - image: registry.example.com/metrics:3\n",
		"replicas: 4")
	wantNot(t, read(t, lws), "annotations")
	files, err := filepath.Glob(filepath.Join(results, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files of results: %v", len(files), err)
	}
	want(t, read(t, files[0]), "merged the patches of platform, serving",
		"manager/serving: '{\"f:spec\":{\"f:replicas\":{}}}'", "path: rollout.yaml")
	before := tree(t, dir)
	run()
	for file, text := range tree(t, dir) {
		if text != before[file] {
			t.Errorf("a second run changes %s:\n%s", file, text)
		}
	}
}
