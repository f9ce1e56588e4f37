// This file applies the policy of a TrainJob: its patches, its managers and its severities.

package workspace

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/compose"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/policy"
	"github.com/trainweld/trainweld/render"
)

// rules is a policy with its patches.
type rules struct {
	*policy.Policy
	read    bool
	patches [][]manifest.Patch // of each entry
}

// readRules reads the patches of a policy once.
func (in *Input) readRules(fsys fs.FS, r *rules) {
	if r.read {
		return
	}
	r.read = true
	r.patches = make([][]manifest.Patch, len(r.Patches()))
	for i, entry := range r.Patches() {
		data, unreadable := manifest.Read(host.Bounded(fsys, filepath.Dir(entry.Position.File)), nil, entry.File)
		if unreadable != nil {
			f := *unreadable
			f.Message = entry.File + ": " + f.Message
			f.Path, f.Position = entry.Path, entry.Position
			in.Findings = append(in.Findings, f)
			continue
		}
		in.opened(entry.File, data)
		r.patches[i] = in.decodePatches(fsys, entry.Manager, entry.File, data)
	}
}

// PatchesFor returns the patches that a TrainJob gets after its own ones. The patches of its policy come first, then the patches of
// --patch. They have their defaults, except with Texts. Do not change them. It is safe for concurrent use after reading.
func (in *Input) PatchesFor(j Job) []trainer.RuntimePatch {
	further := in.patchesFor(j)
	patches := make([]trainer.RuntimePatch, len(further))
	for i := range further {
		patches[i] = further[i].Patch
	}
	if in.flags.Repairs {
		in.resolving.Lock()
		defer in.resolving.Unlock()
		for i := range further {
			in.notePatched(further[i].Document.File, render.ObjectOf(j.TrainJob))
		}
	}
	return patches
}

// notePatched records that a TrainJob gets the patches of a file.
func (in *Input) notePatched(file string, job fieldpath.Object) {
	if in.patched == nil {
		in.patched = map[string]map[fieldpath.Object]bool{}
	}
	if in.patched[file] == nil {
		in.patched[file] = map[fieldpath.Object]bool{}
	}
	in.patched[file][job] = true
}

// PatchedBy returns the TrainJobs that get the patches of a file from --patch or a policy, by their names. It needs Flags.Repairs.
func (in *Input) PatchedBy(file string) []fieldpath.Object {
	return slices.SortedFunc(maps.Keys(in.patched[file]), func(a, b fieldpath.Object) int { return strings.Compare(a.String(), b.String()) })
}

// patchesFor returns the patches of PatchesFor with their positions.
func (in *Input) patchesFor(j Job) []manifest.Patch {
	in.settled.Do(in.setPatchDefaults)
	r := in.rules[j.Document.File]
	if r == nil {
		return in.Patches
	}
	var patches []manifest.Patch
	for i, entry := range r.Patches() {
		if entry.Applies(j.TrainJob) {
			patches = append(patches, r.patches[i]...)
		}
	}
	if patches == nil {
		return in.Patches
	}
	return append(patches, in.Patches...)
}

// CompositionsOf returns the rules by which the policy of a TrainJob composes values.
func (in *Input) CompositionsOf(j Job) compose.Rules {
	r := in.rules[j.Document.File]
	if r == nil {
		return nil
	}
	return r.Compositions()
}

// allPatches returns the patches of all policies, then the patches of --patch.
func (in *Input) allPatches() []manifest.Patch {
	var patches []manifest.Patch
	for _, file := range in.configOrder {
		if r := in.configs[file].rules; r != nil {
			patches = append(patches, slices.Concat(r.patches...)...)
		}
	}
	return append(patches, in.Patches...)
}

func (in *Input) setPatchDefaults() {
	if in.Texts {
		return
	}
	all := in.allPatches()
	patches := make([]trainer.RuntimePatch, len(all))
	for i := range all {
		patches[i] = all[i].Patch
	}
	render.DefaultPatches(patches, func(i int, at fieldpath.Path) bool { // they share their values with the input's
		return all[i].Document.Sets(all[i].Base.Append(at...))
	})
}

// violations returns the findings of a TrainJob's policy on its patches.
func (in *Input) violations(j Job) finding.List {
	r := in.rules[j.Document.File]
	if r == nil {
		return nil
	}
	own := j.Spec.RuntimePatches
	if j.Written != nil {
		own = Decodable(j.Written)
	}
	found := r.Check(j.TrainJob, slices.Concat(own, in.PatchesFor(j)))
	if in.flags.Advisory {
		for i := range found {
			found[i].Severity = finding.Warning
		}
	}
	return found
}

// rate sets the severities of findings by a policy, and drops the findings that it removes. A severity of the flags goes before it.
func (in *Input) rate(r *rules, findings finding.List) finding.List {
	if r == nil {
		return findings
	}
	for i := range findings {
		findings[i].Severity = in.severity(r, findings[i])
	}
	return slices.DeleteFunc(findings, func(f finding.Finding) bool { return f.Severity == 0 })
}

// Rate sets the severities of findings by the policies of their files, and drops the findings that a policy removes. Locate does so
// for findings on a TrainJob.
func (in *Input) Rate(findings finding.List) finding.List {
	var kept finding.List
	for _, f := range findings {
		file := f.Position.File
		if f.Build != "" {
			file = in.flags.Built.Name()
		}
		if f.Severity = in.severity(in.rules[file], f); f.Severity > 0 {
			kept = append(kept, f)
		}
	}
	return kept
}

// severity returns the severity of a finding under a policy.
func (in *Input) severity(r *rules, f finding.Finding) finding.Severity {
	if r == nil || in.flags.Decided[f.Code] {
		return f.Severity
	}
	severity := r.Severity(f)
	if in.flags.Advisory && f.Code == finding.CodeNoComposition {
		return min(severity, finding.Warning)
	}
	if in.flags.Advisory && severity > f.Severity {
		return max(f.Severity, min(severity, finding.Warning))
	}
	return severity
}

// WithoutPatchFiles removes the warnings on patches that --patch or a policy reads: they are not stray files of a directory.
func (in *Input) WithoutPatchFiles(findings finding.List) finding.List {
	isPatch := map[string]bool{}
	for _, p := range in.allPatches() {
		isPatch[filepath.Clean(p.Document.File)] = true
	}
	return slices.DeleteFunc(findings, func(f finding.Finding) bool {
		return f.Code == finding.CodeNotAnObject && f.Severity == finding.Warning && isPatch[filepath.Clean(f.Position.File)]
	})
}
