package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// ObservedReport is the report of --observed.
type ObservedReport struct {
	TrainJobs []observedJob `json:"trainJobs"`
}

type observedJob struct {
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	Changes   []live.Effect `json:"changes" doc:"The fields of the JobSet, then of its Jobs."`
}

// runObserved writes the differences between the objects of a dump and the files, and tells when each goes.
func runObserved(p *host.Program, flags diffFlags, opts render.Options, args []string) error {
	if err := flags.checkLive(args); err != nil {
		return exit.Usage(err)
	}
	flags.Files = slices.Concat(args, flags.Files)
	opts.Owners = false
	run, err := newLiveRun(p, flags, opts)
	if err != nil {
		return err
	}
	in := run.files.in
	if run.dump.Findings.Err() != nil {
		in.Jobs = nil // their objects are unknown
	}
	run.dump.Keep(in)
	found := slices.Clone(in.Findings)
	r := ObservedReport{TrainJobs: []observedJob{}}
	type told struct {
		found   finding.List
		effects []live.Effect
		err     error
	}
	parallel.Ordered(len(in.Jobs), func(i int) told {
		j := in.Jobs[i]
		found, out := pipeline.TrainJob(in, j, opts)
		if out.JobSet == nil || found.Err() != nil {
			return told{found: found}
		}
		id := render.ObjectOf(j.TrainJob)
		second, more := run.dump.Second(id, run.podOptions(j.Release()).Release, out.JobSet)
		if found = append(found, more...); second == nil || found.Err() != nil {
			return told{found: found}
		}
		effects, err := run.dump.Family(id).Effects(second)
		return told{found, effects, err}
	}, func(i int, t told) {
		if found = append(found, t.found...); t.err != nil && err == nil {
			err = t.err
		}
		if t.effects != nil {
			id := render.ObjectOf(in.Jobs[i].TrainJob)
			r.TrainJobs = append(r.TrainJobs, observedJob{id.Namespace, id.Name, t.effects})
		}
	})
	if err != nil {
		return err
	}
	found = codes.Distinct(slices.Concat(observedFindings(found), run.dump.Findings, run.dump.UnreadWorkloads()))
	if len(in.Jobs) == 0 && found.Err() == nil {
		found = append(found, flags.NoTrainJob("no TrainJob in the inputs", "name files with TrainJobs; -r is for runtimes only, and -R descends into directories"))
	}
	if err := report.WriteBeside(p.Stderr, found, flags.reportOptions(p)); err != nil {
		return err
	}
	status := exit.Done
	if len(r.TrainJobs) > 0 {
		status = exitDiffers
	}
	switch {
	case run.dump.Findings.Err() != nil: // nothing to write
	case flags.format == "json":
		err = report.EncodeReport(p.Stdout, r)
	case flags.format == "table":
		err = r.table(p)
	default:
		err = r.text(p)
	}
	return flags.outcome(status, found, err)
}

// observedFindings returns the findings that the report needs: errors, conflicts, and faults of the dump.
func observedFindings(found finding.List) finding.List {
	return append(errorsAndConflicts(nil, found), codes.Distinct(found).Of(codes.UnknownOldObject, codes.UnknownField)...)
}

// table writes one line for each field.
func (r ObservedReport) table(p *host.Program) error {
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "TRAINJOB\tOBJECT\tFIELD\tEFFECT\tREASON")
	for _, j := range r.TrainJobs {
		for _, e := range j.Changes {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", report.Line(j.Namespace+"/"+j.Name), report.Printable(e.Kind+"/"+e.Name), report.Printable(cmp.Or(e.Path, "(object)")), e.When, reasonText(e))
		}
	}
	return table.Flush()
}

// text writes the fields of each TrainJob. Fields that change come first.
func (r ObservedReport) text(p *host.Program) error {
	var w bytes.Buffer
	for i, j := range r.TrainJobs {
		if i > 0 {
			fmt.Fprintln(&w)
		}
		fmt.Fprintf(&w, "TrainJob %s\n", report.Printable(j.Namespace+"/"+j.Name))
		for _, when := range []live.When{live.Now, live.AtResume, live.Never} {
			for _, e := range j.Changes {
				if e.When == when {
					fmt.Fprintf(&w, "  %s: %s %s %s: %s\n", when, report.Printable(e.Kind+"/"+e.Name), report.Printable(cmp.Or(e.Path, "(object)")), e.Change, reasonText(e))
				}
			}
		}
	}
	_, err := w.WriteTo(p.Stdout)
	return err
}

func reasonText(e live.Effect) string {
	text := e.Reason
	if e.Thread != "" {
		text += " (" + e.Thread + ")"
	}
	return report.Printable(text)
}
