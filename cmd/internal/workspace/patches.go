// This file reads the patches of --patch and of policies, and their managers.

package workspace

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/nearest"
)

// ReadPatches reads the files of --patch.
func (st *Settings) ReadPatches(s Source) {
	fsys, _ := s.Inputs()
	read := map[string]bool{}
	for _, patch := range st.flags.Patches {
		manager, path := ManagerOf(patch)
		files, findings := manifest.Files(fsys, []string{path}, false)
		st.report(findings...)
		for _, file := range files {
			if key := manager + "=" + file; !read[key] {
				read[key] = true
				st.readPatches(s, manager, file)
			}
		}
	}
}

// readPatches reads the patches of a file. If manager is set, all of them belong to it.
func (st *Settings) readPatches(s Source, manager, file string) {
	data, unreadable := st.lines.Open(s, file)
	if unreadable != nil {
		st.report(*unreadable)
		return
	}
	fsys, _ := s.Inputs()
	st.Patches = append(st.Patches, st.decodePatches(fsys, manager, file, data)...)
}

// readRules reads the patches of a policy once.
func (st *Settings) readRules(fsys fs.FS, r *rules) {
	if r.read {
		return
	}
	r.read = true
	r.patches = make([][]manifest.Patch, len(r.Patches()))
	for i, entry := range r.Patches() {
		data, unreadable := manifest.Read(host.Bounded(fsys, filepath.Dir(entry.Position.File)),
			nil, entry.File)
		if unreadable != nil {
			f := *unreadable
			f.Message = entry.File + ": " + f.Message
			f.Path, f.Position = entry.Path, entry.Position
			st.report(f)
			continue
		}
		st.lines.opened(entry.File, data)
		r.patches[i] = st.decodePatches(fsys, entry.Manager, entry.File, data)
	}
}

// decodePatches returns the patches of a file, and reports its mistakes.
func (st *Settings) decodePatches(fsys fs.FS, manager, file string, data []byte) []manifest.Patch {
	patches, findings := st.ApplyPolicy(fsys, file, dirOf(file)).DecodePatches(file, data)
	if len(patches) == 0 && len(findings) == 0 {
		findings = finding.List{{
			Code: codes.NotAnObject, Severity: finding.Error,
			Position: fieldpath.Position{File: file},
			Message:  "has no patch",
			Remedy: finding.Remedy{
				Text: "use a RuntimePatch, a list of them, or a TrainJob with patches"},
		}}
	}
	st.flags.inNamespace(findings)
	for i := range patches {
		switch is := patches[i].Patch.Manager; {
		case manager == "" || is == manager:
		case is == "":
			patches[i].Patch.Manager = manager
		default:
			at := fieldpath.Fields("manager")
			findings = append(findings, finding.Finding{
				Code: codes.BadManager, Severity: finding.Error,
				Object:   st.flags.InNamespace(patches[i].Document.ID),
				Path:     patches[i].Base.Append(at...),
				Position: patches[i].Document.Position(patches[i].Base.Append(at...)),
				Message: fmt.Sprintf("invalid value %q: must be %q, as in --patch NAME=FILE", is,
					manager),
				Remedy: finding.Remedy{
					Text: "remove the manager from the patch, or use its name in --patch"},
			})
		}
	}
	st.report(findings...)
	return patches
}

// ApplyPolicy records the policy of a directory for the objects of a file, and reads the patches of
// the policy. It returns the API for the objects, or nil if the input names no release for them.
func (st *Settings) ApplyPolicy(fsys fs.FS, file, dir string) *manifest.API {
	g := st.policyOf(fsys, dir)
	api := st.API(g.release)
	if api != nil {
		st.byFile[file] = api
	}
	st.stockAccepted[file] = g.stock != nil && *g.stock
	st.unbuilt[file] = file != manifest.Stdin && !st.flags.IsBuilt(file) &&
		st.isKustomized(fsys, dir)
	if g.rules != nil {
		st.rules[file] = g.rules
		st.readRules(fsys, g.rules)
	}
	return api
}

// UnknownManager returns an error for the first manager without a patch, with a hint at the known
// ones. It returns nil after an error in reading: the patch may stand in the unread part.
func (st *Settings) UnknownManager(managers []string) error {
	known := st.Managers()
	for _, name := range managers {
		if _, ok := slices.BinarySearch(known, name); ok || st.found.Err() != nil {
			continue
		}
		hint := ""
		switch near := nearest.To(name, known); {
		case near != "":
			hint = fmt.Sprintf("; did you mean %s?", near)
		case len(known) > 0:
			hint = fmt.Sprintf("; the managers are %q", known)
		}
		return fmt.Errorf("manager %q has no patch%s", name, hint)
	}
	return nil
}

// Managers returns the sorted names of all managers with a patch, without duplicates.
func (st *Settings) Managers() []string {
	names := slices.Clone(st.patchers)
	for _, p := range st.allPatches() {
		names = append(names, p.Patch.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// patchedBy records the managers of a TrainJob.
func (st *Settings) patchedBy(job *trainer.TrainJob) {
	for i := range job.Spec.RuntimePatches {
		st.patchers = append(st.patchers, job.Spec.RuntimePatches[i].Manager)
	}
}
