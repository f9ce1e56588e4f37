package render

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/migration"
	"github.com/trainweld/trainweld/render/internal/patched"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Migration is the result of migrating a TrainJob of Trainer 2.1 to today's API.
type Migration struct {
	// TrainJob is the migrated TrainJob, or nil if today's API has no equivalent. Except for its
	// patches, it shares memory with the input.
	TrainJob *trainer.TrainJob
	// Proved means that both forms were rendered and give the same JobSet.
	Proved bool
	// Findings report the problems of the old form, and the fields that today's API cannot express.
	// They also report every difference between the two JobSets.
	Findings finding.List
}

// Migrate converts overrides to one manager's patch. The patch names each job once, in the order in
// which the overrides first name them. It merges all overrides of the job and drops those without
// effect. The overrides must be as their author wrote them, without the API server's defaults.
//
// If the input has a runtime, Migrate renders and compares both forms. It orders lists so that the
// result stays the same. Trainer 2.1 merged one override after the other, each with its new items
// in front. A patch merges in one step. Without a runtime, Migrate proves nothing, and orders lists
// for a runtime that has none of their items.
//
// Migrate rejects overrides that Trainer 2.1 rejects, or that could not run. It also rejects
// overrides that need two patches: two mounts of one volume in one container. It does not change
// its input.
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
	DefaultPatches(stored.Patches(), nil)
	in.Layers = stored
	before := m.renderOld(in, stored)
	in.Layers = nil
	if m.Findings.Err() != nil {
		return m
	}
	// If the API server's default overrides an earlier override, only the second patch, with the
	// defaults, keeps it.
	for _, source := range []*legacy.Overrides{overrides, stored} {
		job, found := migrated(in, source, manager)
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
			m.reject(overrides, found)
			return m
		}
		if found = migration.Differences(ObjectOf(in.TrainJob), before.JobSet, after.JobSet,
			manager); found == nil {
			m.TrainJob, m.Proved = job, true
			return m
		}
		if source == stored {
			m.Findings = append(m.Findings, found...)
		}
	}
	return m
}

// renderOld renders the old form if there is a runtime, and else only checks the overrides. It
// reports the problems of the overrides. If no JobSet results, it reports all errors. Both forms
// share all other problems of the TrainJob.
func (m *Migration) renderOld(in Input, overrides *legacy.Overrides) *Objects {
	var out *Objects
	if in.Runtime != nil {
		out, _ = JobSet(in, Options{})
	} else {
		patches := overrides.Patches()
		out = &Objects{
			Findings: append(overrides.Check(),
				check.Patches(patched.Skeleton(patches), patches)...)}
		for i := range out.Findings {
			f := &out.Findings[i]
			f.Object = ObjectOf(in.TrainJob)
			*f = overrides.Finding(*f)
		}
	}
	for _, f := range out.Findings {
		of := isOfOverrides(f)
		if f.Severity >= finding.Error && (of || in.Runtime != nil && out.JobSet == nil) ||
			of && f.Severity >= finding.Warning &&
				(f.Code == codes.SaidNothing || f.Code == codes.IgnoredMetadata) {
			m.Findings = append(m.Findings, f)
		}
	}
	return out
}

// isOfOverrides reports whether a finding's path or claims belong to an override.
func isOfOverrides(f finding.Finding) bool {
	for _, name := range legacy.Fields() {
		if f.Path.HasPrefix(fieldpath.Fields("spec", name)) {
			return true
		}
	}
	return slices.ContainsFunc(f.Claims, func(c merge.Claim) bool {
		_, ok := runtimepatch.OverrideOf(c.Owner)
		return ok
	})
}

func renderNew(in Input, job *trainer.TrainJob) *Objects {
	job = job.DeepCopy()
	DefaultPatches(job.Spec.RuntimePatches, nil)
	out, _ := JobSet(Input{TrainJob: job, Runtime: in.Runtime}, Options{})
	return out
}

// worse returns the errors of the new form that the old form does not have.
func worse(before, after *Objects) finding.List {
	type message struct {
		code          finding.Code
		message, path string
	}
	old := map[message]bool{}
	for _, f := range before.Findings {
		old[message{f.Code, f.Message, f.Path.String()}] = true
	}
	return after.Findings.Where(func(f finding.Finding) bool {
		return f.Severity >= finding.Error && !old[message{f.Code, f.Message, f.Path.String()}]
	})
}

// reject reports errors of the new form, on the fields of the old form.
func (m *Migration) reject(overrides *legacy.Overrides, found finding.List) {
	for _, f := range found {
		if f.Severity < finding.Error {
			continue
		}
		f.Path = migration.SourceOf(overrides, f.Path)
		f.Claims = nil // the claims belong to the patch, which is in no file
		f.Code, f.Message = codes.NotMigrated, "one patch cannot express the overrides: "+f.Message
		m.Findings = append(m.Findings, f)
	}
}

// migrated returns the TrainJob with the patch.
func migrated(in Input, overrides *legacy.Overrides,
	manager string) (*trainer.TrainJob, finding.List) {
	job := *in.TrainJob
	var template *trainer.JobSetTemplateSpec
	if in.Runtime != nil {
		template = &in.Runtime.Template
	}
	patch, err := migration.Fold(template, overrides)
	if err != nil {
		// check.Patches reports merge errors before this. This is for the errors that it may miss.
		return nil, finding.List{{
			Code: codes.NotMigrated, Severity: finding.Error, Object: ObjectOf(in.TrainJob),
			Path:    fieldpath.Fields("spec", "podTemplateOverrides"),
			Message: overrides.Text(err.Error()), Remedy: finding.Remedy{Text: "fix the override"},
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
	// The patch must work over a runtime with only the jobs and containers that it names.
	var found finding.List
	for _, f := range check.Patches(patched.Skeleton(job.Spec.RuntimePatches),
		job.Spec.RuntimePatches) {
		if f.Severity >= finding.Error {
			f.Object = ObjectOf(in.TrainJob)
			found = append(found, f)
		}
	}
	m := &Migration{}
	m.reject(overrides, found)
	return &job, m.Findings
}
