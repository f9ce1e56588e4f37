package minor_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/release/minor"
)

// TestParse wants minor versions, with or without a patch version. The error names the known ones.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{"1.32": "1.32", "v1.36": "1.36", "1.37.2": "1.37",
		"1.30": "1.30"} {
		if got, err := minor.Parse(text); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "1.38", "2.36", "1.3", "next", "1.28"} {
		got, err := minor.Parse(text)
		if err == nil || !strings.Contains(err.Error(), strings.Join(minor.Names(), ", ")) {
			t.Errorf("%q: got %q, %v, want an error that names the known ones", text, got, err)
		}
	}
}

// everything sets each field of 1.37 that 1.36 lacks, and some of others.
const everything = `
hostnameOverride: a
hostUsers: false
evictionResponders: [{name: a.example.com/b, priority: 1000}]
schedulingGroup: {podGroupName: a}
resources: {requests: {cpu: 1}}
volumes:
- {name: a, emptyDir: {mode: 511}}
- {name: b, configMap: {name: a, defaultUser: 1, items: [{key: a, path: a, user: 1}]}}
- {name: c, secret: {secretName: a, defaultUser: 1}}
- {name: d, downwardAPI: {defaultUser: 1, items: [{path: a, user: 1}]}}
- name: e
  projected:
    defaultUser: 1
    sources: [{serviceAccountToken: {path: a, user: 1}}, {clusterTrustBundle: {path: a, user: 1}}]
- {name: f, image: {reference: a}}
containers:
- name: a
  volumeMounts: [{name: a, mountPath: /a, bindMountOptions: [noexec]}]
  livenessProbe: {httpGet: {port: 80, protocol: HTTP2}}
  readinessProbe: {grpc: {port: 80, mode: TLS}}
  lifecycle: {stopSignal: SIGTERM, preStop: {httpGet: {port: 80, protocol: HTTP1}}}
  restartPolicyRules: [{action: Restart}]
`

// TestEachOf wants the fields that each version drops, and why.
func TestEachOf(t *testing.T) {
	of := func(name string) (dropped []string) {
		var spec map[string]any
		if err := yaml.Unmarshal([]byte(everything), &spec); err != nil {
			t.Fatal(err)
		}
		before, _ := yaml.Marshal(spec)
		minor.EachOf(name, "Pod", spec, func(f *minor.Field, at fieldpath.Path) bool {
			dropped = append(dropped, at.String()+": "+f.Why(name))
			return false
		})
		if after, _ := yaml.Marshal(spec); string(after) != string(before) {
			t.Errorf("%s: the spec changed", name)
		}
		return dropped
	}
	const gated = ": Kubernetes 1.37 drops it: its feature gate %s is off by default"
	var want []string
	for path, gate := range map[string]string{
		".evictionResponders":                                       "EvictionRequestAPI",
		".schedulingGroup":                                          "GenericWorkload",
		".volumes[0].emptyDir.mode":                                 "EmptyDirVolumeMode",
		".volumes[1].configMap.defaultUser":                         "AtomicWriteVolumeUserFields",
		".volumes[1].configMap.items[0].user":                       "AtomicWriteVolumeUserFields",
		".volumes[2].secret.defaultUser":                            "AtomicWriteVolumeUserFields",
		".volumes[3].downwardAPI.defaultUser":                       "AtomicWriteVolumeUserFields",
		".volumes[3].downwardAPI.items[0].user":                     "AtomicWriteVolumeUserFields",
		".volumes[4].projected.defaultUser":                         "AtomicWriteVolumeUserFields",
		".volumes[4].projected.sources[0].serviceAccountToken.user": "AtomicWriteVolumeUserFields",
		".volumes[4].projected.sources[1].clusterTrustBundle.user":  "AtomicWriteVolumeUserFields",
		".containers[0].volumeMounts[0].bindMountOptions":           "VolumeBindMountOptions",
		".containers[0].livenessProbe.httpGet.protocol":             "H2CContainerProbe",
		".containers[0].lifecycle.preStop.httpGet.protocol":         "H2CContainerProbe",
		".containers[0].readinessProbe.grpc.mode":                   "GRPCContainerProbeTLS",
		".containers[0].lifecycle.stopSignal":                       "ContainerStopSignals",
	} {
		want = append(want, path+strings.ReplaceAll(gated, "%s", gate))
	}
	got := of("1.37")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("1.37 drops\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for name, want := range map[string][]string{
		"1.32": {".hostUsers: Kubernetes 1.32 drops it: its feature gate UserNamespacesSupport is " +
			"off by default",
			".hostnameOverride: Kubernetes 1.32 drops it: it is a field of Kubernetes 1.34 and later"},
		"1.34": {".volumes[5].image: Kubernetes 1.34 drops it: its feature gate ImageVolume is off " +
			"by default",
			".containers[0].restartPolicyRules: Kubernetes 1.34 drops it: its feature gate " +
				"ContainerRestartRules is off by default"},
		"1.36": {".volumes[4].projected.sources[1].clusterTrustBundle: Kubernetes 1.36 drops it: " +
			"its feature gate ClusterTrustBundleProjection is off by default",
			".evictionResponders: Kubernetes 1.36 drops it: it is a field of Kubernetes 1.37"},
		"1.30": {".hostUsers: Kubernetes 1.30 drops it: its feature gate UserNamespacesSupport is " +
			"off by default"},
	} {
		got := of(name)
		for _, line := range want {
			if !slices.Contains(got, line) {
				t.Errorf("%s drops\n%s\nwant also\n%s", name, strings.Join(got, "\n"), line)
			}
		}
	}
}

