package merged

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/builtin"
)

// generator makes patches by the Go types. Words are few, so that items and references of base and
// patches meet, and wild: about one in six is invalid.
type generator struct {
	*rand.Rand
	at uint64 // the seed
}

func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

// patch returns a patch of a kind, with a few fields.
func (g *generator) patch(k *kind) map[string]any {
	t, ok := builtin.TypeOf(k.version.String(), k.name)
	if !ok {
		panic("no type of " + k.name)
	}
	fields := map[string]any{}
	path := strings.Split("spec", ".")
	if k.template != "" {
		path = strings.Split(k.template, ".")
		if path[len(path)-1] != "template" && !g.chance(4) {
			path = append(path, "template")
		}
	}
	if len(path) > 0 && path[len(path)-1] == "template" {
		if g.chance(12) {
			set(fields, append(slices.Clone(path), "metadata"), g.metadata())
		}
		path = append(path, "spec")
	} else if k.name == "Pod" && g.chance(12) {
		fields["metadata"] = g.metadata()
	}
	for _, name := range path {
		t = fieldOf(t, name)
	}
	set(fields, path, g.object(t, 0))
	return fields
}

func set(fields map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		next, ok := fields[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			fields[name] = next
		}
		fields = next
	}
	fields[path[len(path)-1]] = value
}

