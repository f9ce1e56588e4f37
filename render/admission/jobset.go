package admission

import (
	"context"
	"fmt"
	"math"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/schema"
)

// reporter takes what is wrong with a JobSet or a Job: the field, and what to do.
type reporter func(code schema.Code, path schema.Path, message, help string)

// jobSet is the rendered JobSet's admission. It returns the JobSet as stored, nil where it cannot be
// read.
func (c *checker) jobSet(ctx context.Context) *jobset.JobSet {
	fields, err := Encode(c.output.JobSet)
	if err != nil {
		return nil // a value of the Go type always has an encoding
	}
	js, found := admitJobSet(ctx, fields, c.job.id.Namespace, nil)
	for _, f := range found {
		c.late(f, f.Path)
	}
	return js
}

// late adds a finding about an object that a controller makes, unless the finding's cause was reported
// already: as a patch of something that the runtime does not have, or as two members of one union. It
// says where the value comes from; path is where it stands in the JobSet.
func (c *checker) late(f schema.Finding, path schema.Path) {
	if earlier := c.cause(path); earlier != nil {
		switch earlier.Code {
		case schema.CodeTwoSources, schema.CodeUnion, schema.CodeValueAndValueFrom:
			// Now the member is known that the cluster will name.
			at, _ := templatePath(*earlier)
			earlier.Path = earlier.Path.Append(path[len(at):]...)
		}
		return
	}
	f.Claims = append(f.Claims, c.origin(path))
	c.add(f)
}

// cause is the error that lies at the root of what is wrong with a field of the JobSet.
func (c *checker) cause(path schema.Path) *schema.Finding {
	for i := range c.all {
		f := &c.all[i]
		if f.Severity != schema.Error {
			continue
		}
		switch f.Code {
		case schema.CodeUnknownJob, schema.CodeUnknownContainer, schema.CodeValueAndValueFrom, schema.CodeEnvWithoutName,
			schema.CodeTwoSources, schema.CodeDuplicateItem, schema.CodeUnion, schema.CodeDirective, schema.CodePortsTakenForOne:
		default:
			continue
		}
		if at, ok := templatePath(*f); ok && path.HasPrefix(at) {
			return f
		}
	}
	return nil
}

// templatePath is where a finding on the runtime or on a patch stands in the template, and so in the
// JobSet.
func templatePath(f schema.Finding) (schema.Path, bool) {
	if f.Code == schema.CodeOverlap || f.Code == schema.CodeUnion {
		return f.Path, true
	}
	if f.Object.Kind != schema.TrainJobKind {
		template := schema.Fields("spec", "template")
		if !f.Path.HasPrefix(template) {
			return nil, false
		}
		return f.Path[len(template):], true
	}
	patch := schema.PatchPath("")
	if len(f.Path) < len(patch) || !f.Path.HasPrefix(schema.Fields("spec", "runtimePatches")) {
		return nil, false
	}
	return f.Path[len(patch):], true
}

// AdmitJobSet sends a JobSet through admission: its definition and the JobSet webhook. The object is as
// decoded from JSON or YAML, and never changed. Check does this with the JobSet of a TrainJob; this is
// for JobSets that somebody else made. It says nothing about what becomes of the JobSet's Jobs.
func AdmitJobSet(ctx context.Context, fields map[string]any, namespace string) schema.Findings {
	js, found := admitJobSet(ctx, fields, namespace, nil)
	if js == nil {
		return found
	}
	id := schema.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}
	checkJobs(js, id, func(f schema.Finding, _ schema.Path) { found = append(found, f) })
	return found
}

func admitJobSet(ctx context.Context, fields map[string]any, namespace string, old *object) (*jobset.JobSet, schema.Findings) {
	found := &findings{}
	o := jobSets().decode(fields, namespace, found)
	if o.broken {
		return nil, found.all
	}
	js := &jobset.JobSet{}
	if err := o.as(js); err != nil {
		o.validate(ctx, old, found)
		found.undecodable(o, err)
		return nil, found.all
	}
	if old == nil {
		js = render.DefaultJobSet(js)
		if err := o.reencode(js); err != nil {
			found.undecodable(o, err)
			return nil, found.all
		}
	}
	o.validate(ctx, old, found)
	stored := &jobset.JobSet{}
	if err := o.as(stored); err != nil {
		found.undecodable(o, err)
		return nil, found.all
	}
	checkJobSet(stored, func(code schema.Code, path schema.Path, message, help string) {
		found.add(schema.Finding{Code: code, Severity: schema.Error, Object: o.id, Path: path, Message: message, Help: help})
	})
	return stored, found.all
}

