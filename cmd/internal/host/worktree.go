package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/process"
)

// The limits of a run of git, and of an answer. A few trees that name each other often make a
// listing without end. In the place of its files, git waits for a named pipe, and reads a device
// without end.
const (
	mostListed    = 64 << 20 // bytes: the paths of about a million files
	mostGit       = 30 * time.Second
	mostGitMemory = 384 << 20 // bytes of its memory
)

// git runs git in a directory and returns its output. The error includes git's message.
func git(dir string, args ...string) ([]byte, error) {
	return gitWithin(mostGit, nil, dir, args...)
}

func gitWithin(most time.Duration, stdin io.Reader, dir string, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := process.Git(dir, args...)
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.StartWithin(cmd, mostGitMemory); err != nil {
		return nil, err
	}
	var isLate atomic.Bool
	limit := time.AfterFunc(most, func() {
		isLate.Store(true)
		_ = cmd.Process.Kill() // it may have ended
	})
	defer limit.Stop()
	if _, err = stdout.ReadFrom(io.LimitReader(pipe, mostListed+1)); stdout.Len() > mostListed {
		_ = cmd.Process.Kill() // it waits for a reader
	}
	err = errors.Join(err, cmd.Wait())
	complaint := strings.TrimSpace(stderr.String())
	switch {
	case stdout.Len() > mostListed:
		return nil, fmt.Errorf("git %s lists more than %d MiB of names", args[0], mostListed>>20)
	case isLate.Load():
		return nil, fmt.Errorf("git %s does not end within %s", args[0], most)
	case err != nil && complaint != "":
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, complaint)
	}
	return stdout.Bytes(), err
}

// line returns a line of output without its end.
func line(out []byte) string { return strings.TrimSuffix(string(out), "\n") }

var errNoRepository = errors.New("the working directory is in no working tree of git")

// worktree returns the root of git's working tree that holds a directory, and the path of the
// directory below it. The root is an absolute path without links. This function finds it itself.
// Folders that merely look like a repository, or whose configuration names another working tree,
// are errors. A stranger's files choose neither the configuration nor the files of a run.
func worktree(dir string) (root, prefix string, err error) {
	if err := process.Git(dir).Err; err != nil {
		return "", "", err
	}
	here, err := Files{}.Real(dir)
	if err != nil {
		return "", "", err
	}
	var found fs.FileInfo
	for root = here; ; root = filepath.Dir(root) {
		if found, err = os.Lstat(filepath.Join(root, ".git")); err == nil {
			break
		}
		if isBare(root) {
			return "", "",
				fmt.Errorf("%s looks like a bare repository of git, whose configuration may be a "+
					"stranger's: rename or remove its file HEAD", printable.Quoted(root))
		}
		if root == filepath.Dir(root) {
			return "", "", errNoRepository
		}
	}
	out, err := git(root, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", "", err
	}
	top, _ := os.Stat(filepath.FromSlash(line(out))) // nothing is no file
	own, _ := os.Stat(root)
	if !os.SameFile(top, own) {
		return "", "",
			fmt.Errorf("%s is no working tree of its own: git takes another folder for its "+
				"working tree", printable.Quoted(root))
	}
	if !isOwn(root, found.IsDir()) {
		return "", "",
			fmt.Errorf("%s/.git belongs to another working tree: its repository does not name "+
				"this one; if it is yours, set core.worktree there", printable.Quoted(root))
	}
	prefix, err = filepath.Rel(root, here)
	return root, filepath.ToSlash(prefix), err
}

// isOwn reports whether the repository of a working tree is its own folder .git, or names the tree.
// It may name a linked tree, or the tree of a submodule. A stranger's file .git could name any
// other repository of the machine.
func isOwn(root string, isFolder bool) bool {
	dir := filepath.Join(root, ".git")
	if !isFolder {
		out, err := git(root, "rev-parse", "--absolute-git-dir")
		if err != nil {
			return false
		}
		dir = filepath.FromSlash(line(out))
	}
	const common = "commondir"
	if _, err := os.Lstat(filepath.Join(dir, common)); err != nil { // it shares no objects
		_, err := git(root, "config", "core.worktree") // worktree has compared it
		return isFolder || err == nil
	}
	tree := filepath.FromSlash(small(filepath.Join(dir, "gitdir")))
	if isFolder || tree == "" || small(filepath.Join(dir, common)) != "../.." {
		return false
	}
	if !filepath.IsAbs(tree) {
		tree = filepath.Join(dir, tree)
	}
	named, _ := os.Stat(filepath.Dir(tree))
	own, _ := os.Stat(root)
	return os.SameFile(named, own)
}

// small returns the line in a file of git, or "" for a file that git would not write.
func small(file string) string {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostTarget {
		return ""
	}
	text, _ := os.ReadFile(file)
	return strings.TrimSpace(string(text))
}

// isBare reports whether git would take a folder for a bare repository. Versions of git before 2.38
// have no setting against that.
func isBare(dir string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// Commit returns the short name of the revision's commit, its day, and the repository, such as
// "1a2b3c4 of 2026-11-29 in gitops". It returns "" for a revision without a commit. A repository
// may ask for signatures to be verified, by a program that it names: none is.
func (r *GitFiles) Commit() string {
	out, err := git(r.root, "log", "-1", "--no-show-signature", "--format=%h of %cs",
		"--end-of-options", r.name, "--")
	if err != nil || len(out) == 0 {
		return ""
	}
	return line(out) + " in " + filepath.Base(r.root)
}
