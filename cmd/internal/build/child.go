package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/process"
)

// kustomizeWork is the work of a process that builds.
const kustomizeWork = "kustomize"

// The collector works as often as it must from mostHeap on. A stack of mostStack is enough for any value that the decoders take. The process
// tells its memory above toldMemory.
const (
	mostHeap   = 384 << 20
	mostStack  = 64 << 20
	toldMemory = 256 << 20
)

// request is the order for a build.
type request struct {
	Dir         []byte   // without links; bytes, since it may be no UTF-8
	Roots       [][]byte // the directories that the build may read
	UsualSchema bool     // no kustomization of the build sets a schema
	KeepOrigins bool     // the kustomization asks for the annotations of origins
}

// answer tells the memory of the process, or the result of a build.
type answer struct {
	Memory  uint64   `json:",omitempty"`
	Error   string   `json:",omitempty"`
	Product *product `json:",omitempty"`
}

// product is the result of a build.
type product struct {
	// Text has an object in JSON a line, and Sources their sources.
	Text    []byte
	Sources []objectSource
	Jobs    patchedJobs
}

// objectSource is the file of an object, or the file that configures its generator, relative to the built directory.
type objectSource struct {
	File      string `json:",omitempty"`
	Generated bool   `json:",omitempty"`
	Known     bool   `json:",omitempty"`
}

// Serve builds kustomizations for the parent, one after the other, if the parent started this process for that. Then it does not return.
// Call it first in main, and in TestMain of tests that build.
func Serve() {
	if !process.Is(kustomizeWork) {
		return
	}
	process.SealLibraries()
	debug.SetMaxStack(mostStack)
	debug.SetMemoryLimit(mostHeap)
	debug.SetGCPercent(300) // builds leave much garbage and little data
	c := &child{out: json.NewEncoder(os.Stdout)}
	go c.watch()
	requests := make(chan request)
	go func() {
		for asked := range requests {
			c.send(build(asked))
		}
	}()
	for in := json.NewDecoder(os.Stdin); ; {
		var asked request
		if in.Decode(&asked) != nil {
			os.Exit(0) // the parent has ended
		}
		requests <- asked
	}
}

// child is the process that builds.
type child struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (c *child) send(a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out.Encode(a) != nil {
		os.Exit(0)
	}
}

// watch tells the parent how much memory the process has, which a parent cannot ask for on every system.
func (c *child) watch() {
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(10 * time.Millisecond) {
		metrics.Read(held)
		if memory := held[0].Value.Uint64() - held[1].Value.Uint64(); memory > toldMemory {
			c.send(answer{Memory: memory})
		}
	}
}

// errCrash is the error of a panic. The text of a panic may hold values.
var errCrash = errors.New("crash")

// build builds a directory with the default options of kustomize: no plugin, no program and no chart.
func build(asked request) (a answer) {
	defer func() {
		if recover() != nil {
			a = answer{Error: errCrash.Error()}
		}
	}()
	if !asked.UsualSchema { // kustomize keeps a schema for the whole process
		openapi.ResetOpenAPI()
		defer openapi.ResetOpenAPI()
	}
	roots := make([]string, len(asked.Roots))
	for i := range roots {
		roots[i] = string(asked.Roots[i])
	}
	dir := string(asked.Dir)
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(&treeFiles{tree: host.Within(host.Files{}, roots...), top: dir}, dir)
	made := &product{}
	if err == nil {
		made.Jobs = patchedIn(dir, objects) // before write drops the origins
		err = made.write(objects, asked.KeepOrigins)
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Product: made}
}

// write writes the objects and their sources. They are JSON, a line each, which is faster to read than YAML.
func (p *product) write(objects resmap.ResMap, keepOrigins bool) error {
	var text bytes.Buffer
	for _, r := range objects.Resources() {
		from, err := r.GetOrigin()
		if err != nil {
			return err
		}
		if !keepOrigins {
			if err := r.SetOrigin(nil); err != nil {
				return err
			}
		}
		object, err := r.MarshalJSON()
		if err != nil {
			return err
		}
		source := objectSource{Known: from != nil}
		if from != nil {
			source.File = from.Path
			if source.File == "" && from.ConfiguredIn != "" {
				source.File, source.Generated = from.ConfiguredIn, true
			}
		}
		p.Sources = append(p.Sources, source)
		text.Write(bytes.TrimSpace(object))
		if text.WriteByte('\n'); text.Len() > mostOutput {
			return errLarge
		}
	}
	p.Text = text.Bytes()
	return nil
}

// treeFiles are the files of a tree as kustomize asks for them. A build neither writes nor lists. All reading goes through the tree, which
// has only regular files, no folder .git, and resolves links within its roots.
type treeFiles struct {
	tree host.Tree
	top  string // the built directory
}

var _ filesys.FileSystem = (*treeFiles)(nil)

var (
	errReadOnly = errors.New("a build writes no file")
	errUnlisted = errors.New("a build lists no directory")
)

func (f *treeFiles) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (f *treeFiles) Mkdir(string) error                   { return errReadOnly }
func (f *treeFiles) MkdirAll(string) error                { return errReadOnly }
func (f *treeFiles) RemoveAll(string) error               { return errReadOnly }
func (f *treeFiles) WriteFile(string, []byte) error       { return errReadOnly }
func (f *treeFiles) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (f *treeFiles) Glob(string) ([]string, error)        { return nil, errUnlisted }
func (f *treeFiles) Walk(string, filepath.WalkFunc) error { return errUnlisted }
func (f *treeFiles) ReadDir(string) ([]string, error)     { return nil, errUnlisted }
func (f *treeFiles) IsDir(string) bool                    { return false }
func (f *treeFiles) Exists(string) bool                   { return false }

// CleanedAbs returns the directory and the name of a file, without links. The name of a directory is empty.
func (f *treeFiles) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	real, err := f.tree.Real(name)
	if err != nil {
		return "", "", err
	}
	if info, err := fs.Stat(f.tree, real); err == nil && info.IsDir() {
		return filesys.ConfirmedDir(real), "", nil
	}
	return filesys.ConfirmedDir(filepath.Dir(real)), filepath.Base(real), nil
}

// ReadFile returns a file. The kustomization of the built directory asks for the source of each object.
func (f *treeFiles) ReadFile(name string) ([]byte, error) {
	data, err := ownfile.ReadInput(f.tree, name)
	if err == nil && isKustomization(filepath.Base(name)) && filepath.Dir(name) == f.top {
		return withOrigins(data)
	}
	return data, err
}

// limitedBuffer keeps the first bytes that are written to it.
type limitedBuffer struct {
	kept bytes.Buffer
	most int
}

var _ io.Writer = (*limitedBuffer)(nil)

func (l *limitedBuffer) Write(p []byte) (int, error) {
	l.kept.Write(p[:min(len(p), max(0, l.most-l.kept.Len()))])
	return len(p), nil
}
