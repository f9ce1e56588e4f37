package diff

import (
	"context"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/trainjob"
)

// This file says what becomes of existing TrainJobs, and of TrainJobs that migrate converts.

// migratedTrainJob is what becomes of a TrainJob that migrate converts.
type migratedTrainJob struct {
	text    string // a sentence on it, if it does not differ
	job     *trainer.TrainJob
	after   upgradeResult
	differs bool
}

// migrate converts a TrainJob with fields that the new release lacks, and renders it again. The zero value stands for nothing to
// convert.
func (u *upgrade) migrate(ctx context.Context, before, after upgradeResult, id fieldpath.Object) migratedTrainJob {
	old, new := u.old(), u.new()
	j, found := old.jobs[id]
	if !found || before.Rejected != nil || new.release.Overrides != release.RuntimePatches {
		return migratedTrainJob{}
	}
	decoded, _ := u.jobOf(new, id)
	word := decoded.Migrated && old.in.Earlier(j).NumProcPerNode.String() == "auto"
	if j.Document.Overrides == nil && !word && !(u.hasTorchAuto(id) && slices.ContainsFunc(after.Rejected, isTorchProcesses)) {
		return migratedTrainJob{}
	}
	if decoded.Migrated && !word {
		return migratedTrainJob{text: "trainweld migrate cannot convert it: " + firstMessage(new.errs[id].Of(codes.WrongType))}
	}
	job := j.TrainJob
	if j.Document.Overrides != nil {
		runtime, _ := old.in.RuntimeOf(j)
		result := render.Migrate(render.Input{TrainJob: j.TrainJob, Runtime: runtime}, j.Document.Overrides, trainjob.SDKManager)
		if job = result.TrainJob; job == nil {
			return migratedTrainJob{text: "trainweld migrate cannot convert it: " + firstMessage(result.Findings)}
		}
	}
	m := migratedTrainJob{job: job, after: u.evaluate(ctx, new, id, job)}
	if m.after.Rejected == nil && same(before.Objects, m.after.Objects) {
		m.text = "after trainweld migrate, it renders as before"
	} else {
		m.differs = true
	}
	return m
}

// hasTorchAuto reports whether auto is numProcPerNode of the torch policy of a TrainJob's runtime, also by default.
func (u *upgrade) hasTorchAuto(id fieldpath.Object) bool {
	j, found := u.old().jobs[id]
	return found && u.old().in.Earlier(j).TorchNumProcPerNode.String() == "auto"
}

// isTorchProcesses reports whether the finding says that the release lacks numProcPerNode of a torch policy.
func isTorchProcesses(f finding.Finding) bool {
	return f.Code == codes.UnknownField && slices.Equal(f.Path, fieldpath.Fields("spec", "mlPolicy", "torch", "numProcPerNode"))
}

func firstMessage(errs finding.List) string {
	for _, f := range errs {
		if f.Severity >= finding.Error {
			return fmt.Sprintf("%s %s: %s", f.Code, f.Path, f.Message)
		}
	}
	return "unknown reason"
}

// existing says what happens to a TrainJob that exists and is suspended: the new release applies its JobSet again.
func (u *upgrade) existing(ctx context.Context, before, after upgradeResult) []string {
	if before.out.JobSet == nil || after.out.JobSet == nil || before.Migrated {
		return nil
	}
	if len(after.Objects) == 0 && len(before.Objects) > 0 {
		return []string{fmt.Sprintf("if it exists, its JobSet stays as it is: %s neither updates nor deletes it", u.new().Name)}
	}
	old, errOld := admission.Encode(before.out.JobSet)
	new, errNew := admission.Encode(after.out.JobSet)
	if errOld != nil || errNew != nil {
		return nil
	}
	if spec, ok := old["spec"].(map[string]any); ok {
		spec["suspend"] = true // of a suspended JobSet, five fields of Pods may change
	}
	found := admission.UpdateJobSet(ctx, &u.new().release, old, new, before.ID.Namespace)
	fields := distinctPaths(found.Where(func(f finding.Finding) bool { return f.Severity >= finding.Error }))
	if fields == nil {
		return nil
	}
	const most = 3
	lines := []string{"if it exists and is suspended, it never resumes: these fields of its JobSet are immutable"}
	for i, path := range fields {
		if i == most {
			return append(lines, fmt.Sprintf("  and %s", report.Count(len(fields)-most, "more field")))
		}
		lines = append(lines, "  "+path)
	}
	return lines
}

// undecodable describes the effect of a stored TrainJob whose field has another type in the new release. A list of TrainJobs with it
// cannot be decoded, so the cache of the controller never fills (client-go v0.36.3 tools/cache).
func (u *upgrade) undecodable(t upgradeResult) []string {
	for _, f := range t.Rejected {
		if f.Code == codes.WrongType && f.Object.Kind == trainer.TrainJobKind {
			if u.blocked == 0 {
				u.blocker = t.ID
			}
			u.blocked++
			return []string{fmt.Sprintf("if it exists, the controller of %s cannot decode %s: it lists no TrainJob of the cluster at all, and reconciles none; rewrite or delete it before the upgrade", u.new().Name, f.Path)}
		}
	}
	return nil
}

// notes says what happens to all TrainJobs that exist.
func (u *upgrade) notes() []string {
	notes := []string{"a running TrainJob keeps its JobSet: the differences reach new TrainJobs, and suspended ones when they resume"}
	if basis := release.Basis(u.old().release, u.new().release); basis != "" {
		notes = append(notes, basis)
	}
	if u.flags.to != "jobset" {
		notes = append(notes, "both releases render Jobs and Pods of Kubernetes 1.36")
	}
	if u.old().release.Index() > u.new().release.Index() {
		notes = append(notes, fmt.Sprintf("%s is earlier than %s: the upgrade undoes the causes", u.new().Name, u.old().Name))
	}
	if u.old().release.RuntimeRead == release.LiveRuntime && u.new().release.RuntimeRead == release.RuntimeSnapshot {
		notes = append(notes, fmt.Sprintf("%s takes a snapshot of the runtime of each existing TrainJob after the upgrade", u.new().Name))
	}
	if u.blocked > 0 {
		which := u.blocker.String()
		if u.blocked > 1 {
			which += fmt.Sprintf(" and %d more", u.blocked-1)
		}
		notes = append(notes, fmt.Sprintf("%s reconciles no TrainJob while one is stored that it cannot decode: %s", u.new().Name, which))
	}
	return notes
}
