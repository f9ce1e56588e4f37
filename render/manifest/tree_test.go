package manifest_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge/tree"
)

// types are the types that the tests convert.
func types() []any {
	return []any{&trainer.TrainJob{}, &trainer.TrainingRuntime{}, &jobset.JobSet{}, &corev1.Pod{},
		&scalars{}}
}

// scalars has a field of each form.
type scalars struct {
	Bool      bool                          `json:"bool,omitempty"`
	Small     int8                          `json:"small"`
	Unsigned  uint8                         `json:"unsigned,omitempty"`
	Float     float64                       `json:"float,omitempty"`
	Bytes     []byte                        `json:"bytes,omitempty"`
	Any       any                           `json:"any,omitempty"`
	Pointer   **string                      `json:"pointer"`
	Lists     [][]string                    `json:"lists"`
	Strings   map[string]string             `json:"strings"`
	Numbers   map[corev1.ResourceName]int32 `json:"numbers,omitempty"`
	Keys      map[int]string                `json:"keys,omitempty"`
	Quantity  resource.Quantity             `json:"quantity"`
	Quantity2 *resource.Quantity            `json:"quantity2,omitempty"`
	Either    intstr.IntOrString            `json:"either"`
	Time      metav1.Time                   `json:"time,omitzero"`
	Micro     *metav1.MicroTime             `json:"micro,omitempty"`
	Duration  metav1.Duration               `json:"duration"`
	*corev1.EmptyDirVolumeSource
	metav1.TypeMeta `json:",inline"`
	Embedded        metav1.ObjectMeta `json:"metadata,omitempty"`
	Hidden          string            `json:"-"`
}

// compare converts a text in both ways. If the codec decodes a text, a strict decoder decodes it as
// well, with the same result.
func compare(t *testing.T, text []byte) {
	t.Helper()
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &value); err != nil {
		return
	}
	again, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range types() {
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		zero := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		wantErr := tree.UnmarshalBounded(again, want, kjson.UnmarshalCaseSensitivePreserveInts)
		strict := func(text []byte, into any) error {
			found, err := kjson.UnmarshalStrict(text, into)
			return errors.Join(append(found, err)...)
		}
		isStrict := tree.UnmarshalBounded(again, reflect.New(reflect.TypeOf(want).Elem()).Interface(),
			strict) == nil
		fits := tree.Fits(value, got)
		switch ok := tree.Decode(value, got); {
		case ok != fits:
			t.Errorf("%T: Fits = %t, Decode = %t: %v", got, fits, ok, value)
		case ok && (wantErr != nil || !isStrict || !reflect.DeepEqual(got, want)):
			t.Fatalf("Decode(%s) = %+v, want %+v, %v", again, got, want, wantErr)
		case !ok && !reflect.DeepEqual(got, zero):
			t.Fatalf("Decode(%s) left %+v", again, got)
		}
		if wantErr != nil {
			continue
		}
		encoding, err := json.Marshal(want)
		if err != nil {
			continue // JSON has no such time
		}
		var fields map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(encoding, &fields); err != nil {
			t.Fatal(err)
		}
		if got, ok := tree.Encode(want); ok && !reflect.DeepEqual(got, fields) {
			t.Fatalf("Encode(%s) = %v, want %v", encoding, got, fields)
		}
	}
}

// TestCodec converts every object of the tests, and the types of the API without help.
func TestCodec(t *testing.T) {
	objects, parts, every := 0, 0, testenv.Every(8)
	for _, pattern := range []string{"../../testdata/*/*.yaml", "../../testdata/*/*/*.yaml",
		"../../testdata/*/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for part := range strings.SplitSeq(
				strings.ReplaceAll(string(text), "\n-- ", "\n---\n# "), "\n---\n") {
				if parts++; parts%every != 0 {
					continue
				}
				var value any
				if err := yaml.Unmarshal([]byte(part), &value); err != nil {
					continue
				}
				for _, object := range objectsIn(value) {
					text, err := json.Marshal(object)
					if err != nil {
						t.Fatal(err)
					}
					compare(t, text)
					objects++
				}
			}
		}
	}
	if objects < 800/every {
		t.Errorf("compared %d objects: the test reads the wrong files", objects)
	}
	for i, spec := range []string{
		`{"trainer":{"resourcesPerNode":{"limits":{"cpu":8,"memory":"64Gi"}},"env":[{"name":"a","value":"b"}]}}`,
		`{"template":{"spec":{"replicatedJobs":[{"name":"a"}]}},"mlPolicy":{"numNodes":1}}`,
		`{"replicatedJobs":[{"name":"a","replicas":1}],"suspend":true}`,
		`{"containers":[{"name":"a","resources":{"limits":{"cpu":8,"memory":"64Gi"}},"ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":"http"}}}],
			"nodeSelector":{"a":"b"},"tolerations":[{"tolerationSeconds":3}]}`,
	} {
		text := []byte(`{"metadata":{"name":"a","labels":{"b":"c"}},"spec":` + spec + `}`)
		var value any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &value); err != nil {
			t.Fatal(err)
		}
		into := types()[i]
		if !tree.Decode(value, into) {
			t.Errorf("Decode leaves %s to JSON", text)
		}
		if _, ok := tree.Encode(into); !ok {
			t.Errorf("Encode leaves %s to JSON", text)
		}
		compare(t, text)
	}
}

