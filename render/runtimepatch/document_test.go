package runtimepatch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/render/runtimepatch"
)

// stored is a TrainJob with fields that the API lacks.
const stored = `{"kind":"TrainJob","spec":{"runtimePatches":[{"manager":"a","future":{"x":1}},{"manager":"b","time":"2026-01-01T00:00:00Z","trainingRuntimeSpec":{"template":{"metadata":{"labels":{"x":"1"}}}}}],"elsewhere":9007199254740993},"status":{"n":1.0}}`

func TestUpsertIn(t *testing.T) {
	const entry = `{"manager":"c","trainingRuntimeSpec":{"template":{"metadata":{"labels":{"x":"1"}}}}}`
	a := `{"manager":"a","trainingRuntimeSpec":{"template":{"metadata":{"labels":{"x":"1"}}}}}`
	for _, tc := range []struct {
		name, text, manager, want, reason string
	}{
		{"appended", stored, "c", strings.Replace(stored, `}],"else`, `},`+entry+`],"else`, 1),
			"a new entry comes last"},
		{"replaced", stored, "a", strings.Replace(stored, `{"manager":"a","future":{"x":1}}`, a, 1),
			"an entry is replaced in full"},
		{"same", stored, "b", stored, "the time of an entry is the cluster's"},
		{"no list", `{"spec":{"a":1}}`, "c", `{"spec":{"a":1,"runtimePatches":[` + entry + `]}}`,
			"the list may be missing"},
		{"empty spec", `{"spec":{}}`, "c", `{"spec":{"runtimePatches":[` + entry + `]}}`,
			"spec may be empty"},
		{"null", `{"spec":{"runtimePatches":null}}`, "c", `{"spec":{"runtimePatches":[` + entry +
			`]}}`, "null is an empty list"},
		{"empty list", `{"spec":{"runtimePatches":[]}}`, "c",
			`{"spec":{"runtimePatches":[` + entry + `]}}`, "an empty list is filled"},
		{"duplicates",
			`{"spec":{"runtimePatches":[{"manager":"a"},{"manager":"c"},{"manager":"a"}]}}`, "a",
			`{"spec":{"runtimePatches":[` + a + `,{"manager":"c"}]}}`,
			"one entry of a manager stays"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			given := objectOf(t, tc.text)
			got, err := runtimepatch.UpsertIn(given, labels(tc.manager, "x", "1"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(objectOf(t, tc.want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(objectOf(t, tc.text), given); diff != "" {
				t.Errorf("the given object changes:\n%s", diff)
			}
			again, err := runtimepatch.UpsertIn(got, labels(tc.manager, "x", "1"))
			if diff := cmp.Diff(got, again); err != nil || diff != "" {
				t.Errorf("a second UpsertIn gives %v\n%s", err, diff)
			}
		})
	}
}

// TestRemoveIn undoes each UpsertIn that adds an entry.
func TestRemoveIn(t *testing.T) {
	for _, text := range []string{stored, `{"spec":{"a":1}}`, `{"spec":{}}`,
		`{"spec":{"runtimePatches":[{"manager":"a"}]}}`} {
		with, err := runtimepatch.UpsertIn(objectOf(t, text), labels("queue", "x", "1"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := runtimepatch.RemoveIn(with, "queue")
		if diff := cmp.Diff(objectOf(t, text), got); err != nil || diff != "" {
			t.Errorf("RemoveIn of %s gives %v\n%s", text, err, diff)
		}
		got, err = runtimepatch.RemoveIn(objectOf(t, text), "queue")
		if diff := cmp.Diff(objectOf(t, text), got); err != nil || diff != "" {
			t.Errorf("RemoveIn without an entry of %s gives %v\n%s", text, err, diff)
		}
	}
	for _, tc := range []struct{ text, want string }{
		{`{"spec":{"runtimePatches":[{"manager":"a"},{"manager":"b"}]}}`,
			`{"spec":{"runtimePatches":[{"manager":"b"}]}}`},
		{`{"spec":{"x":1,"runtimePatches":[{"manager":"a"},{"manager":"a"}]}}`, `{"spec":{"x":1}}`},
		{`{"spec":{"runtimePatches":[{"manager":"a"}]}}`, `{"spec":{}}`},
	} {
		got, err := runtimepatch.RemoveIn(objectOf(t, tc.text), "a")
		if diff := cmp.Diff(objectOf(t, tc.want), got); err != nil || diff != "" {
			t.Errorf("RemoveIn(%s) gives %v (-want +got):\n%s", tc.text, err, diff)
		}
	}
}

func TestMinimalIn(t *testing.T) {
	want := nodeSelector("queue", map[string]string{"pool": "general", "zone": "a"})
	got, err := runtimepatch.MinimalIn(template(), objectOf(t, stored), want)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(got); !strings.Contains(
		string(text), `"nodeSelector":{"zone":"a"}`) {
		t.Errorf("MinimalIn = %s", text)
	}
	nothing := nodeSelector("queue", map[string]string{"pool": "general"})
	got, err = runtimepatch.MinimalIn(template(), got, nothing)
	if diff := cmp.Diff(objectOf(t, stored), got); err != nil || diff != "" {
		t.Errorf("MinimalIn with nothing to set gives %v (-want +got):\n%s", err, diff)
	}
	_, err = runtimepatch.MinimalIn(template(), objectOf(t, stored), labels("queue", "x", "2"))
	if err == nil || !strings.Contains(err.Error(), `b sets "1", queue sets "2"`) {
		t.Errorf("MinimalIn returns %v, want the conflict", err)
	}
}

func TestUpsertIn_Invalid(t *testing.T) {
	for _, tc := range []struct {
		object map[string]any
		want   string
	}{
		{nil, ".spec: must be an object"},
		{map[string]any{"spec": 7}, ".spec: must be an object"},
		{map[string]any{"spec": map[string]any{"runtimePatches": "x"}},
			".spec.runtimePatches: must be a list"},
		{objectOf(t, `{"spec":{"runtimePatches":[{"manager":7}]}}`),
			".spec.runtimePatches: json: cannot unmarshal number into Go struct field " +
				"RuntimePatch.manager of type string"},
	} {
		if got, err := runtimepatch.UpsertIn(tc.object, labels("a")); err == nil ||
			err.Error() != tc.want {
			t.Errorf("UpsertIn(%v) = %v, %v, want the error %s", tc.object, got, err, tc.want)
		}
	}
}

func objectOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}
