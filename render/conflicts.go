package render

import (
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// Conflicts returns what the managers of a TrainJob disagree on, and nothing else that JobSet would find:
// overlaps and unions, and a warning for each conflict that Options.ForceManagers decided. Of the options it
// reads that one and OnConflict. Where the patches cannot be merged, so that nobody can tell, the finding is
// the error that says why. It changes none of its input.
func Conflicts(in Input, opts Options) schema.Findings {
	r := renderer{in: in, out: &Output{}}
	_, left, decisions, ok := r.laid(opts)
	if !ok {
		return r.out.Findings
	}
	merged, err := merge.Apply(&in.Runtime.Template, left, merge.Options{Owners: true})
	if err != nil {
		return schema.Findings{r.noMerge(err)}
	}
	r.decided(decisions)
	r.conflicts(merged, opts.OnConflict)
	return r.out.Findings
}

// conflicts reports what managers disagree on.
func (r *renderer) conflicts(merged *merge.Result, rule OnConflict) {
	for _, c := range conflict.Find(merged) {
		if r.in.Overrides != nil && c.Kind == conflict.Overlap {
			continue // overrides have one author, and an order that is documented
		}
		f := c.Finding(r.trainJob())
		if rule == Last && c.Kind == conflict.Overlap {
			f.Severity = schema.Warning
		}
		r.report(f)
	}
}

// decided reports the conflicts that were decided by force.
func (r *renderer) decided(decisions []conflict.Decision) {
	for _, d := range decisions {
		r.report(d.Finding(r.trainJob()))
	}
}
