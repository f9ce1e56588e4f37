//go:build !js

package build

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/workspace"
)

// kustomize builds a directory as the program kustomize does by default: without plugins, and with files below the root of each
// kustomization only. It returns the TrainJobs.
func (b *Builder) kustomize(built *workspace.Built) (jobs patchedJobs) {
	real, err := b.tree.Real(built.Dir)
	if err != nil {
		built.Findings = append(built.Findings, failure(finding.CodeBuildFailed, fieldpath.Position{File: built.Dir}, "cannot be read: "+err.Error(), "check that you may read it"))
		return nil
	}
	top := b.known.in(real)
	if top == nil {
		built.Findings = append(built.Findings, failure(finding.CodeNothingToBuild, fieldpath.Position{File: built.Dir}, "holds no kustomization file", "name the directory of a kustomization.yaml"))
		return nil
	}
	built.File = filepath.Join(built.Dir, filepath.Base(top.file))
	var refused []*kustomization
	closure, ok := b.closure(top)
	for _, k := range closure {
		if k.refusals != nil {
			refused = append(refused, k)
		}
	}
	defer func() {
		if crash := recover(); crash != nil {
			built.Text = nil
			built.Findings = append(built.Findings, failure(finding.CodeBuildFailed, fieldpath.Position{File: built.File}, "kustomize crashes: "+masked(fmt.Sprint(crash)), "simplify the kustomization, and report the crash to kustomize"))
		}
	}()
	var made resmap.ResMap
	if refused == nil {
		leave := enterSchema(ok)
		defer leave()
		options := krusty.MakeDefaultOptions()
		seen := &files{tree: b.tree, known: b.known, top: real, refused: func(k *kustomization) { refused = append(refused, k) }}
		made, err = krusty.MakeKustomizer(options).Run(seen, real)
	}
	if refused != nil {
		built.Findings = append(built.Findings, b.refusals(built.Dir, real, refused)...)
		return nil
	}
	if err == nil {
		jobs = patchedIn(real, made) // before write drops the origins
		err = b.write(built, real, closure, made)
	}
	if err != nil {
		built.Text = nil
		built.Findings = append(built.Findings, failure(finding.CodeBuildFailed, fieldpath.Position{File: built.File}, "kustomize fails: "+b.reason(built.Dir, real, err), "run kustomize build "+built.Dir+" to try it alone"))
		return nil
	}
	return jobs
}

// closure returns a kustomization and those that it names, each before those. It reports whether none of them sets a schema of
// its own.
func (b *Builder) closure(top *kustomization) (all []*kustomization, usualSchema bool) {
	usualSchema = true
	var add func(k *kustomization)
	add = func(k *kustomization) {
		if k == nil || slices.Contains(all, k) {
			return
		}
		all = append(all, k)
		usualSchema = usualSchema && len(k.OpenAPI) == 0
		for _, dir := range k.dirs {
			add(b.known.in(dir))
		}
	}
	add(top)
	return all, usualSchema
}

// refusals returns the findings on kustomization files that must not be built.
func (b *Builder) refusals(dir, real string, refused []*kustomization) finding.List {
	var found finding.List
	for _, k := range refused {
		for _, r := range k.refusals {
			code := finding.CodeBuildRefused
			if r.fails {
				code = finding.CodeBuildFailed
			}
			at := fieldpath.Position{File: below(dir, real, k.file), Line: r.line, Column: r.column}
			found = append(found, failure(code, at, r.message, r.help))
		}
	}
	return found.Distinct()
}

// reason returns an error of kustomize with paths as the user writes them.
func (b *Builder) reason(dir, real string, err error) string {
	text := strings.ReplaceAll(err.Error(), real+string(filepath.Separator), dir+string(filepath.Separator))
	text = strings.ReplaceAll(text, real, dir)
	if here, err := b.tree.Real("."); err == nil {
		text = strings.ReplaceAll(text, here+string(filepath.Separator), "")
	}
	return masked(text)
}

// write writes the objects, and keeps the source of each. They are JSON, a line each, which is faster to read than YAML.
func (b *Builder) write(built *workspace.Built, real string, closure []*kustomization, made resmap.ResMap) error {
	var text bytes.Buffer
	o := &origins{sources: b.sources, dir: built.Dir, real: real, file: built.File, closure: closure}
	for i, r := range made.Resources() {
		from, err := r.GetOrigin()
		if err != nil {
			return err
		}
		if !slices.Contains(closure[0].BuildMetadata, types.OriginAnnotations) {
			if err := r.SetOrigin(nil); err != nil {
				return err
			}
		}
		object, err := r.MarshalJSON()
		if err != nil {
			return err
		}
		part := origin{line: i + 1}
		if from != nil {
			part.file = built.File
			if from.Path != "" {
				part.file = filepath.Join(built.Dir, filepath.FromSlash(from.Path))
			} else if from.ConfiguredIn != "" {
				part.file = filepath.Join(built.Dir, filepath.FromSlash(from.ConfiguredIn))
				part.generated = true
			}
		}
		o.parts = append(o.parts, part)
		text.Write(bytes.TrimSpace(object))
		if text.WriteByte('\n'); text.Len() > mostOutput {
			return errLarge
		}
	}
	built.Text, built.Origin = text.Bytes(), o.at
	if built.Text == nil {
		built.Text = []byte{}
	}
	return nil
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
