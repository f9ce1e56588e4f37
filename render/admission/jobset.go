package admission

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// jobSet admits the rendered JobSet. It returns the JobSet as stored, or nil if its decoding fails.
func (c *checker) jobSet(ctx context.Context) *jobset.JobSet {
	d := c.definition(c.in.Release, jobSetKind)
	if d == nil {
		return nil
	}
	// With the defaults of its webhook, the JobSet needs no encoding after them. But a request
	// loses a null, which the webhook would write again.
	full := d.mutated(c.output.JobSet)
	fields, err := Encode(full)
	if err == nil && hasNull(fields) {
		fields, err = Encode(c.output.JobSet)
		full = nil
	}
	if err != nil {
		return nil // a value of the Go type always has an encoding
	}
	js, found := admitJobSet(ctx, request{c.in.Release, fields, full}, c.job.id.Namespace)
	for _, f := range found {
		path := f.Path
		f.Path = claimAsPrinted(path)
		c.addDownstream(f, path)
	}
	return js
}

// claimAsPrinted returns the path of a JobSet field as the webhook prints it. It differs for the
// names of claims.
func claimAsPrinted(path fieldpath.Path) fieldpath.Path {
	const depth = 5 // .spec.volumeClaimPolicies[0].templates[0]
	if len(path) != depth+2 || !path.HasPrefix(fieldpath.Fields("spec", "volumeClaimPolicies")) ||
		path[depth+1] != fieldpath.Field("name") {
		return path
	}
	printed := slices.Clone(path[:depth+1])
	printed[depth-2], printed[depth] = fieldpath.Field("template"), fieldpath.Field("name")
	return printed
}

// AdmitJobSet sends a JobSet through admission and through its controller. The stages are its
// definition, the JobSet webhook, the Jobs, volume claims and Pods. The object is as decoded from
// JSON or YAML; AdmitJobSet does not change it. The argument namespace is its namespace if it has
// none; the empty string means "default".
//
// Check does this for the JobSet of a TrainJob. A finding on a Job, a Pod or a claim refers to the
// field of the JobSet in its claim.
func AdmitJobSet(ctx context.Context, r *release.Release, fields map[string]any,
	namespace string) finding.List {
	js, rejected := admitJobSet(ctx, request{r, fields, nil}, cmp.Or(namespace, "default"))
	if js == nil {
		return rejected
	}
	return childFindings(r, js, rejected)
}

// childFindings adds the findings on the objects that the JobSet's controller makes to those on the
// JobSet.
func childFindings(r *release.Release, js *jobset.JobSet, rejected finding.List) finding.List {
	var found codes.Report
	found.Add(rejected...)
	before := codes.NewReport(rejected, nil)
	id := fieldpath.Object{Kind: "JobSet", Namespace: js.Namespace, Name: js.Name}
	full := *js // here replicas have their default, but package render takes 0 for missing
	full.Spec.ReplicatedJobs = slices.DeleteFunc(slices.Clone(js.Spec.ReplicatedJobs),
		func(job jobset.ReplicatedJob) bool {
			return job.Replicas == 0
		})
	made := jobsOf(r, &full, nil)
	for _, f := range jobFindings(made) {
		if !before.HasErrorWithin(id, f.Path) {
			found.Add(f)
		}
	}
	checkJobs(r, &full, made, id, func(f finding.Finding, path fieldpath.Path) {
		source := path
		if made, ok := derivedFrom(&js.Spec, path); ok {
			source = made
			if before.HasErrorWithin(id, made) ||
				before.HasErrorWithin(id, path[:3].Append(fieldpath.Field("name"))) {
				return // the cluster rejects the name first
			}
		}
		if before.ErrorAt(id, source, isWrongType) >= 0 {
			return // the API server rejects the value before a Job has it
		}
		f.Claims = []merge.Claim{
			{Owner: runtimepatch.JobSetLayer, Value: merge.Presence{}, At: source}}
		found.Add(f)
	})
	return found.List()
}

func isWrongType(f finding.Finding) bool { return f.Code == codes.WrongType }

// request is a JobSet to admit in a release. full is its Go value with the defaults of the webhook,
// if there is one.
type request struct {
	release *release.Release
	fields  map[string]any
	full    *jobset.JobSet
}

