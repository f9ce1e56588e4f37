package check

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
)

// FlavorReport is the report of --flavors.
type FlavorReport struct {
	TrainJobs []flavorRow `json:"trainJobs"`
}

type flavorRow struct {
	Namespace string                  `json:"namespace"`
	Name      string                  `json:"name"`
	Flavors   []pipeline.FlavorResult `json:"flavors" doc:"In the order of their names."`
}

// runFlavors writes which flavors of Kueue each TrainJob can have.
func runFlavors(p *host.Program, flags checkFlags, levels option.Severities) error {
	switch {
	case flags.format != "text" && flags.format != "json":
		return exit.Usage(fmt.Errorf("--flavors writes text or json, not %s", flags.format))
	case flags.git != "" || flags.old != "" || flags.Builds():
		return exit.Usage(
			errors.New("--flavors has no effect on --git, --old and builds: use one of the two"))
	}
	q, found, err := pipeline.ReadQueue(p, flags.Flags, flags.flavors, nil)
	if err != nil {
		return exit.Usage(err)
	}
	in := workspace.New(flags.Flags)
	stream := workspace.NewStream(p, in)
	r, jobs := FlavorReport{TrainJobs: []flavorRow{}}, finding.List{}
	type tried struct {
		row   flavorRow
		found finding.List
	}
	parallel.MapInOrder(stream.Objects(false), func(o workspace.Item) tried {
		results, found := q.Try(in, o.Job, render.Options{ForceManagers: flags.force})
		return tried{flavorRow{o.Job.Namespace, o.Job.Name, results}, found}
	}, func(t tried) {
		jobs = append(jobs, t.found...)
		if t.row.Flavors != nil {
			r.TrainJobs = append(r.TrainJobs, t.row)
		}
	})
	found = levels.Apply(append(append(found, stream.Findings()...), jobs...))
	opts := flags.Report(p, p.Stderr)
	opts.Strict = flags.strict
	if err := report.WriteBeside(p.Stderr, found, opts); err != nil {
		return err
	}
	switch flags.format {
	case "json":
		err = report.EncodeReport(p.Stdout, r)
	default:
		err = r.write(p, q)
	}
	if err != nil {
		return err
	}
	return exit.For(found, flags.strict)
}

// write writes a table of TrainJobs and flavors, and a line for each conflict and each reason.
func (r FlavorReport) write(p *host.Program, q *pipeline.Queue) error {
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprint(table, "TRAINJOB")
	for i := range q.Flavors {
		fmt.Fprintf(table, "\t%s", report.Printable(q.Flavors[i].Name))
	}
	var details []string
	for _, row := range r.TrainJobs {
		name := report.Line(row.Namespace + "/" + row.Name)
		fmt.Fprintf(table, "\n%s", name)
		for _, f := range row.Flavors {
			fmt.Fprintf(table, "\t%s", f.Result)
			for _, reason := range reasons(f) {
				details = append(
					details, fmt.Sprintf("%s, %s: %s", name, report.Printable(f.Flavor), reason))
			}
		}
	}
	fmt.Fprintln(table)
	for i, line := range details {
		if i == 0 {
			fmt.Fprintln(table)
		}
		fmt.Fprintln(table, report.Line(line))
	}
	return table.Flush()
}

// reasons returns why a flavor is impossible, or its conflicts.
func reasons(f pipeline.FlavorResult) (all []string) {
	if f.Reason != "" {
		all = append(all, f.Reason)
	}
	for _, c := range f.Conflicts {
		all = append(all, fmt.Sprintf("%s: %s: %s", c.Code, c.Path, c.Message))
	}
	return all
}
