package admission

import (
	"fmt"
	"slices"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/schema"
)

// priorities warns of PriorityClasses that are not known: Pods that name one which the cluster does not
// have are refused, and under the volcano policy the TrainJob is.
func (c *checker) priorities(js *jobset.JobSet) {
	for i := range js.Spec.ReplicatedJobs {
		job := &js.Spec.ReplicatedJobs[i]
		name := job.Template.Spec.Template.Spec.PriorityClassName
		if name == "" || isSystemClass(name) || slices.Contains(c.in.PriorityClasses, name) {
			continue
		}
		path := jobPath(job.Name).Append(schema.Fields("template", "spec", "template", "spec", "priorityClassName")...)
		c.add(schema.Finding{
			Code: schema.CodeNoPriorityClass, Severity: schema.Warning, Object: schema.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}, Path: path,
			Message: fmt.Sprintf("the inputs hold no PriorityClass %q; where the cluster has none either, no Pod of job %q is ever created", name, job.Name),
			Help:    "give the manifest of the PriorityClass, too, or see that the cluster has it",
			Claims:  []schema.Claim{c.origin(path)},
		})
	}
}

func isSystemClass(name string) bool {
	return name == "system-node-critical" || name == "system-cluster-critical"
}
