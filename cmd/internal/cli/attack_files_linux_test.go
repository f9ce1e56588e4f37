package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/trainweld/trainweld/internal/testenv"
)

// The files of the attacks that text cannot hold.

// special makes a file of a kind that attack describes.
func special(t *testing.T, file, text string) {
	t.Helper()
	err, kind := os.MkdirAll(filepath.Dir(file), 0o777), strings.TrimSpace(text)
	target, isLink := strings.CutPrefix(kind, "-> ")
	switch {
	case err != nil:
	case isLink:
		err = os.Symlink(target, file)
	case kind == "fifo":
		err = unix.Mkfifo(file, 0o666)
	case kind == "sparse":
		if err = os.WriteFile(file, nil, 0o666); err == nil {
			err = os.Truncate(file, 3<<40)
		}
	default:
		err = os.WriteFile(file, []byte(text), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// marked is a TrainJob of another repository.
const marked = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm, " +
	"labels: {a: MARK}}\nspec: {runtimeRef: {name: rt}, trainer: {image: MARK}}\n"

// otherRepository makes a repository in the folder outside, which a run in dir does not read.
func otherRepository(t *testing.T, dir string) {
	outside := filepath.Join(dir, "../outside")
	testenv.WriteIn(t, outside, "job.yaml", marked)
	testenv.WriteIn(t, outside, "rt.yaml", valuesRuntime)
	gitIn(t, outside, "", "init", "-q")
	gitIn(t, outside, "", "add", ".")
	gitIn(t, outside, "", "commit", "-qm", "a")
}

// gitFile makes a file of the folder .git, which names another one, or nothing.
func gitFile(t *testing.T, dir, to string) {
	err := os.RemoveAll(filepath.Join(dir, ".git"))
	if err == nil && to != "" {
		err = os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+to+"\n"), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// manyTrees makes a revision whose trees name each other often: 10^9 files in a few objects.
func manyTrees(t *testing.T, dir string) {
	tree := gitIn(t, dir, "", "rev-parse", "HEAD^{tree}")
	for range 9 {
		var entries strings.Builder
		for i := range 10 {
			fmt.Fprintf(&entries, "040000 tree %s\t%0100d\n", tree, i)
		}
		tree = gitIn(t, dir, entries.String(), "mktree")
	}
	gitIn(t, dir, "", "update-ref", "refs/heads/many",
		gitIn(t, dir, "", "commit-tree", "-m", "a", tree))
}

// deepBases makes a kustomization whose bases lie in each other.
func deepBases(t *testing.T, dir string) {
	for range 200 {
		dir = filepath.Join(dir, "top")
		testenv.WriteIn(t, dir, "kustomization.yaml", "resources: [top]\n")
	}
}
