package diff

import (
	"cmp"
	"context"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// compareParts renders and compares two versions, one build after the other. Without builds it
// compares them as a whole. It returns the findings to show. A TrainJob with errors is rejected.
// Without any TrainJob, it returns an error finding.
func compareParts(p *host.Program, flags diffFlags, opts render.Options, old,
	new *version) (*comparison.Comparison, finding.List, error) {
	all := &comparison.Comparison{ShowValues: flags.ShowValues, All: flags.All}
	var findings finding.List
	ctx := context.Background()
	last := opts // as in the cluster
	last.OnConflict = render.Last
	updates := &updates{flags: flags,
		admitter: admitter{opts: last, namespace: flags.Namespace}}
	upgrade := newUpgrade(flags, opts, old, new)
	jobs, hasJobSets := 0, false
	forced := option.NewForced(flags.force) // one version may lack a manager
	err := revision.Pairs(p, old.builds(), new.builds(),
		func(oldPart, newPart workspace.Flags) error {
			before, after := old.with(oldPart), new.with(newPart)
			before.read(flags, opts)
			after.read(flags, opts)
			updates.dump = before.dump()
			before.in.Beside(after.in.Catalog, updates.dump != nil)
			after.in.Beside(before.in.Catalog, updates.dump != nil)
			if updates.dump != nil && !updates.dump.Kinds[workspace.JobSetKind] {
				updates.dump = nil // nobody asked for the JobSets
			}
			after.Observed = updates.dump != nil
			before.render(ctx)
			after.render(ctx)
			forced.Take(before.in)
			forced.Take(after.in)
			if upgrade == nil {
				findings = append(findings, errorsAndConflicts(before.findings, after.findings)...)
			} else {
				findings = append(findings, rejectedByBoth(before, after)...)
				upgrade.attribute(ctx, before, after)
			}
			jobs += len(before.Jobs) + len(after.Jobs)
			hasJobSets = hasJobSets || len(before.in.JobSets)+len(after.in.JobSets) > 0
			before.addHidden(after)
			after.addHidden(before)
			for _, v := range []*version{before, after} {
				v.Conflicts = codes.Distinct(v.findings).Where(isConflict)
				v.Findings = append(codes.Distinct(v.findings).Where(isForReview),
					codes.Distinct(v.otherErrors)...)
			}
			err := all.Add(&before.Version, &after.Version,
				func(old, new *comparison.Job) comparison.UpdateEffect {
					e := updates.updateEffect(after, old, new)
					e.Findings = after.labeled(e.Findings)
					return e
				})
			if err != nil {
				return err
			}
			if upgrade != nil && all.Differs() {
				all.Notes = upgrade.notes(before, after)
			}
			updates.found.Sort() // TrainJobs are judged side by side
			findings = append(findings, updates.found...)
			before.Jobs, after.Jobs = nil, nil // owners refer to the versions
			return nil
		})
	if err := cmp.Or(err, forced.Err()); err != nil {
		return nil, nil, err
	}
	if jobs == 0 && findings.Err() == nil {
		remedy := "name files with TrainJobs; -r is for runtimes only, and -R descends into directories"
		if hasJobSets {
			remedy = "write the Jobs of both JobSets with render --to=jobs, and compare the files"
		}
		findings = append(findings,
			flags.Flags.NoTrainJob("no TrainJob in both versions", remedy))
	}
	return all, codes.Distinct(findings), nil
}

// rejectedByBoth returns the errors that no release lacks: those of no TrainJob, and of the
// TrainJobs that both versions reject.
func rejectedByBoth(before, after *version) finding.List {
	errs := slices.Concat(before.otherErrors, after.otherErrors)
	rejected := map[fieldpath.Object]bool{}
	for _, j := range after.Jobs {
		rejected[j.ID] = j.Rejected != nil
	}
	for _, j := range before.Jobs {
		if rejected[j.ID] {
			errs = append(errs, j.Rejected...)
		}
	}
	return errs
}

// builds returns the version for its builds.
func (v *version) builds() revision.Version {
	return revision.Version{Files: v.side.Files, Flags: v.flags, Root: v.root}
}

// with returns the version of one part, before it is read.
func (v *version) with(part workspace.Flags) *version {
	made := *v
	made.flags = part
	return &made
}
