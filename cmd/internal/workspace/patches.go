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
	"github.com/trainweld/trainweld/render"
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
				Message: fmt.Sprintf("Invalid value: %q: must be %q, as in --patch NAME=FILE", is,
					manager),
				Remedy: finding.Remedy{
					Text: "remove the manager from the patch"},
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

// PatchesFor returns the patches that a TrainJob gets after its own ones. The patches of its policy
// come first, then the patches of --patch. They are as written until DefaultPatches. Do not change
// them. It is safe for concurrent use after reading.
func (st *Settings) PatchesFor(j Job) []trainer.RuntimePatch {
	return runtimePatches(st.patchesFor(j))
}

// patchesFor returns the patches of PatchesFor with their positions.
func (st *Settings) patchesFor(j Job) []manifest.Patch { return st.selected(j, false) }

// extendedFor returns the extended patches that a TrainJob gets.
func (st *Settings) extendedFor(j Job) []manifest.Patch { return st.selected(j, true) }

func (st *Settings) selected(j Job, extended bool) []manifest.Patch {
	patches := st.writtenFor(j)
	isOther := func(p manifest.Patch) bool { return (p.Extended != nil) != extended }
	if !slices.ContainsFunc(patches, isOther) {
		return patches
	}
	return slices.DeleteFunc(slices.Clone(patches), isOther)
}

// writtenFor returns the patches of both kinds that a TrainJob gets.
func (st *Settings) writtenFor(j Job) []manifest.Patch {
	r := st.rules[j.Document.File]
	if r == nil {
		return st.Patches
	}
	var patches []manifest.Patch
	for i, entry := range r.Patches() {
		if entry.Applies(j.TrainJob) {
			patches = append(patches, r.patches[i]...)
		}
	}
	if patches == nil {
		return st.Patches
	}
	return append(patches, st.Patches...)
}

// allPatches returns the patches of all policies, then the patches of --patch.
func (st *Settings) allPatches() []manifest.Patch {
	var patches []manifest.Patch
	for _, file := range st.configOrder {
		if r := st.configs[file].rules; r != nil {
			patches = append(patches, slices.Concat(r.patches...)...)
		}
	}
	return append(patches, st.Patches...)
}

func runtimePatches(of []manifest.Patch) []trainer.RuntimePatch {
	patches := make([]trainer.RuntimePatch, len(of))
	for i := range of {
		patches[i] = of[i].Patch
	}
	return patches
}

// DefaultPatches sets the API server's defaults in all further patches, for a rendering. Call it
// once, after reading.
func (st *Settings) DefaultPatches() {
	all := st.allPatches()
	// they share their values with the input's
	render.DefaultPatches(runtimePatches(all), func(i int, at fieldpath.Path) bool {
		return all[i].Document.Sets(all[i].Base.Append(at...))
	})
}

// violations returns the findings of a TrainJob's policy on its patches.
func (st *Settings) violations(j Job) finding.List {
	r := st.rules[j.Document.File]
	if r == nil {
		return nil
	}
	own := j.Spec.RuntimePatches
	if j.Written != nil {
		own = Decodable(j.Written)
	}
	found := r.Check(j.TrainJob, slices.Concat(own, st.PatchesFor(j)))
	if st.flags.Advisory {
		for i := range found {
			found[i].Severity = finding.Warning
		}
	}
	return found
}

// rate sets the severities of findings by a policy, and drops the findings that it removes. A
// severity of the flags goes before it.
func (st *Settings) rate(r *rules, findings finding.List) finding.List {
	if r == nil {
		return findings
	}
	for i := range findings {
		findings[i].Severity = st.severity(r, findings[i])
	}
	return slices.DeleteFunc(findings, func(f finding.Finding) bool { return f.Severity == 0 })
}

// Rate sets the severities of findings by the policies of their files, and drops the findings that
// a policy removes. Locate does so for findings on a TrainJob.
func (st *Settings) Rate(findings finding.List) finding.List {
	var kept finding.List
	for _, f := range findings {
		file := f.Position.File
		if f.Build != "" {
			file = st.flags.Built.Name()
		}
		if f.Severity = st.severity(st.rules[file], f); f.Severity > 0 {
			kept = append(kept, f)
		}
	}
	return kept
}

// severity returns the severity of a finding under a policy.
func (st *Settings) severity(r *rules, f finding.Finding) finding.Severity {
	if r == nil || st.flags.Decided[f.Code] {
		return f.Severity
	}
	severity := r.Severity(f)
	if st.flags.Advisory && severity > f.Severity {
		return max(f.Severity, min(severity, finding.Warning))
	}
	return severity
}

// WithoutPatchFiles removes the warnings on patches that --patch or a policy reads: they are not
// stray files of a directory.
func (st *Settings) WithoutPatchFiles(findings finding.List) finding.List {
	isPatch := map[string]bool{}
	for _, p := range st.allPatches() {
		isPatch[filepath.Clean(p.Document.File)] = true
	}
	return slices.DeleteFunc(findings, func(f finding.Finding) bool {
		return f.Code == codes.NotAnObject && f.Severity == finding.Warning &&
			isPatch[filepath.Clean(f.Position.File)]
	})
}
