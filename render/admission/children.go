package admission

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/minor"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// jobs reports the findings on the JobSet's Jobs, volume claims and Pods.
func (c *checker) jobs(js *jobset.JobSet) {
	made := jobsOf(c.in.Release, js, c.output.Companions)
	findings := jobFindings(made)
	if filled := c.withNodes(js); filled != js {
		findings = jobFindings(jobsOf(c.in.Release, filled, c.output.Companions))
	}
	for _, f := range findings {
		if f.Object.Kind == "ConfigMap" {
			// The policy makes this ConfigMap, and the runtime sets most of its input.
			f.Claims = append(
				f.Claims, merge.Claim{Owner: runtimepatch.RuntimeLayer, Value: merge.Presence{},
					At: fieldpath.Fields("spec", "mlPolicy")})
			c.Add(f)
			continue
		}
		c.addDownstream(f, f.Path)
	}
	c.dropped(js)
	c.unknownClasses(js, classes{priority: c.in.PriorityClasses, runtime: c.in.RuntimeClasses})
	checkJobs(c.in.Release, js, made,
		fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}, c.addDownstream)
	for _, f := range render.Images(js, nil) {
		c.addDownstream(f, f.Path)
	}
}

// dropped warns of the fields of Jobs, Pods and claims that the version of Kubernetes drops.
func (c *checker) dropped(js *jobset.JobSet) {
	name := c.in.Release.Or().Kubernetes
	each := func(spec any, at fieldpath.Path) {
		minor.Each(name, spec, func(f *minor.Field, below fieldpath.Path) bool {
			path := at.Append(below...)
			c.Add(finding.Finding{
				Code: codes.DropsField, Severity: finding.Warning,
				Object:  fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name},
				Path:    path,
				Message: f.Why(name),
				Remedy:  finding.Remedy{Text: dropHelp},
				Claims:  []merge.Claim{c.origin(path)},
			})
			return false
		})
	}
	for i := range js.Spec.ReplicatedJobs {
		job := &js.Spec.ReplicatedJobs[i]
		at := jobPath(job.Name).Append(fieldpath.Fields("template", "spec")...)
		each(&job.Template.Spec, at)
		each(&job.Template.Spec.Template.Spec, at.Append(fieldpath.Fields("template", "spec")...))
	}
	for i := range js.Spec.VolumeClaimPolicies {
		for j := range js.Spec.VolumeClaimPolicies[i].Templates {
			each(&js.Spec.VolumeClaimPolicies[i].Templates[j].Spec,
				fieldpath.Fields("spec", "volumeClaimPolicies").Append(fieldpath.Index(i),
					fieldpath.Field("templates"), fieldpath.Index(j), fieldpath.Field("spec")))
		}
	}
}

// withNodes returns the JobSet with one Pod in each Job that numNodes leaves without Pods. Another
// finding reports numNodes, so the addresses of these Pods need none.
func (c *checker) withNodes(js *jobset.JobSet) *jobset.JobSet {
	if t := c.typed.Spec.Trainer; t == nil || t.NumNodes == nil || *t.NumNodes > 0 {
		return js
	}
	filled, one := js.DeepCopy(), int32(1)
	for i := range filled.Spec.ReplicatedJobs {
		if job := &filled.Spec.ReplicatedJobs[i]; c.takesNumNodes(job) {
			job.Template.Spec.Parallelism, job.Template.Spec.Completions = &one, &one
		}
	}
	return filled
}

// takesNumNodes reports whether spec.trainer.numNodes counts the Pods of a replicated job.
func (c *checker) takesNumNodes(job *jobset.ReplicatedJob) bool {
	if p := c.in.Runtime.spec.MLPolicy; p != nil && p.MPI != nil {
		return job.Name == mlpolicy.Node
	}
	return job.Template.Labels[mlpolicy.Ancestor] == mlpolicy.Trainer
}

// jobsOf returns one Job of each replicated job as the API server stores it, and the findings of
// package render. It returns nil for a JobSet without a name.
func jobsOf(r *release.Release, js *jobset.JobSet, companions []runtime.Object) *render.JobsOutput {
	out, _ := render.Jobs(oneOfEach(js),
		render.JobsOptions{Release: r, Stored: true, Companions: companions})
	return out
}

