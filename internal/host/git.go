package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// GitFiles is a file system with the files of a git revision. Paths are absolute or relative to the working directory. It runs
// git to read each file on opening.
type GitFiles struct {
	name   string
	root   string // of the repository
	prefix string // the working directory below root
	tree   map[string]*gitEntry

	asking sync.Mutex // files are opened concurrently, but git answers in order
	batch  *exec.Cmd
	ask    io.WriteCloser
	answer *bufio.Reader
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

// OpenRevision resolves a revision and lists its files. It returns an error without git, outside a working tree, and for an
// unknown revision.
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

// Git runs git and returns its output. The error includes git's message.
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

// list parses the output of ls-tree: mode, type and hash, a tab and the path, each ended by a NUL. A directory precedes its
// files. The listing has no sizes, because a partial clone would fetch every file for them.
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

// mostLinks is the largest number of symbolic links in a path.
const mostLinks = 40

// find returns the entry of a path and follows links. It also returns the path of the entry below the root.
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
			return fail(fmt.Errorf("%s is a submodule, whose files are in another repository; run diff there", at))
		case entry.mode != gitLink:
			return entry, inside, nil
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

// descend follows a path to the first link or submodule. It returns that entry with its path, and the rest of the path. It
// returns nil for a missing file.
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

// blob reads the content of an entry. One git process serves all entries.
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
	if err == nil && size < 0 {
		err = fmt.Errorf("the size %d", size)
	}
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if size > mostBlob {
		if _, err := io.CopyN(io.Discard, r.answer, size+1); err != nil {
			return nil, fmt.Errorf("git cat-file: %w", err)
		}
		return nil, fmt.Errorf("is larger than %d MiB", mostBlob>>20)
	}
	data := make([]byte, size+1) // with the line break that follows
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

func (r *GitFiles) Open(name string) (fs.File, error) {
	entry, _, err := r.find("open", name)
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
	entry, _, err := r.find("stat", name)
	if err != nil {
		return nil, err
	}
	return entry, nil
}

func (r *GitFiles) ReadDir(name string) ([]fs.DirEntry, error) {
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
	_, inside, err := r.find("open", name)
	return filepath.Join(r.root, filepath.FromSlash(inside)), err
}

// Copy copies all files of the revision, without submodules.
func (r *GitFiles) Copy(dir string) (prefix string, err error) {
	c := copying{to: dir}
	for _, name := range slices.Sorted(maps.Keys(r.tree)) {
		entry := r.tree[name]
		if entry.mode == gitTree || entry.mode == gitSubmodule {
			continue
		}
		data, err := r.blob(entry)
		switch {
		case err != nil:
			return "", fmt.Errorf("%s: %w", name, err)
		case entry.mode == gitLink:
			err = c.link(name, string(data))
		case entry.mode == gitProgram:
			err = c.write(name, bytes.NewReader(data), 0o755)
		default:
			err = c.write(name, bytes.NewReader(data), 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	return r.prefix, c.check()
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
