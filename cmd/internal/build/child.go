package build

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/process"
)

// kustomizeWork is the work of a process that builds.
const kustomizeWork = "kustomize"

// The collector works as often as it must from mostHeap on. A stack of mostStack is enough for any
// value that the decoders take. The process tells its memory above toldMemory.
const (
	mostHeap   = 384 << 20
	mostStack  = 64 << 20
	toldMemory = 256 << 20
)

// request is the order for a build.
type request struct {
	Dir        []byte   // without links; bytes, since it may be no UTF-8
	Roots      [][]byte // the directories that the build may read
	SetsSchema bool     // a kustomization of the build sets a schema
	Trace      bool     // the answer is the origin of each value
	// Object is the only one to trace, as KIND/NAME, and Text the output of the build.
	Object string
	Text   []byte
}

// answer tells the memory of the process, or the result of a build.
type answer struct {
	Memory  uint64   `json:",omitempty"`
	Error   string   `json:",omitempty"`
	Product *product `json:",omitempty"`
}

// product is the result of a build: an object in JSON a line, or the origin of each value.
type product struct {
	Text  []byte
	Trace *origins.Trace `json:",omitempty"`
}

// Serve builds kustomizations for the parent, one after the other, if the parent started this
// process for that. Then it does not return. Call it first in main, and in TestMain of tests that
// build.
func Serve() {
	if !process.Is(kustomizeWork) {
		return
	}
	process.SealLibraries()
	debug.SetMaxStack(mostStack)
	debug.SetMemoryLimit(mostHeap)
	debug.SetGCPercent(300) // builds leave much garbage and little data
	requests, results := make(chan request), make(chan answer)
	go func() {
		for asked := range requests {
			results <- build(asked)
		}
	}()
	go func() {
		for in := json.NewDecoder(os.Stdin); ; {
			var asked request
			if in.Decode(&asked) != nil {
				os.Exit(0) // the parent has ended
			}
			requests <- asked
		}
	}()
	for out, ticks := json.NewEncoder(os.Stdout), time.Tick(10*time.Millisecond); ; {
		var a answer
		select {
		case a = <-results:
		case <-ticks:
			if a.Memory = heldMemory(); a.Memory < toldMemory {
				continue
			}
		}
		if out.Encode(a) != nil {
			os.Exit(0)
		}
	}
}

// heldMemory returns the memory of the process, which a parent cannot ask for on every system.
func heldMemory() uint64 {
	held := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(held)
	return held[0].Value.Uint64() - held[1].Value.Uint64()
}

// build builds a directory with the default options of kustomize: no plugin, no program and no
// chart. A panic ends the process.
func build(asked request) answer {
	if asked.SetsSchema { // kustomize keeps a schema for the whole process
		openapi.ResetOpenAPI()
		defer openapi.ResetOpenAPI()
	}
	roots := make([]string, len(asked.Roots))
	for i := range roots {
		roots[i] = string(asked.Roots[i])
	}
	files := &treeFiles{FileSystem: filesys.MakeFsInMemory(),
		tree: host.Within(host.Files{}, roots...)}
	dir := string(asked.Dir)
	if asked.Trace {
		return files.trace(dir, asked)
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, dir)
	made := &product{}
	if err == nil {
		err = made.write(objects)
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Product: made}
}

// trace finds the origin of each value, or those of one object.
func (f *treeFiles) trace(top string, asked request) answer {
	kustomizer := krusty.MakeKustomizer(krusty.MakeDefaultOptions())
	source := origins.Source{Read: f.read, Dir: f.dir}
	source.Build = func(dir string, instead map[string][]byte) ([][]byte, error) {
		files := *f
		files.instead = instead
		objects, err := kustomizer.Run(&files, dir)
		if err != nil {
			return nil, err
		}
		made := make([][]byte, objects.Size())
		for i, r := range objects.Resources() {
			if made[i], err = r.MarshalJSON(); err != nil {
				return nil, err
			}
		}
		return made, nil
	}
	if asked.SetsSchema { // that of the whole build is the schema of each base
		if _, err := kustomizer.Run(f, top); err != nil {
			return answer{Error: err.Error()}
		}
	}
	if kind, name, ok := strings.Cut(asked.Object, "/"); ok {
		needed, err := origins.Needed(source, top, kind, name)
		if err == nil {
			f.needed = needed
			made, err := origins.New(source, top)
			if err == nil && made.Within(asked.Text, asked.Object) {
				return answer{Product: &product{Trace: made}}
			}
			f.needed = nil // it needs more
		}
	}
	made, err := origins.New(source, top)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Product: &product{Trace: made}}
}

func (f *treeFiles) read(name string) ([]byte, error) { return ownfile.ReadInput(f.tree, name) }

// dir returns a directory without links, or false for another file.
func (f *treeFiles) dir(name string) (string, bool) {
	real, file, err := f.CleanedAbs(name)
	return string(real), err == nil && file == ""
}

// write writes the objects, which are JSON because it is faster to read than YAML.
func (p *product) write(objects resmap.ResMap) error {
	var text bytes.Buffer
	for _, r := range objects.Resources() {
		object, err := r.MarshalJSON()
		if err != nil {
			return err
		}
		text.Write(bytes.TrimSpace(object))
		if text.WriteByte('\n'); text.Len() > mostOutput {
			return errLarge
		}
	}
	p.Text = text.Bytes()
	return nil
}

// treeFiles are the files of a tree as kustomize asks for them. All reading goes through the tree,
// which has only regular files, no folder .git, and resolves links within its roots. Whatever else
// a file system does, it does in memory.
type treeFiles struct {
	filesys.FileSystem
	tree    host.Tree
	instead map[string][]byte // the text of some files
	needed  map[string][]byte // likewise, for a trace of one object
}

// CleanedAbs returns the directory and the name of a file, without links. The name of a directory
// is empty.
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

// ReadFile returns a file.
func (f *treeFiles) ReadFile(name string) ([]byte, error) {
	for _, instead := range []map[string][]byte{f.instead, f.needed} {
		if data, ok := instead[name]; ok {
			return data, nil
		}
	}
	return f.read(name)
}