func fieldOf(t reflect.Type, name string) reflect.Type {
	for _, f := range reflect.VisibleFields(t) {
		if jsonName(f) == name {
			return concrete(f.Type)
		}
	}
	panic(t.String() + " has no field " + name)
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func concrete(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func (g *generator) metadata() map[string]any {
	m := map[string]any{}
	if g.chance(2) {
		m["labels"] = map[string]any{
			pick(g, []string{"app", "b", "example.com/b", "-bad", "a/b/c"}): pick(
				g, []string{"a", "b", "", "no space", "é"})}
	}
	if g.chance(2) {
		m["annotations"] = map[string]any{pick(g, []string{
			"b", "UPPER", "bad key", "controller.kubernetes.io/pod-deletion-cost",
			"container.apparmor.security.beta.kubernetes.io/app",
			"container.apparmor.security.beta.kubernetes.io/none",
			"seccomp.security.alpha.kubernetes.io/pod", "kubernetes.io/config.mirror",
		}): pick(g, []string{"a", "1", "+1", "x y", "runtime/default", "localhost/a", "unconfined",
			"localhost/../a"})}
	}
	return m
}

// enums are the values of types with few of them.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[corev1.Protocol](): {"TCP", "UDP", "SCTP"},
	reflect.TypeFor[corev1.PullPolicy](): {
		"Always", "IfNotPresent", "Never"},
	reflect.TypeFor[corev1.RestartPolicy](): {
		"Always", "Never", "OnFailure"},
	reflect.TypeFor[corev1.ContainerRestartPolicy](): {
		"Always", "Never", "OnFailure"},
	reflect.TypeFor[corev1.DNSPolicy](): {
		"Default", "ClusterFirst", "None", "ClusterFirstWithHostNet"},
	reflect.TypeFor[corev1.TaintEffect](): {
		"NoSchedule", "NoExecute", "PreferNoSchedule"},
	reflect.TypeFor[corev1.TolerationOperator](): {
		"Exists", "Equal", "Lt", "Gt"},
	reflect.TypeFor[corev1.NodeSelectorOperator](): {
		"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"},
	reflect.TypeFor[metav1.LabelSelectorOperator](): {
		"In", "NotIn", "Exists", "DoesNotExist"},
	reflect.TypeFor[corev1.MountPropagationMode](): {
		"None", "HostToContainer", "Bidirectional"},
	reflect.TypeFor[corev1.RecursiveReadOnlyMode](): {
		"Disabled", "IfPossible", "Enabled"},
	reflect.TypeFor[corev1.URIScheme](): {"HTTP", "HTTPS"},
	reflect.TypeFor[corev1.TerminationMessagePolicy](): {
		"File", "FallbackToLogsOnError"},
	reflect.TypeFor[corev1.UnsatisfiableConstraintAction](): {
		"DoNotSchedule", "ScheduleAnyway"},
	reflect.TypeFor[corev1.NodeInclusionPolicy](): {"Honor", "Ignore"},
	reflect.TypeFor[corev1.StorageMedium](): {
		"", "Memory", "HugePages", "HugePages-2Mi"},
	reflect.TypeFor[corev1.HostPathType](): {
		"", "Directory", "File", "Socket", "DirectoryOrCreate"},
	reflect.TypeFor[corev1.SeccompProfileType](): {
		"RuntimeDefault", "Unconfined", "Localhost"},
	reflect.TypeFor[corev1.AppArmorProfileType](): {
		"RuntimeDefault", "Unconfined", "Localhost"},
	reflect.TypeFor[corev1.PreemptionPolicy](): {
		"Never", "PreemptLowerPriority"},
	reflect.TypeFor[corev1.OSName]():                   {"linux", "windows"},
	reflect.TypeFor[corev1.Capability]():               {"NET_ADMIN", "ALL", "KILL"},
	reflect.TypeFor[corev1.ProcMountType]():            {"Default", "Unmasked"},
	reflect.TypeFor[corev1.PodFSGroupChangePolicy]():   {"Always", "OnRootMismatch"},
	reflect.TypeFor[corev1.SupplementalGroupsPolicy](): {"Merge", "Strict"},
	reflect.TypeFor[corev1.PodSELinuxChangePolicy]():   {"Recursive", "MountOption"},
	reflect.TypeFor[corev1.ResourceResizeRestartPolicy](): {
		"NotRequired", "RestartContainer"},
	reflect.TypeFor[corev1.PersistentVolumeAccessMode](): {
		"ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod"},
	reflect.TypeFor[corev1.PersistentVolumeMode](): {"Block", "Filesystem"},
	reflect.TypeFor[corev1.ServiceType](): {
		"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"},
	reflect.TypeFor[corev1.ServiceAffinity](): {"None", "ClientIP"},
	reflect.TypeFor[corev1.IPFamily]():        {"IPv4", "IPv6"},
	reflect.TypeFor[corev1.IPFamilyPolicy](): {
		"SingleStack", "PreferDualStack", "RequireDualStack"},
	reflect.TypeFor[corev1.ServiceExternalTrafficPolicy](): {"Local", "Cluster"},
	reflect.TypeFor[corev1.ServiceInternalTrafficPolicy](): {"Local", "Cluster"},
	reflect.TypeFor[networkingv1.PathType](): {
		"Prefix", "Exact", "ImplementationSpecific"},
	reflect.TypeFor[networkingv1.PolicyType](): {"Ingress", "Egress"},
	reflect.TypeFor[batchv1.CompletionMode]():  {"Indexed", "NonIndexed"},
	reflect.TypeFor[batchv1.PodReplacementPolicy](): {
		"Failed", "TerminatingOrFailed"},
	reflect.TypeFor[batchv1.PodFailurePolicyAction](): {
		"FailJob", "FailIndex", "Ignore", "Count"},
	reflect.TypeFor[batchv1.PodFailurePolicyOnExitCodesOperator](): {"In", "NotIn"},
	reflect.TypeFor[corev1.PodConditionType](): {
		"Ready", "a/b/c", "example.com/ready"},
	reflect.TypeFor[corev1.ConditionStatus](): {"True", "False", "Unknown"},
	reflect.TypeFor[corev1.AzureDataDiskCachingMode](): {
		"None", "ReadOnly", "ReadWrite"},
	reflect.TypeFor[corev1.AzureDataDiskKind](): {
		"Shared", "Dedicated", "Managed"},
	reflect.TypeFor[corev1.ContainerRestartRuleAction](): {
		"Restart", "RestartAllContainers"},
	reflect.TypeFor[corev1.ContainerRestartRuleOnExitCodesOperator](): {"In", "NotIn"},
	reflect.TypeFor[jobset.DependsOnStatus]():                         {"Ready", "Complete"},
	reflect.TypeFor[jobset.Operator]():                                {"All", "Any"},
	reflect.TypeFor[jobset.FailurePolicyAction](): {
		"FailJobSet", "RestartJobSet", "RestartJob", "RestartJobSetAndIgnoreMaxRestarts"},
	reflect.TypeFor[jobset.JobSetRestartStrategy](): {
		"Recreate", "BlockingRecreate", "InPlaceRestart"},
	reflect.TypeFor[jobset.StartupPolicyOptions](): {"AnyOrder", "InOrder"},
	reflect.TypeFor[jobset.RetentionPolicyType]():  {"Delete", "Retain"},
}

// words are the values of strings, by the struct and the field, or by the field alone.
var words = map[string][]string{
	"Container.name":     {"app", "side", "init", "new"},
	"ContainerPort.name": {"http", "web", "", "metrics"}, "EnvVar.name": {"A", "B", "C", "A.b-c"},
	"Volume.name":       {"data", "claim", "tmp", "own"},
	"VolumeMount.name":  {"data", "claim", "tmp", "own"},
	"VolumeDevice.name": {"claim", "own", "data"},
	"ServicePort.name":  {"web", "http", "admin"}, "PodResourceClaim.name": {"gpu", "nic"},
	"ResourceClaim.name":      {"gpu", "nic"},
	"Sysctl.name":             {"kernel.shm_rmid_forced", "net/ipv4/tcp"},
	"HTTPHeader.name":         {"X-A", "Host"},
	"PodDNSConfigOption.name": {"ndots", "edns0"},
	"ServiceBackendPort.name": {"web", "", "http"},
	"PodSchedulingGate.name":  {"example.com/a", "b"},
	"name":                    {"a", "b", "data", "a.example"},
	"image":                   {"app:1", "side:2", "app@sha256:0", " app"},
	"mountPath":               {"/data", "/tmp", "/dev/x", "rel"},
	"devicePath":              {"/data", "/dev/x", "/tmp"}, "subPath": {"a", "a/b", ""},
	"subPathExpr": {"$(A)", "a"}, "value": {"1", "", "x"},
	"fieldPath": {"metadata.name", "spec.nodeName", "metadata.labels['a']", "status.podIP",
		"metadata.annotations['B']", "limits.cpu"},
	"resource": {"limits.cpu", "requests.memory", "limits.hugepages-2Mi",
		"limits.ephemeral-storage"}, "containerName": {"app", "side", ""},
	"apiVersion": {"v1", "", "v1"}, "host": {"a.example.com", "*.example.com", ""},
	"path": {"/", "/a", "a", "/a/../b"}, "hostIP": {"", "10.0.0.1", "127.0.0.1"},
	"ip": {"10.0.0.1", "fd00::1"}, "cidr": {"10.0.0.0/8", "fd00::/8"},
	"except": {"10.1.0.0/16", "fd00:1::/32"}, "clusterIP": {"", "None", "10.0.0.1"},
	"clusterIPs": {"10.0.0.1", "None", "fd00::1"}, "externalName": {"a.example.com", ""},
	"topologyKey": {"zone", "kubernetes.io/hostname"},
	"key":         {"a", "example.com/a", "zone", ""}, "values": {"a", "b", "1"},
	"localhostProfile": {"a.json", "", "a/b"}, "hostname": {"a", "host-1"}, "subdomain": {"a"},
	"nameservers": {"10.0.0.1", "fd00::1"}, "searches": {"a.example.com", ".", "a_b"},
	"command": {"sh", "-c"}, "args": {"a"}, "claimName": {"c", "d"},
	"nodeName": {"n", ""}, "serviceAccountName": {"a", ""}, "serviceAccount": {"a", ""},
	"schedulerName": {"default-scheduler", "b"}, "kind": {"Secret", "PersistentVolumeClaim", "Foo"},
	"apiGroup": {"example.com", ""}, "workingDir": {"/a", ""},
	"terminationMessagePath": {"/dev/termination-log"}, "prefix": {"P_", ""}, "namespaces": {"a"},
	"succeededIndexes": {"0", "0-1", "0,2"},
	"managedBy":        {"example.com/a", "kubernetes.io/job-controller"}, "timeZone": {"Etc/UTC"},
	"schedule":    {"* * * * *"},
	"appProtocol": {"http", "example.com/a"}, "loadBalancerSourceRanges": {"10.0.0.0/8"},
	"externalIPs": {"10.0.0.1"}, "loadBalancerClass": {"example.com/a"},
	"secretName": {"s"}, "iqn": {"iqn.2001-04.com.example:a"}, "targetPortal": {"10.0.0.1:3260"},
	"driver": {"csi.example.com"}, "request": {"r", ""},
	"server": {"nfs"}, "hostnames": {"a", "a.example.com"}, "matchLabelKeys": {"app", "b"},
	"mismatchLabelKeys": {"app", "b"}, "volumeName": {"data", "tmp", "claim"},
	"ReplicatedJob.name": {"a", "b", "new"}, "DependsOn.name": {"a", "b"},
	"replicatedJob": {"a", "b"}, "targetReplicatedJobs": {"a", "b"}, "groupName": {"g", "default"},
	"onJobFailureReasons":         {"BackoffLimitExceeded", "DeadlineExceeded"},
	"onJobFailureMessagePatterns": {"a.*", "("}, "FailurePolicyRule.name": {"r", "s"},
	"trafficDistribution": {"PreferClose", "PreferSameZone"}, "stopSignal": {"SIGTERM"},
	"sources": {"a"}, "hostnameOverride": {"a.b"}, "conditionType": {"example.com/a", "a/b/c"},
}

// wild are strings that are invalid at most places.
var wild = []string{"", "Bad_Name", "no space", "-a", "..", "../a", "/", "é", "a=b",
	strings.Repeat("a", 64), strings.Repeat("b", 300), "$(A)", "*", "0", "1.2.3.4.5", "/a:b"}

// numbers are the values of numbers, by the field.
var numbers = map[string][]int64{
	"containerPort": {80, 443, 8080}, "hostPort": {80, 443, 0}, "port": {80, 443, 8080},
	"nodePort": {30080, 30443, 0}, "number": {80, 443}, "endPort": {80, 90, 443},
	"weight": {1, 50, 100}, "maxSkew": {1, 2}, "defaultMode": {420, 0, 511}, "mode": {420, 256},
	"expirationSeconds": {600, 3600}, "tolerationSeconds": {1, 0, 60},
	"runAsUser": {0, 1000}, "runAsGroup": {0, 1000}, "activeDeadlineSeconds": {1, 600},
	"terminationGracePeriodSeconds": {0, 1, 30}, "healthCheckNodePort": {0, 30000},
	"timeoutSeconds": {1, 10800}, "successThreshold": {1, 2}, "lun": {0, 1}, "partition": {0, 1},
}

var quantities = []string{"1", "2", "500m", "1Gi", "2Mi", "4Mi", "-1", "0", "1.5"}

var resourceNames = []string{"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu",
	"hugepages-2Mi", "hugepages-1Gi", "storage", "bad", "kubernetes.io/x", "requests.a/b",
	"hugepages-x", "a b"}

// required are the fields that a struct almost always has.
var required = map[reflect.Type][]string{
	reflect.TypeFor[corev1.Container]():            {"name", "image"},
	reflect.TypeFor[corev1.ContainerPort]():        {"containerPort"},
	reflect.TypeFor[corev1.EnvVar]():               {"name"},
	reflect.TypeFor[corev1.Volume]():               {"name"},
	reflect.TypeFor[corev1.VolumeMount]():          {"name", "mountPath"},
	reflect.TypeFor[corev1.VolumeDevice]():         {"name", "devicePath"},
	reflect.TypeFor[corev1.ServicePort]():          {"port", "name"},
	reflect.TypeFor[corev1.ConfigMapKeySelector](): {"name", "key"},
	reflect.TypeFor[corev1.SecretKeySelector]():    {"name", "key"},
	reflect.TypeFor[corev1.FileKeySelector](): {
		"volumeName", "path", "key"},
	reflect.TypeFor[corev1.ObjectFieldSelector](): {"fieldPath"},
	reflect.TypeFor[corev1.ResourceFieldSelector](): {
		"resource", "containerName"},
	reflect.TypeFor[corev1.HTTPGetAction]():   {"port"},
	reflect.TypeFor[corev1.TCPSocketAction](): {"port"},
	reflect.TypeFor[corev1.GRPCAction]():      {"port"},
	reflect.TypeFor[corev1.ExecAction]():      {"command"},
	reflect.TypeFor[corev1.SleepAction]():     {"seconds"},
	reflect.TypeFor[corev1.KeyToPath]():       {"key", "path"},
	reflect.TypeFor[corev1.TopologySpreadConstraint](): {
		"topologyKey", "maxSkew", "whenUnsatisfiable"},
	reflect.TypeFor[corev1.PodAffinityTerm](): {"topologyKey"},
	reflect.TypeFor[corev1.WeightedPodAffinityTerm](): {
		"weight", "podAffinityTerm"},
	reflect.TypeFor[corev1.PreferredSchedulingTerm](): {"weight", "preference"},
	reflect.TypeFor[corev1.NodeSelectorRequirement](): {
		"key", "operator", "values"},
	reflect.TypeFor[metav1.LabelSelectorRequirement](): {
		"key", "operator", "values"},
	reflect.TypeFor[corev1.PodResourceClaim](): {
		"name", "resourceClaimName"},
	reflect.TypeFor[corev1.ResourceClaim](): {"name"},
	reflect.TypeFor[corev1.ContainerResizePolicy](): {
		"resourceName", "restartPolicy"},
	reflect.TypeFor[corev1.PodSchedulingGate]():                 {"name"},
	reflect.TypeFor[corev1.SeccompProfile]():                    {"type"},
	reflect.TypeFor[corev1.AppArmorProfile]():                   {"type"},
	reflect.TypeFor[corev1.Sysctl]():                            {"name"},
	reflect.TypeFor[corev1.HTTPHeader]():                        {"name"},
	reflect.TypeFor[corev1.HostAlias]():                         {"ip", "hostnames"},
	reflect.TypeFor[corev1.ServiceAccountTokenProjection]():     {"path"},
	reflect.TypeFor[corev1.PersistentVolumeClaimVolumeSource](): {"claimName"},
	reflect.TypeFor[corev1.HostPathVolumeSource]():              {"path"},
	reflect.TypeFor[corev1.NFSVolumeSource]():                   {"path", "server"},
	reflect.TypeFor[corev1.CSIVolumeSource]():                   {"driver"},
	reflect.TypeFor[corev1.ImageVolumeSource]():                 {"reference"},
	reflect.TypeFor[networkingv1.HTTPIngressPath](): {
		"pathType", "path", "backend"},
	reflect.TypeFor[networkingv1.IngressServiceBackend]():             {"name", "port"},
	reflect.TypeFor[networkingv1.IPBlock]():                           {"cidr"},
	reflect.TypeFor[corev1.TypedLocalObjectReference]():               {"name", "kind"},
	reflect.TypeFor[corev1.TypedObjectReference]():                    {"name", "kind"},
	reflect.TypeFor[batchv1.PodFailurePolicyRule]():                   {"action"},
	reflect.TypeFor[batchv1.PodFailurePolicyOnExitCodesRequirement](): {"operator", "values"},
	reflect.TypeFor[batchv1.PodFailurePolicyOnPodConditionsPattern](): {"type", "status"},
	reflect.TypeFor[corev1.ContainerRestartRule]():                    {"action", "exitCodes"},
	reflect.TypeFor[corev1.ContainerRestartRuleOnExitCodes]():         {"operator", "values"},
	reflect.TypeFor[corev1.PersistentVolumeClaimTemplate]():           {"spec"},
	reflect.TypeFor[corev1.PersistentVolumeClaimSpec]():               {"accessModes", "resources"},
	reflect.TypeFor[jobset.ReplicatedJob]():                           {"name"},
	reflect.TypeFor[jobset.DependsOn]():                               {"name", "status"},
	reflect.TypeFor[jobset.SuccessPolicy]():                           {"operator"},
	reflect.TypeFor[jobset.FailurePolicyRule]():                       {"name", "action"},
	reflect.TypeFor[jobset.StartupPolicy]():                           {"startupPolicyOrder"},
	reflect.TypeFor[jobset.Coordinator]():                             {"replicatedJob"},
}

// oneOf are structs with at most one field, but for those that are required.
var oneOf = []reflect.Type{
	reflect.TypeFor[corev1.VolumeSource](), reflect.TypeFor[corev1.EnvVarSource](),
	reflect.TypeFor[corev1.VolumeProjection](),
	reflect.TypeFor[corev1.LifecycleHandler](), reflect.TypeFor[corev1.ProbeHandler](),
	reflect.TypeFor[corev1.EnvFromSource](),
	reflect.TypeFor[networkingv1.IngressBackend](),
	reflect.TypeFor[networkingv1.ServiceBackendPort](),
	reflect.TypeFor[networkingv1.NetworkPolicyPeer](),
	reflect.TypeFor[batchv1.PodFailurePolicyRule](),
}

// heavy are the fields that patches often have.
var heavy = map[string]int{"containers": 40, "initContainers": 6, "volumes": 8, "ports": 8,
	"env": 6, "volumeMounts": 6, "volumeDevices": 4, "rules": 4, "ingress": 3, "egress": 3,
	"resources": 3}

// never are the fields that no patch of a template has: the API server drops them, or they depend
// on the cluster.
var never = []string{"Pod.status", "ObjectMeta", "JobSpec.template", "JobSetSpec.replicatedJobs",
	"ReplicatedJob.template", "PodSpec.ephemeralContainers", "PodSpec.schedulingGroup",
	"PodSpec.workloadRef"}

func (g *generator) object(t reflect.Type, depth int) map[string]any {
	var fields []reflect.StructField
	var weights []int
	total := 0
	for _, f := range reflect.VisibleFields(t) {
		name := jsonName(f)
		if name == "" || name == "-" || slices.Contains(never, t.Name()+"."+name) ||
			concrete(f.Type) == reflect.TypeFor[metav1.ObjectMeta]() {
			continue
		}
		weight := max(1, heavy[name])
		fields, weights, total = append(fields, f), append(weights, weight), total+weight
	}
	out := map[string]any{}
	for _, f := range fields {
		if slices.Contains(required[t], jsonName(f)) && !g.chance(25) {
			out[jsonName(f)] = g.value(f, t, depth)
		}
	}
	n := 1
	switch {
	case slices.Contains(oneOf, t) && t != reflect.TypeFor[batchv1.PodFailurePolicyRule]():
		n += min(1, max(0, g.IntN(16)-14))
	case t == reflect.TypeFor[corev1.PodSpec]():
		n += g.IntN(2)
	case len(required[t]) > 0:
		n = g.IntN(3)
	default:
		n += g.IntN(2)
	}
	if depth > 8 || len(fields) == 0 {
		n = 0
	}
	for range n {
		at := g.IntN(total)
		for i, f := range fields {
			if at -= weights[i]; at < 0 {
				if name := jsonName(f); out[name] == nil {
					out[name] = g.value(f, t, depth)
				}
				break
			}
		}
	}
	if depth > 1 && g.chance(40) {
		out["$patch"] = pick(g, []string{"delete", "replace"})
	}
	return out
}

func (g *generator) value(f reflect.StructField, of reflect.Type, depth int) any {
	if g.chance(30) {
		return nil
	}
	return g.of(concrete(f.Type), jsonName(f), of, depth+1)
}

func (g *generator) of(t reflect.Type, name string, of reflect.Type, depth int) any {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return pick(g, quantities)
	case reflect.TypeFor[intstr.IntOrString]():
		return pick(g, []any{80, 443, "http", "web", 0, 70000, "UPPER", "", 8080, 1})
	case reflect.TypeFor[corev1.ResourceList]():
		list := map[string]any{}
		for range 1 + g.IntN(2) {
			resource := pick(g, resourceNames[:6])
			if g.chance(12) {
				resource = pick(g, resourceNames)
			}
			quantity := pick(g, quantities[:4])
			if g.chance(10) {
				quantity = pick(g, quantities)
			}
			list[resource] = quantity
		}
		if of == reflect.TypeFor[corev1.VolumeResourceRequirements]() {
			list["storage"] = pick(g, quantities)
		}
		return list
	case reflect.TypeFor[metav1.Time]():
		return "2026-01-01T00:00:00Z"
	case reflect.TypeFor[metav1.FieldsV1]():
		return map[string]any{}
	case reflect.TypeFor[corev1.ResourceName]():
		return pick(g, []string{"cpu", "memory", "gpu"})
	}
	switch t.Kind() {
	case reflect.Struct:
		return g.object(t, depth)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return ""
		}
		list := []any{}
		n := 1 + g.IntN(2)
		if g.chance(30) {
			n = 0
		}
		for range n {
			list = append(list, g.of(concrete(t.Elem()), name, of, depth+1))
		}
		return list
	case reflect.Map:
		out := map[string]any{}
		for range 1 + g.IntN(2) {
			out[pick(g, []string{"app", "b", "example.com/b", "a", "-bad"})] = g.of(
				concrete(t.Elem()), "label", of, depth+1)
		}
		return out
	case reflect.Bool:
		return g.chance(2)
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Float64:
		if known := numbers[name]; known != nil && !g.chance(10) {
			return pick(g, known)
		}
		if g.chance(8) {
			return pick(g, []int64{0, -1, 65535, 65536, 100001})
		}
		return pick(g, []int64{1, 2, 3, 10})
	case reflect.String:
		return g.text(t, name, of)
	}
	panic("no value of " + t.String())
}

