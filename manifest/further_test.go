package manifest_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/manifest"
)

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
	return []manifest.Kind{{Group: "example.com", Version: "v1", Kind: "Widget", New: func() any { return new(widget) }}}
}

// TestDecodeKinds reads objects of a further kind as strictly as the Trainer's, and leaves other versions and
// kinds of its group alone.
func TestDecodeKinds(t *testing.T) {
	tests := []struct {
		name, text string
		objects    int
		findings   string
		reason     string
	}{
		{name: "one", text: "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {parts: {A: {count: 2}}}\n", objects: 1, reason: "it is read"},
		{name: "a list", text: "apiVersion: example.com/v1\nkind: WidgetList\nitems:\n- metadata: {name: w}\n- metadata: {name: x}\n", objects: 2, reason: "the items of its List are of the kind"},
		{name: "JSON", text: `{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}`, objects: 1, reason: "in either format"},
		{
			name: "an unknown field", text: "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  parts:\n    A:\n      cout: 2\n",
			findings: `f:7:7: TW101: Widget w: .spec.parts["A"].cout: unknown field "cout"; did you mean "count"?`, reason: "within a map as well",
		},
		{
			name: "another version", text: "apiVersion: example.com/v2\nkind: Widget\nmetadata: {name: w}\n",
			findings: `f:1:1: TW109: Widget w: .apiVersion: "example.com/v2" is no version of Widget that is read here, and the object is left out; write apiVersion: example.com/v1 if it is meant to be one of those`,
			reason:   "it may be another project's",
		},
		{name: "another kind", text: "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: w}\n", reason: "kinds that are not read are no matter"},
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
				t.Errorf("%s: %d objects, want %d; findings %q, want %q", tt.reason, objects, tt.objects, findings.Error(), tt.findings)
			}
		})
	}
	documents, findings := manifest.DecodeKinds("f", []byte(tests[0].text), widgets())
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	at := fieldpath.Fields("spec", "parts").Append(fieldpath.Key("A"), fieldpath.Field("count"))
	if got := documents[0].Position(at).String(); got != "f:4:20" || documents[0].Format() != manifest.YAML {
		t.Errorf("%s is at %s, in %s", at, got, documents[0].Format())
	}
	if documents, _ := manifest.Decode("f", []byte(tests[3].text)); documents[0].Object != nil {
		t.Error("Decode reads a kind that nobody asked for")
	}
}
