package admission_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// storable reports whether the controller's library writes a runtime that somebody has applied,
// with its managed fields.
func storable(t *testing.T, server *serverside.Server, fields map[string]any) bool {
	t.Helper()
	config, err := server.Typed(map[string]any{"spec": fields["spec"]})
	if err != nil {
		t.Fatal(err)
	}
	live, err := server.Typed(map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	_, owners, err := server.Apply(live, config, nil, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	text, err := owners["kubectl"].Set().ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	runtime := &trainer.ClusterTrainingRuntime{}
	j, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(j, runtime); err != nil {
		t.Fatal(err)
	}
	runtime.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: text}}}
	_, err = yaml.Marshal(runtime)
	return err == nil
}

// TestCheck_Snapshot compares names around the limit of a snapshot's keys with the libraries that
// write managed fields and snapshots.
func TestCheck_Snapshot(t *testing.T) {
	definition, err := release.Latest().Definition(trainer.ClusterTrainingRuntimeKind)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serverside.New(definition)
	if err != nil {
		t.Fatal(err)
	}
	const container, pod, template = `image: "pytorch:2"}`, "containers:\n", "metadata: {labels"
	forms := []struct{ where, text string }{
		{container, "env: [{name: %q, value: b}]"},
		{container, "volumeMounts: [{mountPath: %q, name: v}]"},
		{container, "volumeDevices: [{devicePath: %q, name: v}]"},
		{container, "ports: [{containerPort: 1, protocol: %q}]"},
		{container, "resources: {claims: [{name: %q}]}"},
		{container, "resources: {limits: {? %q : 1}}"},
		{container, "args: [%q]"},
		{container, "env: [{name: a, valueFrom: {configMapKeyRef: {key: %q}}}]"},
		{pod, "volumes: [{name: %q}]"},
		{pod, "volumes: [{name: v, configMap: {items: [{key: %q, path: a}]}}]"},
		{pod, "hostAliases: [{ip: %q}]"}, {pod, "imagePullSecrets: [{name: %q}]"},
		{pod, "nodeSelector: {? %q : a}"},
		{pod, "topologySpreadConstraints: [{maxSkew: 1, topologyKey: %q, whenUnsatisfiable: " +
			"DoNotSchedule}]"}, {pod, "tolerations: [{key: %q}]"},
		{pod, "initContainers: [{name: %q, image: i}]"}, {pod, "resourceClaims: [{name: %q}]"},
		{pod, "schedulingGates: [{name: %q}]"}, {pod, "overhead: {? %q : 1}"},
		{pod, "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
			"DoNotSchedule, labelSelector: {matchLabels: {? %q : a}}}]"},
		{template, "metadata: {annotations: {? %q : a}, labels"},
	}
	before := release.Compared()[len(release.Compared())-2]
	r, rejected := rand.New(rand.NewPCG(testenv.Seed(t), 0)), map[string]bool{}
	for range int(testenv.NumberOr(t, "TRAINWELD_CASES", 60)) {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString([]string{`"`, `\`, "<", "é", "😀", "'", "{"}[r.IntN(7)])
		}
		name := b.String() + strings.Repeat("a", 970+r.IntN(60))
		form := forms[r.IntN(len(forms))]
		text := fmt.Sprintf(form.text, name)
		switch form.where {
		case container:
			text = strings.Replace(container, "}", ", "+text+"}", 1)
		case pod:
			text += "\n\t\t\t\t\t\t\t\t" + pod
		}
		fields := object(t, strings.Replace(torchRuntime, form.where, text, 1))
		for _, of := range []*release.Release{nil, &before} {
			runtime, _ := admission.AdmitRuntime(t.Context(), of, fields, "default")
			got := false
			for _, f := range admission.Check(
				t.Context(), admission.Input{Release: of, TrainJob: object(t, jobYAML("")),
					Runtime: runtime}) {
				got = got || f.Code == codes.NeverCreated && f.Severity == finding.Error &&
					f.Object.Kind == "ClusterTrainingRuntime"
			}
			want := of == nil && !storable(t, server, fields)
			if want {
				rejected[form.text] = true
			}
			if got != want {
				t.Errorf("%s with a name of %d characters from %q on: an error %t, want %t",
					form.text, len(name), name[:6], got, want)
			}
		}
	}
	if len(rejected) < 5 {
		t.Errorf("names are refused in %v only", rejected)
	}
}
