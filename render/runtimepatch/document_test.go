package runtimepatch_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/runtimepatch"
)

// compact and indented are TrainJobs with fields that the API lacks.
const (
	compact  = `{"kind":"TrainJob","spec":{"runtimePatches":[{"manager":"a","future":{"x":1}},{"manager":"b","time":"2026-01-01T00:00:00Z","trainingRuntimeSpec":{"template":{"metadata":{"labels":{"x":"1"}}}}}],"elsewhere":9007199254740993},"status":{"n":1.0}}`
	indented = `{
    "spec": {
        "runtimeRef": {"name": "torch"}
    },
    "future" : [ ]
}
`
)

func TestUpsertIn_JSON(t *testing.T) {
	const entry = `{"manager":"c","trainingRuntimeSpec":{"template":{"metadata":{"labels":{"x":"1"}}}}}`
	a := `{"manager":"a","trainingRuntimeSpec":{"template":{"metadata":{"labels":{"x":"1"}}}}}`
	for _, tc := range []struct {
		name, text, manager, want, reason string
	}{
		{"appended", compact, "c", strings.Replace(compact, `}],"else`, `},`+entry+`],"else`, 1), "a new entry comes last"},
		{"replaced", compact, "a", strings.Replace(compact, `{"manager":"a","future":{"x":1}}`, a, 1), "an entry is replaced in full"},
		{"same", compact, "b", compact, "the time of an entry is the cluster's"},
		{"no list", `{"spec":{"a":1 } }`, "c", `{"spec":{"a":1,"runtimePatches":[` + entry + `] } }`, "the list follows the other fields"},
		{"empty spec", `{"spec":{ }}`, "c", `{"spec":{"runtimePatches":[` + entry + `]}}`, "spec may be empty"},
		{"null", `{"spec":{"runtimePatches":null}}`, "c", `{"spec":{"runtimePatches":[` + entry + `]}}`, "null is an empty list"},
		{"empty list", `{"spec":{"runtimePatches": [ ]}}`, "c", `{"spec":{"runtimePatches": [` + entry + `]}}`, "an empty list is replaced"},
		{"duplicates", `{"spec":{"runtimePatches":[{"manager":"a"} , {"manager":"c"} ,{"manager":"a"}]}}`, "a", `{"spec":{"runtimePatches":[` + a + ` , {"manager":"c"}]}}`, "one entry of a manager stays"},
		{"indented", indented, "c", strings.Replace(indented, `"torch"}`, `"torch"},
        "runtimePatches": [
            {
                "manager": "c",
                "trainingRuntimeSpec": {
                    "template": {
                        "metadata": {
                            "labels": {
                                "x": "1"
                            }
                        }
                    }
                }
            }
        ]`, 1), "the entry follows the style of the text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := []byte(tc.text)
			got, err := runtimepatch.UpsertIn(before, labels(tc.manager, "x", "1"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if string(before) != tc.text {
				t.Errorf("the given text is now %s", before)
			}
			again, err := runtimepatch.UpsertIn(got, labels(tc.manager, "x", "1"))
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("a second UpsertIn gives %s, %v", again, err)
			}
		})
	}
}

