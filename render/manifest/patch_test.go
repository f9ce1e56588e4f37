package manifest_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

func TestDecodePatches(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name, In string
		Want     []string // manager, base, place of the time, place of an absent field
		Findings []string
		Reason   string
	}](t, "testdata/patches.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			patches, findings := manifest.DecodePatches("in", []byte(tc.In))
			var got []string
			for _, p := range patches {
				got = append(
					got, fmt.Sprintf("%s %s %s %s", p.Patch.Manager, p.Base,
						p.Document.Position(p.Base.Append(fieldpath.Field("time"))), p.Document.ID))
			}
			if diff := cmp.Diff(tc.Want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Reason, diff)
			}
			if diff := cmp.Diff(tc.Findings, brief(findings)); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%v", tc.Reason, diff, findings)
			}
		})
	}
}

// TestUnpatchable names the API that sets what no patch may.
func TestUnpatchable(t *testing.T) {
	inContainer := "trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: j, template: " +
		"{spec: {template: {spec: {%s: [{%s: x}]}}}}}]}}}\n"
	const pod = `.spec.template.spec.replicatedJobs[name="j"].template.spec.template.spec`
	const where = " in the TrainingRuntime or ClusterTrainingRuntime"
	for _, tc := range []struct{ in, help string }{
		{fmt.Sprintf(inContainer, "containers", "name: node, image"),
			"set .spec.trainer.image of the TrainJob"},
		{fmt.Sprintf(inContainer, "containers", "name: node, resources"),
			"set .spec.trainer.resourcesPerNode of the TrainJob; for patches it is a field of " +
				"Trainer 2.4"},
		{fmt.Sprintf(inContainer, "containers", "name: node, ports"),
			"set " + pod + `.containers[name="node"].ports` + where},
		{fmt.Sprintf(inContainer, "containers", "name: dataset-initializer, image"),
			"set " + pod + `.containers[name="dataset-initializer"].image` + where},
		{fmt.Sprintf(inContainer, "initContainers", "name: node, command"),
			"set " + pod + `.initContainers[name="node"].command` + where},
		{fmt.Sprintf(inContainer, "containers", "args"),
			`set .spec.trainer.args of the TrainJob for the container "node"; for any other, set ` +
				pod + ".containers[0].args" + where},
		{"trainingRuntimeSpec: {podGroupPolicy: {}}\n", "set .spec.podGroupPolicy" + where},
		{"trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: j, template: {spec: " +
			"{completions: 1}}}]}}}\n",
			`set .spec.trainer.numNodes of the TrainJob; for a job that is not the trainer's, set .spec.template.spec.replicatedJobs[name="j"].template.spec.completions` + where},
		{"trainingRuntimeSpec: {template: {spec: {network: {}}}}\n",
			"set .spec.template.spec.network" + where},
	} {
		_, findings := manifest.DecodePatches("in", []byte("manager: a.io/b\n"+tc.in))
		if len(findings) != 1 || findings[0].Code != codes.Unpatchable ||
			findings[0].Remedy.Text != tc.help {
			t.Errorf("%s\ngot  %v\nwant %s", tc.in, findings, tc.help)
		}
	}
}

