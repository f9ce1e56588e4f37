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
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release/minor"
)

// AdmitBuiltIn returns the errors of the API server for a new object of a kind of Kubernetes
// itself. It judges Pods, Jobs, and the Pod templates of other kinds. Of Services, Ingresses and
// NetworkPolicies, it judges names, ports, keys and unions, and of a PersistentVolumeClaim its
// spec. It returns nil for other kinds. The fields are as decoded from JSON or YAML. A finding has
// no object. A warning says that the minor version of Kubernetes drops a field, which it does
// before it judges.
func AdmitBuiltIn(kubernetes, apiVersion, kind string, fields map[string]any) finding.List {
	object := newBuiltIn(apiVersion + " " + kind)
	if object == nil {
		return nil
	}
	var found findings
	eachDropped(kubernetes, kind, fields, func(f *minor.Field, at fieldpath.Path) {
		found.Add(finding.Finding{Code: codes.DropsField, Severity: finding.Warning, Path: at,
			Message: f.Why(kubernetes), Remedy: finding.Remedy{Text: dropHelp}})
	})
	text, err := json.Marshal(fields)
	if err == nil {
		err = tree.UnmarshalBounded(text, object, kjson.UnmarshalCaseSensitivePreserveInts)
	}
	if err != nil {
		return append(found.List(), finding.Finding{
			Code: codes.WrongType, Severity: finding.Error, Message: err.Error(),
			Remedy: finding.Remedy{Text: "correct the value"}})
	}
	report := func(code finding.Code, path fieldpath.Path, message, help string) {
		if code == codes.NoImage && message == kubeapi.Missing("") {
			help = "set the image" // no TrainJob can
		}
		found.reject(code, fieldpath.Object{}, path, message, help)
	}
	judge{kubernetes, kubeapi.Root(report, codes.PodSpec), report}.object(object)
	return found.List()
}

// dropHelp is the remedy of a field that is dropped.
const dropHelp = "remove it, or deploy to a version of Kubernetes that keeps it"

// eachDropped calls a function for each field of an object of a built-in kind that a version of
// Kubernetes drops.
func eachDropped(kubernetes, kind string, fields map[string]any,
	do func(f *minor.Field, at fieldpath.Path)) {
	of, names := "Pod", []string{"spec", "template", "spec"}
	switch kind {
	case "Pod":
		names = names[:1]
	case "PersistentVolumeClaim":
		of, names = kind, names[:1]
	case "PodTemplate":
		names = names[1:]
	case "Job":
		eachBelow(kubernetes, kind, fields, names[:1], do)
	case "CronJob":
		names = []string{"spec", "jobTemplate", "spec", "template", "spec"}
		eachBelow(kubernetes, "Job", fields, names[:3], do)
	}
	eachBelow(kubernetes, of, fields, names, do)
}

// eachBelow does so for the spec of a kind at the names.
func eachBelow(kubernetes, kind string, fields map[string]any, names []string,
	do func(f *minor.Field, at fieldpath.Path)) {
	at := fieldpath.Fields(names...)
	for _, name := range names {
		fields, _ = fields[name].(map[string]any)
	}
	minor.EachOf(kubernetes, kind, fields, func(f *minor.Field, below fieldpath.Path) bool {
		do(f, at.Append(below...))
		return false
	})
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

// judge reports the errors of an object by a minor version of Kubernetes. It may change the object.
type judge struct {
	kubernetes string
	root       *kubeapi.At
	report     kubeapi.Reporter
}

func (j judge) object(object any) {
	metadata, spec := j.root.Field("metadata"), j.root.Field("spec")
	switch o := object.(type) {
	case *corev1.Pod:
		minor.Drop(j.kubernetes, &o.Spec)
		j.pods(o.Labels, &corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}, j.root)
		kubeapi.CheckPod(j.kubernetes, o, j.report)
	case *corev1.PodTemplate:
		j.pods(nil, &o.Template, j.root.Field("template"))
	case *corev1.PersistentVolumeClaim:
		minor.Each(j.kubernetes, &o.Spec,
			func(*minor.Field, fieldpath.Path) bool { return true })
		kubeapi.CheckClaim(o, j.report)
	case *corev1.Service:
		metadata.Metadata(o.Labels, o.Annotations)
		kubeapi.CheckService(o, j.root)
	case *corev1.ReplicationController:
		template := cmp.Or(o.Spec.Template, &corev1.PodTemplateSpec{})
		j.replicas(&metav1.LabelSelector{MatchLabels: o.Spec.Selector}, template,
			"ReplicationController")
	case *appsv1.Deployment:
		j.replicas(o.Spec.Selector, &o.Spec.Template, "ReplicaSet")
	case *appsv1.ReplicaSet:
		j.replicas(o.Spec.Selector, &o.Spec.Template, "ReplicaSet")
	case *appsv1.DaemonSet:
		j.replicas(o.Spec.Selector, &o.Spec.Template, "DaemonSet")
	case *appsv1.StatefulSet:
		ownVolumes(&o.Spec)
		j.replicas(o.Spec.Selector, &o.Spec.Template, "StatefulSet")
	case *batchv1.Job:
		if o.Spec.Completions == nil && o.Spec.Parallelism == nil {
			// the defaults
			o.Spec.Completions, o.Spec.Parallelism = ptr.To[int32](1), ptr.To[int32](1)
		}
		j.job(o, j.root)
	case *batchv1.CronJob:
		j.cronJob(o, spec.Field("jobTemplate"))
	case *networkingv1.Ingress:
		metadata.Metadata(o.Labels, o.Annotations)
		kubeapi.CheckIngress(j.kubernetes, o, j.root)
	case *networkingv1.NetworkPolicy:
		metadata.Metadata(o.Labels, o.Annotations)
		kubeapi.CheckNetworkPolicy(o, j.root)
	}
}