// TestEach wants the same of Go values, and the fields gone where the function says so.
func TestEach(t *testing.T) {
	var spec corev1.PodSpec
	if err := yaml.Unmarshal([]byte(everything), &spec); err != nil {
		t.Fatal(err)
	}
	var seen []string
	drop := func(_ *minor.Field, at fieldpath.Path) bool {
		seen = append(seen, at.String())
		return at.String() != ".hostnameOverride"
	}
	minor.Each("1.33", &spec, drop)
	if spec.Resources != nil || spec.HostnameOverride == nil || spec.HostUsers == nil ||
		spec.Volumes[5].Image != nil || spec.Containers[0].RestartPolicyRules != nil ||
		spec.Containers[0].Lifecycle.StopSignal != nil ||
		spec.Containers[0].Lifecycle.PreStop == nil {
		t.Errorf("1.33 leaves %+v", spec)
	}
	for _, want := range []string{".hostnameOverride", ".resources", ".volumes[5].image"} {
		if !slices.Contains(seen, want) {
			t.Errorf("1.33 does not drop %s: %q", want, seen)
		}
	}
	seen = nil
	minor.Each("1.36", &batchv1.JobSpec{}, drop)
	minor.Each("1.36", &corev1.Pod{}, drop)
	if seen != nil {
		t.Errorf("fields of an empty spec: %q", seen)
	}
	class := "gold"
	claim := corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: &class}
	if minor.Each("1.34", &claim, drop); claim.VolumeAttributesClassName == nil {
		t.Error("1.34 drops volumeAttributesClassName")
	}
	if minor.Each("1.33", &claim, drop); claim.VolumeAttributesClassName != nil {
		t.Error("1.33 keeps volumeAttributesClassName")
	}
}

