package live_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
)

// FuzzRead reads any dump of a cluster. Equal dumps read equally, managed fields have positions in
// the dump, and Plain changes its own result no more.
func FuzzRead(f *testing.F) {
	f.Add(family)
	recorded, err := os.ReadFile("../../../testdata/live/dump.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(recorded))
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, managedFields: [{manager: " +
		"m, operation: Update, fieldsType: FieldsV1, fieldsV1: %s}]}\nspec: {template: {spec: " +
		"{containers: [{name: a, image: b}]}}}\n"
	for _, fields := range []string{
		`{"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}}}}}}}`,
		`{"f:spec": {"v:1": {}, "i:0": {}}}`, "[]", "null", `{"k:{": {}}`} {
		f.Add(fmt.Sprintf(job, fields))
	}
	for _, seed := range []string{
		"", "kind: List\napiVersion: v1\nitems: [null, {}, []]\n",
		"apiVersion: batch/v1\nkind: Job\nmetadata: {managedFields: {a: b}}\nspec: []\n",
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, ownerReferences: [{kind: JobSet, " +
			"name: a}, {}]}\nspec: {template: {spec: {containers: [{}]}}}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<15 {
			t.Skip("larger than the dumps of a fuzzer need to be")
		}
		d, again := live.Read(dump(text), workspace.Flags{}, "dump.yaml"),
			live.Read(dump(text), workspace.Flags{}, "dump.yaml")
		if !reflect.DeepEqual(d.Findings, again.Findings) ||
			len(d.Families) != len(again.Families) {
			t.Errorf("%q reads as %d families and %v, then as %d and %v", text, len(d.Families),
				d.Findings, len(again.Families), again.Findings)
		}
		for _, family := range d.Families {
			for _, o := range append([]*live.Object{family.TrainJob, family.JobSet},
				family.Jobs...) {
				if o != nil {
					holds(t, text, o)
				}
			}
		}
	})
}

// holds checks one object of a dump.
func holds(t *testing.T, text string, o *live.Object) {
	t.Helper()
	if at := o.Position(fieldpath.Fields("metadata", "name")); at.File != "dump.yaml" ||
		at.Line < 1 {
		t.Errorf("%q: %v is at %v", text, o.ID, at)
	}
	plain := live.Plain(o.Value)
	once, err := json.Marshal(plain)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if twice, _ := json.Marshal(live.Plain(plain)); string(once) != string(twice) {
		t.Errorf("%q: Plain gives\n%s\nand then\n%s", text, once, twice)
	}
	m := o.Managed()
	if m == nil {
		return
	}
	fields := 0
	for path, claims := range m.History() {
		if len(claims) == 0 {
			t.Errorf("%q: %s has no claims", text, path)
		}
		if fields++; fields < 100 {
			m.OwnersOf(path)
		}
	}
}
