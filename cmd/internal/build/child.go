package build

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/trainweld/trainweld/cmd/internal/process"
)

// kustomizeWork is the work of a process that builds.
const kustomizeWork = "kustomize"

// The limits of the process that builds. The parent ends it above mostResident. Below that, the collector works as often as it must
// from mostHeap on. A stack of mostStack is enough for any value that the decoders take.
const (
	mostResident = 384 << 20
	mostHeap     = 288 << 20
	mostStack    = 64 << 20
)

// Serve builds kustomizations or supervises a command for the parent, if the parent started this process for that. Then it does not
// return. Call it first in main, and in TestMain of tests that build.
func Serve() {
	process.Supervise()
	if !process.Is(kustomizeWork) {
		return
	}
	process.SealLibraries()
	process.LimitMemory(mostResident)
	debug.SetMaxStack(mostStack)
	debug.SetMemoryLimit(mostHeap)
	debug.SetGCPercent(300) // builds leave much garbage and little data
	c := &childProcess{answers: map[uint64]chan message{}}
	if err := process.Confine(); err != nil {
		c.send(message{op: opBuild, parts: []string{err.Error()}})
		os.Exit(1)
	}
	for in := bufio.NewReaderSize(os.Stdin, 1<<16); ; {
		m, err := receive(in)
		switch {
		case err != nil:
			os.Exit(0) // the parent has ended
		case m.op == opBuild:
			answers := make(chan message, 1)
			c.mu.Lock()
			c.answers[m.build] = answers
			c.mu.Unlock()
			go c.build(m, answers)
		default:
			c.mu.Lock()
			answers := c.answers[m.build]
			c.mu.Unlock()
			answers <- m
		}
	}
}

// childProcess is the process that builds. It has no files: it asks the parent for them.
type childProcess struct {
	mu      sync.Mutex
	answers map[uint64]chan message // of the builds that run
	writing sync.Mutex
}

func (c *childProcess) send(m message) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if send(os.Stdout, m) != nil {
		os.Exit(0)
	}
}

// product is the result of a build.
type product struct {
	// Text has an object in JSON a line, and Sources their sources.
	Text    []byte `json:"-"`
	Sources []objectSource
	Jobs    patchedJobs
}

// objectSource is the file of an object, or the file that configures its generator, relative to the built directory.
type objectSource struct {
	File      string `json:",omitempty"`
	Generated bool   `json:",omitempty"`
	Known     bool   `json:",omitempty"`
}

// request is the order for a build.
type request struct {
	Dir         string `json:"-"` // without links; a part of its own, since it may be no UTF-8
	UsualSchema bool   // no kustomization of the build sets a schema
	KeepOrigins bool   // the kustomization asks for the annotations of origins
}

// build builds a directory, and sends the product or an error.
func (c *childProcess) build(m message, answers chan message) {
	answer := message{build: m.build, op: opBuild}
	made, err := c.run(m, answers)
	if err == nil {
		var rest []byte
		if rest, err = json.Marshal(made); err == nil {
			answer.parts = []string{"", string(rest), string(made.Text)}
		}
	}
	if err != nil {
		answer.parts = []string{err.Error()}
	}
	c.mu.Lock()
	delete(c.answers, m.build)
	c.mu.Unlock()
	c.send(answer)
}

func (c *childProcess) run(m message, answers chan message) (made product, err error) {
	var asked request
	if err := json.Unmarshal([]byte(m.parts[0]), &asked); err != nil {
		return made, err
	}
	asked.Dir = m.parts[1]
	defer func() {
		if crash := recover(); crash != nil {
			err = errCrash
		}
	}()
	defer enterSchema(asked.UsualSchema)()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(&remoteFiles{c, m.build, answers}, asked.Dir)
	if err != nil {
		return made, err
	}
	made.Jobs = patchedIn(asked.Dir, objects) // before write drops the origins
	return made, made.write(objects, asked.KeepOrigins)
}

// errCrash is the error of a panic. The text of a panic may hold values.
var errCrash = errors.New("crash")

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

// remoteFiles are the files of the parent, for one build. They cannot be written, and a build asks for files by their names only.
type remoteFiles struct {
	c       *childProcess
	build   uint64
	answers chan message
}

var _ filesys.FileSystem = (*remoteFiles)(nil)

var (
	errReadOnly = errors.New("a build writes no file")
	errUnlisted = errors.New("a build lists no directory")
)

func (f *remoteFiles) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (f *remoteFiles) Mkdir(string) error                   { return errReadOnly }
func (f *remoteFiles) MkdirAll(string) error                { return errReadOnly }
func (f *remoteFiles) RemoveAll(string) error               { return errReadOnly }
func (f *remoteFiles) WriteFile(string, []byte) error       { return errReadOnly }
func (f *remoteFiles) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (f *remoteFiles) Glob(string) ([]string, error)        { return nil, errUnlisted }
func (f *remoteFiles) Walk(string, filepath.WalkFunc) error { return errUnlisted }
func (f *remoteFiles) ReadDir(string) ([]string, error)     { return nil, errUnlisted }
func (f *remoteFiles) IsDir(string) bool                    { return false }
func (f *remoteFiles) Exists(string) bool                   { return false }

// ask sends an operation on a file to the parent, and waits for the answer.
func (f *remoteFiles) ask(op byte, name string) ([]string, error) {
	f.c.send(message{f.build, op, []string{name}})
	answer := <-f.answers
	if len(answer.parts) == 0 {
		return nil, fmt.Errorf("%s: no answer", name)
	}
	if answer.parts[0] != "" {
		return nil, errors.New(answer.parts[0])
	}
	return answer.parts[1:], nil
}

// CleanedAbs returns the directory and the name of a file, without links.
func (f *remoteFiles) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	parts, err := f.ask(opClean, name)
	if err != nil {
		return "", "", err
	}
	return filesys.ConfirmedDir(parts[0]), parts[1], nil
}

func (f *remoteFiles) ReadFile(name string) ([]byte, error) {
	parts, err := f.ask(opRead, name)
	if err != nil {
		return nil, err
	}
	return []byte(parts[0]), nil
}

// schemas guards the schema that kustomize keeps for the whole process. Builds with the usual schema run at once. A build with a
// schema of its own runs alone, and starts as in a new process.
var schemas struct {
	sync.RWMutex
	usual sync.Mutex
	ready bool // the usual schema is loaded
}

// enterSchema waits until a build may run. Call the result after the build.
func enterSchema(usual bool) (leave func()) {
	if !usual {
		schemas.Lock()
		openapi.ResetOpenAPI()
		return func() {
			openapi.ResetOpenAPI()
			schemas.ready = false
			schemas.Unlock()
		}
	}
	schemas.RLock()
	schemas.usual.Lock()
	if !schemas.ready {
		openapi.Schema() // concurrent builds only read it
		schemas.ready = true
	}
	schemas.usual.Unlock()
	return schemas.RUnlock
}
