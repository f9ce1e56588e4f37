package merge

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
)

// TestShortCutsKnowEveryField sets every field of every struct of a patch in turn, beside those that the short cuts are
// made for: one that the API gains and a short cut does not know would be dropped in silence.
func TestShortCutsKnowEveryField(t *testing.T) {
	var template trainer.JobSetTemplateSpec
	var patch trainer.JobSetTemplatePatch
	const node = `
metadata: {labels: {a: b}, annotations: {a: b}}
spec:
  replicatedJobs:
  - name: node
    template:
      metadata: {labels: {a: b}}
      spec:
        template:
          metadata: {labels: {a: b}}
          spec:
            nodeSelector: {a: b}
            securityContext: {fsGroup: 1}
            volumes: [{name: v, secret: {secretName: s}}]
            containers: [{name: sync, env: [{name: E, value: x}], volumeMounts: [{name: v, mountPath: /v}]}]
`
	for _, into := range []any{&template, &patch} {
		if err := yaml.UnmarshalStrict([]byte(node), into); err != nil {
			t.Fatal(err)
		}
	}
	job := &template.Spec.ReplicatedJobs[0]
	bare := *template.DeepCopy()
	bare.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.SecurityContext = nil
	bare.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Volumes = nil
	bare.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Env = nil
	job.Template.Spec.Template.Spec.Containers[0].Env[0].Value = "y"

	compared := 0
	var visit func(v reflect.Value, path string)
	visit = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				visit(v.Elem(), path)
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i), path+"[]")
			}
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[metav1.Time]() {
				return
			}
			for i := range v.NumField() {
				field, path := v.Field(i), path+"."+v.Type().Field(i).Name
				visit(field, path)
				if !field.IsZero() {
					continue
				}
				field.Set(filled(field.Type()))
				for name, template := range map[string]*trainer.JobSetTemplateSpec{"full": &template, "bare": &bare} {
					c := &fuzz.Case{Template: template, Patches: []trainer.RuntimePatch{
						{Manager: "a.example/x", TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &patch}},
					}}
					if diff := cmp.Diff(outcome(c, true), outcome(c, false)); diff != "" {
						t.Errorf("%s, over the %s template (-by schema +by short cuts):\n%s", path, name, diff)
					}
					compared++
				}
				field.SetZero()
			}
		}
	}
	visit(reflect.ValueOf(&patch), "patch")
	if compared < 150 {
		t.Errorf("compared only %d merges", compared)
	}
}

// filled is a value of a type in which every field is set, but for those of types that hold themselves.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch at := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*at = resource.MustParse("1")
		return v
	case *metav1.Time:
		*at = metav1.Unix(1, 0)
		return v
	case *metav1.FieldsV1:
		at.SetRawString("{}")
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(filled(t.Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(filled(t.Key()), filled(t.Elem()))
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(filled(t.Field(i).Type))
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(1)
	default:
		v.SetInt(1)
	}
	return v
}