func (g *generator) text(t reflect.Type, name string, of reflect.Type) string {
	if g.chance(14) {
		return pick(g, wild)
	}
	for _, known := range [][]string{enums[t], words[of.Name()+"."+name], words[name]} {
		if len(known) > 0 {
			return pick(g, known)
		}
	}
	return pick(g, []string{"a", "b"})
}

// documents returns the folder of the OpenAPI documents of the linked release.
func documents(t *testing.T) string {
	t.Helper()
	dirs, err := moduleDirs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dirs[0], "api", "openapi-spec", "v3")
}

// moduleDirs returns the folders of Kubernetes, JobSet and the Trainer.
var moduleDirs = sync.OnceValues(func() ([]string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes",
		"sigs.k8s.io/jobset", "github.com/kubeflow/trainer/v2").Output()
	return append(strings.Fields(string(out)), "", "", ""), err
})

// structural are the errors about names, ports, keys and unions, and of the fields that choose
// their members.
var structural = regexp.MustCompile(
	`Duplicate value|(\.|^)(name|host|hosts|secretName|ingressClassName|port|nodePort|targetPort|endPort|protocol|number|healthCheckNodePort|type|sessionAffinity)(\[\d+\])?: |may not specify both|cannot set both|must match dataSourceRef|may not be specified when|is required|must specify a peer|must not be set when|may not be (set|used)|may only be (set|used)|first value must match|must be empty when`)

// isStructural reports whether an error of the API server is about names, ports, keys or unions.
func isStructural(rejected []string) bool {
	return slices.ContainsFunc(rejected, structural.MatchString)
}
