package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
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

// trainJobs yields the TrainJobs of an output with their lines, from 0 on.
func trainJobs(text []byte) iter.Seq2[int, *trainer.TrainJob] {
	return func(yield func(int, *trainer.TrainJob) bool) {
		i := -1
		for line := range bytes.Lines(text) {
			i++
			fields := map[string]any{}
			if !bytes.Contains(line, []byte(trainer.TrainJobKind)) ||
				json.Unmarshal(line, &fields) != nil || fields["kind"] != trainer.TrainJobKind {
				continue
			}
			if !yield(i, workspace.Outline(fields, "")) {
				return
			}
		}
	}
}

// lostPatches returns a finding for each patch of a manager that a base has and the build of a
// directory lacks. A TrainJob of a base has had its names in the build. A patch of the overlay that
// names the manager, or removes by JSON 6902, removes on purpose.
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
	var bases [][]byte
	for _, dir := range top.dirs {
		if k := b.known.in(dir); k != nil && k.Kind != types.ComponentKind {
			bases = append(bases, b.bases.Of(dir, func() []byte {
				made, err := b.made(request{SetsSchema: setsSchema(b.closure(k))}, dir)
				if err != nil {
					return nil
				}
				return made.Text
			}))
		}
	}
	if !hasFewer(built.Text, bases) {
		return nil
	}
	trace, err := built.Trace("")
	if err != nil {
		return nil
	}
	type overlaid struct {
		*trainer.TrainJob
		namespaces []string // that it had
	}
	named := map[string][]overlaid{} // by the names that they had
	for i, job := range trainJobs(built.Text) {
		if s := b.flags.Selector; s != nil && !s.Matches(labels.Set(job.Labels)) {
			continue
		}
		o := overlaid{job, trace.Objects[i].Had("namespace")}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(trace.Objects[i].Names()))) {
			named[name] = append(named[name], o)
		}
	}
	all := strings.Join(texts, "\n")
	var found finding.List
	for _, base := range bases {
		for _, before := range trainJobs(base) {
			for _, now := range named[before.Name] {
				if before.Namespace != "" && !slices.Contains(now.namespaces, before.Namespace) {
					continue
				}
				for _, patch := range before.Spec.RuntimePatches {
					if !strings.Contains(all, patch.Manager) && !slices.ContainsFunc(
						now.Spec.RuntimePatches,
						func(p trainer.RuntimePatch) bool { return p.Manager == patch.Manager }) {
						found = append(found, b.lost(now.TrainJob, patch.Manager, *at))
					}
				}
			}
		}
	}
	found.Sort()
	return found
}

// hasFewer reports whether an output has fewer patches of a manager than the bases. Only then is it
// worth a trace, which takes as long as many builds.
func hasFewer(text []byte, bases [][]byte) bool {
	missing := map[string]int{}
	count := func(text []byte, by int) {
		for _, job := range trainJobs(text) {
			for _, patch := range job.Spec.RuntimePatches {
				missing[patch.Manager] += by
			}
		}
	}
	count(text, -1)
	for _, base := range bases {
		count(base, 1)
	}
	return slices.Max(append(slices.Collect(maps.Values(missing)), 0)) > 0
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
			Text: "repeat the patch in the overlay",
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
			if data, ok := b.source(file); ok && p.Path != "" {
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
