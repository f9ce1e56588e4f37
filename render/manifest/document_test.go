package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/manifest"
)

// TestDocumentFields asks documents for their fields, also for what their Go values do not hold.
func TestDocumentFields(t *testing.T) {
	type object = map[string]any
	const version = "trainer.kubeflow.org/v1alpha1"
	head := object{"apiVersion": version, "kind": "TrainJob"}
	with := func(spec any) object {
		return object{"apiVersion": version, "kind": "TrainJob", "spec": spec}
	}
	for _, tc := range []struct {
		name, in string
		want     []object // nil for a document that has no fields
		reason   string
	}{
		{"explicit zero", job + "spec: {activeDeadlineSeconds: 0, suspend: false}",
			[]object{with(object{"activeDeadlineSeconds": int64(0), "suspend": false})},
			"the API server sees it, and the Go value does not tell it from none"},
		{"numbers", job + "spec: {a: 1.5, b: 1e3, c: 7, d: 12345678901}",
			[]object{with(
				object{"a": 1.5, "b": int64(1000), "c": int64(7), "d": int64(12345678901)})},
			"whole numbers are int64, as an API server decodes them"},
		{"unknown field", job + "spec: {runtimeref: {name: a}}",
			[]object{with(object{"runtimeref": object{"name": "a"}})},
			"a broken object is judged as well"},
		{"wrong type", job + "spec: {trainer: {numNodes: \"4\"}}",
			[]object{with(object{"trainer": object{"numNodes": "4"}})},
			"and so are its wrong types"},
		{"key twice", job + "spec: {suspend: true, suspend: false}",
			[]object{with(object{"suspend": false})},
			"the last one counts, as for readers that take both"},
		{"merge key", job + "x: &x {suspend: true}\nspec:\n  <<: *x\n",
			[]object{{"apiVersion": version, "kind": "TrainJob", "x": object{"suspend": true},
				"spec": object{"suspend": true}}}, "aliases are written out"},
		{"removed field", job + "spec: {podTemplateOverrides: [], suspend: true}",
			[]object{with(object{"suspend": true})}, "Overrides has it"},
		{"old version", strings.Replace(job, "v1alpha1", "v2alpha1", 1), []object{head},
			"it is read as v1alpha1"},
		{"items", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: " + version +
			", kind: TrainJob, spec: {suspend: true}}\n- {apiVersion: " + version +
			", kind: TrainJob}", []object{with(object{"suspend": true}), head},
			"each item is an object of its own"},
		{"items of a typed list", "apiVersion: " + version + "\nkind: TrainJobList\nitems:\n- {}\n",
			[]object{head}, "the List says what they are"},
		{"JSON", `{"apiVersion":"` + version +
			`","kind":"TrainJob","spec":{"activeDeadlineSeconds":0}}`,
			[]object{with(object{"activeDeadlineSeconds": int64(0)})}, "JSON is as good as YAML"},
		{"broken JSON object",
			`[{"apiVersion":"` + version + `","kind":"TrainJob","spec":{"x":0}}]`,
			[]object{with(object{"x": int64(0)})}, "also where it is broken"},
		{"another kind", "apiVersion: v1\nkind: Secret\n", []object{nil},
			"a kind that is not read has none"},
		{"no JSON", job + "spec: {a: .inf}", []object{nil}, "JSON cannot express it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			documents, _ := manifest.Decode("job.yaml", []byte(tc.in))
			if len(documents) != len(tc.want) {
				t.Fatalf("%d documents, want %d", len(documents), len(tc.want))
			}
			for i, d := range documents {
				got, err := d.Fields()
				if tc.want[i] == nil {
					if err == nil || !strings.Contains(err.Error(), d.ID.Kind) {
						t.Errorf("%v, error %v; want an error that names the object: %s", got, err,
							tc.reason)
					}
					continue
				}
				if diff := cmp.Diff(tc.want[i], got); diff != "" || err != nil {
					t.Errorf("%v; %s\n-want +got\n%s", err, tc.reason, diff)
				}
				got["kind"] = "changed"
				if spec, ok := got["spec"].(object); ok {
					spec["suspend"] = "changed"
				}
				if diff := cmp.Diff(tc.want[i], read(t, d)); diff != "" {
					t.Errorf("ReadFields() differs, after a change of what Fields() returned; "+
						"%s\n-want +got\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// read returns the fields of a document that has some.
func read(t *testing.T, d *manifest.Document) map[string]any {
	t.Helper()
	fields, err := d.ReadFields()
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// TestRelease wants places to stay what they are, however often the objects of a List are released.
func TestRelease(t *testing.T) {
	text := "apiVersion: v1\nkind: List\nitems:\n"
	for range 3 {
		text += "- apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  metadata: " +
			"{name: a}\n"
	}
	documents, _ := manifest.Decode("jobs.yaml", []byte(text))
	if len(documents) != 3 {
		t.Fatalf("%d documents", len(documents))
	}
	for i, d := range documents {
		for range 2 {
			if got, want := d.Position(nil).Line, 4+3*i; got != want {
				t.Errorf("item %d stands in line %d, want %d", i, got, want)
			}
			d.Release()
		}
	}
	if got := manifest.Lines([]byte(text))(2); got != "kind: List" {
		t.Errorf("line 2 is %q", got)
	}
}

// widget is an object of an API that this package does not know.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Parts map[string]*part `json:"parts"`
	} `json:"spec"`
}

type part struct {
	Count int `json:"count"`
}

func widgets() []manifest.Kind {
	return []manifest.Kind{{Group: "example.com", Version: "v1", Kind: "Widget", New: func() any {
		return new(widget)
	}}}
}

// TestDecodeKinds reads objects of a further kind as strictly as the Trainer's. It ignores other
// versions and kinds of its group.
func TestDecodeKinds(t *testing.T) {
	tests := []struct {
		name, text string
		objects    int
		findings   string
		reason     string
	}{
		{name: "one",
			text: "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {parts: " +
				"{A: {count: 2}}}\n", objects: 1, reason: "it is read"},
		{name: "a list",
			text: "apiVersion: example.com/v1\nkind: WidgetList\nitems:\n- metadata: {name: " +
				"w}\n- metadata: {name: x}\n", objects: 2,
			reason: "the items of its List are of the kind"},
		{name: "JSON",
			text:    `{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}`,
			objects: 1, reason: "in either format"},
		{
			name: "an unknown field",
			text: "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  " +
				"parts:\n    A:\n      cout: 2\n",
			findings: `f:7:7: TW101: Widget w: .spec.parts["A"].cout: unknown field "cout"; did you mean "count"?`, reason: "within a map as well",
		},
		{
			name:     "another version",
			text:     "apiVersion: example.com/v2\nkind: Widget\nmetadata: {name: w}\n",
			findings: `f:1:1: TW109: Widget w: .apiVersion: Unsupported value: "example.com/v2" of Widget: the object is skipped; set apiVersion to example.com/v1 if the object has the fields of that version`,
			reason:   "it may be another project's",
		},
		{name: "another kind",
			text:   "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: w}\n",
			reason: "kinds that are not read do not matter"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			documents, findings := manifest.DecodeKinds("f", []byte(tt.text), widgets())
			objects := 0
			for _, d := range documents {
				if _, ok := d.Object.(*widget); ok {
					objects++
				}
			}
			if objects != tt.objects || findings.Error() != tt.findings {
				t.Errorf("%s: %d objects, want %d; findings %q, want %q", tt.reason, objects,
					tt.objects, findings.Error(), tt.findings)
			}
		})
	}
	documents, findings := manifest.DecodeKinds("f", []byte(tests[0].text), widgets())
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	at := fieldpath.Fields("spec", "parts").Append(fieldpath.Key("A"), fieldpath.Field("count"))
	if got := documents[0].Position(at).String(); got != "f:4:20" ||
		documents[0].Format() != manifest.YAML {
		t.Errorf("%s is at %s, in %s", at, got, documents[0].Format())
	}
	if documents, _ := manifest.Decode("f", []byte(tests[3].text)); documents[0].Object != nil {
		t.Error("Decode reads a kind that nobody asked for")
	}
}

// TestDocument_Trace moves the positions of a generated object to its source.
func TestDocument_Trace(t *testing.T) {
	documents, _ := manifest.Decode(
		"made", []byte(
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: "+
				"a}\nspec:\n  suspend: false\n  wrong: 1\n"))
	if len(documents) != 1 || len(documents[0].Findings) != 1 {
		t.Fatalf("Decode() = %v, want one document with one finding", documents)
	}
	d, source := documents[0], fieldpath.Position{File: "source", Line: 7}
	d.Trace(func(path fieldpath.Path) []merge.Claim {
		return []merge.Claim{{Value: true}, {Position: fieldpath.Position{File: "source",
			Line: 5 + len(path)}}}
	})
	suspend := fieldpath.Fields("spec", "suspend")
	if at := d.Position(suspend); at != source {
		t.Errorf("Position() = %s, want %s", at, source)
	}
	if at := d.Findings[0].Position; at != source {
		t.Errorf("the finding is at %s, want %s", at, source)
	}
	if text, ok := d.Text(suspend); text != "false" || !ok {
		t.Errorf("Text() = %q, %t, want false", text, ok)
	}
	if _, ok := d.Text(fieldpath.Fields("spec")); ok {
		t.Error("Text() has a text for a map")
	}
}
