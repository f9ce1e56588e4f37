package merged

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

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
