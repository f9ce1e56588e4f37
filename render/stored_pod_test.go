package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render"
)

// TestStoredPodTemplates renders one Pod template as the API server stores it in a Job and in a
// Pod. Fields that it does not change are not in want; pod is set where the Pod differs from the
// Job.
func TestStoredPodTemplates(t *testing.T) {
	for _, tc := range []struct {
		name, spec, job, pod string
		annotations          map[string]string
		reason               string
	}{
		{
			name:   "quantities",
			spec:   `{containers: [{name: c, resources: {limits: {cpu: 100u, memory: "1.0001"}, requests: {cpu: 1500u}}}], overhead: {cpu: 1n}, resources: {limits: {cpu: 2500u}}}`,
			job:    `{containers: [{name: c, resources: {limits: {cpu: 1m, memory: 1001m}, requests: {cpu: 2m}}}], overhead: {cpu: 1m}, resources: {limits: {cpu: 3m}}}`,
			reason: "the finest quantity is a thousandth",
		}, {
			name:   "quantities of an ephemeral claim, and sizes that are not resources",
			spec:   `{volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1500u}}}}}}, {name: w, emptyDir: {sizeLimit: 1500u}}]}`,
			job:    `{volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 2m}}}}}}, {name: w, emptyDir: {sizeLimit: 1500u}}]}`,
			reason: "only lists of resources are rounded",
		}, {
			name: "the old name of an account", spec: `{serviceAccount: old}`,
			job:    `{serviceAccount: old, serviceAccountName: old}`,
			reason: "it is an alias",
		}, {
			name: "two names of an account", spec: `{serviceAccount: old, serviceAccountName: new}`,
			job:    `{serviceAccount: new, serviceAccountName: new}`,
			reason: "the new name wins",
		}, {
			name: "the name of an account", spec: `{serviceAccountName: new}`,
			job:    `{serviceAccountName: new}`,
			reason: "its mirror says nothing",
		}, {
			name:   "fields behind gates that are off",
			spec:   `{schedulingGroup: {podGroupName: g}, containers: [{name: c, lifecycle: {stopSignal: SIGUSR1}}, {name: d, lifecycle: {stopSignal: SIGUSR1, preStop: {sleep: {seconds: 1}}}}], volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: bundle, path: p}}, {podCertificate: {signerName: s/x, keyType: RSA3072}}, {secret: {name: s}}]}}]}`,
			job:    `{containers: [{name: c}, {name: d, lifecycle: {preStop: {sleep: {seconds: 1}}}}], volumes: [{name: v, projected: {sources: [{}, {}, {secret: {name: s}}]}}]}`,
			reason: "the API drops them",
		}, {
			name:   "labels of the Pod in selectors",
			spec:   `{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [job-name, absent]}]}, podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: rack, labelSelector: {}, mismatchLabelKeys: [job-name]}}, {weight: 1, podAffinityTerm: {topologyKey: rack, mismatchLabelKeys: [job-name]}}]}}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, matchLabelKeys: [batch.kubernetes.io/job-completion-index]}]}`,
			pod:    `{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: job-name, operator: In, values: [llm-node-0]}]}, matchLabelKeys: [job-name, absent]}]}, podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: rack, labelSelector: {matchExpressions: [{key: job-name, operator: NotIn, values: [llm-node-0]}]}, mismatchLabelKeys: [job-name]}}, {weight: 1, podAffinityTerm: {topologyKey: rack, mismatchLabelKeys: [job-name]}}]}}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: batch.kubernetes.io/job-completion-index, operator: In, values: ["1"]}]}, matchLabelKeys: [batch.kubernetes.io/job-completion-index]}]}`,
			reason: "labels that the Pod has, where there is a selector",
		}, {
			name: "profiles of AppArmor by annotation",
			annotations: map[string]string{
				"container.apparmor.security.beta.kubernetes.io/c": "localhost/mine",
				"container.apparmor.security.beta.kubernetes.io/i": "unconfined",
				"container.apparmor.security.beta.kubernetes.io/d": "runtime/default",
				"container.apparmor.security.beta.kubernetes.io/e": "localhost/ padded",
			},
			spec:   `{securityContext: {appArmorProfile: {type: RuntimeDefault}}, initContainers: [{name: i, securityContext: {runAsUser: 1}}], containers: [{name: c}, {name: d}, {name: e}, {name: f}]}`,
			pod:    `{securityContext: {appArmorProfile: {type: RuntimeDefault}}, initContainers: [{name: i, securityContext: {runAsUser: 1, appArmorProfile: {type: Unconfined}}}], containers: [{name: c, securityContext: {appArmorProfile: {type: Localhost, localhostProfile: mine}}}, {name: d}, {name: e}, {name: f}]}`,
			reason: "the field wins, also the Pod's equal one, and an invalid value is ignored",
		}, {
			name: "the field of a container next to an annotation",
			annotations: map[string]string{
				"container.apparmor.security.beta.kubernetes.io/c": "unconfined"},
			spec:   `{containers: [{name: c, securityContext: {appArmorProfile: {type: RuntimeDefault}}}]}`,
			reason: "the field wins",
		}, {
			name: "profiles on Windows",
			annotations: map[string]string{
				"container.apparmor.security.beta.kubernetes.io/c": "unconfined"},
			spec:   `{os: {name: windows}, containers: [{name: c}]}`,
			reason: "it has no AppArmor",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.job == "" {
				tc.job = tc.spec
			}
			if tc.pod == "" {
				tc.pod = tc.job
			}
			js := jobSet(t, oneNode)
			template := &js.Spec.ReplicatedJobs[0].Template.Spec.Template
			template.Annotations, template.Spec = tc.annotations, podSpec(t, tc.spec)
			opts := render.JobsOptions{Stored: true}
			job := jobs(t, js, opts).Jobs[0].Job
			if diff := cmp.Diff(specText(t, podSpec(t, tc.job)),
				specText(t, job.Spec.Template.Spec)); diff != "" {
				t.Errorf("%s: the Job's template differs (-want +got):\n%s", tc.reason, diff)
			}
			pod := pods(t, js, render.PodsOptions{JobsOptions: opts})[1]
			if diff := cmp.Diff(specText(t, podSpec(t, tc.pod)),
				specText(t, pod.Spec)); diff != "" {
				t.Errorf("%s: the Pod differs (-want +got):\n%s", tc.reason, diff)
			}
			sent := jobs(t, js, render.JobsOptions{}).Jobs[0].Job
			if diff := cmp.Diff(specText(t, podSpec(t, tc.spec)),
				specText(t, sent.Spec.Template.Spec)); diff != "" {
				t.Errorf("the Job as the controller sends it differs from its template (-want "+
					"+got):\n%s", diff)
			}
		})
	}
}

