package admission_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/release"
	"github.com/trainweld/trainweld/render/admission"
)

// storable reports whether the controller's library writes a runtime whose managed fields have an item.
func storable(t *testing.T, field, value string) bool {
	t.Helper()
	text, err := smd.NewSet(smd.MakePathOrDie("spec", "items", smd.KeyByFields(field, value))).ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	_, err = yaml.Marshal(&trainer.TrainingRuntime{ObjectMeta: metav1.ObjectMeta{
		ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: text}}},
	}})
	return err == nil
}

// TestCheck_Snapshot compares names around the limit of a snapshot's keys with the libraries that write managed fields and snapshots.
func TestCheck_Snapshot(t *testing.T) {
	before := release.Known()[len(release.Known())-2]
	r, refused := rand.New(rand.NewPCG(testenv.Seed(t), 0)), 0
	for i := range 40 {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString([]string{`"`, `\`, "<", "é", "😀", "'", "{"}[r.IntN(7)])
		}
		field, list, form := "name", ".env[0]", "env: [{name: %q, value: b}]"
		if i%2 == 1 {
			field, list, form = "mountPath", ".volumeMounts[0]", "volumeMounts: [{mountPath: %q, name: v}]"
		}
		name := b.String() + strings.Repeat("a", 980+r.IntN(40))
		text := strings.Replace(torchRuntime, `image: "pytorch:2"}`, `image: "pytorch:2", `+fmt.Sprintf(form, name)+"}", 1)
		for _, of := range []*release.Release{nil, &before} {
			runtime, _ := admission.AdmitRuntime(t.Context(), of, object(t, text), "default")
			got := ""
			for _, f := range admission.Check(t.Context(), admission.Input{Release: of, TrainJob: object(t, jobYAML("")), Runtime: runtime}) {
				if f.Code == finding.CodeNeverCreated && f.Severity == finding.Error && f.Object.Kind == "ClusterTrainingRuntime" {
					got += f.Path.String()[strings.LastIndex(f.Path.String(), "."):]
				}
			}
			want := ""
			if of == nil && !storable(t, field, name) {
				refused++
				want = list
			}
			if got != want {
				t.Errorf("%s %q of %d characters: an error at %q, want at %q", field, name[:6], len(name), got, want)
			}
		}
	}
	if refused < 5 || refused > 35 {
		t.Errorf("%d of 40 names are refused", refused)
	}
}
