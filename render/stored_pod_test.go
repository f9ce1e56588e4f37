package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render"
)

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