func podSpec(t *testing.T, text string) corev1.PodSpec {
	t.Helper()
	var spec corev1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// specText is a Pod's spec without what every Pod of these tests has.
func specText(t *testing.T, spec corev1.PodSpec) string {
	t.Helper()
	spec = *spec.DeepCopy()
	spec.RestartPolicy, spec.Subdomain, spec.Hostname = "", "", ""
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			list[i].Env = nil
		}
	}
	text, err := yaml.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestStoredAnnotations drops what an old kubelet would take for init containers.
func TestStoredAnnotations(t *testing.T) {
	js := jobSet(t, oneNode)
	js.Spec.ReplicatedJobs[0].Template.Spec.Template.Annotations = map[string]string{
		"pod.beta.kubernetes.io/init-containers": "[]", "a": "b"}
	opts := render.JobsOptions{Stored: true}
	for kind, got := range map[string]map[string]string{
		"Job": jobs(t, js, opts).Jobs[0].Job.Spec.Template.Annotations,
		"Pod": pods(t, js, render.PodsOptions{JobsOptions: opts})[0].Annotations,
	} {
		if _, kept := got["pod.beta.kubernetes.io/init-containers"]; kept || got["a"] != "b" {
			t.Errorf("annotations of the %s = %v, want those without init containers", kind, got)
		}
	}
}

