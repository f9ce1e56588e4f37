package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/process"
)

// GitFiles is a file system with the files of a git revision. Paths are absolute or relative to the
// working directory. It runs git to read each file on opening.
type GitFiles struct {
	name   string
	root   string // of the repository
	prefix string // the working directory below root
	tree   map[string]*gitEntry

	disk  Tree     // has what is named beside the repository
	named []string // paths outside of the repository that the revision reads from the disk

	asking sync.Mutex // files are opened concurrently, but git answers in order
	ask    io.WriteCloser
	answer *bufio.Reader
	end    func() error // ends git; nil if it does not run
	kill   func() error
	most   time.Duration // for an answer
}

// gitEntry is a file, a directory, a link or a submodule.
type gitEntry struct {
	name     string // without its directory
	mode     string // in git's notation
	hash     string
	children []*gitEntry
}

// The modes of git that this package distinguishes.
const (
	gitTree      = "040000"
	gitLink      = "120000"
	gitSubmodule = "160000"
	gitProgram   = "100755"
)

// OpenRevision resolves a revision and lists its files. It returns an error without git, outside a
// working tree, and for an unknown revision. A tree with files that no checkout has is also an
// error.
func OpenRevision(rev string) (*GitFiles, error) {
	root, prefix, err := worktree(".")
	if errors.Is(err, process.ErrNotFound) {
		return nil, fmt.Errorf(
			"--git needs the git program, and it is not on the PATH: %w; install it, or compare "+
				"two directories", err)
	}
	if err != nil {
		return nil, fmt.Errorf("--git: %w", err)
	}
	r := &GitFiles{name: rev, root: root, prefix: prefix, most: mostGit}
	tree, err := resolveRevision(root, rev, "tree")
	if err != nil {
		return nil, err
	}
	listing, err := git(root, "ls-tree", "-r", "-t", "-z", "--full-tree", tree)
	if err != nil {
		return nil, fmt.Errorf("--git: the files of %s cannot be listed: %w", rev, err)
	}
	return r, r.list(listing)
}