// admitJobSet sends a JobSet through its own admission.
func admitJobSet(ctx context.Context, r request, namespace string) (*jobset.JobSet, finding.List) {
	found := &findings{}
	d := found.definition(r.release, jobSetKind)
	if d == nil {
		return nil, found.List()
	}
	o := d.decode(r.fields, namespace, found)
	if o.undecodable {
		return nil, found.List()
	}
	js := r.full
	if js == nil || !o.sharesSpec(r.fields) {
		var err error
		js = &jobset.JobSet{}
		if err = o.as(js); err != nil {
			o.validate(ctx, nil, found)
			found.undecodable(o, err)
			return nil, found.List()
		}
		if js, err = o.mutate(js); err != nil {
			found.undecodable(o, err)
			return nil, found.List()
		}
	}
	o.validate(ctx, nil, found)
	nameless := found.HasErrorWithin(o.id, fieldpath.Fields("metadata", "name"))
	o.checkJobSet(js, func(code finding.Code, path fieldpath.Path, message, help string) {
		switch {
		case code == codes.JobSetName && nameless:
			return // the names of Jobs contain the JobSet's name
		case code == codes.JobSetGate && found.HasError(o.id, path, codes.BadValue):
			return // the release has no such feature gate
		}
		found.Add(finding.Finding{Code: code, Severity: finding.Error, Object: o.id, Path: path,
			Message: message, Remedy: finding.Remedy{Text: help}})
	})
	return js, found.List()
}

// mutate returns the JobSet after its mutating webhook. The webhook sends the API server a patch
// only if it changes the JobSet.
func (o *object) mutate(js *jobset.JobSet) (*jobset.JobSet, error) {
	full := o.mutated(js)
	// Defaults of these fields are the most frequent ones, and a deep comparison reaches them last.
	was, is := &js.Spec, &full.Spec
	hasDefaults := was.Network == nil && is.Network != nil ||
		was.SuccessPolicy == nil && is.SuccessPolicy != nil ||
		was.StartupPolicy == nil && is.StartupPolicy != nil
	// the first is faster, and mostly true
	if !hasDefaults && (reflect.DeepEqual(is, was) || equality.Semantic.DeepEqual(is, was)) {
		return full, nil
	}
	return full, o.reencode(full)
}

// mutated returns the JobSet after its mutating webhook. The Go type cannot distinguish an explicit
// 0 or "" from a missing field. After the definition's defaults, an empty field must be explicit.
func (d *definition) mutated(js *jobset.JobSet) *jobset.JobSet {
	full := render.DefaultJobSetOf(&d.release, js)
	for i := range js.Spec.ReplicatedJobs {
		full.Spec.ReplicatedJobs[i].Replicas = js.Spec.ReplicatedJobs[i].Replicas
		full.Spec.ReplicatedJobs[i].GroupName = js.Spec.ReplicatedJobs[i].GroupName
	}
	return full
}

// checkJobSet applies the JobSet webhook for new JobSets (JobSet v0.12.0 pkg/webhooks), with all
// alpha feature gates off. It skips the checks that the definition's schema covers.
func (d *definition) checkJobSet(js *jobset.JobSet, report kubeapi.Reporter) {
	spec, at := &js.Spec, kubeapi.Root(report, codes.JobSetGate, fieldpath.Field("spec"))
	if p := spec.FailurePolicy; p != nil && p.RestartStrategy == jobset.InPlaceRestart {
		at.Field("failurePolicy", "restartStrategy").Reject(
			"InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is "+
				"disabled", "use Recreate or BlockingRecreate")
	}
	if n := spec.Network; n != nil && n.Subdomain != "" {
		at.As(codes.JobSetNetwork).Field("network", "subdomain").Valid(n.Subdomain,
			labelProblems(n.Subdomain,
				".spec.network.subdomain is too long, must be less than 63 characters"), nameHelp)
	}
	if spec.ManagedBy != nil {
		at.As(codes.JobSetManagedBy).Field("managedBy").ManagedBy(*spec.ManagedBy)
	}
	earlier := map[string]bool{}
	for i := range spec.ReplicatedJobs {
		job := &spec.ReplicatedJobs[i]
		at := at.Field("replicatedJobs").Step(fieldpath.Item("name", job.Name))
		earlier[job.Name] = true
		d.checkReplicatedJob(js.Name, job, at)
		d.checkDependsOn(job, i == 0, earlier, at.As(codes.JobSetDependsOn).Field("dependsOn"))
	}
	policies := at.As(codes.JobSetPolicy)
	if spec.SuccessPolicy != nil {
		checkTargets(spec, spec.SuccessPolicy.TargetReplicatedJobs, "",
			policies.Field("successPolicy", "targetReplicatedJobs"))
	}
	if spec.FailurePolicy != nil {
		checkFailurePolicy(spec, policies.Field("failurePolicy", "rules"))
	}
	if spec.Coordinator != nil {
		d.checkCoordinator(js, at.As(codes.JobSetCoordinator).Field("coordinator"))
	}
	checkClaims(js, at.As(codes.JobSetClaim))
}

