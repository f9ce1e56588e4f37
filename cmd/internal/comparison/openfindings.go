package comparison

import (
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// openFindings holds findings of one kind in the new version. They are new, or belong to TrainJobs
// that differ.
type openFindings struct {
	introduced, preexisting finding.List
	inUnchanged             int // the old ones of TrainJobs that do not differ
}

// openFindingsOf sorts findings of the new version.
func (c *Comparison) openFindingsOf(before, after finding.List) openFindings {
	var of openFindings
	known := report.Before{}
	known.Add(before)
	differs := map[fieldpath.Object]bool{}
	for _, j := range c.Jobs {
		differs[j.ID] = true
	}
	for _, f := range after {
		switch {
		case !known.Take(f):
			of.introduced = append(of.introduced, f)
		case differs[f.Object]:
			of.preexisting = append(of.preexisting, f)
		default:
			of.inUnchanged++
		}
	}
	return of
}

func (c *openFindings) add(other openFindings) {
	c.introduced = append(c.introduced, other.introduced...)
	c.preexisting = append(c.preexisting, other.preexisting...)
	c.inUnchanged += other.inUnchanged
}