// Beside makes the files at some paths or patterns readable, where they lie outside of the
// repository: no revision has them, so every revision reads them from the disk.
func (r *GitFiles) Beside(disk Tree, paths ...string) {
	r.disk = disk
	for _, name := range paths {
		name = filepath.ToSlash(name)
		if at := strings.IndexAny(name, `*?[\`); at >= 0 {
			name = path.Dir(name[:at] + "x")
		}
		if r.Outside(name) != nil {
			r.named = append(r.named, path.Clean(name))
		}
	}
}

// Outside returns an error for a path outside of the repository, which no revision has.
func (r *GitFiles) Outside(name string) error {
	_, err := r.inside(name)
	return err
}

// IsBeside reports whether a file is one that Beside made readable.
func (r *GitFiles) IsBeside(name string) bool {
	name = path.Clean(filepath.ToSlash(name))
	return slices.ContainsFunc(r.named, func(of string) bool {
		return name == of || strings.HasPrefix(name, strings.TrimSuffix(of, "/")+"/")
	})
}

// MergeBase returns the short name of the common ancestor of two revisions.
func MergeBase(first, second string) (string, error) {
	root, _, err := worktree(".")
	if err != nil {
		return "", fmt.Errorf("--git: %w", err)
	}
	commits := make([]string, 2)
	for i, rev := range []string{first, second} {
		if commits[i], err = resolveRevision(root, rev, "commit"); err != nil {
			return "", err
		}
	}
	base, err := git(root, "merge-base", commits[0], commits[1])
	if err != nil {
		return "", fmt.Errorf(
			"--git: %s and %s have no common ancestor here: %w; fetch more of their history "+
				"where the clone is a shallow one", first, second, err)
	}
	short, err := git(root, "rev-parse", "--short", line(base))
	return line(short), err
}

// resolveRevision returns the hash of a revision's tree or commit.
func resolveRevision(root, rev, kind string) (string, error) {
	hash, err := git(root, "rev-parse", "--verify", "--quiet", "--end-of-options",
		rev+"^{"+kind+"}")
	const lacks = 1 // the status of git for a revision that is missing, or of another kind
	var exit interface{ ExitCode() int }
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == lacks) {
		return "", fmt.Errorf("--git: the revision %q of %s cannot be read: %w", rev,
			printable.Name(root), err)
	}
	if err != nil {
		return "", fmt.Errorf(
			"--git: the repository %s has no revision %q; check the name, and fetch it first "+
				"where the clone is a shallow one, as those of CI often are",
			printable.Name(root), rev)
	}
	return line(hash), nil
}

// Untracked returns the files below a directory that git neither tracks nor ignores. It returns
// none outside of a working tree.
func Untracked(dir string) (names []string, err error) {
	if _, _, err = worktree(dir); errors.Is(err, errNoRepository) ||
		errors.Is(err, process.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	listing, err := git(dir, "ls-files", "-z", "--exclude-standard", "--others")
	if err != nil {
		return nil, fmt.Errorf("the files of %s cannot be listed: %w", dir, err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listing), "\x00"), "\x00") {
		if name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// list parses the output of ls-tree: mode, type and hash, a tab and the path, each ended by a NUL.
// A directory precedes its files. The listing has no sizes, because a partial clone would fetch
// every file for them.
func (r *GitFiles) list(listing []byte) error {
	r.tree = map[string]*gitEntry{".": {name: ".", mode: gitTree}}
	for record := range strings.SplitSeq(string(listing), "\x00") {
		if record == "" {
			continue
		}
		meta, file, _ := strings.Cut(record, "\t")
		fields := strings.Fields(meta)
		if len(fields) != 3 {
			return fmt.Errorf("--git: git ls-tree printed %q, which is not understood", record)
		}
		if err := checkName(file); err != nil {
			return fmt.Errorf("--git: %s: %w", r.name, err)
		}
		parent := r.tree[path.Dir(file)]
		if r.tree[file] != nil || parent == nil || parent.mode != gitTree {
			return fmt.Errorf(
				"--git: %s: the tree has two files of the name %s, or one below a file", r.name,
				printable.Quoted(file))
		}
		entry := &gitEntry{name: path.Base(file), mode: fields[0], hash: fields[2]}
		r.tree[file] = entry
		parent.children = append(parent.children, entry)
	}
	return nil
}

// mostLinks is the largest number of symbolic links in a path.
const mostLinks = 40

// find returns the entry of a path and follows links. It also returns the path of the entry below
// the root.
func (r *GitFiles) find(op, name string) (entry *gitEntry, inside string, err error) {
	fail := func(err error) (*gitEntry, string, error) {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	inside, err = r.inside(name)
	if err != nil {
		return fail(err)
	}
	for range mostLinks {
		entry, rest, at := r.descend(inside)
		switch {
		case entry == nil:
			return fail(fs.ErrNotExist)
		case entry.mode == gitSubmodule:
			return fail(fmt.Errorf(
				"%s is a submodule, whose files are in another repository; run diff there", at))
		case entry.mode != gitLink:
			return entry, inside, nil
		}
		target, err := r.blob(entry, mostTarget)
		if err != nil {
			return fail(err)
		}
		if path.IsAbs(string(target)) {
			return fail(fmt.Errorf("%s is a link out of the repository", at))
		}
		if inside = path.Join(path.Dir(at), string(target), rest); inside == ".." ||
			strings.HasPrefix(inside, "../") {
			return fail(fmt.Errorf("%s is a link out of the repository", at))
		}
	}
	return fail(errors.New("too many links"))
}

// inside returns a path relative to the repository's root.
func (r *GitFiles) inside(name string) (string, error) {
	inside := path.Join(r.prefix, filepath.ToSlash(name))
	if filepath.IsAbs(name) {
		// git prints the root without links, but the path may contain links.
		dir, base := filepath.Split(filepath.Clean(name))
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			name = filepath.Join(real, base)
		}
		rel, err := filepath.Rel(r.root, name)
		if err != nil {
			return "", fmt.Errorf("is outside of the repository %s", r.root)
		}
		inside = filepath.ToSlash(rel)
	}
	if inside == ".." || strings.HasPrefix(inside, "../") {
		return "", fmt.Errorf("is outside of the repository %s", r.root)
	}
	return path.Clean(inside), nil
}

// descend follows a path to the first link or submodule. It returns that entry with its path, and
// the rest of the path. It returns nil for a missing file.
func (r *GitFiles) descend(inside string) (entry *gitEntry, rest, at string) {
	if inside == "." {
		return r.tree["."], "", "."
	}
	parts := strings.Split(inside, "/")
	for i := range parts {
		at = strings.Join(parts[:i+1], "/")
		if entry = r.tree[at]; entry == nil {
			return nil, "", ""
		}
		if entry.mode == gitLink || entry.mode == gitSubmodule {
			return entry, strings.Join(parts[i+1:], "/"), at
		}
	}
	return entry, "", at
}

// The limits of a file's size, as in package manifest, and of a link's target, as in Linux.
const (
	mostBlob   = 64 << 20
	mostTarget = 4096
)

var errAnswer = errors.New("git cat-file gives an answer of another size than it says")

// blob reads the content of an entry of at most so many bytes. One git process serves all entries,
// up to one that has another size.
func (r *GitFiles) blob(e *gitEntry, most int64) ([]byte, error) {
	r.asking.Lock()
	defer r.asking.Unlock()
	if r.end == nil {
		if err := r.start(); err != nil {
			return nil, err
		}
	}
	kill := r.kill
	limit := time.AfterFunc(r.most, func() { _ = kill() }) // no file can be read then
	defer limit.Stop()
	if _, err := fmt.Fprintln(r.ask, e.hash); err != nil {
		return nil, fmt.Errorf("git cat-file has ended: %w", err)
	}
	header, err := r.answer.ReadSlice('\n') // bounded by the reader's buffer
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, r.restart(errAnswer)
	}
	if err != nil {
		return nil, fmt.Errorf("git cat-file ends without an answer, or takes more than %s", r.most)
	}
	fields := strings.Fields(string(header))
	if len(fields) != 3 {
		return nil, fmt.Errorf("git cat-file: %s", strings.Join(fields, " "))
	}
	if fields[0] != e.hash {
		return nil, r.restart(errAnswer)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err == nil && size < 0 {
		err = fmt.Errorf("the size %d", size)
	}
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if size > most {
		if e.mode == gitLink {
			return nil, r.restart(fmt.Errorf("is a link with a target of more than %d bytes", most))
		}
		return nil, r.restart(fmt.Errorf("is larger than %d MiB", most>>20))
	}
	data := make([]byte, size+1) // with the line break that follows
	if _, err := io.ReadFull(r.answer, data); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if data[size] != '\n' { // a loose object may be longer than its header says
		return nil, r.restart(errAnswer)
	}
	return data[:size], nil
}

// restart ends the git process, and returns an error. Reading an answer to its end could take
// hours. The next file gets a new process.
func (r *GitFiles) restart(err error) error {
	_ = r.end() // git ends at the closed pipe
	r.end = nil
	return err
}

func (r *GitFiles) start() error {
	cmd := process.Git(r.root, "cat-file", "--batch")
	ask, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	answer, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.StartWithin(cmd, mostGitMemory); err != nil {
		return err
	}
	r.ask, r.answer, r.kill = ask, bufio.NewReader(answer), cmd.Process.Kill
	r.end = func() error { return errors.Join(answer.Close(), ask.Close(), cmd.Wait()) }
	return nil
}

// Close ends the git process.
func (r *GitFiles) Close() error {
	if r.end == nil {
		return nil
	}
	return r.end()
}

func (r *GitFiles) Open(name string) (fs.File, error) {
	if r.IsBeside(name) {
		return r.disk.Open(name)
	}
	entry, _, err := r.find("open", name)
	if err != nil {
		return nil, err
	}
	if entry.mode == gitTree {
		return &gitFile{Reader: bytes.NewReader(nil), entry: entry}, nil
	}
	data, err := r.blob(entry, mostBlob)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &gitFile{Reader: bytes.NewReader(data), entry: entry}, nil
}

func (r *GitFiles) Stat(name string) (fs.FileInfo, error) {
	if r.IsBeside(name) {
		return r.disk.Stat(name)
	}
	entry, _, err := r.find("stat", name)
	if err != nil {
		return nil, err
	}
	return entry, nil
}

func (r *GitFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	if r.IsBeside(name) {
		return r.disk.ReadDir(name)
	}
	entry, _, err := r.find("readdir", name)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(entry.children))
	for i, child := range entry.children {
		entries[i] = fs.FileInfoToDirEntry(child)
	}
	return entries, nil
}

// Real returns the absolute path of a file without symbolic links.
func (r *GitFiles) Real(name string) (string, error) {
	if r.IsBeside(name) {
		return r.disk.Real(name)
	}
	_, inside, err := r.find("open", name)
	return filepath.Join(r.root, filepath.FromSlash(inside)), err
}

// gitFile is an open file, or an open directory, which has no content.
type gitFile struct {
	*bytes.Reader
	entry *gitEntry
}

func (f *gitFile) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *gitFile) Close() error               { return nil }

func (e *gitEntry) Name() string       { return e.name }
func (e *gitEntry) Size() int64        { return 0 } // unknown until the content is read
func (e *gitEntry) ModTime() time.Time { return time.Time{} }
func (e *gitEntry) Sys() any           { return nil }
func (e *gitEntry) IsDir() bool        { return e.Mode().IsDir() }

// Mode returns the mode of a directory for a submodule. Reading it returns a clear error.
func (e *gitEntry) Mode() fs.FileMode {
	switch e.mode {
	case gitTree, gitSubmodule:
		return fs.ModeDir
	case gitLink:
		return fs.ModeSymlink
	default:
		return 0
	}
}
