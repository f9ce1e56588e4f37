package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// This file finds the patches that an overlay loses. The program kustomize replaces a list if it
// does not know the merge key. Then a patch of one manager in an overlay removes the patches of all
// managers of the base.

// jobsByFile are the TrainJobs of a build by the files that they come from. Overlays change names,
// and not the order.
type jobsByFile map[string][]*trainer.TrainJob

// jobsOf returns the TrainJobs of the build of a directory, which are none if it fails.
func (b *Builder) jobsOf(dir string) jobsByFile {
	jobs := jobsByFile{}
	schema := setsSchema(b.closure(b.known.in(dir)))
	made, err := b.made(request{Sources: true, SetsSchema: schema}, dir)
	if err != nil {
		return jobs
	}
	i := -1
	for line := range bytes.Lines(made.Text) {
		i++
		from, fields := made.Sources[i], map[string]any{}
		if from.File == "" || from.Generated ||
			!bytes.Contains(line, []byte(trainer.TrainJobKind)) {
			continue
		}
		err := json.Unmarshal(line, &fields)
		if err == nil && fields["kind"] == trainer.TrainJobKind {
			file := filepath.Join(dir, from.File)
			jobs[file] = append(jobs[file], workspace.Outline(fields, ""))
		}
	}
	return jobs
}

// lostPatches returns a finding for each patch of a manager that a base has and the build of a
// directory lacks. A patch of the overlay that names the manager, or removes by JSON 6902, removes
// on purpose.
func (b *Builder) lostPatches(built *workspace.Built) finding.List {
	real, err := b.tree.Real(built.Dir)
	if err != nil || !bytes.Contains(built.Text, []byte(trainer.TrainJobKind)) {
		return nil
	}
	top := b.known.in(real)
	texts, at := b.overlayTexts(built.Dir, top)
	removes := slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(text, "/spec/runtimePatches/") && strings.Contains(text, "remove")
	})
	if at == nil || removes {
		return nil
	}
	jobs, all := b.jobsOf(real), strings.Join(texts, "\n")
	var found finding.List
	for _, dir := range top.dirs {
		if k := b.known.in(dir); k == nil || k.Kind == types.ComponentKind {
			continue
		}
		base := b.bases.Of(dir, func() jobsByFile { return b.jobsOf(dir) })
		for file, before := range base {
			now := jobs[file]
			for i := range before {
				if len(now) != len(before) { // the overlay removes one
					break
				}
				for _, patch := range before[i].Spec.RuntimePatches {
					isThere := strings.Contains(all, patch.Manager) || slices.ContainsFunc(
						now[i].Spec.RuntimePatches,
						func(p trainer.RuntimePatch) bool { return p.Manager == patch.Manager })
					s := b.flags.Selector
					if !isThere && (s == nil || s.Matches(labels.Set(now[i].Labels))) {
						found = append(found, b.lost(now[i], patch.Manager, *at))
					}
				}
			}
		}
	}
	found.Sort()
	return found
}

func (b *Builder) lost(
	job *trainer.TrainJob, manager string, at fieldpath.Position,
) finding.Finding {
	return finding.Finding{
		Code: codes.LostPatch, Severity: finding.Warning, Position: at,
		Object: b.flags.InNamespace(fieldpath.Object{
			Kind: trainer.TrainJobKind, Namespace: job.Namespace, Name: job.Name,
		}),
		Path:    fieldpath.Fields("spec", "runtimePatches"),
		Message: fmt.Sprintf("the overlay loses the patch of manager %q in its base", manager),
		Remedy: finding.Remedy{
			Text: "use the component docs/examples/components/trainjobs, or repeat the patch",
		},
	}
}

// overlayTexts returns the texts of a kustomization, its components and their patches, without its
// bases. The position is in the first text that patches runtimePatches. It is nil if none does.
func (b *Builder) overlayTexts(
	dir string, top *kustomization,
) (texts []string, at *fieldpath.Position) {
	add := func(file string, data []byte) {
		text := string(data)
		texts = append(texts, text)
		before, _, patches := strings.Cut(text, "runtimePatches")
		if patches && at == nil {
			at = &fieldpath.Position{
				File:   asWritten(dir, filepath.Dir(top.file), file),
				Line:   strings.Count(before, "\n") + 1,
				Column: len(before) - strings.LastIndexByte(before, '\n'),
			}
		}
	}
	var read func(k *kustomization)
	read = func(k *kustomization) {
		for _, p := range patchesOf(&k.Kustomization) {
			file := filepath.Join(filepath.Dir(k.file), p.Path)
			if data, ok := b.sources.read(file); ok && p.Path != "" {
				add(file, data)
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
