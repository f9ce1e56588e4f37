package check

import (
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// oncePerRuntime combines findings that a runtime causes in several TrainJobs.
func oncePerRuntime(found finding.List) finding.List {
	first := map[codes.Key]int{}
	others := map[int]int{}
	var once finding.List
	for _, f := range found {
		if !comesFromRuntime(f) {
			once = append(once, f)
			continue
		}
		k := codes.KeyOf(
			finding.Finding{Code: f.Code, Severity: f.Severity, Position: f.Position,
				Message: f.Message})
		if at, seen := first[k]; !seen {
			first[k] = len(once)
			once = append(once, f)
		} else if once[at].Object != f.Object {
			others[at]++
		}
	}
	for at, n := range others {
		once[at].Message += "; the same goes for " + report.Count(n, "other TrainJob")
	}
	return once
}

// comesFromRuntime reports whether a finding is about a generated object and caused by the runtime.
func comesFromRuntime(f finding.Finding) bool {
	if workspace.IsRuntime(f.Object) {
		return false
	}
	for _, c := range slices.Backward(f.Claims) {
		if c.Position != (fieldpath.Position{}) {
			return c.Owner == runtimepatch.RuntimeLayer && c.Position == f.Position
		}
	}
	return false
}
