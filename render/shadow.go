package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// shadowed reports values that a later layer replaces. They are managers' values under any layer
// after the patches, and the runtime's values under a policy or a scheduler. It skips the runtime's
// values under spec.trainer and spec.initializer, whose purpose is to replace them. Counts have
// findings of their own.
func (r *renderer) shadowed(owners *merge.History) {
	for path, claims := range owners.Changed() {
		last := claims[len(claims)-1]
		if !isAfterPatches(last.Owner) || isReported(path) {
			continue
		}
		var lost []string
		for _, c := range claims[:len(claims)-1] {
			if isLost(c.Owner, last.Owner) && !slices.Contains(lost, string(c.Owner)) {
				lost = append(lost, string(c.Owner))
			}
		}
		if lost == nil {
			continue
		}
		remedy := finding.Remedy{Text: "remove the field" + instead(last.Owner)}
		if _, ok := claims[0].Owner.Manager(); ok && len(claims) == 2 && len(lost) == 1 {
			remedy.Do, remedy.IsCertain = finding.Remove, true
			remedy.Path = claims[0].At
		}
		r.report(finding.Finding{
			Code: codes.Shadowed, Severity: finding.Warning, Object: r.trainJob(), Path: path,
			Claims: claims,
			Message: fmt.Sprintf("%s replaces the value of %s after all patches", last.Owner,
				strings.Join(lost, " and ")),
			Remedy: remedy,
		})
	}
}

// isAfterPatches reports whether an owner is a layer that writes after the patches and the overrides
// of an earlier API.
func isAfterPatches(layer merge.Owner) bool {
	_, isManager := layer.Manager()
	_, isOverride := runtimepatch.OverrideOf(layer)
	return !isManager && !isOverride && layer != runtimepatch.RuntimeLayer
}

// isLost reports whether a write of one layer over another's needs a warning.
func isLost(under, over merge.Owner) bool {
	if _, ok := under.Manager(); ok {
		return true
	}
	return over != runtimepatch.TrainJobLayer && over != under
}

// isReported reports whether a replaced field needs no finding here. Counts and ports have findings
// of their own. torchtune and flux extend the existing command.
func isReported(path fieldpath.Path) bool {
	for _, step := range path {
		switch name, _ := step.Field(); name {
		case "parallelism", "completions", "replicas", "suspend", "ports", "command", "args":
			return true
		}
	}
	return false
}

func instead(over merge.Owner) string {
	if over == runtimepatch.TrainJobLayer {
		return ", or set it in the TrainJob's own section instead"
	}
	return "; patches and the runtime cannot set it"
}