// TestRemoveIn undoes each UpsertIn that adds an entry.
func TestRemoveIn(t *testing.T) {
	for _, text := range []string{
		compact, indented, `{"spec":{"a":1 } }`, `{"spec":{}}`, `{ "spec" : { "runtimePatches" : [ {"manager" : "a"} ] } }`,
		"{\"spec\": {\n\t\"runtimePatches\": [\n\t\t{\"manager\": \"a\"},\n\t\t{\"manager\": \"b\"}\n\t]\n}}",
	} {
		with, err := runtimepatch.UpsertIn([]byte(text), labels("queue", "x", "1"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := runtimepatch.RemoveIn(with, "queue")
		if err != nil || string(got) != text {
			t.Errorf("RemoveIn(%s) = %s, %v, want %s", with, got, err, text)
		}
		if got, err := runtimepatch.RemoveIn([]byte(text), "queue"); err != nil || string(got) != text {
			t.Errorf("RemoveIn(%s) without an entry = %s, %v", text, got, err)
		}
	}
	for _, tc := range []struct{ text, want string }{
		{`{"spec":{"runtimePatches":[{"manager":"a"}, {"manager":"b"}]}}`, `{"spec":{"runtimePatches":[{"manager":"b"}]}}`},
		{`{"spec":{"runtimePatches":[{"manager":"a"}], "x":1}}`, `{"spec":{"x":1}}`},
		{`{"spec":{"x":1, "runtimePatches":[{"manager":"a"},{"manager":"a"}]}}`, `{"spec":{"x":1}}`},
		{`{"spec":{"runtimePatches":[{"manager":"a"}]}}`, `{"spec":{}}`},
	} {
		if got, err := runtimepatch.RemoveIn([]byte(tc.text), "a"); err != nil || string(got) != tc.want {
			t.Errorf("RemoveIn(%s) = %s, %v, want %s", tc.text, got, err, tc.want)
		}
	}
}

// TestUpsertIn_Object holds that an object gives what its JSON gives, and that the given object stays.
func TestUpsertIn_Object(t *testing.T) {
	for _, text := range []string{compact, indented, `{"spec":{"runtimePatches":null}}`, `{"spec":{}}`} {
		for _, manager := range []string{"a", "b", "c"} {
			object, before := objectOf(t, []byte(text)), objectOf(t, []byte(text))
			got, err := runtimepatch.UpsertIn(object, labels(manager, "x", "1"))
			if err != nil {
				t.Fatal(err)
			}
			asJSON, err := runtimepatch.UpsertIn([]byte(text), labels(manager, "x", "1"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(objectOf(t, asJSON), got); diff != "" {
				t.Errorf("UpsertIn(%s, %s) (-JSON +object):\n%s", text, manager, diff)
			}
			removed, err := runtimepatch.RemoveIn(got, manager)
			if err != nil {
				t.Fatal(err)
			}
			removedJSON, _ := runtimepatch.RemoveIn(asJSON, manager)
			if diff := cmp.Diff(objectOf(t, removedJSON), removed); diff != "" {
				t.Errorf("RemoveIn(%s, %s) (-JSON +object):\n%s", text, manager, diff)
			}
			if !reflect.DeepEqual(object, before) {
				t.Errorf("the given object is now %v", object)
			}
		}
	}
}

func TestPlanIn(t *testing.T) {
	want := nodeSelector("queue", map[string]string{"pool": "general", "zone": "a"})
	got, err := runtimepatch.MinimalIn(template(), []byte(compact), want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(got, []byte(`"nodeSelector":{"zone":"a"}`)) || !bytes.Contains(got, []byte(`"elsewhere":9007199254740993},"status":{"n":1.0}}`)) {
		t.Errorf("PlanIn = %s", got)
	}
	nothing := nodeSelector("queue", map[string]string{"pool": "general"})
	if got, err = runtimepatch.MinimalIn(template(), got, nothing); err != nil || string(got) != compact {
		t.Errorf("PlanIn with nothing to set = %s, %v, want %s", got, err, compact)
	}
	object, err := runtimepatch.MinimalIn(template(), objectOf(t, []byte(compact)), want)
	if err != nil || len(object["spec"].(map[string]any)["runtimePatches"].([]any)) != 3 {
		t.Errorf("PlanIn = %v, %v", object, err)
	}
	if _, err := runtimepatch.MinimalIn(template(), []byte(compact), labels("queue", "x", "2")); err == nil || !strings.Contains(err.Error(), `b sets "1", queue sets "2"`) {
		t.Errorf("PlanIn returns %v, want the conflict", err)
	}
}

func TestUpsertIn_Invalid(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{``, "the TrainJob is not valid JSON"},
		{`{"spec":{}} x`, "the TrainJob is not valid JSON"},
		{`[]`, "the TrainJob must be an object"},
		{`{}`, ".spec: required"},
		{`{"spec":[]}`, ".spec: must be an object"},
		{`{"spec":{},"spec":{}}`, `duplicate field "spec"`},
		{`{"spec":{"runtimePatches":[],"runtimePatches":[]}}`, `duplicate field "runtimePatches"`},
		{`{"spec":{"runtimePatches":{}}}`, ".spec.runtimePatches: must be an array"},
		{`{"spec":{"runtimePatches":[{"manager":7}]}}`, ".spec.runtimePatches: json: cannot unmarshal number into Go struct field RuntimePatch.manager of type string"},
	} {
		if got, err := runtimepatch.UpsertIn([]byte(tc.text), labels("a")); err == nil || err.Error() != tc.want {
			t.Errorf("UpsertIn(%s) = %s, %v, want the error %s", tc.text, got, err, tc.want)
		}
	}
	for _, object := range []map[string]any{nil, {"spec": 7}, {"spec": map[string]any{"runtimePatches": "x"}}, {"spec": map[string]any{"runtimePatches": []any{7}}}} {
		if got, err := runtimepatch.UpsertIn(object, trainer.RuntimePatch{}); err == nil {
			t.Errorf("UpsertIn(%v) = %v, want an error", object, got)
		}
	}
}

func objectOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