// TestStoredClaims compares the data sources of claims with the stored ones.
func TestStoredClaims(t *testing.T) {
	const snapshot = `{apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}`
	for _, tc := range []struct{ name, spec, want string }{
		{"a snapshot", `dataSource: ` + snapshot, `{dataSource: ` + snapshot + `, dataSourceRef: ` +
			snapshot + `}`},
		{"a claim", `dataSource: {apiGroup: "", kind: PersistentVolumeClaim, name: c}`,
			`{dataSource: {apiGroup: "", kind: PersistentVolumeClaim, name: c}, dataSourceRef: {apiGroup: "", kind: PersistentVolumeClaim, name: c}}`},
		{"a claim of another group",
			`dataSource: {apiGroup: x.io, kind: PersistentVolumeClaim, name: c}`, `{}`},
		{"a foreign kind", `dataSource: {apiGroup: x.io, kind: Populator, name: p}`, `{}`},
		{"a foreign kind by reference", `dataSourceRef: {apiGroup: x.io, kind: Populator, name: p}`,
			`{dataSource: {apiGroup: x.io, kind: Populator, name: p}, dataSourceRef: {apiGroup: x.io, kind: Populator, name: p}}`},
		{"another namespace",
			`dataSourceRef: {apiGroup: x.io, kind: Populator, name: p, namespace: other}`, `{}`},
		{"another namespace next to a snapshot",
			`{dataSource: ` + snapshot +
				`, dataSourceRef: {apiGroup: x.io, kind: Populator, name: p, namespace: other}}`,
			`{dataSource: ` + snapshot + `, dataSourceRef: ` + snapshot + `}`},
		{"an empty namespace",
			`dataSourceRef: {apiGroup: x.io, kind: Populator, name: p, namespace: ""}`,
			`{dataSource: {apiGroup: x.io, kind: Populator, name: p}, dataSourceRef: {apiGroup: x.io, kind: Populator, name: p, namespace: ""}}`},
		{"a quantity", `resources: {requests: {storage: 100u}}`,
			`resources: {requests: {storage: 1m}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := func(text string) (s corev1.PersistentVolumeClaimSpec) {
				if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
					t.Fatal(err)
				}
				return s
			}
			text := func(s corev1.PersistentVolumeClaimSpec) string {
				out, err := yaml.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				return string(out)
			}
			js := jobSet(
				t, oneNode+"  volumeClaimPolicies: [{templates: [{metadata: {name: data}}]}]")
			js.Spec.VolumeClaimPolicies[0].Templates[0].Spec = spec(tc.spec)
			got := jobs(t, js, render.JobsOptions{Stored: true}).Claims[0].Spec
			if diff := cmp.Diff(text(spec(tc.want)), text(got)); diff != "" {
				t.Errorf("the claim differs (-want +got):\n%s", diff)
			}
			sent := jobs(t, js, render.JobsOptions{}).Claims[0].Spec
			if diff := cmp.Diff(text(spec(tc.spec)), text(sent)); diff != "" {
				t.Errorf("the claim as the controller sends it differs (-want +got):\n%s", diff)
			}
			pod := &corev1.Pod{}
			pod.Name = "p"
			pod.Spec.Volumes = []corev1.Volume{
				{Name: "v", VolumeSource: corev1.VolumeSource{
					Ephemeral: &corev1.EphemeralVolumeSource{
						VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
							Spec: spec(tc.spec)}}}}}
			if diff := cmp.Diff(text(spec(tc.want)),
				text(render.EphemeralClaims(pod, "")[0].Spec)); diff != "" {
				t.Errorf("the claim of an ephemeral volume differs (-want +got):\n%s", diff)
			}
			if js.Spec.VolumeClaimPolicies[0].Templates[0].Spec.DataSource != nil &&
				strings.HasPrefix(tc.spec, "dataSourceRef") {
				t.Error("the JobSet was changed")
			}
		})
	}
}
