package build

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// This file finds the patches that an overlay loses. The program kustomize replaces a list if it does not know the merge key. Then a
// patch of one manager in an overlay removes the patches of all managers of the base.

// patched is a TrainJob of a build with the managers of its patches.
type patched struct {
	Namespace, Name string
	Labels          labels.Set
	Managers        []string
}

// patchedJobs are the TrainJobs of a build by the files that they come from. Overlays change names, and not the order.
type patchedJobs map[string][]patched

// patchedIn returns the TrainJobs of a built directory. The objects have their origins.
func patchedIn(dir string, made resmap.ResMap) patchedJobs {
	jobs := patchedJobs{}
	for _, r := range made.Resources() {
		if r.GetKind() != trainer.TrainJobKind {
			continue
		}
		job := patched{Namespace: r.GetNamespace(), Name: r.GetName(), Labels: r.GetLabels()}
		patches, err := r.Pipe(kyaml.Lookup("spec", "runtimePatches"))
		if err == nil && patches != nil {
			job.Managers, _ = patches.ElementValues("manager") // decoding reports an entry without one
		}
		if from, err := r.GetOrigin(); err == nil && from != nil && from.Path != "" {
			file := filepath.Join(dir, from.Path)
			jobs[file] = append(jobs[file], job)
		}
	}
	return jobs
}

// base returns the TrainJobs of a base that overlays name.
func (b *Builder) base(dir string) patchedJobs {
	return b.bases.Of(dir, func() patchedJobs { return b.kustomize(&workspace.Built{Dir: dir}) })
}

// lostPatches returns a finding for each patch of a manager that a base has and the build of a directory lacks. A patch of the
// overlay that names the manager, or removes by JSON 6902, removes on purpose.
func (b *Builder) lostPatches(built *workspace.Built, jobs patchedJobs) finding.List {
	real, err := b.tree.Real(built.Dir)
	if err != nil || len(jobs) == 0 {
		return nil
	}
	top := b.known.in(real)
	texts, at := b.overlayTexts(built.Dir, top)
	if at == nil {
		return nil
	}
	removes := slices.ContainsFunc(texts, func(text []byte) bool {
		return bytes.Contains(text, []byte("/spec/runtimePatches/")) && bytes.Contains(text, []byte("remove"))
	})
	var found finding.List
	for _, dir := range top.dirs {
		k := b.known.in(dir)
		if removes || k == nil || k.Kind == types.ComponentKind {
			continue
		}
		for file, before := range b.base(dir) {
			now := jobs[file]
			if len(now) != len(before) {
				continue // the overlay removes one
			}
			for i := range before {
				if s := b.flags.Selector; s != nil && !s.Matches(now[i].Labels) {
					continue
				}
				id := fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: now[i].Namespace, Name: now[i].Name}
				found = append(found, before[i].lost(b.flags.InNamespace(id), now[i], texts, *at)...)
			}
		}
	}
	found.Sort()
	return found
}

// lost returns a finding for each manager that the TrainJob has lost. It skips a manager that the texts of the overlay name.
func (before patched) lost(id fieldpath.Object, now patched, texts [][]byte, at fieldpath.Position) finding.List {
	var found finding.List
	for _, manager := range before.Managers {
		named := slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Contains(text, []byte(manager)) })
		if named || slices.Contains(now.Managers, manager) {
			continue
		}
		found = append(found, finding.Finding{
			Code: codes.LostPatch, Severity: finding.Warning, Object: id, Path: fieldpath.Fields("spec", "runtimePatches"), Position: at,
			Message: fmt.Sprintf("the overlay loses the patch of manager %q in its base", manager),
			Remedy:  finding.Remedy{Text: "use the component docs/examples/components/trainjobs, or repeat the patch"},
		})
	}
	return found
}

// overlayTexts returns the texts of a kustomization, its components and their patches, without its bases. The position is in the
// first text that patches runtimePatches. It is nil if none does.
func (b *Builder) overlayTexts(dir string, top *kustomization) (texts [][]byte, at *fieldpath.Position) {
	if top == nil {
		return nil, nil
	}
	add := func(file string, text []byte) {
		texts = append(texts, text)
		if before, _, patches := bytes.Cut(text, []byte("runtimePatches")); patches && at == nil {
			line := bytes.Count(before, []byte("\n"))
			indent := len(before) - bytes.LastIndexByte(before, '\n')
			at = &fieldpath.Position{File: asWritten(dir, filepath.Dir(top.file), file), Line: line + 1, Column: indent}
		}
	}
	var read func(k *kustomization)
	read = func(k *kustomization) {
		for _, file := range patchFiles(&k.Kustomization) {
			file = filepath.Join(filepath.Dir(k.file), file)
			if text, err := ownfile.ReadInput(b.tree, file); err == nil {
				add(file, text)
			}
		}
		add(k.file, k.data)
		for _, dir := range k.dirs {
			if part := b.known.in(dir); part != nil && part.Kind == types.ComponentKind {
				read(part)
			}
		}
	}
	read(top)
	return texts, at
}

// patchFiles returns the files with patches that a kustomization names.
func patchFiles(k *types.Kustomization) []string {
	var files []string
	for _, p := range patchesOf(k) {
		if p.Path != "" && !strings.Contains(p.Path, "\n") {
			files = append(files, p.Path)
		}
	}
	return files
}
