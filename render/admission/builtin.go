package admission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/quantity"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/admission/internal/jobapi"
	"github.com/trainweld/trainweld/render/admission/internal/netapi"
	"github.com/trainweld/trainweld/render/admission/internal/podapi"
	"github.com/trainweld/trainweld/render/codes"
)

// AdmitBuiltIn returns the errors of the API server for a new object of a kind of Kubernetes
// itself. It judges Pods, Jobs, and the Pod templates of other kinds. Of Services, Ingresses and
// NetworkPolicies, it judges names, ports, keys and unions, and of a PersistentVolumeClaim its
// spec. It returns nil for other kinds. The fields are as decoded from JSON or YAML. A finding has
// no object.
func AdmitBuiltIn(apiVersion, kind string, fields map[string]any) finding.List {
	object := newBuiltIn(apiVersion + " " + kind)
	if object == nil {
		return nil
	}
	var found findings
	text, err := json.Marshal(fields)
	if err == nil {
		err = quantity.Unmarshal(text, object, kjson.UnmarshalCaseSensitivePreserveInts)
	}
	if err != nil {
		return finding.List{
			{Code: codes.WrongType, Severity: finding.Error, Message: err.Error(),
				Remedy: finding.Remedy{Text: "correct the value"}}}
	}
	judge(object, func(code finding.Code, path fieldpath.Path, message, help string) {
		if code == codes.NoImage && message == apirule.Missing("") {
			help = "set the image" // no TrainJob can
		}
		found.Add(finding.Finding{Code: code, Severity: finding.Error, Path: path, Message: message,
			Remedy: finding.Remedy{Text: help}})
	})
	return found.List()
}

// newBuiltIn returns an empty object of a kind that judge knows, or nil.
func newBuiltIn(name string) any {
	switch name {
	case "v1 Pod":
		return new(corev1.Pod)
	case "v1 PodTemplate":
		return new(corev1.PodTemplate)
	case "v1 PersistentVolumeClaim":
		return new(corev1.PersistentVolumeClaim)
	case "v1 Service":
		return new(corev1.Service)
	case "v1 ReplicationController":
		return new(corev1.ReplicationController)
	case "apps/v1 Deployment":
		return new(appsv1.Deployment)
	case "apps/v1 ReplicaSet":
		return new(appsv1.ReplicaSet)
	case "apps/v1 DaemonSet":
		return new(appsv1.DaemonSet)
	case "apps/v1 StatefulSet":
		return new(appsv1.StatefulSet)
	case "batch/v1 Job":
		return new(batchv1.Job)
	case "batch/v1 CronJob":
		return new(batchv1.CronJob)
	case "networking.k8s.io/v1 Ingress":
		return new(networkingv1.Ingress)
	case "networking.k8s.io/v1 NetworkPolicy":
		return new(networkingv1.NetworkPolicy)
	}
	return nil
}

// judge reports the errors of one object. It may change the object.
func judge(object any, report apirule.Reporter) {
	metadata := fieldpath.Fields("metadata")
	switch o := object.(type) {
	case *corev1.Pod:
		judgePods(&corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}, nil, report)
		podapi.CheckPod(o, report)
	case *corev1.PodTemplate:
		judgePods(&o.Template, fieldpath.Fields("template"), report)
	case *corev1.PersistentVolumeClaim:
		podapi.CheckClaim(o, report)
	case *corev1.Service:
		apirule.Metadata(o.Labels, o.Annotations, metadata, report)
		netapi.CheckService(o, report)
	case *corev1.ReplicationController:
		template := cmp.Or(o.Spec.Template, &corev1.PodTemplateSpec{})
		judgeReplicas(&metav1.LabelSelector{MatchLabels: o.Spec.Selector}, template,
			"ReplicationController", report)
	case *appsv1.Deployment:
		judgeReplicas(o.Spec.Selector, &o.Spec.Template, "ReplicaSet", report)
	case *appsv1.ReplicaSet:
		judgeReplicas(o.Spec.Selector, &o.Spec.Template, "ReplicaSet", report)
	case *appsv1.DaemonSet:
		judgeReplicas(o.Spec.Selector, &o.Spec.Template, "DaemonSet", report)
	case *appsv1.StatefulSet:
		ownVolumes(&o.Spec)
		judgeReplicas(o.Spec.Selector, &o.Spec.Template, "StatefulSet", report)
	case *batchv1.Job:
		if o.Spec.Completions == nil && o.Spec.Parallelism == nil {
			// the defaults
			o.Spec.Completions, o.Spec.Parallelism = ptr.To[int32](1), ptr.To[int32](1)
		}
		judgeJob(o, report)
	case *batchv1.CronJob:
		judgeCronJob(o, report)
	case *networkingv1.Ingress:
		apirule.Metadata(o.Labels, o.Annotations, metadata, report)
		netapi.CheckIngress(o, report)
	case *networkingv1.NetworkPolicy:
		apirule.Metadata(o.Labels, o.Annotations, metadata, report)
		netapi.CheckNetworkPolicy(o, report)
	}
}