func (j judge) template(labels map[string]string, template *corev1.PodTemplateSpec,
	at *kubeapi.At) {
	minor.Drop(j.kubernetes, &template.Spec)
	at.Field("metadata").Metadata(template.Labels, template.Annotations)
	kubeapi.CheckTemplate(j.kubernetes, labels, template, at)
	j.noClaims(template, at)
}

// noClaims reports an empty list of claims of the whole Pod, which no controller sends.
func (j judge) noClaims(template *corev1.PodTemplateSpec, at *kubeapi.At) {
	if r := template.Spec.Resources; r != nil && r.Claims != nil && len(r.Claims) == 0 {
		at.As(codes.Resources).Field("spec", "resources", "claims").Forbid(
			"claims may not be set for Resources at pod-level", "remove the empty list")
	}
}

// pods reports the errors of a template with any restart policy. The labels are those of a Pod.
func (j judge) pods(labels map[string]string, template *corev1.PodTemplateSpec, at *kubeapi.At) {
	j.template(labels, template, at)
	kubeapi.EmptyOr(at.As(codes.RestartPolicy).Field("spec", "restartPolicy"),
		template.Spec.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure,
		corev1.RestartPolicyNever)
}

func (j judge) job(job *batchv1.Job, at *kubeapi.At) {
	minor.Drop(j.kubernetes, &job.Spec.Template.Spec)
	if spec := &job.Spec.Template.Spec; spec.RestartPolicy == "" {
		// the default of a Pod, which JobSet replaces
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	kubeapi.CheckJob(j.kubernetes, nil, job, at)
	j.noClaims(&job.Spec.Template, at.Field("spec", "template"))
}

// cronJob reports the errors of the Jobs that a CronJob makes.
func (j judge) cronJob(cron *batchv1.CronJob, template *kubeapi.At) {
	job := &batchv1.Job{Spec: cron.Spec.JobTemplate.Spec}
	at := template.As(codes.JobSpec).Field("spec")
	if job.Spec.Selector != nil {
		at.Field("selector").InvalidObject("`selector` will be auto-generated", "remove it")
	}
	if manual := job.Spec.ManualSelector; manual != nil && *manual {
		at.Field("manualSelector").Reject(kubeapi.Unsupported("true", "nil", "false"), "remove it")
	}
	job.Spec.Selector, job.Spec.ManualSelector = nil, nil
	j.job(job, template)
}

// replicas reports the errors of a template whose Pods always run (Kubernetes v1.36.3
// pkg/apis/apps/validation). The kind is the one that the API server names.
func (j judge) replicas(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec,
	kind string) {
	at := j.root.Field("spec", "template")
	j.template(nil, template, at)
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err == nil && (!s.Empty() || kind == "DaemonSet") &&
		!s.Matches(labels.Set(template.Labels)) {
		at.As(codes.BadLabel).Field("metadata", "labels").InvalidObject(
			"`selector` does not match template `labels`", "set the labels that the selector has")
	}
	if policy := template.Spec.RestartPolicy; policy != "" && policy != corev1.RestartPolicyAlways {
		at.As(codes.RestartPolicy).Field("spec", "restartPolicy").Reject(
			kubeapi.Unsupported(policy, corev1.RestartPolicyAlways), "remove it")
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		at.As(codes.PodSpec).Field("spec", "activeDeadlineSeconds").Forbid(
			fmt.Sprintf("activeDeadlineSeconds in %s is not Supported", kind), "remove it")
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
