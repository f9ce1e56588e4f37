package manifest_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	yamlv3 "go.yaml.in/yaml/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/manifest"
)

func encode(t *testing.T, format manifest.Format, objects ...any) string {
	t.Helper()
	var b bytes.Buffer
	if err := manifest.Encode(&b, format, objects...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEncode(t *testing.T) {
	seconds := int64(0)
	for _, tc := range []struct {
		name    string
		objects []any
		format  manifest.Format
		want    string
		reason  string
	}{
		{
			name:    "nothing in YAML",
			objects: nil,
			want:    "",
			reason:  "a stream of no documents is empty",
		},
		{
			name:    "nothing in JSON",
			objects: nil,
			format:  manifest.JSON,
			want: "{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": " +
				"\"List\"\n}\n",
			reason: "an empty text is not JSON",
		},
		{
			name: "noise",
			objects: []any{&jobset.JobSet{
				TypeMeta:   metav1.TypeMeta{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet"},
				ObjectMeta: metav1.ObjectMeta{Name: "a"},
				Spec: jobset.JobSetSpec{
					ReplicatedJobs: []jobset.ReplicatedJob{{Name: "node"}}},
				Status: jobset.JobSetStatus{Restarts: 0},
			}},
			want: `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: a
spec:
  replicatedJobs:
  - name: node
    template:
      spec:
        template: {}
`,
			reason: "structs that are empty say nothing, a status is not ours to write, and an " +
				"API server stores no null",
		},
		{
			name: "meaningful empties",
			objects: []any{&corev1.Pod{Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: &seconds,
				SecurityContext:               &corev1.PodSecurityContext{},
				Containers:                    []corev1.Container{{Name: "c"}},
				Volumes: []corev1.Volume{
					{Name: "v", VolumeSource: corev1.VolumeSource{
						EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}},
			want: `spec:
  containers:
  - name: c
  securityContext: {}
  terminationGracePeriodSeconds: 0
  volumes:
  - emptyDir: {}
    name: v
`,
			reason: "a value behind a pointer was set by somebody",
		},
		{
			name: "volume claim policies",
			objects: []any{
				&jobset.JobSet{
					Spec: jobset.JobSetSpec{VolumeClaimPolicies: []jobset.VolumeClaimPolicy{{
						Templates: []corev1.PersistentVolumeClaim{
							{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
					}}}}},
			want: `spec:
  volumeClaimPolicies:
  - templates:
    - metadata:
        name: data
      spec:
        resources: {}
      status: {}
`,
			reason: "the definition compares them with the stored ones",
		},
		{
			name: "empty references",
			objects: []any{
				&jobset.JobSet{
					Spec: jobset.JobSetSpec{
						ReplicatedJobs: []jobset.ReplicatedJob{
							{Name: "node", Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
								Template: corev1.PodTemplateSpec{
									Spec: corev1.PodSpec{
										Containers:       []corev1.Container{},
										ImagePullSecrets: []corev1.LocalObjectReference{{}}}},
							}}}}}}, &corev1.Pod{
					Spec: corev1.PodSpec{
						Containers:       []corev1.Container{},
						ImagePullSecrets: []corev1.LocalObjectReference{{}}}}},
			want: `spec:
  replicatedJobs:
  - name: node
    template:
      spec:
        template:
          spec:
            containers: []
            imagePullSecrets:
            - name: ""
---
spec:
  containers: []
  imagePullSecrets:
  - {}
`,
			reason: "JobSet's definition fills in the name, and the Pod API does not",
		},
		{
			name: "empty command",
			objects: []any{
				&trainer.TrainJob{
					Spec: trainer.TrainJobSpec{
						Trainer: &trainer.Trainer{Command: []string{}, Args: nil}}}},
			want:   "spec:\n  trainer:\n    command: []\n",
			reason: "an empty command clears the runtime's, none keeps it",
		},
		{
			name: "values with their own encoding",
			objects: []any{map[string]any{
				"quantity": resource.MustParse("1024Mi"),
				"port":     intstr.FromInt32(80),
				"named":    intstr.FromString("80"),
				"time":     metav1.Unix(0, 0).UTC(),
				"number":   json.Number("1e3"),
				"float":    0.5,
				"bytes":    []byte("abc"),
				"none":     nil,
			}},
			want: `bytes: YWJj
float: 0.5
named: "80"
none: null
number: 1e3
port: 80
quantity: 1Gi
time: "1970-01-01T00:00:00Z"
`,
			reason: "each is written as the API server would",
		},
		{
			name:    "two documents",
			objects: []any{map[string]any{"a": 1}, map[string]any{}},
			want:    "a: 1\n---\n{}\n",
			reason:  "separators stand between documents, not before the first",
		},
		{
			name:    "a list in JSON",
			objects: []any{map[string]any{"a": []any{1, []any{}}}, map[string]any{"b": "x && <y>"}},
			format:  manifest.JSON,
			want: `{
    "apiVersion": "v1",
    "items": [
        {
            "a": [
                1,
                []
            ]
        },
        {
            "b": "x && <y>"
        }
    ],
    "kind": "List"
}
`,
			reason: "several objects are one JSON value, which kubectl reads",
		},
		{
			name: "nested lists and blocks",
			objects: []any{map[string]any{
				"lists": []any{
					[]any{1, []any{"a"}}, map[string]any{"k": []any{map[string]any{"x": "1\n2\n"}}},
					map[string]any{}},
				"script": "if true; then\n\techo\n\n  fi\n",
				"open":   "a\nb",
				"kept":   "a\n\n",
				"quoted": " a\nb",
			}},
			want: "kept: |+\n  a\n\nlists:\n- - 1\n  - - a\n- k:\n  - x: |\n      1\n      2\n- " +
				"{}\nopen: |-\n  a\n  b\nquoted: \" a\\nb\"\n" +
				"script: |\n  if true; then\n  \techo\n\n    fi\n",
			reason: "scripts are to be read; a text that begins with a space would need an " +
				"indentation hint",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, encode(t, tc.format, tc.objects...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestEncode_Invalid(t *testing.T) {
	for _, tc := range []struct {
		name   string
		object any
		want   string
	}{
		{"nil", nil, "there is no object"},
		{"a nil pointer", (*trainer.TrainJob)(nil), "it is no object"},
		{"a string", "a", "it is no object"},
		{"a channel", map[string]any{"a": []any{make(chan int)}},
			`["a"]: [0]: JSON has no value for a chan int`},
		{"a map of numbers", map[string]any{"a": map[int]string{1: "b"}},
			`["a"]: JSON has no value for a map[int]string`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			err := manifest.Encode(&b, manifest.YAML, map[string]any{"a": 1}, tc.object)
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("got error %v, want one that ends in %q", err, tc.want)
			}
			if b.Len() > 0 {
				t.Errorf("wrote %q before it failed", b.String())
			}
		})
	}
	if err := manifest.Encode(&bytes.Buffer{}, manifest.Format(7), nil); err == nil {
		t.Error("took an unknown format")
	}
	if _, err := manifest.ParseFormat("xml"); err == nil {
		t.Error("parsed an unknown format")
	}
}

// TestEncodeStrings writes doubtful strings as values, items and keys. It reads them with a YAML
// 1.1 and a YAML 1.2 reader.
func TestEncodeStrings(t *testing.T) {
	texts := []string{
		"", " ", "a ", " a", "y", "Y", "n", "yes", "No", "on", "OFF", "true", "True", "FALSE",
		"null", "Null", "~", "NULL",
		"0", "00", "0777", "0o17", "0x1F", "0b11", "1_000", "1e3", "1E3", "+1", "-1", "--1", "1.",
		".5", "-.5", "1.5e-3", "12:30", "1:2:3.4",
		".inf", "-.inf", "+.inf", ".NaN", ".nan", "2026-01-31", "2026-01-31T09:00:00Z",
		"2026-01-31 09:00:00", "=", "<<", "-", "--", "---", "...",
		"- a", "? a", ": a", "a: b", "a:", "a :b", "a #b", "a#b", "#a", "&a", "*a", "!a", "|", ">",
		"@a", "`a", "%a", "{a", "[a", "a, b", "]", "'", `"`, "'a'",
		`a"b`, `a'b`, `a\b`, `\`, "a\tb", "a\nb", "\n", "\n\n", "a\n", "a\n\n\n", "a\n b\n",
		"\ta\n", "a\n\tb\n", "a\r\nb", "a\rb", "a\n \n", "a\n  ", "é", "日本", "a\u0085b", "a\u2028b",
		"\uFEFFa", "a\x7fb", "a\x00b", "a\x1bb", "😀", "a\nb: c\n---\nd", "--flag=1", "-c", "--",
		"$(VAR)", "${VAR:-x}", "a && b", "/bin/sh", "key=value,other", "10.0.0.1", "500m", "8Gi",
		"0a1b", "1abz", "\uFFFD", "\uFFFE", "a?", "?a", "!!str", "%YAML 1.2",
		strings.Repeat("k", 2000), strings.Repeat("k\"", 600),
	}
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("ayn01e+-._:#,[]{}&*!|>'\"%@`? ~=<\\\n\t\ré\u0085\u2028")
	for range testenv.Cases(t, 12_000) {
		r := make([]rune, 1+rng.IntN(6))
		for i := range r {
			r[i] = alphabet[rng.IntN(len(alphabet))]
		}
		texts = append(texts, string(r))
	}
	for _, text := range texts {
		object := map[string]any{"value": text, "items": []any{text, []any{text}},
			"keys": map[string]any{text: map[string]any{text: text}}, "last": text}
		out := encode(t, manifest.YAML, object)
		var v11, v12 any
		if err := sigsyaml.Unmarshal([]byte(out), &v11); err != nil {
			t.Errorf("%q: YAML 1.1: %v\n%s", text, err, out)
		} else if diff := cmp.Diff(any(object), v11); diff != "" {
			t.Errorf("%q: YAML 1.1 reads (-want +got):\n%s\n%s", text, diff, out)
		}
		if err := yamlv3.Unmarshal([]byte(out), &v12); err != nil {
			t.Errorf("%q: YAML 1.2: %v\n%s", text, err, out)
		} else if diff := cmp.Diff(any(object), v12); diff != "" {
			t.Errorf("%q: YAML 1.2 reads (-want +got):\n%s\n%s", text, diff, out)
		}
		var j any
		if err := json.Unmarshal([]byte(encode(t, manifest.JSON, object)), &j); err != nil {
			t.Errorf("%q: JSON: %v", text, err)
		} else if diff := cmp.Diff(any(object), j); diff != "" {
			t.Errorf("%q: JSON reads (-want +got):\n%s", text, diff)
		}
	}
}

// TestEncodeQuotes shows which strings are quoted, and how.
func TestEncodeQuotes(t *testing.T) {
	for _, tc := range []struct{ text, want, reason string }{
		{"torchrun", "torchrun", "a word"},
		{"a && b", "a && b", "a command is to be read"},
		{"--nproc=auto", "--nproc=auto", "a flag"},
		{"--", `"--"`, "too near to a document marker"},
		{"registry.io/a/b:v1@sha256:0f", "registry.io/a/b:v1@sha256:0f", "a colon without a space"},
		{"y", `"y"`, "true to YAML 1.1"},
		{"NO", `"NO"`, "false to YAML 1.1"},
		{"0777", `"0777"`, "an octal number to YAML 1.1"},
		{"0o17", `"0o17"`, "an octal number to YAML 1.2"},
		{"1e3", `"1e3"`, "a float"},
		{"1_000", `"1_000"`, "a number to YAML 1.1"},
		{"12:30:45", `"12:30:45"`, "a number to base 60 in YAML 1.1"},
		{"~", `"~"`, "null"},
		{"", `""`, "null"},
		{"2026-01-31", `"2026-01-31"`, "a date"},
		{"500m", "500m", "no number has an m"},
		{`say "hi"`, `say "hi"`, "quotes within a text"},
		{`{"a": 1}`, `'{"a": 1}'`, "single quotes where double ones would need escapes"},
		{"日本", `"日本"`, "in doubt, quotes"},
	} {
		if got := strings.TrimSuffix(
			strings.TrimPrefix(encode(t, manifest.YAML, map[string]any{"a": tc.text}), "a: "),
			"\n"); got != tc.want {
			t.Errorf("%q is written %s, want %s: %s", tc.text, got, tc.want, tc.reason)
		}
	}
}

// TestEncodeDecode writes what was read and reads it again.
func TestEncodeDecode(t *testing.T) {
	data, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, findings := manifest.Decode("objects.yaml", data)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	var objects []any
	for _, d := range first {
		objects = append(objects, d.Object)
	}
	out := encode(t, manifest.YAML, objects...)
	golden(t, "testdata/objects.golden", []byte(out))
	if again := encode(t, manifest.YAML, objects...); again != out {
		t.Errorf("the same objects gave other bytes:\n%s", cmp.Diff(out, again))
	}
	for _, format := range []manifest.Format{manifest.YAML, manifest.JSON} {
		second, findings := manifest.Decode("again", []byte(encode(t, format, objects...)))
		if len(findings) > 0 || len(second) != len(first) {
			t.Fatalf("%s: %d documents, findings %v", format, len(second), findings)
		}
		for i, d := range second {
			if diff := cmp.Diff(asJSON(t, first[i].Object), asJSON(t, d.Object)); diff != "" {
				t.Errorf("%s: %s changed (-first +second):\n%s", format, d.ID, diff)
			}
		}
	}
}

// asJSON is the object by encoding/json, without its status.
func asJSON(t *testing.T, object any) any {
	t.Helper()
	j, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(j, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "status")
	return m
}

// TestEncode_RequiredStructs encodes the empty value of every struct that children of a TrainJob
// reach. A field whose Go type is a struct and which the API requires stays, as the cluster stores
// it.
func TestEncode_RequiredStructs(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var required []string
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice ||
			typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] ||
			reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Marshaler]()) {
			return
		}
		seen[typ] = true
		got := map[string]any{}
		if err := sigsyaml.Unmarshal(
			[]byte(encode(t, manifest.YAML, map[string]any{"x": reflect.New(typ).Interface()})),
			&got); err != nil {
			t.Fatal(err)
		}
		fields, _ := got["x"].(map[string]any)
		for i := range typ.NumField() {
			f := typ.Field(i)
			visit(f.Type)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type.Kind() != reflect.Struct || name == "" || name == "-" ||
				reflect.PointerTo(f.Type).Implements(reflect.TypeFor[json.Marshaler]()) {
				continue
			}
			if options == "" {
				required = append(required, typ.String()+"."+name)
				if _, written := fields[name]; !written {
					t.Errorf("an empty %s.%s is lost", typ, f.Name)
				}
			}
		}
	}
	for _, object := range []any{jobset.JobSet{}, batchv1.Job{}, corev1.Pod{},
		corev1.PersistentVolumeClaim{}, corev1.Service{}, trainer.TrainJob{}} {
		visit(reflect.TypeOf(object))
	}
	for _, want := range []string{"v1.PreferredSchedulingTerm.preference",
		"v1.WeightedPodAffinityTerm.podAffinityTerm", "v1.PersistentVolumeClaimTemplate.spec",
		"v1.JobSpec.template"} {
		if !slices.Contains(required, want) {
			t.Errorf("the test does not reach %s", want)
		}
	}
}
