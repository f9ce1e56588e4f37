package build

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// kustomize builds a directory as the program kustomize does by default. It uses no plugins, and only files below the root of
// each kustomization. It returns the TrainJobs.
func (b *Builder) kustomize(built *workspace.Built) (jobs patchedJobs) {
	real, err := b.tree.Real(built.Dir)
	if err != nil {
		built.Findings = append(built.Findings, failure(codes.BuildFailed, fieldpath.Position{File: built.Dir}, "cannot be read: "+err.Error(), "check that you may read it"))
		return nil
	}
	top := b.known.in(real)
	if top == nil {
		built.Findings = append(built.Findings, failure(codes.NothingToBuild, fieldpath.Position{File: built.Dir}, "holds no kustomization file", "name the directory of a kustomization.yaml"))
		return nil
	}
	built.File = filepath.Join(built.Dir, filepath.Base(top.file))
	var rejected []*kustomization
	closure, usual := b.closure(top)
	for _, k := range closure {
		if k.rejections != nil {
			rejected = append(rejected, k)
		}
	}
	if rejected != nil {
		built.Findings = append(built.Findings, b.rejections(built.Dir, real, rejected)...)
		return nil
	}
	made, err := b.made(real, request{UsualSchema: usual, KeepOrigins: slices.Contains(top.BuildMetadata, types.OriginAnnotations)})
	if err != nil {
		built.Findings = append(built.Findings, b.failed(built, real, err))
		return nil
	}
	b.setResult(built, real, closure, made)
	return made.Jobs
}

// made builds a directory in a process.
func (b *Builder) made(real string, asked request) (*product, error) {
	dir, err := b.folders.of(real)
	if err != nil {
		return nil, fmt.Errorf("cannot read the revision: %w", err)
	}
	if asked.Dir, asked.Roots = []byte(dir), b.roots; b.folders.revision != nil {
		asked.Roots = [][]byte{[]byte(b.folders.copied)}
	}
	return b.processes.run(asked)
}

// failed returns the finding on a build that made nothing.
func (b *Builder) failed(built *workspace.Built, real string, err error) finding.Finding {
	message, help := "kustomize "+err.Error(), "simplify the kustomization"
	var said kustomizeError
	switch {
	case errors.Is(err, errCrash):
		message, help = "kustomize crashes", "simplify the kustomization, and report the crash to kustomize"
	case errors.As(err, &said):
		message, help = "kustomize fails: "+b.reason(built.Dir, real, err), "run kustomize build "+printable.Name(built.Dir)+" to try it alone"
		if needsMore(string(said)) {
			return failure(codes.BuildRejected, fieldpath.Position{File: built.File}, message, "copy what it fetches into the repository, and build charts alone")
		}
	}
	return failure(codes.BuildFailed, fieldpath.Position{File: built.File}, message, help)
}

// closure returns a kustomization and the kustomizations that it names, directly or not. Each comes before the ones that it
// names. It reports whether none of them sets a schema of its own.
func (b *Builder) closure(top *kustomization) (all []*kustomization, usualSchema bool) {
	usualSchema = true
	seen := map[*kustomization]bool{nil: true}
	var add func(k *kustomization)
	add = func(k *kustomization) {
		if seen[k] {
			return
		}
		seen[k] = true
		all = append(all, k)
		usualSchema = usualSchema && len(k.OpenAPI) == 0
		for _, dir := range k.dirs {
			add(b.known.in(dir))
		}
	}
	add(top)
	return all, usualSchema
}

// rejections returns the findings on kustomization files that must not be built.
func (b *Builder) rejections(dir, real string, rejected []*kustomization) finding.List {
	var found finding.List
	for _, k := range rejected {
		for _, r := range k.rejections {
			code := codes.BuildRejected
			if r.fails {
				code = codes.BuildFailed
			}
			at := fieldpath.Position{File: asWritten(dir, real, k.file), Line: r.line, Column: r.column}
			found = append(found, failure(code, at, r.message, r.help))
		}
	}
	return codes.Distinct(found)
}

// reason returns an error of kustomize without values, and with paths as the user writes them.
func (b *Builder) reason(dir, real string, err error) string {
	text := err.Error()
	if b.folders.revision != nil {
		text = strings.ReplaceAll(text, b.folders.copied, b.folders.revision.Root())
	}
	text = strings.ReplaceAll(text, real+string(filepath.Separator), dir+string(filepath.Separator))
	text = strings.ReplaceAll(text, real, dir)
	if here, err := b.tree.Real("."); err == nil {
		text = strings.ReplaceAll(text, here+string(filepath.Separator), "")
	}
	return report.Printable(safeReason(text))
}

// setResult sets the result of a build from its product.
func (b *Builder) setResult(built *workspace.Built, real string, closure []*kustomization, made *product) {
	o := &origins{sources: b.sources, dir: built.Dir, real: real, file: built.File, closure: closure}
	for i, from := range made.Sources {
		part := origin{line: i + 1, generated: from.Generated}
		switch {
		case from.File != "":
			part.file = filepath.Join(built.Dir, filepath.FromSlash(from.File))
		case from.Known:
			part.file = built.File
		}
		o.parts = append(o.parts, part)
	}
	built.Text, built.Origin = made.Text, o.at
}