// jobFindings returns package render's findings on the Jobs, without notes for readers of the
// rendered objects.
func jobFindings(out *render.JobsOutput) finding.List {
	if out == nil {
		return nil
	}
	return out.Findings.Of(codes.NoSuchPod, codes.NeverCreated, codes.ManagedElsewhere)
}

// oneOfEach returns the JobSet with at most one replica of each job, since all replicas are alike.
// It shares the other values.
func oneOfEach(js *jobset.JobSet) *jobset.JobSet {
	shared := *js
	small := &shared
	small.Spec.ReplicatedJobs = slices.Clone(js.Spec.ReplicatedJobs)
	for i := range small.Spec.ReplicatedJobs {
		small.Spec.ReplicatedJobs[i].Replicas = min(1, small.Spec.ReplicatedJobs[i].Replicas)
	}
	return small
}

// checkJobs reports the errors of the API server when controllers create the JobSet's Jobs, volume
// claims and Pods. The findings name these objects. add also gets the field of the JobSet. The
// argument out is the result of jobsOf.
func checkJobs(r *release.Release, js *jobset.JobSet, out *render.JobsOutput, id fieldpath.Object,
	add func(finding.Finding, fieldpath.Path)) {
	if out == nil {
		return
	}
	suspended := suspendedJobSet(js)
	if isOfOtherController(js) {
		report := add
		add = func(f finding.Finding, path fieldpath.Path) {
			f.Severity = finding.Warning // this cluster's controllers create nothing
			report(f, path)
		}
	}
	for i, child := range slices.Concat(out.Jobs, out.Later) {
		at := jobPath(child.ReplicatedJob).Append(fieldpath.Field("template"))
		object := fieldpath.Object{Kind: "Job", Namespace: id.Namespace, Name: child.Job.Name}
		// the controller creates the Job after the JobSet is resumed
		later := suspended && i >= len(out.Jobs)
		report := func(code finding.Code, path fieldpath.Path, message, help string) {
			f := finding.Finding{Code: code, Severity: finding.Error, Object: object,
				Path: kubeapi.PrintedPath(code, path), Message: message,
				Remedy: finding.Remedy{Text: help}}
			if template := fieldpath.Fields("spec", "template"); later && path.HasPrefix(template) {
				f = beforeResume(f, path[len(template):])
			}
			add(f, at.Append(path...))
		}
		kubeapi.CheckJob(r.Or().Kubernetes, child.Job.Spec.Template.Labels, child.Job,
			kubeapi.Root(report, codes.JobSpec))
	}
	checkPods(r, js, id, add)
	for i := range js.Spec.VolumeClaimPolicies {
		for j := range js.Spec.VolumeClaimPolicies[i].Templates {
			claim := out.Claims[0]
			out.Claims = out.Claims[1:]
			at := fieldpath.Fields("spec", "volumeClaimPolicies").Append(fieldpath.Index(i),
				fieldpath.Field("templates"), fieldpath.Index(j))
			object := fieldpath.Object{Kind: "PersistentVolumeClaim", Namespace: id.Namespace,
				Name: claim.Name}
			kubeapi.CheckClaim(claim, func(code finding.Code, path fieldpath.Path, message, help string) {
				add(finding.Finding{Code: code, Severity: finding.Error, Object: object, Path: path,
					Message: message, Remedy: finding.Remedy{Text: help}}, at.Append(path...))
			})
		}
	}
}

// isOfOtherController reports whether JobSet's own controller ignores the JobSet.
func isOfOtherController(js *jobset.JobSet) bool {
	return js.Spec.ManagedBy != nil && *js.Spec.ManagedBy != jobset.JobSetControllerName
}

// mutableInPods returns the fields of a Pod template that a suspended JobSet allows to change
// (JobSet v0.12.0 pkg/webhooks). Kueue sets them with a patch of the TrainJob, or in the JobSet
// itself.
func mutableInPods() []fieldpath.Path {
	return []fieldpath.Path{
		fieldpath.Fields("metadata", "labels"), fieldpath.Fields("metadata", "annotations"),
		fieldpath.Fields("spec", "nodeSelector"), fieldpath.Fields("spec", "tolerations"),
		fieldpath.Fields("spec", "schedulingGates"),
	}
}

