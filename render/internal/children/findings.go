package children

import (
	"fmt"
	"math"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Findings returns the findings on the children: first on the JobSet, then on each replicated job,
// then on lost endpoints.
func (f *Family) Findings() finding.List {
	var found finding.List
	report := func(severity finding.Severity, code finding.Code, path fieldpath.Path, message,
		help string) {
		found = append(found, finding.Finding{
			Code: code, Severity: severity, Path: path, Message: message,
			Remedy: finding.Remedy{Text: help},
			Object: fieldpath.Object{Kind: "JobSet", Namespace: f.Namespace, Name: f.Name},
		})
	}
	if f.suspended() {
		message := "JobSet is suspended; Pods are shown as after resume"
		if later := f.names(afterResume); later != nil {
			message += "; the Jobs of " + quoted(later) +
				" depend on others, and are created after resume"
		}
		help := "set spec.suspend to false to run it"
		if f.Labels["kueue.x-k8s.io/queue-name"] != "" {
			help = "wait for the queue: Kueue resumes the job when it admits it"
		}
		report(finding.Warning, codes.Suspended, fieldpath.Fields("spec", "suspend"), message, help)
	}
	if by := f.Spec.ManagedBy; by != nil && *by != jobset.JobSetControllerName {
		report(finding.Warning, codes.ManagedElsewhere, fieldpath.Fields("spec", "managedBy"),
			fmt.Sprintf("%q manages the JobSet: the JobSet controller of this cluster ignores it",
				*by),
			"expect the Jobs and Pods in the cluster of that controller")
	}
	if f.TooManyJobs() {
		report(finding.Error, codes.TooManyJobs, fieldpath.Fields("spec", "replicatedJobs"),
			fmt.Sprintf("the JobSet has more than %d Jobs", maxJobs), "lower the replicas")
	}
	for _, members := range f.Members {
		if members.presence == never {
			report(finding.Error, codes.NeverCreated,
				members.path().Append(fieldpath.Field("dependsOn")),
				"the Jobs are never created: they depend on themselves, or on Jobs that are "+
					"never created",
				"use earlier jobs in dependsOn")
		}
		f.reportPodless(members, report)
		f.reportPlacement(members, report)
		f.reportPriority(members, report)
	}
	return append(found, f.lostEndpoints()...)
}

type reporter func(severity finding.Severity, code finding.Code, path fieldpath.Path, message,
	help string)

// reportPodless warns of Jobs for which the Job controller of this cluster creates no Pods.
func (f *Family) reportPodless(members *Members, report reporter) {
	spec, at := &members.Template.Spec,
		members.path().Append(fieldpath.Fields("template", "spec")...)
	if isManagedElsewhere(spec) && *spec.ManagedBy != "" {
		report(finding.Warning, codes.ManagedElsewhere, at.Append(fieldpath.Field("managedBy")),
			fmt.Sprintf("%q manages the Jobs: the Job controller of this cluster creates no Pods",
				*spec.ManagedBy),
			"remove the field, or run the controller that it names")
	}
	if isPastDeadline(spec) && *spec.ActiveDeadlineSeconds >= 0 {
		report(finding.Warning, codes.NeverCreated,
			at.Append(fieldpath.Field("activeDeadlineSeconds")),
			fmt.Sprintf("the Pods are never created: the Job exceeds its deadline of %d seconds "+
				"at once", *spec.ActiveDeadlineSeconds),
			fmt.Sprintf("set 1 to %d seconds", int64(math.MaxInt64/time.Second)))
	}
}

// reportPlacement reports the Pods that an exclusive placement without the node-selector strategy
// delays. All other Pods wait until the Pod of index 0 is scheduled (JobSet v0.12.0
// pkg/webhooks/pod_webhook.go).
func (f *Family) reportPlacement(members *Members, report reporter) {
	if !WebhookPlaces(members.podAnnotations()) {
		return
	}
	spec := members.Template.Spec
	if *spec.CompletionMode != batchv1.IndexedCompletion {
		report(finding.Error, codes.NeverCreated,
			members.path().Append(fieldpath.Fields("template", "spec", "completionMode")...),
			"the Pods are never created: exclusive placement needs a Pod of index 0",
			`set completionMode to Indexed, or use the node-selector strategy of exclusive placement`)
		return
	}
	if newPodCounts(&spec).all > 1 {
		report(finding.Note, codes.LeaderFirst, members.path(),
			"other Pods wait until the Pod of index 0 is scheduled, and then get a node selector "+
				"for its topology domain",
			"")
	}
}

func (f *Family) reportPriority(members *Members, report reporter) {
	pod := &members.Template.Spec.Template.Spec
	if _, known := podPriority(pod); !known && f.opts.labelsPriority(members.podAnnotations()) {
		report(finding.Warning, codes.UnknownPriority,
			members.path().Append(
				fieldpath.Fields("template", "spec", "template", "spec", "priorityClassName")...),
			fmt.Sprintf("the value of PriorityClass %q is unknown: the output omits the label %s "+
				"of the Pods", pod.PriorityClassName, PriorityKey),
			"read it with kubectl get priorityclass "+pod.PriorityClassName)
	}
}

// TooManyJobs reports whether there are more Jobs than maxJobs. It stops at the limit, so the sum
// cannot overflow.
func (f *Family) TooManyJobs() bool {
	jobs := 0
	for _, members := range f.Members {
		if jobs += int(max(0, members.Replicas)); jobs > maxJobs {
			return true
		}
	}
	return false
}

// names returns the names of the replicated jobs with that presence.
func (f *Family) names(p presence) []string {
	var names []string
	for _, members := range f.Members {
		if members.presence == p {
			names = append(names, members.Name)
		}
	}
	return names
}

func quoted(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(quoted, ", ")
}

// path returns the path of the replicated job in the JobSet.
func (m *Members) path() fieldpath.Path {
	return fieldpath.Fields("spec", "replicatedJobs").Append(fieldpath.Item("name", m.Name))
}

// podAnnotations returns the annotations that decide the placement of the Pods.
func (m *Members) podAnnotations() map[string]string {
	return overlay(m.Template.Spec.Template.Annotations,
		exclusivePlacement(m.family.Annotations), exclusivePlacement(m.Template.Annotations))
}
