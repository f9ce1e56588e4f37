package resourcelist_test

import (
	"bytes"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
)

// FuzzRead reads any ResourceList. The written list reads as the same items, and is written again
// as the same bytes.
func FuzzRead(f *testing.F) {
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	for _, seed := range []string{
		"", "a", head, head + "items: [{kind: A, metadata: {name: b}}]\n",
		head + "functionConfig: {data: {a: b, c: [1]}}\nitems:\n- &a {kind: A} # c\n- *a\n",
		head + "items: [{kind: AList, items: [{kind: B}, {kind: CList, items: []}]}]\nresults: " +
			"[{message: a}]\n", head + "items: [null]\n", head + "items: {a: b}\n",
		head + "items: # none\n", head + "# h\nitems: # l\n# h0\n- a: 1 # l0\n  # f0\n\n# h1\n" +
			"- b: 1\n# f1\n\n# f\nx: 1\n",
		head + "items:\n- metadata: {annotations: {config.kubernetes.io/path: a.yaml, " +
			"internal.config.kubernetes.io/index: '1'}}\n", head + "items: &a [*a]\n",
		head + "x: &x {a: &y [b, b]}\nitems:\n- {<<: *x, c: *y}\n", head + head,
		head + "---\na: b\n",
		`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"a":"\u2028"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			t.Skip("larger than the lists of a fuzzer need to be")
		}
		list, err := resourcelist.Read(data)
		if err != nil {
			return
		}
		for _, item := range list.Items {
			item.ID()
			item.Data()
			item.SetFile(resourcelist.File{Path: "a.yaml", Index: 2}, item)
			if file, ok := item.File(); ok &&
				file != (resourcelist.File{Path: "a.yaml", Index: 2}) {
				t.Errorf("%q: the file of an item is %v after SetFile", data, file)
			}
		}
		first := written(t, data, list)
		again, err := resourcelist.Read(first)
		if err != nil {
			t.Fatalf("%q is written as %q, which cannot be read: %v", data, first, err)
		}
		if len(again.Items) != len(list.Items) || (again.Config == nil) != (list.Config == nil) {
			t.Fatalf("%q: %d items are written, and %d read", data, len(list.Items),
				len(again.Items))
		}
		for i, item := range list.Items {
			if item.ID() != again.Items[i].ID() {
				t.Errorf("%q: item %d is %v, and reads as %v", data, i, item.ID(),
					again.Items[i].ID())
			}
		}
		if second := written(t, data, again); !bytes.Equal(first, second) {
			t.Errorf("%q is written as\n%s\nand then as\n%s", data, first, second)
		}
	})
}

func written(t *testing.T, data []byte, list *resourcelist.List) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := list.Write(&b); err != nil {
		t.Fatalf("%q cannot be written: %v", data, err)
	}
	return b.Bytes()
}