// checkJobSet is the JobSet webhook for new JobSets (JobSet v0.12.0 pkg/webhooks), with all alpha
// feature gates off, but for what the definition's schema says already.
func checkJobSet(js *jobset.JobSet, report reporter) {
	spec := &js.Spec
	if p := spec.FailurePolicy; p != nil && p.RestartStrategy == jobset.InPlaceRestart {
		report(schema.CodeJobSetGate, schema.Fields("spec", "failurePolicy", "restartStrategy"),
			"JobSet restarts in place only with the alpha feature gate InPlaceRestart", "write Recreate or BlockingRecreate")
	}
	checkNetwork(spec.Network, report)
	if spec.ManagedBy != nil {
		checkManagedBy(*spec.ManagedBy, schema.Fields("spec", "managedBy"), schema.CodeJobSetManagedBy, report)
	}
	earlier := map[string]bool{}
	for i := range spec.ReplicatedJobs {
		job := &spec.ReplicatedJobs[i]
		earlier[job.Name] = true
		checkReplicatedJob(js.Name, job, report)
		checkDependsOn(job, i == 0, earlier, report)
	}
	checkSuccessPolicy(spec, report)
	if spec.FailurePolicy != nil {
		checkFailurePolicy(spec, report)
	}
	if spec.Coordinator != nil {
		checkCoordinator(js, report)
	}
	checkClaims(js, report)
}

func checkNetwork(network *jobset.Network, report reporter) {
	if network == nil || network.Subdomain == "" {
		return
	}
	if problems := validation.IsDNS1035Label(network.Subdomain); len(problems) > 0 {
		report(schema.CodeJobSetNetwork, schema.Fields("spec", "network", "subdomain"),
			fmt.Sprintf("%q is no name for a subdomain, which is that of a Service, too: %s", network.Subdomain, strings.Join(problems, "; ")),
			"use lower-case letters, digits and dashes, beginning with a letter, 63 at most")
	}
}

// longestManagedBy is the limit of both JobSet and Job.
const longestManagedBy = 63

func checkManagedBy(name string, path schema.Path, code schema.Code, report reporter) {
	const help = `write a domain and a path, such as "acme.example.com/controller"`
	for _, err := range validation.IsDomainPrefixedPath(nil, name) {
		report(code, path, fmt.Sprintf("%q names no controller: %s", name, err.Detail), help)
	}
	if len(name) > longestManagedBy {
		report(code, path, fmt.Sprintf("%q has %d characters, and may have %d", name, len(name), longestManagedBy), help)
	}
}

// podSuffix stands for the random end of a Pod's name.
const podSuffix = "-abcde"

// checkReplicatedJob checks the names that JobSet makes of a job's: the longest ones.
func checkReplicatedJob(jobSet string, job *jobset.ReplicatedJob, report reporter) {
	path := jobPath(job.Name)
	spec := &job.Template.Spec
	if p := spec.Parallelism; p != nil && int64(*p)*int64(job.Replicas) > math.MaxInt32 {
		report(schema.CodeJobSetTooLarge, path.Append(schema.Field("replicas")),
			fmt.Sprintf("%d replicas of %d Pods each are more than JobSet can count", job.Replicas, *p), "lower replicas or parallelism")
	}
	if problems := validation.IsDNS1035Label(job.GroupName); len(problems) > 0 {
		report(schema.CodeJobSetName, path.Append(schema.Field("groupName")),
			fmt.Sprintf("%q is no name for a group: %s", job.GroupName, strings.Join(problems, "; ")),
			"use lower-case letters, digits and dashes, beginning with a letter, 63 at most")
	}
	longest := fmt.Sprintf("%s-%s-%d", jobSet, job.Name, job.Replicas-1)
	if !checkGenerated("Job", longest, path, report) {
		return
	}
	indexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	if indexed && spec.Completions != nil {
		checkGenerated("Pod", fmt.Sprintf("%s-%d%s", longest, *spec.Completions-1, podSuffix), path, report)
	}
}

// checkGenerated checks the name of a Job or Pod that JobSet will create.
func checkGenerated(kind, name string, path schema.Path, report reporter) bool {
	problems := validation.IsDNS1035Label(name)
	if len(problems) == 0 {
		return true
	}
	message := fmt.Sprintf("a %s would be called %q: %s", kind, name, strings.Join(problems, "; "))
	help := "rename the replicated job in the runtime: lower-case letters, digits and dashes only"
	if over := len(name) - validation.DNS1035LabelMaxLength; over > 0 {
		message = fmt.Sprintf("a %s would be called %q, which has %d characters, and may have %d", kind, name, len(name), validation.DNS1035LabelMaxLength)
		help = fmt.Sprintf("shorten the TrainJob's name, or that of the replicated job, by %d", over)
	}
	report(schema.CodeJobSetName, path.Append(schema.Field("name")), message, help)
	return false
}

func checkDependsOn(job *jobset.ReplicatedJob, first bool, earlier map[string]bool, report reporter) {
	path := jobPath(job.Name).Append(schema.Field("dependsOn"))
	if first && job.DependsOn != nil {
		report(schema.CodeJobSetDependsOn, path, fmt.Sprintf("%q is the first job, and can depend on none", job.Name), "put it after the jobs that it depends on")
	}
	for _, dependency := range job.DependsOn {
		// The webhook lets a job depend on itself; that it never starts then, package render says.
		if !earlier[dependency.Name] {
			report(schema.CodeJobSetDependsOn, path.Append(schema.Item("name", dependency.Name)),
				fmt.Sprintf("%q depends on %q, which is no earlier job", job.Name, dependency.Name), "name a job that stands before it, or move it behind that job")
		}
	}
}