// TestLater wants the fields that the Go types lack, wherever a kind has a Pod or a Job.
func TestLater(t *testing.T) {
	for path, want := range map[string]string{
		"spec.evictionResponders": "1.37 EvictionRequestAPI",
		"spec.template.spec.replicatedJobs.template.spec.template.spec.volumes.emptyDir.mode": "" +
			"1.37 EmptyDirVolumeMode",
		"spec.scheduling":                         "1.37 WorkloadWithJob",
		"spec.hostnameOverride":                   "",
		"spec.workloadRef":                        "", // of 1.35 alone
		"spec.trainer.evictionResponders":         "",
		"spec.template.spec.volumes.mode":         "",
		"evictionResponders":                      "",
		"spec.jobTemplate.spec.scheduling":        "1.37 WorkloadWithJob",
		"spec.containers.httpGet.protocol":        "",
		"spec.volumes.secret.items.user":          "1.37 AtomicWriteVolumeUserFields",
		"spec.containers.livenessProbe.grpc.mode": "1.37 GRPCContainerProbeTLS",
	} {
		got := ""
		if f := minor.Later(strings.Split(path, ".")...); f != nil {
			got = f.Versions() + " " + f.Gate
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestDrop_Lifecycle wants a lifecycle to go with its stop signal, unless it was written empty.
func TestDrop_Lifecycle(t *testing.T) {
	for _, c := range []struct {
		version, lifecycle string
		stays              bool
	}{
		{"1.36", "{}", true},
		{"1.36", "{stopSignal: SIGTERM}", false},
		{"1.36", "{stopSignal: SIGTERM, preStop: {sleep: {seconds: 1}}}", true},
		{"1.32", "{stopSignal: SIGTERM}", true}, // decoding drops the signal alone
	} {
		container := "[{name: a, lifecycle: " + c.lifecycle + "}]"
		var spec corev1.PodSpec
		if err := yaml.Unmarshal([]byte("containers: "+container+"\ninitContainers: "+container+
			"\nephemeralContainers: "+container), &spec); err != nil {
			t.Fatal(err)
		}
		minor.Drop(c.version, &spec)
		for _, l := range []*corev1.Lifecycle{spec.Containers[0].Lifecycle,
			spec.InitContainers[0].Lifecycle} {
			if l != nil != c.stays || l != nil && l.StopSignal != nil {
				t.Errorf("%s: %s becomes %v, stays: %t", c.version, c.lifecycle, l, c.stays)
			}
		}
	}
}

// TestGates holds the feature gates near Pods, Jobs and claims that 1.37 turns on, locks or
// removes, by what 1.36 and 1.37 do with their fields. The others are gates of nodes, of the
// scheduler and of other kinds: no field of these objects depends on them.
func TestGates(t *testing.T) {
	text, err := os.ReadFile("fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	states := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] != "#" {
			state := strings.Join(words[len(words)-2:], " ")
			if gate := words[2]; !slices.Contains(states[gate], state) {
				states[gate] = append(states[gate], state)
			}
		}
	}
	for _, c := range []struct{ change, state, gates string }{
		{"on now", "off on", "ClusterTrustBundleProjection PodCertificateRequest"},
		{"on now, of values and not of fields", "", "SELinuxMount"},
		{"on now, of no field", "", "ClusterTrustBundle DRADeviceTaintRules MemoryQoS " +
			"PersistentVolumeClaimUnusedSinceTime StorageCapacityScoring VolumeLimitScaling " +
			"KubeletInUserNamespace MaxUnavailableStatefulSet HPAScaleToZero " +
			"PodLevelResourcesFixDefaulting"},
		{"locked, on before", "on on", "HostnameOverride DynamicResourceAllocation"},
		{"locked, of no field", "", "DRAExtendedResource DRAPrioritizedList " +
			"DRAResourceClaimDeviceStatus NodeDeclaredFeatures InPlacePodVerticalScalingInitContainers"},
		{"beta and off", "off off", "GenericWorkload"},
		{"beta and off, of no field", "", "DRAWorkloadResourceClaims"},
		{"removed, on before", "", "JobBackoffLimitPerIndex JobPodReplacementPolicy JobSuccessPolicy " +
			"SidecarContainers PodLifecycleSleepAction PodLifecycleSleepActionAllowZero " +
			"RelaxedDNSSearchValidation GangScheduling WorkloadAwarePreemption AnyVolumeDataSource"},
		{"the same", "on on", "ContainerRestartRules"},
		{"the same, of no field", "", "MutablePodResourcesForSuspendedJobs " +
			"MutableSchedulingDirectivesForSuspendedJobs JobManagedBy RestartAllContainersOnContainerExits"},
		{"new and off", "- off", "WorkloadWithJob EvictionRequestAPI EmptyDirVolumeMode " +
			"AtomicWriteVolumeUserFields VolumeBindMountOptions H2CContainerProbe GRPCContainerProbeTLS"},
	} {
		for gate := range strings.FieldsSeq(c.gates) {
			has := slices.DeleteFunc(states[gate], func(s string) bool { return s == "- -" }) // of 1.35
			if got := strings.Join(has, ", "); got != c.state {
				t.Errorf("%s: %s has fields that are %q, want %q", c.change, gate, got, c.state)
			}
		}
	}
}
