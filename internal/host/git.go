package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// GitFiles is the files of one revision of a git repository as a file system, for paths relative to the
// working directory and for absolute ones. It reads them with the git program, each when it is opened.
type GitFiles struct {
	name   string
	root   string // of the repository
	prefix string // from there to the working directory
	tree   map[string]*gitEntry

	asking sync.Mutex // files are opened at the same time, and answers come one after the other
	batch  *exec.Cmd
	ask    io.WriteCloser
	answer *bufio.Reader
}

// gitEntry is a file, a directory, a link or a submodule.
type gitEntry struct {
	name     string // without the directory
	mode     string // as git has it
	hash     string
	children []*gitEntry
}

// Of git's modes, the three that matter here.
const (
	gitTree      = "040000"
	gitLink      = "120000"
	gitSubmodule = "160000"
)

// OpenRevision looks up a revision, and lists its files.
func OpenRevision(rev string) (*GitFiles, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("--git needs the git program, and it is not on the PATH: %w; install it, or compare two directories", err)
	}
	place, err := Git("rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return nil, fmt.Errorf("--git: the working directory is in no working tree of git: %w", err)
	}
	lines := strings.Split(string(place), "\n")
	r := &GitFiles{name: rev, root: lines[0], prefix: strings.TrimSuffix(lines[1], "/")}
	tree, err := Git("rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{tree}")
	if err != nil {
		return nil, fmt.Errorf("--git: the repository %s has no revision %q; check the name, and fetch it first where the clone is a shallow one, as those of CI often are", r.root, rev)
	}
	listing, err := Git("ls-tree", "-r", "-t", "-z", "--full-tree", strings.TrimSpace(string(tree)))
	if err != nil {
		return nil, fmt.Errorf("--git: the files of %s cannot be listed: %w", rev, err)
	}
	return r, r.list(listing)
}

// Git runs git and returns what it prints; the error holds what it complains of.
func Git(args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("git", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if complaint := strings.TrimSpace(stderr.String()); err != nil && complaint != "" {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, complaint)
	}
	return out, err
}

// list reads what ls-tree prints: mode, type and hash, a tab and the path, each ended by a NUL. Directories
// come before what is in them. It is not asked for sizes, for which a partial clone would fetch every file.
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
		entry := &gitEntry{name: path.Base(file), mode: fields[0], hash: fields[2]}
		r.tree[file] = entry
		if parent := r.tree[path.Dir(file)]; parent != nil {
			parent.children = append(parent.children, entry)
		}
	}
	return nil
}

// mostLinks is how many symbolic links a path may lead through.
const mostLinks = 40

// find is the entry of a path, links followed.
func (r *GitFiles) find(op, name string) (*gitEntry, error) {
	fail := func(err error) (*gitEntry, error) { return nil, &fs.PathError{Op: op, Path: name, Err: err} }
	inside, err := r.inside(name)
	if err != nil {
		return fail(err)
	}
	for range mostLinks {
		entry, rest, at := r.descend(inside)
		switch {
		case entry == nil:
			return fail(fs.ErrNotExist)
		case entry.mode == gitSubmodule:
			return fail(fmt.Errorf("%s is a submodule, whose files are in another repository; run diff there", at))
		case entry.mode != gitLink:
			return entry, nil
		}
		target, err := r.blob(entry)
		if err != nil {
			return fail(err)
		}
		if path.IsAbs(string(target)) {
			return fail(fmt.Errorf("%s is a link out of the repository", at))
		}
		if inside = path.Join(path.Dir(at), string(target), rest); inside == ".." || strings.HasPrefix(inside, "../") {
			return fail(fmt.Errorf("%s is a link out of the repository", at))
		}
	}
	return fail(errors.New("too many links"))
}

// inside is the path from the repository's root.
func (r *GitFiles) inside(name string) (string, error) {
	inside := path.Join(r.prefix, filepath.ToSlash(name))
	if filepath.IsAbs(name) {
		// git prints the root without links, and the path may lead through some.
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

// descend goes down a path as far as the first link or submodule, and returns that entry with its own path
// and what is left of the other; nil where there is nothing of that name.
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

// mostBlob is the size of the largest file that is read, as in package manifest.
const mostBlob = 64 << 20

// blob reads the contents of an entry through one git process for all of them.
func (r *GitFiles) blob(e *gitEntry) ([]byte, error) {
	r.asking.Lock()
	defer r.asking.Unlock()
	if r.batch == nil {
		if err := r.start(); err != nil {
			return nil, err
		}
	}
	if _, err := fmt.Fprintln(r.ask, e.hash); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	header, err := r.answer.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	fields := strings.Fields(header)
	if len(fields) != 3 {
		return nil, fmt.Errorf("git cat-file: %s", strings.TrimSpace(header))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if size > mostBlob {
		if _, err := io.CopyN(io.Discard, r.answer, size+1); err != nil {
			return nil, fmt.Errorf("git cat-file: %w", err)
		}
		return nil, fmt.Errorf("is larger than %d MiB", mostBlob>>20)
	}
	data := make([]byte, size+1) // a line break follows
	if _, err := io.ReadFull(r.answer, data); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	return data[:size], nil
}

func (r *GitFiles) start() error {
	cmd := exec.Command("git", "cat-file", "--batch")
	ask, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	answer, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.batch, r.ask, r.answer = cmd, ask, bufio.NewReader(answer)
	return nil
}

// Close ends the git process.
func (r *GitFiles) Close() error {
	if r.batch == nil {
		return nil
	}
	return errors.Join(r.ask.Close(), r.batch.Wait())
}

// Open, Stat and ReadDir make it a file system.
func (r *GitFiles) Open(name string) (fs.File, error) {
	entry, err := r.find("open", name)
	if err != nil {
		return nil, err
	}
	if entry.mode == gitTree {
		return &gitFile{Reader: bytes.NewReader(nil), entry: entry}, nil
	}
	data, err := r.blob(entry)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &gitFile{Reader: bytes.NewReader(data), entry: entry}, nil
}

func (r *GitFiles) Stat(name string) (fs.FileInfo, error) {
	entry, err := r.find("stat", name)
	if err != nil {
		return nil, err
	}
	return entry, nil
}

func (r *GitFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entry, err := r.find("readdir", name)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(entry.children))
	for i, child := range entry.children {
		entries[i] = fs.FileInfoToDirEntry(child)
	}
	return entries, nil
}

// gitFile is an open file, or an open directory, which has nothing to read.
type gitFile struct {
	*bytes.Reader
	entry *gitEntry
}

func (f *gitFile) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *gitFile) Close() error               { return nil }

func (e *gitEntry) Name() string       { return e.name }
func (e *gitEntry) Size() int64        { return 0 } // only who reads it knows
func (e *gitEntry) ModTime() time.Time { return time.Time{} }
func (e *gitEntry) Sys() any           { return nil }
func (e *gitEntry) IsDir() bool        { return e.Mode().IsDir() }

// Mode is that of a directory also for a submodule: reading it then says what it is.
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
