// This file applies the policy of a TrainJob: its patches, its managers and its severities.

package workspace

import (
	"path/filepath"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

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