// beforeResume returns a finding on an object that a controller creates when the JobSet resumes.
// path is its field of the Pod template. The cluster will reject the object, unless the field can
// change before.
func beforeResume(f finding.Finding, path fieldpath.Path) finding.Finding {
	if slices.ContainsFunc(mutableInPods(), path.HasPrefix) {
		f.Severity = finding.Warning
		f.Message += "; the cluster rejects it when the job resumes, unless Kueue or another " +
			"manager changes the field before"
	}
	return f
}

// checkPods reports the errors of the API server when the Job controller creates the first Pod of
// each Job.
func checkPods(r *release.Release, js *jobset.JobSet, id fieldpath.Object,
	add func(finding.Finding, fieldpath.Path)) {
	for pod, err := range render.Pods(oneOfEach(js),
		render.PodsOptions{JobsOptions: render.JobsOptions{Release: r},
			Indexes: &render.IndexRange{}}) {
		if err != nil {
			return
		}
		object := fieldpath.Object{Kind: "Pod", Namespace: id.Namespace,
			Name: strings.TrimSuffix(pod.GenerateName, "-")}
		at := jobPath(pod.Labels[jobset.ReplicatedJobNameKey]).Append(
			fieldpath.Fields("template", "spec", "template")...)
		report := func(code finding.Code, path fieldpath.Path, message, help string) {
			f := finding.Finding{Code: code, Severity: finding.Error, Object: object, Path: path,
				Message: message, Remedy: finding.Remedy{Text: help}}
			if suspendedJobSet(js) {
				f = beforeResume(f, path)
			}
			add(f, at.Append(path...))
		}
		kubeapi.CheckAdmission(pod, report)
		kubeapi.CheckPod(r.Or().Kubernetes, pod, report)
	}
}

func suspendedJobSet(js *jobset.JobSet) bool { return js.Spec.Suspend != nil && *js.Spec.Suspend }

// classes are the names of the classes in the inputs.
type classes struct{ priority, runtime []string }

// unknownClasses warns of PriorityClasses and RuntimeClasses that the inputs lack. A cluster
// without the class rejects the Pods, and under the volcano policy the TrainJob.
func (c *checker) unknownClasses(js *jobset.JobSet, known classes) {
	for i := range js.Spec.ReplicatedJobs {
		job := &js.Spec.ReplicatedJobs[i]
		spec := &job.Template.Spec.Template.Spec
		if _, system := render.SystemPriority(spec.PriorityClassName); !system &&
			!slices.Contains(known.priority, spec.PriorityClassName) {
			c.unknownClass(js, job, classField{codes.NoPriorityClass, "PriorityClass",
				"priorityClassName"}, spec.PriorityClassName)
		}
		if name := spec.RuntimeClassName; name != nil && !slices.Contains(known.runtime, *name) {
			c.unknownClass(js, job, classField{codes.NoRuntimeClass, "RuntimeClass",
				"runtimeClassName"}, *name)
		}
	}
}

// classField is a field of a Pod that names a class.
type classField struct {
	code       finding.Code
	kind, name string
}

func (c *checker) unknownClass(js *jobset.JobSet, job *jobset.ReplicatedJob, field classField,
	name string) {
	path := jobPath(job.Name).Append(
		fieldpath.Fields("template", "spec", "template", "spec", field.name)...)
	c.Add(finding.Finding{
		Code: field.code, Severity: finding.Warning,
		Object: fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name},
		Path:   path,
		Message: fmt.Sprintf("Not found: %s %q: a cluster without it creates no Pod of job %q",
			field.kind, name, job.Name),
		Remedy: finding.Remedy{Do: finding.Provide, Options: []string{field.kind},
			Text: fmt.Sprintf("add the manifest of the %s", field.kind)},
		Claims: []merge.Claim{c.origin(path)},
	})
}
