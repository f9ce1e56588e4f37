package pipeline

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/big"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
)

// Table is a table for a screen of some columns.
type Table interface {
	Write(w io.Writer, width int) error
}

// PodSetReport holds the Pod sets of one TrainJob.
type PodSetReport struct {
	SchemaVersion int                 `json:"schemaVersion"`
	Namespace     string              `json:"namespace" doc:"That of the TrainJob."`
	Name          string              `json:"name" doc:"That of the TrainJob."`
	PodSets       []render.PodSet     `json:"podSets" doc:"What Kueue counts, in the order of the replicated jobs."`
	Totals        corev1.ResourceList `json:"totals" doc:"The requests of all Pods."`
}

// PodSets returns the Pod sets of one TrainJob, or nil, and its findings with their positions.
func PodSets(in *workspace.Input, j workspace.Job,
	opts render.Options) (finding.List, *PodSetReport) {
	found, made := TrainJob(in, j, opts)
	if made.JobSet == nil {
		return found, nil
	}
	opts.Release = cmp.Or(opts.Release, j.Release())
	input, _ := inputOf(in, j)
	sets, err := render.PodSets(input, opts)
	own := noPodSets(err)
	for _, set := range sets {
		own = append(own, set.Findings...)
	}
	found = append(found, in.Locate(j, own)...)
	if sets == nil {
		return found, nil
	}
	return found,
		&PodSetReport{report.SchemaVersion, j.TrainJob.Namespace, j.TrainJob.Name, sets,
			render.Totals(sets)}
}

// Write writes a row for each Pod set, and a line with the totals.
func (r *PodSetReport) Write(w io.Writer, width int) error {
	rows := [][]string{{"POD SET", "PODS", "REQUESTS OF A POD", "TOPOLOGY"}}
	pods := new(big.Int)
	for _, set := range r.PodSets {
		pods.Add(pods, big.NewInt(int64(set.Count)))
		topology := ""
		if t := set.TopologyRequest; t.Required != nil {
			topology = "required " + *t.Required
		} else if t.Preferred != nil {
			topology = "preferred " + *t.Preferred
		} else if t.Unconstrained != nil {
			topology = fmt.Sprintf("unconstrained %t", *t.Unconstrained)
		}
		rows = append(
			rows, []string{set.Name, fmt.Sprint(set.Count), resourcesText(set.Requests), topology})
	}
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i] = cmp.Or(report.Printable(row[i]), "-")
		}
		widths = report.Measure(widths, row)
	}
	report.Fit(widths, podGap, width)
	out := bufio.NewWriter(w)
	for _, row := range rows {
		writeRow(out, row, widths)
	}
	fmt.Fprintln(
		out, report.Line(
			fmt.Sprintf("%s/%s: %s, requests %s", r.Namespace, r.Name, countOf(pods, "Pod"),
				cmp.Or(resourcesText(r.Totals), "-"))))
	return out.Flush()
}