func TestSnapshot(t *testing.T) {
	const plain = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata:\n " +
		" name: plain\n  creationTimestamp: null\n  uid: a\nspec:\n  template: {}\nstatus: {}\n"
	for _, tc := range []struct {
		name, configMap string
		data            map[string]string
		trainJob        string
		kind            any
		err             string
		reason          string
	}{
		{"other", "settings", map[string]string{"runtime": "["}, "", nil, "",
			"a ConfigMap of another name is none"},
		{"suffix alone", "-runtime-snapshot", nil, "", nil, "", "a TrainJob has a name"},
		{"TrainingRuntime", "a-runtime-snapshot", map[string]string{"runtime": plain}, "a",
			&trainer.TrainingRuntime{}, "", "as the controller writes it, with a status"},
		{"of a newer Trainer", "a-runtime-snapshot",
			map[string]string{
				"runtime": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " +
					"ClusterTrainingRuntime\nspec: {new: 1}\n"}, "a",
			&trainer.ClusterTrainingRuntime{}, "",
			"unknown fields are omitted, as the controller omits them"},
		{"no key", "a-runtime-snapshot", nil, "a", nil,
			`ConfigMap a-runtime-snapshot: .data["runtime"]: the key is missing; delete the ConfigMap: the Trainer writes it again`, "the controller rejects it"},
		{"broken", "a-runtime-snapshot", map[string]string{"runtime": "["}, "a", nil,
			`ConfigMap a-runtime-snapshot: .data["runtime"]: cannot be parsed: yaml: line 1: did not find expected node content; delete the ConfigMap: the Trainer writes it again`, "the controller rejects it"},
		{"another kind", "a-runtime-snapshot",
			map[string]string{"runtime": "apiVersion: v1\nkind: Pod\n"}, "a", nil,
			`ConfigMap a-runtime-snapshot: .data["runtime"]: is a Pod of "v1", not a TrainingRuntime or ClusterTrainingRuntime; delete the ConfigMap: the Trainer writes it again`, "the controller rejects it"},
		{"wrong type", "a-runtime-snapshot",
			map[string]string{
				"runtime": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " +
					"TrainingRuntime\nspec: 1\n"}, "a", nil,
			`ConfigMap a-runtime-snapshot: .data["runtime"]: cannot be decoded: json: cannot unmarshal number into Go struct field TrainingRuntime.spec of type v1alpha1.TrainingRuntimeSpec; delete the ConfigMap: the Trainer writes it again`, "the controller rejects it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			trainJob, runtime, err := manifest.Snapshot(
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tc.configMap}, Data: tc.data})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if trainJob != tc.trainJob ||
				fmt.Sprintf("%T", runtime) != fmt.Sprintf("%T", tc.kind) || got != tc.err {
				t.Errorf("%s: got %q, a %T, error:\n%s\nwant %q, a %T, error:\n%s", tc.reason,
					trainJob, runtime, got, tc.trainJob, tc.kind, tc.err)
			}
		})
	}
}

// TestDecode_NullEntries puts a null into every map that a TrainJob, a runtime or a JobSet can
// hold. The API server drops a null with its key, and the entry next to it stays.
func TestDecode_NullEntries(t *testing.T) {
	tried := 0
	for _, kind := range []struct {
		header string
		typ    reflect.Type
	}{
		{`{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": `,
			reflect.TypeFor[trainer.TrainJobSpec]()},
		{`{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "spec": `,
			reflect.TypeFor[trainer.TrainingRuntimeSpec]()},
		{`{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": `,
			reflect.TypeFor[jobset.JobSetSpec]()},
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
					documents, found := manifest.Decode(
						"f", []byte(kind.header+open+entries+shut+"}"))
					if len(documents) != 1 || documents[0].Object == nil {
						return found
					}
					return documents[0].Object
				}
				tried++
				if got, want := read(`{"a": `+entry+`, "b": null}`),
					read(`{"a": `+entry+`}`); !reflect.DeepEqual(got, want) {
					t.Errorf("%s of a %s: a null is read as an entry", open, typ)
				}
			}
		}
		visit(kind.typ, "", "", nil)
	}
	if tried < 100 {
		t.Errorf("%d maps, want the maps of all fields", tried)
	}
}

// TestDecode_NullFields reads a field that is null as one that is absent.
func TestDecode_NullFields(t *testing.T) {
	documents, found := manifest.Decode(
		"f", []byte("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: "+
			"{name: r}\nspec: {template: {spec: {replicatedJobs: [{name: a, replicas: null}]}}}\n"))
	if found.Err() != nil || len(documents) != 1 {
		t.Fatal(found)
	}
	path, _ := fieldpath.ParsePath(".spec.template.spec.replicatedJobs[0].replicas")
	if documents[0].Sets(path) {
		t.Errorf("Sets(%s) = true, want false: it is null", path)
	}
}