// objectsIn returns the objects in a document: the document itself, or all of a recording.
func objectsIn(value any) (objects []any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			objects = append(objects, objectsIn(item)...)
		}
	case map[string]any:
		if v["kind"] != nil {
			return []any{v}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			objects = append(objects, objectsIn(v[name])...)
		}
	}
	return objects
}

func FuzzCodec(f *testing.F) {
	for _, seed := range []string{
		`{"bool":true,"small":127,"unsigned":255,"float":1.5,"bytes":"YQ==","any":[1],"pointer":"a","lists":[["a"],[],null],"strings":{"a":"b","c":null}}`,
		`{"small":128}`, `{"unsigned":-1}`, `{"unsigned":256}`, `{"float":1}`, `{"small":1.0}`,
		`{"small":null,"pointer":null,"lists":null,"strings":{},"numbers":{"cpu":1,"b":null}}`,
		`{"keys":{"1":"a"}}`, `{"quantity":"1e3","quantity2":1}`, `{"quantity":"1e99999999"}`,
		`{"quantity":null}`, `{"quantity":1.5}`, `{"quantity":"<"}`,
		`{"either":"80%","time":"2026-01-02T03:04:05Z","micro":"2026-01-02T03:04:05.000006Z","duration":"5s"}`, `{"either":1,"time":null,"micro":null}`,
		`{"time":"0001-01-01T00:00:00Z"}`, `{"time":"99999-01-01T00:00:00Z"}`,
		`{"medium":"Memory"}`, `{"kind":"A","Kind":"B","metadata":{"name":"é\u2028<>&\"\\"}}`,
		`{"metadata":{"creationTimestamp":null,"annotations":null,"ownerReferences":[{"uid":"a","controller":true}]}}`,
		`{"spec":{"replicatedJobs":[{"name":"a","template":{"spec":{"template":{"spec":{"volumes":[{"name":"a","emptyDir":{"sizeLimit":"1Gi"}}]}}}}}]}}`,
		`{"spec":{"trainer":{"numProcPerNode":8,"resourcesPerNode":{"limits":{"cpu":"0.5"}}},"runtimePatches":[{"manager":"a","time":"2026-01-02T03:04:05Z"}]}}`,
		`[]`, `null`, `"a"`, `1`, `{"spec":[]}`, `{"spec":{"containers":{}}}`,
		`{"strings":{"a":1}}`, `{"lists":"a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { compare(t, text) })
}

// TestCodec_Limits wants a rejection of values that are not the pointer to a zero struct.
func TestCodec_Limits(t *testing.T) {
	var missing *corev1.Pod
	for _, value := range []any{nil, corev1.Pod{}, missing, new(int)} {
		if _, ok := tree.Encode(value); ok {
			t.Errorf("Encode(%#v) = true", value)
		}
		if tree.Decode(map[string]any{}, value) {
			t.Errorf("Decode into %#v = true", value)
		}
	}
	if bad := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "\xff"}}); true {
		if _, ok := tree.Encode(bad); ok {
			t.Error("Encode accepts a string that JSON changes")
		}
	}
	if tree.Decode(map[string]any{"metadata": map[string]any{"name": "\xff"}}, &corev1.Pod{}) {
		t.Error("Decode accepts a string that JSON changes")
	}
}

// TestEncode_Cycles leaves to JSON a value that contains itself, and no other one, however deep it
// nests.
func TestEncode_Cycles(t *testing.T) {
	type nested struct {
		Pointer *nested           `json:"pointer,omitempty"`
		List    []nested          `json:"list,omitempty"`
		Map     map[string]nested `json:"map,omitempty"`
	}
	deep := &nested{}
	shared, none := &nested{}, []nested{}
	for range 20_000 {
		deep = &nested{
			Pointer: deep, List: []nested{{Pointer: shared}, {Pointer: shared, List: none[:0]}},
			Map: map[string]nested{}}
	}
	if _, ok := tree.Encode(deep); !ok {
		t.Error("Encode leaves a value to JSON because it is deep")
	}
	pointer, list, entries := &nested{}, &nested{List: make([]nested, 1)},
		&nested{Map: map[string]nested{}}
	pointer.Pointer = pointer
	list.List[0].List = list.List
	entries.Map["a"] = *entries
	for name, value := range map[string]*nested{"a pointer": pointer, "a list": list,
		"a map": entries} {
		if _, ok := tree.Encode(value); ok {
			t.Errorf("%s: Encode = true", name)
		}
	}
}
