package render

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/check"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/legacy"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/internal/migration"
)

// Migration is what a TrainJob of Trainer 2.1 says in today's API.
type Migration struct {
	// TrainJob is the TrainJob of today, nil where there is none that says the same. It shares memory with
	// the one that was given, but for its patches.
	TrainJob *trainer.TrainJob
	// Proved says that both forms were rendered, and give the same JobSet.
	Proved bool
	// Findings are what is wrong with the old form, what today's API cannot say, and every field in which
	// the two JobSets differ.
	Findings finding.List
}

// Migrate says with one manager's patch what overrides say. The patch names each job once, in the
// order in which the overrides first name them, with what all of them make of it together; what had no
// effect is left out. The overrides are those of the TrainJob as they are written, without the API
// server's defaults.
//
// Where the input has a runtime, both forms are rendered and compared, and lists are put into the order in which
// they come out the same: Trainer 2.1 laid one override after the other over the runtime, each with its new
// items in front, and a patch comes at once. Without a runtime there is no proof, and lists are in the
// order in which they come out over a runtime that has none of their items.
//
// It refuses overrides that Trainer 2.1 refuses or that could not run, and those that take two patches to
// say: two mounts of one volume in one container. It changes none of its input.
func Migrate(in Input, overrides *legacy.Overrides, manager string) *Migration {
	if in.TrainJob == nil {
		in.TrainJob = &trainer.TrainJob{}
	}
	m := &Migration{}
	if len(in.TrainJob.Spec.RuntimePatches)+len(in.Patches) > 0 {
		f := overrides.Beside(len(in.TrainJob.Spec.RuntimePatches) > 0)
		f.Object = ObjectOf(in.TrainJob)
		m.Findings = finding.List{f}
		return m
	}
	stored := overrides.DeepCopy()
	DefaultPatches(stored.Patches())
	in.Layers = stored
	before := m.renderOld(in, stored)
	in.Layers = nil
	if m.Findings.Err() != nil {
		return m
	}
	// What a default of the API server says over an earlier override is lost where it is not written out.
	for _, said := range []*legacy.Overrides{overrides, stored} {
		job, found := migrated(in, said, manager)
		if found.Err() != nil {
			m.Findings = append(m.Findings, found...)
			return m
		}
		if in.Runtime == nil {
			m.TrainJob = job
			return m
		}
		after := renderNew(in, job)
		if found = worse(before, after); found != nil {
			m.refuse(overrides, found)
			return m
		}
		if found = migration.Differences(ObjectOf(in.TrainJob), before.JobSet, after.JobSet, manager); found == nil {
			m.TrainJob, m.Proved = job, true
			return m
		}
		if said == stored {
			m.Findings = append(m.Findings, found...)
		}
	}
	return m
}

// renderOld renders the old form where there is a runtime, and else only looks at the overrides. It reports
// what is wrong with the overrides, and why there is nothing to compare with; what else is wrong with the
// TrainJob is so in both forms.
func (m *Migration) renderOld(in Input, overrides *legacy.Overrides) *Output {
	var out *Output
	if in.Runtime != nil {
		out, _ = JobSet(in, Options{})
	} else {
		patches := overrides.Patches()
		out = &Output{Findings: append(overrides.Check(), check.Patches(migration.Skeleton(patches), patches)...)}
		for i := range out.Findings {
			f := &out.Findings[i]
			f.Object = ObjectOf(in.TrainJob)
			*f = overrides.Finding(*f)
		}
	}
	for _, f := range out.Findings {
		of := isOfOverrides(f)
		if f.Severity >= finding.Error && (of || in.Runtime != nil && out.JobSet == nil) || of && f.Severity >= finding.Warning && saidNothing(f) {
			m.Findings = append(m.Findings, f)
		}
	}
	return out
}

// isOfOverrides reports whether a finding is about the overrides: it stands at one, or says that one clashes.
func isOfOverrides(f finding.Finding) bool {
	for _, name := range legacy.Fields() {
		if f.Path.HasPrefix(fieldpath.Fields("spec", name)) {
			return true
		}
	}
	return slices.ContainsFunc(f.Claims, func(c engine.Claim) bool { _, ok := merge.OverrideOf(c.Layer); return ok })
}

// saidNothing reports whether a finding is about something that had no effect.
func saidNothing(f finding.Finding) bool {
	return f.Code == finding.CodeSaidNothing || f.Code == finding.CodeIgnoredMetadata
}

// renderNew renders the new form.
func renderNew(in Input, job *trainer.TrainJob) *Output {
	job = job.DeepCopy()
	DefaultPatches(job.Spec.RuntimePatches)
	out, _ := JobSet(Input{TrainJob: job, Runtime: in.Runtime}, Options{})
	return out
}

// worse are the errors of the new form that the old one does not have.
func worse(before, after *Output) finding.List {
	var found finding.List
	for _, f := range after.Findings {
		same := func(old finding.Finding) bool {
			return old.Code == f.Code && old.Message == f.Message && slices.Equal(old.Path, f.Path)
		}
		if f.Severity >= finding.Error && !slices.ContainsFunc(before.Findings, same) {
			found = append(found, f)
		}
	}
	return found
}

// refuse reports what is wrong with the new form alone, where the old one says it.
func (m *Migration) refuse(overrides *legacy.Overrides, found finding.List) {
	for _, f := range found {
		if f.Severity < finding.Error {
			continue
		}
		f.Path = migration.SourceOf(overrides, f.Path)
		f.Claims = nil // they are the patch's, which is in no file
		f.Code, f.Message = finding.CodeNotMigrated, "one patch cannot say this: "+f.Message
		m.Findings = append(m.Findings, f)
	}
}

// migrated is the TrainJob with the patch.
func migrated(in Input, overrides *legacy.Overrides, manager string) (*trainer.TrainJob, finding.List) {
	job := *in.TrainJob
	var template *trainer.JobSetTemplateSpec
	if in.Runtime != nil {
		template = &in.Runtime.Template
	}
	patch, err := migration.Fold(template, overrides)
	if err != nil {
		// check.Patches reports what makes a merge fail; this is for what it may have missed.
		return nil, finding.List{{
			Code: finding.CodeNotMigrated, Severity: finding.Error, Object: ObjectOf(in.TrainJob), Path: fieldpath.Fields("spec", "podTemplateOverrides"),
			Message: overrides.Text(err.Error()), Remedy: finding.Remedy{Text: "mend the override that is named"},
		}}
	}
	if patch == nil {
		return &job, nil
	}
	job.Spec.RuntimePatches = []trainer.RuntimePatch{{
		Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: patch},
	}}
	if in.Runtime != nil {
		return &job, nil
	}
	// The patch must stand on its own: over a runtime that has just the jobs and containers that it names.
	var found finding.List
	for _, f := range check.Patches(migration.Skeleton(job.Spec.RuntimePatches), job.Spec.RuntimePatches) {
		if f.Severity >= finding.Error {
			f.Object = ObjectOf(in.TrainJob)
			found = append(found, f)
		}
	}
	m := &Migration{}
	m.refuse(overrides, found)
	return &job, m.Findings
}
