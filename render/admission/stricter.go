package admission

import (
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/release"
)

// Stricter reports whether a cluster of the release accepts the object that an error is about: see finding.Finding. A
// finding that is stricter than one release may be a rule of another.
func Stricter(r *release.Release, f finding.Finding) bool {
	return f.Stricter() && !(f.Code == finding.CodeUnknownJob && r.Or().Rules.Has(release.PatchedJobsExist))
}
