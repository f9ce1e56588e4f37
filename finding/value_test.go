package finding_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

func TestFormatValue(t *testing.T) {
	env, err := fieldpath.ParsePath(
		`.spec.runtimePatches[manager="a.example.com/x"].trainingRuntimeSpec.template.spec.replicatedJobs[name="n"].template.spec.template.spec.containers[name="c"].env[name="TOKEN"].value`)
	if err != nil {
		t.Fatal(err)
	}
	label := fieldpath.Fields("metadata", "labels").Append(fieldpath.Key("value"))
	quantity := resource.MustParse("1024Mi")
	for _, tc := range []struct {
		path   fieldpath.Path
		value  any
		show   bool
		want   string
		reason string
	}{
		{label, "a", false, `"a"`, "as JSON"},
		{label, 3, false, `3`, "as JSON"},
		{label, nil, false, `null`, "a null empties the field"},
		{label, merge.Presence{}, false, `present`, "only named"},
		{label, &quantity, false, `"1Gi"`, "as the API writes it"},
		{label, []corev1.Toleration{{Key: "k"}}, false, `[{"key":"k"}]`, "compact"},
		{label, strings.Repeat("ä", 100), false, `"` + strings.Repeat("ä", 62) + "…",
			"cut by characters"},
		{label, strings.Repeat("x", 62), false, `"` + strings.Repeat("x", 62) + `"`,
			"just short enough"},
		{label, math.NaN(), false, `NaN`, "what JSON cannot say is said in Go"},
		{env, "hunter2", false, `*** (7 characters)`, "the value of a variable may be a password"},
		{env, "pässword", false, `*** (8 characters)`, "characters, not bytes"},
		{env, "", false, `*** (0 characters)`, "also an empty one"},
		{env, "hunter2", true, `"hunter2"`, "on request"},
		{env, 7, false, `***`, "whatever its type"},
		{env, nil, false, `null`, "there is nothing to hide in a null"},
		{env, merge.Presence{}, false, `present`, "nor in a presence"},
		{nil, "a", false, `"a"`, "a value without a path is not a secret"},
	} {
		if got := finding.FormatValue(tc.path, tc.value, tc.show); got != tc.want {
			t.Errorf("FormatValue(%v, %v, %v) = %s, want %s: %s", tc.path, tc.value, tc.show, got,
				tc.want, tc.reason)
		}
	}
}

func TestHideSecrets(t *testing.T) {
	value := map[string]any{
		"containers": []any{
			map[string]any{
				"name": "a", "env": []any{map[string]any{"name": "A", "value": "secret"}}}},
		"env": map[string]any{"A": "secret"}}
	before := fmt.Sprint(value)
	const want = `{"containers":[{"env":[{"name":"A","value":"*** (6 characters)"}],"name":"a"}],"env":{"A":"*** (6 characters)"}}`
	got, err := json.Marshal(finding.HideSecrets(fieldpath.Fields("spec"), value))
	if err != nil || string(got) != want || fmt.Sprint(value) != before {
		t.Errorf("HideSecrets gives %s (%v), want %s; the value is %v", got, err, want, value)
	}
	if got := finding.FormatValue(fieldpath.Fields("spec"), []any{value}, false); strings.Contains(
		got, "secret") {
		t.Errorf("FormatValue shows %s", got)
	}
}

func TestIsSecret(t *testing.T) {
	for _, tc := range []struct {
		path string
		want bool
	}{
		{`.spec.trainer.env[name="A"].value`, true},
		{`.spec.trainer.env[0].value`, true},
		{`.spec.initializer.dataset.env[name="A"].value`, true},
		{`.spec.trainer.env[name="A"].valueFrom`, false},
		{`.spec.trainer.env[name="A"].name`, false},
		{`.spec.volumes[name="env"].value`, false},
		{`.spec.env.TOKEN`, true},
		{`.spec.env["a.b"]`, true},
		{`.spec.env`, false},
		{`.value`, false},
		{``, false},
	} {
		path, err := fieldpath.ParsePath(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := finding.IsSecret(path); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.path, got, tc.want)
		}
	}
}
