package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// FeatureGates are the feature gates of the Trainer's controller that change the rendered objects. The zero value has
// the defaults of Trainer v2.3.0.
type FeatureGates struct {
	// TrainJobStatus lets Pods report their progress. It is alpha, and off by default. Releases before 2.2 do not have it.
	TrainJobStatus bool
}

// ParseFeatureGates parses feature gates in the syntax of the controller's flag --feature-gates, such as
// "TrainJobStatus=true". Commas separate several gates. It returns an error for a gate that Trainer v2.3.0 does not
// have.
func ParseFeatureGates(text string) (FeatureGates, error) {
	var gates FeatureGates
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if name != "TrainJobStatus" {
			return gates, fmt.Errorf("unknown feature gate %q: Trainer v2.3.0 has TrainJobStatus", name)
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return gates, fmt.Errorf("feature gate %s: %q is neither true nor false", name, value)
		}
		gates.TrainJobStatus = on
	}
	return gates, nil
}

// checkGates reports a gate that the release does not have.
func (r *renderer) checkGates(gates FeatureGates) {
	if gates.TrainJobStatus && !r.release.StatusGate {
		r.report(finding.Finding{
			Code: codes.ReachesNothing, Severity: finding.Warning, Object: r.trainJob(),
			Message: fmt.Sprintf("the feature gate TrainJobStatus has no effect: Trainer %s does not have it", r.release.Name),
			Remedy:  finding.Remedy{Text: "remove the gate, or render for a later release"},
		})
	}
}
