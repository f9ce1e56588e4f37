package merged

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	serviceapi "k8s.io/kubernetes/pkg/api/service"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
)

// kind is a kind of Kubernetes with the strategy by which its API server creates objects.
type kind struct {
	version runtimeschema.GroupVersion
	name    string
	create  rest.RESTCreateStrategy
	// template is the path of the Pod template, within which the errors of the API server count. It
	// is "" for an object that counts as a whole.
	template string
	// partly means that the program has rules about duplicates and unions of the kind only.
	partly bool
	base   string // a valid object
}

const podSpec = `{"containers":[{"name":"app","image":"app:1","ports":[{"name":"http","containerPort":80}],"env":[{"name":"A","value":"1"}],
"volumeMounts":[{"name":"data","mountPath":"/data"}]},{"name":"side","image":"side:1"}],"initContainers":[{"name":"init","image":"init:1"}],
"volumes":[{"name":"data","emptyDir":{}},{"name":"claim","persistentVolumeClaim":{"claimName":"c"}}]%s}`

func templateOf(more string) string {
	return `{"metadata":{"labels":{"app":"a"}},"spec":` + fmt.Sprintf(podSpec, more) + `}`
}

func workload(spec string) string {
	return `{"metadata":{"name":"a"},"spec":{` + spec + `}}`
}

const selector = `"selector":{"matchLabels":{"app":"a"}}`

var kinds = []kind{
	{corev1.SchemeGroupVersion, "Pod", pod.Strategy, "", false,
		`{"metadata":{"name":"a","labels":{"app":"a"}},"spec":` + fmt.Sprintf(podSpec, "") + `}`},
	{corev1.SchemeGroupVersion, "PodTemplate", podtemplate.Strategy, "template", false,
		`{"metadata":{"name":"a"},"template":` + templateOf("") + `}`},
	{appsv1.SchemeGroupVersion, "Deployment", deployment.Strategy, "spec.template", false,
		workload(selector + `,"template":` + templateOf(""))},
	{appsv1.SchemeGroupVersion, "ReplicaSet", replicaset.Strategy, "spec.template", false,
		workload(selector + `,"template":` + templateOf(""))},
	{appsv1.SchemeGroupVersion, "DaemonSet", daemonset.Strategy, "spec.template", false,
		workload(selector + `,"template":` + templateOf(""))},
	{appsv1.SchemeGroupVersion, "StatefulSet", statefulset.Strategy, "spec.template", false,
		workload(selector +
			`,"serviceName":"a","volumeClaimTemplates":[{"metadata":{"name":"own"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],"template":` + templateOf(""))},
	{batchv1.SchemeGroupVersion, "Job", job.Strategy, "spec", false,
		workload(`"template":` + templateOf(`,"restartPolicy":"Never"`))},
	{batchv1.SchemeGroupVersion, "CronJob", cronjob.Strategy, "spec.jobTemplate.spec", false,
		workload(`"schedule":"* * * * *","jobTemplate":{"spec":{"template":` +
			templateOf(`,"restartPolicy":"OnFailure"`) + `}}`)},
	{corev1.SchemeGroupVersion, "Service", service.Strategy, "", true,
		workload(`"selector":{"app":"a"},"ports":[{"name":"web","port":80}]`)},
	{networkingv1.SchemeGroupVersion, "Ingress", ingress.Strategy, "", true,
		workload(`"rules":[{"host":"a.example.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"a","port":{"name":"web"}}}}]}}]`)},
	{networkingv1.SchemeGroupVersion, "NetworkPolicy", networkpolicy.Strategy, "", true,
		workload(`"podSelector":{},"ingress":[{"from":[{"podSelector":{}}],"ports":[{"port":80,"protocol":"TCP"}]}]`)},
	{corev1.SchemeGroupVersion, "PersistentVolumeClaim", persistentvolumeclaim.Strategy, "", true,
		workload(`"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}`)},
	{corev1.SchemeGroupVersion, "ReplicationController", replicationcontroller.Strategy,
		"spec.template", false, workload(`"selector":{"app":"a"},"template":` + templateOf(""))},
}

// kindOf returns a kind by its name.
func kindOf(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

// rejections returns the errors of the API server for a new object that count for its kind. They
// are those of Kubernetes' own decoding, defaulting and validation. A panic of the validation is
// one: the API server answers with its text. It has one for a success policy of a CronJob that is
// Indexed and has no completions.
func (k *kind) rejections(fields map[string]any) (counted []string) {
	defer func() {
		if problem := recover(); problem != nil {
			counted = []string{fmt.Sprint("panic: ", problem)}
		}
	}()
	hub, err := k.decode(fields)
	if err != nil {
		return []string{err.Error()}
	}
	ctx := k.request("create")
	k.create.PrepareForCreate(ctx, hub)
	if svc, ok := hub.(*core.Service); ok {
		allocate(svc)
	}
	for _, problem := range k.create.Validate(ctx, hub) {
		if k.counts(problem) {
			counted = append(counted, problem.Error())
		}
	}
	return counted
}

// decode returns an object as the API server has it after decoding and defaulting.
func (k *kind) decode(fields map[string]any) (runtime.Object, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	object, err := legacyscheme.Scheme.New(k.version.WithKind(k.name))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, object); err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(object)
	hub, err := legacyscheme.Scheme.ConvertToVersion(object, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, err
	}
	if o, ok := hub.(interface{ SetNamespace(string) }); ok {
		o.SetNamespace("default")
	}
	if o, ok := hub.(interface{ SetUID(types.UID) }); ok {
		o.SetUID("u")
	}
	return hub, nil
}

func (k *kind) request(verb string) context.Context {
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), "default")
	info := genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: k.version.Group,
		APIVersion: k.version.Version, Verb: verb}
	return genericapirequest.WithRequestInfo(ctx, &info)
}

// counts reports whether an error is within the part of an object that the program judges.
func (k *kind) counts(problem *field.Error) bool {
	return k.template == "" || problem.Field == k.template ||
		strings.HasPrefix(problem.Field, k.template+".")
}

// allocate sets what the API server's storage sets of a new Service before the validation.
func allocate(svc *core.Service) {
	if svc.Spec.ClusterIP != "" && len(svc.Spec.ClusterIPs) == 0 {
		svc.Spec.ClusterIPs = []string{svc.Spec.ClusterIP}
	}
	if serviceapi.NeedsHealthCheck(svc) && svc.Spec.HealthCheckNodePort == 0 {
		svc.Spec.HealthCheckNodePort = 30000
	}
}
