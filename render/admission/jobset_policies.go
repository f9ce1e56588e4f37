package admission

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

func checkSuccessPolicy(spec *jobset.JobSetSpec, report apirule.Reporter) {
	if spec.SuccessPolicy == nil {
		return
	}
	path := fieldpath.Fields("spec", "successPolicy", "targetReplicatedJobs")
	checkTargets(spec, spec.SuccessPolicy.TargetReplicatedJobs, path, report)
}

func checkTargets(spec *jobset.JobSetSpec, targets []string, path fieldpath.Path, report apirule.Reporter) {
	for i, target := range targets {
		if replicatedJob(spec.ReplicatedJobs, target) == nil {
			report(codes.JobSetPolicy, path.Append(fieldpath.Index(i)), fmt.Sprintf("there is no replicated job %q", target), "name one of "+jobNames(spec))
		}
	}
}

func jobNames(spec *jobset.JobSetSpec) string {
	names := make([]string, len(spec.ReplicatedJobs))
	for i := range spec.ReplicatedJobs {
		names[i] = spec.ReplicatedJobs[i].Name
	}
	return strings.Join(names, ", ")
}

// ruleName matches a valid name of a failure policy's rule; longestRuleName is its maximum length.
var ruleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`) })

const longestRuleName = 128

func checkFailurePolicy(spec *jobset.JobSetSpec, report apirule.Reporter) {
	path := fieldpath.Fields("spec", "failurePolicy", "rules")
	rules := spec.FailurePolicy.Rules
	for i := range rules {
		if a := rules[i].Action; a == jobset.RestartJob || a == jobset.RestartJobAndIgnoreMaxRestarts {
			report(codes.JobSetGate, path.Append(fieldpath.Index(i), fieldpath.Field("action")),
				fmt.Sprintf("JobSet knows the action %s only with the alpha feature gate RestartJob", a), "write RestartJobSet, or another action")
			return // the webhook stops here
		}
	}
	reasons := []string{
		batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonDeadlineExceeded, batchv1.JobReasonFailedIndexes,
		batchv1.JobReasonMaxFailedIndexesExceeded, batchv1.JobReasonPodFailurePolicy,
	}
	for i := range rules {
		rule, at := &rules[i], path.Append(fieldpath.Index(i))
		name := at.Append(fieldpath.Field("name"))
		if !ruleName().MatchString(rule.Name) || len(rule.Name) > longestRuleName {
			report(codes.JobSetPolicy, name, fmt.Sprintf("%q is not a name for a rule", rule.Name),
				fmt.Sprintf("use letters, digits and _ , : inside, beginning with a letter and not ending with a comma or colon, %d at most", longestRuleName))
		}
		if slices.ContainsFunc(rules[:i], func(other jobset.FailurePolicyRule) bool { return other.Name == rule.Name }) {
			report(codes.JobSetPolicy, name, fmt.Sprintf("another rule has the name %q", rule.Name), "give the rules different names")
		}
		checkTargets(spec, rule.TargetReplicatedJobs, at.Append(fieldpath.Field("targetReplicatedJobs")), report)
		for j, reason := range rule.OnJobFailureReasons {
			if !slices.Contains(reasons, reason) {
				report(codes.JobSetPolicy, at.Append(fieldpath.Field("onJobFailureReasons"), fieldpath.Index(j)),
					fmt.Sprintf("no Job fails for the reason %q", reason), "write one of "+strings.Join(reasons, ", "))
			}
		}
	}
}

func (d *definition) checkCoordinator(js *jobset.JobSet, report apirule.Reporter) {
	coordinator, path := js.Spec.Coordinator, fieldpath.Fields("spec", "coordinator")
	reject := func(field, message, help string) {
		report(codes.JobSetCoordinator, path.Append(fieldpath.Field(field)), message, help)
	}
	job := replicatedJob(js.Spec.ReplicatedJobs, coordinator.ReplicatedJob)
	switch {
	case job == nil:
		reject("replicatedJob", fmt.Sprintf("there is no replicated job %q", coordinator.ReplicatedJob), "name one of "+jobNames(&js.Spec))
		return
	case coordinator.JobIndex < 0 || coordinator.JobIndex >= int(job.Replicas):
		reject("jobIndex", fmt.Sprintf("%q has %d Jobs, and none of index %d", job.Name, job.Replicas, coordinator.JobIndex), "count from 0")
	case job.Template.Spec.CompletionMode == nil || *job.Template.Spec.CompletionMode != batchv1.IndexedCompletion || job.Template.Spec.Completions == nil:
		reject("replicatedJob", fmt.Sprintf("the Pods of %q have no index, and so none of them can be the coordinator", job.Name),
			"set completionMode to Indexed, or name another job")
	case coordinator.PodIndex < 0 || coordinator.PodIndex >= int(*job.Template.Spec.Completions):
		reject("podIndex", fmt.Sprintf("each Job of %q has %d Pods, and none of index %d", job.Name, *job.Template.Spec.Completions, coordinator.PodIndex), "count from 0")
	}
	if !d.has(release.JobSetCoordinator) {
		return
	}
	subdomain := js.Name
	if js.Spec.Network != nil && js.Spec.Network.Subdomain != "" {
		subdomain = js.Spec.Network.Subdomain
	}
	address := fmt.Sprintf("%s-%s-%d-%d.%s", js.Name, coordinator.ReplicatedJob, coordinator.JobIndex, coordinator.PodIndex, subdomain)
	if problems := validation.IsValidLabelValue(address); len(problems) > 0 {
		reject("replicatedJob", fmt.Sprintf("the coordinator's address %q becomes a label, and is not a value for one: %s", address, apirule.Brief(problems...)),
			"shorten the name of the TrainJob, of the replicated job or of the subdomain")
	}
}

// longestClaim is the maximum length of the name of a volume claim that JobSet makes.
const longestClaim = 63

func checkClaims(js *jobset.JobSet, report apirule.Reporter) {
	seen := map[string]bool{}
	for i := range js.Spec.VolumeClaimPolicies {
		templates := js.Spec.VolumeClaimPolicies[i].Templates
		for j := range templates {
			name := templates[j].Name
			// The webhook prints "template", though the field's name is templates.
			path := fieldpath.Fields("spec", "volumeClaimPolicies").Append(fieldpath.Index(i), fieldpath.Field("templates"), fieldpath.Index(j), fieldpath.Field("metadata"), fieldpath.Field("name"))
			reject := func(message, help string) { report(codes.JobSetClaim, path, message, help) }
			if seen[name] {
				reject(fmt.Sprintf("another claim has the name %q", name), "give the claims different names")
			}
			seen[name] = true
			if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
				reject(fmt.Sprintf("%q is not a name for a claim: %s", name, apirule.Brief(problems...)), "use lower-case letters, digits, dashes and dots")
			}
			if n := len(name + "-" + js.Name); n > longestClaim {
				reject(fmt.Sprintf("the claim's name and the JobSet's have %d characters together, and may have %d", n, longestClaim), "shorten one of them")
			}
			checkClaimUse(js.Spec.ReplicatedJobs, name, report)
		}
	}
}

// checkClaimUse requires a container that mounts the claim. It forbids a volume with the claim's name.
func checkClaimUse(jobs []jobset.ReplicatedJob, name string, report apirule.Reporter) {
	mounted := false
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		for j := range pod.Volumes {
			if pod.Volumes[j].Name == name {
				report(codes.JobSetClaim,
					jobPath(jobs[i].Name).Append(fieldpath.Fields("template", "spec", "template", "spec", "volumes")...).Append(fieldpath.Item("name", name), fieldpath.Field("name")),
					fmt.Sprintf("the volume has the name of the claim %q, which becomes a volume itself", name), "remove the volume, or rename it")
			}
		}
		for j := range pod.InitContainers {
			mounted = mounted || mounts(&pod.InitContainers[j], name)
		}
		for j := range pod.Containers {
			mounted = mounted || mounts(&pod.Containers[j], name)
		}
	}
	if !mounted {
		report(codes.JobSetClaim, fieldpath.Fields("spec", "replicatedJobs"),
			fmt.Sprintf("no container mounts the claim %q", name), "mount a volume of the claim's name, or remove the claim")
	}
}
