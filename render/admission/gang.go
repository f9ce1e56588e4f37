package admission

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// deadline reports a deadline that overflows a duration. The Trainer then finds it exceeded at once (Trainer v2.3.0
// pkg/controller).
func (c *checker) deadline() {
	seconds := c.typed.Spec.ActiveDeadlineSeconds
	if seconds <= 0 || time.Duration(seconds)*time.Second > 0 {
		return
	}
	severity := finding.Error
	if suspend := c.typed.Spec.Suspend; c.managedElsewhere() || suspend != nil && *suspend {
		severity = finding.Warning
	}
	c.about(finding.CodeNeverCreated, severity, fieldpath.Fields("spec", "activeDeadlineSeconds"),
		fmt.Sprintf("the TrainJob exceeds its deadline of %d seconds at once", seconds), fmt.Sprintf("set 1 to %d seconds", int64(math.MaxInt64/time.Second)))
}

// podGroups reports a gang without Pods, which the definition of scheduler-plugins' PodGroup rejects. It returns
// whether there is one.
func (c *checker) podGroups() bool {
	empty := false
	for _, companion := range c.output.Companions {
		group, ok := companion.(*unstructured.Unstructured)
		if !ok || group.GetKind() != "PodGroup" {
			continue
		}
		path := fieldpath.Fields("spec", "minMember")
		members, _, _ := unstructured.NestedInt64(group.Object, "spec", "minMember")
		if members >= 1 {
			continue
		}
		f := finding.Finding{
			Code: finding.CodeBadValue, Severity: finding.Error, Path: path,
			Object:  fieldpath.Object{Kind: "PodGroup", Namespace: group.GetNamespace(), Name: group.GetName()},
			Message: fmt.Sprintf("invalid value %d: must be at least 1", members), Remedy: finding.Remedy{Text: "set numNodes to 1 or more"},
		}
		if c.managedElsewhere() {
			f.Severity = finding.Warning
		}
		if t := c.typed.Spec.Trainer; t != nil && t.NumNodes != nil {
			f.Claims = []engine.Claim{{Layer: merge.TrainJobLayer, Value: *t.NumNodes, Source: fieldpath.Fields("spec", "trainer", "numNodes")}}
		}
		c.add(f)
		empty = true
	}
	return empty
}
