package manifest_test

import (
	"reflect"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/manifest"
)

// TestDecode_NullEntries puts a null into every map that a TrainJob, a runtime or a JobSet can hold, beside an entry
// that stays. The API server drops a null with its key.
func TestDecode_NullEntries(t *testing.T) {
	tried := 0
	for _, kind := range []struct {
		header string
		typ    reflect.Type
	}{
		{`{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": `, reflect.TypeFor[trainer.TrainJobSpec]()},
		{`{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "spec": `, reflect.TypeFor[trainer.TrainingRuntimeSpec]()},
		{`{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": `, reflect.TypeFor[jobset.JobSetSpec]()},
	} {
		var visit func(typ reflect.Type, open, shut string, within []reflect.Type)
		visit = func(typ reflect.Type, open, shut string, within []reflect.Type) {
			switch typ.Kind() {
			case reflect.Pointer:
				visit(typ.Elem(), open, shut, within)
			case reflect.Slice:
				visit(typ.Elem(), open+"[", "]"+shut, within)
			case reflect.Struct:
				for _, outer := range within {
					if outer == typ {
						return
					}
				}
				for i := range typ.NumField() {
					f := typ.Field(i)
					name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
					switch {
					case name == "-" || !f.IsExported():
					case name == "" && f.Anonymous:
						visit(f.Type, open, shut, append(within, typ))
					case name != "status":
						visit(f.Type, open+`{"`+name+`": `, "}"+shut, append(within, typ))
					}
				}
			case reflect.Map:
				entry := `"1"`
				if typ.Elem().Kind() == reflect.Slice {
					entry = `["MQ=="]`
				}
				read := func(entries string) any {
					documents, found := manifest.Decode("f", []byte(kind.header+open+entries+shut+"}"))
					if len(documents) != 1 || documents[0].Object == nil {
						return found
					}
					return documents[0].Object
				}
				tried++
				if got, want := read(`{"a": `+entry+`, "b": null}`), read(`{"a": `+entry+`}`); !reflect.DeepEqual(got, want) {
					t.Errorf("%s of a %s: a null is read as an entry", open, typ)
				}
			}
		}
		visit(kind.typ, "", "", nil)
	}
	if tried < 100 {
		t.Errorf("%d maps, want those of all fields", tried)
	}
}

// TestDecode_NullFields reads a field that is null as one that is absent.
func TestDecode_NullFields(t *testing.T) {
	documents, found := manifest.Decode("f", []byte("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: r}\nspec: {template: {spec: {replicatedJobs: [{name: a, replicas: null}]}}}\n"))
	if found.Err() != nil || len(documents) != 1 {
		t.Fatal(found)
	}
	path, _ := fieldpath.ParsePath(".spec.template.spec.replicatedJobs[0].replicas")
	if documents[0].Sets(path) {
		t.Errorf("Sets(%s) = true, want false: it is null", path)
	}
}