func judgeTemplate(template *corev1.PodTemplateSpec, at fieldpath.Path, report apirule.Reporter) {
	apirule.Metadata(template.Labels, template.Annotations, at.Append(fieldpath.Field("metadata")),
		report)
	podapi.CheckTemplate(template, at, report)
	// a controller would not send it
	if r := template.Spec.Resources; r != nil && r.Claims != nil && len(r.Claims) == 0 {
		report(codes.Resources, at.Append(fieldpath.Fields("spec", "resources", "claims")...),
			apirule.Forbidden("claims may not be set for Resources at pod-level"),
			"remove the empty list")
	}
}

// judgePods reports the errors of a template with any restart policy.
func judgePods(template *corev1.PodTemplateSpec, at fieldpath.Path, report apirule.Reporter) {
	judgeTemplate(template, at, report)
	if policy := template.Spec.RestartPolicy; policy != "" {
		apirule.OneOf(report, codes.RestartPolicy,
			at.Append(fieldpath.Fields("spec", "restartPolicy")...), policy,
			corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	}
}

func judgeJob(job *batchv1.Job, report apirule.Reporter) {
	if spec := &job.Spec.Template.Spec; spec.RestartPolicy == "" {
		// the default of a Pod, which JobSet replaces
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	jobapi.Check(job, report)
}

// judgeCronJob reports the errors of the Jobs that a CronJob makes.
func judgeCronJob(cron *batchv1.CronJob, report apirule.Reporter) {
	job := &batchv1.Job{Spec: cron.Spec.JobTemplate.Spec}
	at := fieldpath.Fields("spec", "jobTemplate")
	if job.Spec.Selector != nil {
		report(codes.JobSpec, at.Append(fieldpath.Fields("spec", "selector")...),
			apirule.InvalidObject("`selector` will be auto-generated"), "remove it")
	}
	if manual := job.Spec.ManualSelector; manual != nil && *manual {
		report(codes.JobSpec, at.Append(fieldpath.Fields("spec", "manualSelector")...),
			apirule.Unsupported("true", "nil", "false"), "remove it")
	}
	job.Spec.Selector, job.Spec.ManualSelector = nil, nil
	judgeJob(job, apirule.Within(at, report))
}

// judgeReplicas reports the errors of a template whose Pods always run (Kubernetes v1.36.3
// pkg/apis/apps/validation). The kind is the one that the API server names.
func judgeReplicas(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, kind string,
	report apirule.Reporter) {
	at := fieldpath.Fields("spec", "template")
	judgeTemplate(template, at, report)
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err == nil && (!s.Empty() || kind == "DaemonSet") &&
		!s.Matches(labels.Set(template.Labels)) {
		report(codes.BadLabel, at.Append(fieldpath.Fields("metadata", "labels")...),
			apirule.InvalidObject("`selector` does not match template `labels`"),
			"set the labels that the selector has")
	}
	spec := at.Append(fieldpath.Field("spec"))
	if policy := template.Spec.RestartPolicy; policy != "" && policy != corev1.RestartPolicyAlways {
		report(codes.RestartPolicy, spec.Append(fieldpath.Field("restartPolicy")),
			apirule.Unsupported(policy, corev1.RestartPolicyAlways), "remove it")
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		report(codes.PodSpec, spec.Append(fieldpath.Field("activeDeadlineSeconds")),
			apirule.Forbidden(fmt.Sprintf("activeDeadlineSeconds in %s is not Supported", kind)),
			"remove it")
	}
}

// ownVolumes changes the template of a StatefulSet as its controller does: each claim is a volume,
// and the controller names the host.
func ownVolumes(spec *appsv1.StatefulSetSpec) {
	pod := &spec.Template.Spec
	pod.Hostname, pod.Subdomain = "", ""
	var volumes []corev1.Volume
	for i := range spec.VolumeClaimTemplates {
		name := spec.VolumeClaimTemplates[i].Name
		has := func(v corev1.Volume) bool { return v.Name == name }
		pod.Volumes = slices.DeleteFunc(pod.Volumes, has)
		if !slices.ContainsFunc(volumes, has) {
			source := corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
			volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		}
	}
	pod.Volumes = append(volumes, pod.Volumes...)
}