// labelProblems returns the JobSet webhook's messages on an invalid DNS label. It has a message of
// its own for a long one.
func labelProblems(name, tooLong string) []string {
	problems := validation.IsDNS1035Label(name)
	if len(name) > validation.DNS1035LabelMaxLength {
		problems[0] = tooLong
	}
	return problems
}

// podSuffix stands for the random suffix of a Pod's name.
const podSuffix = "-abcde"

// checkReplicatedJob checks the longest names that JobSet generates from a job's name.
func (d *definition) checkReplicatedJob(jobSet string, job *jobset.ReplicatedJob, at *kubeapi.At) {
	spec, names := &job.Template.Spec, at.As(codes.JobSetName)
	if p := spec.Parallelism; p != nil && int64(*p)*int64(job.Replicas) > math.MaxInt32 {
		at.As(codes.JobSetTooLarge).Field("replicas").Reject(
			fmt.Sprintf("the product of replicas and parallelism must not exceed %d for "+
				"replicatedJob '%s'", math.MaxInt32, job.Name), "lower replicas or parallelism")
	}
	if d.has(release.JobSetGroup) {
		names.Field("groupName").Valid(job.GroupName, labelProblems(job.GroupName,
			".spec.replicatedJob[].groupName is too long, must be less than 63 characters"),
			nameHelp)
	}
	longest := fmt.Sprintf("%s-%s-%d", jobSet, job.Name, job.Replicas-1)
	if !checkGenerated("job", longest, names.Field("name")) {
		return
	}
	indexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	if indexed && spec.Completions != nil {
		checkGenerated("pod", fmt.Sprintf("%s-%d%s", longest, *spec.Completions-1, podSuffix),
			names.Field("name"))
	}
}

// checkGenerated checks the name of a Job or Pod that JobSet will create. It returns false if the
// name is invalid.
func checkGenerated(kind, name string, at *kubeapi.At) bool {
	problems := labelProblems(name, fmt.Sprintf(
		"JobSet name is too long, %s names generated for this JobSet will exceed 63 characters",
		kind))
	help := "use lower-case letters, digits and dashes in the name of the replicated job"
	if over := len(name) - validation.DNS1035LabelMaxLength; over > 0 {
		help = fmt.Sprintf("shorten the TrainJob's name, or that of the replicated job, by %d",
			over)
	}
	at.Valid(name, problems, help)
	return len(problems) == 0
}

func (d *definition) checkDependsOn(job *jobset.ReplicatedJob, first bool, earlier map[string]bool,
	at *kubeapi.At) {
	if first && job.DependsOn != nil {
		at.Reject("DependsOn can't be set for the first ReplicatedJob",
			"move the job after the jobs that it depends on")
	}
	if !first && job.DependsOn != nil && len(job.DependsOn) == 0 &&
		d.has(release.JobSetDependency) {
		at.Missing("JobSet's webhook panics on an empty list", "remove the field")
	}
	for _, dependency := range job.DependsOn {
		// The webhook lets a job depend on itself. Package render reports that it never starts.
		if !earlier[dependency.Name] {
			at.Step(fieldpath.Item("name", dependency.Name)).Reject(
				fmt.Sprintf("replicatedJob: %s cannot depend on replicatedJob: %s", job.Name,
					dependency.Name), "use an earlier job, or move the job after it")
		}
	}
}
