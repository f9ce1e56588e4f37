package admission

import (
	"fmt"
	"slices"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// classes are the names of the classes in the inputs.
type classes struct{ priority, runtime []string }

// unknownClasses warns of PriorityClasses and RuntimeClasses that the inputs lack. A cluster without the class
// rejects the Pods, and under the volcano policy the TrainJob.
func (c *checker) unknownClasses(js *jobset.JobSet, known classes) {
	for i := range js.Spec.ReplicatedJobs {
		job := &js.Spec.ReplicatedJobs[i]
		spec := &job.Template.Spec.Template.Spec
		if _, system := render.SystemPriority(spec.PriorityClassName); !system && !slices.Contains(known.priority, spec.PriorityClassName) {
			c.unknownClass(js, job, codes.NoPriorityClass, "PriorityClass", "priorityClassName", spec.PriorityClassName)
		}
		if name := spec.RuntimeClassName; name != nil && !slices.Contains(known.runtime, *name) {
			c.unknownClass(js, job, codes.NoRuntimeClass, "RuntimeClass", "runtimeClassName", *name)
		}
	}
}

func (c *checker) unknownClass(js *jobset.JobSet, job *jobset.ReplicatedJob, code finding.Code, kind, field, name string) {
	path := jobPath(job.Name).Append(fieldpath.Fields("template", "spec", "template", "spec", field)...)
	c.add(finding.Finding{
		Code: code, Severity: finding.Warning, Object: fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}, Path: path,
		Message: fmt.Sprintf("Not found: %s %q: a cluster without it creates no Pod of job %q", kind, name, job.Name),
		Remedy:  finding.Remedy{Do: finding.Provide, Options: []string{kind}, Text: fmt.Sprintf("add the manifest of the %s, or create it in the cluster", kind)},
		Claims:  []merge.Claim{c.origin(path)},
	})
}
