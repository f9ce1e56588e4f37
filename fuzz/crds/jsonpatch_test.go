package crds_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
)

// patcher draws documents and JSON patches to them.
type patcher struct{ generator }

func (p *patcher) json(depth int) any {
	switch {
	case depth > 0 && p.chance(0.45):
		object := map[string]any{}
		for range p.IntN(4) {
			object[pick(&p.generator, "a", "b", "c", "~", "x/y", "", "1")] = p.json(depth - 1)
		}
		return object
	case depth > 0 && p.chance(0.4):
		list := []any{}
		for range p.IntN(4) {
			list = append(list, p.json(depth-1))
		}
		return list
	}
	return pick[any](&p.generator, "s", "t", int64(1), int64(2), true, nil)
}

// pointer is a path into a document, or next to it.
func (p *patcher) pointer(v any) string {
	path := ""
	for {
		key := ""
		switch of := v.(type) {
		case map[string]any:
			names := sorted(of)
			if len(names) == 0 || p.chance(0.2) {
				names = []string{"a", "b", "new", "~"}
			}
			key = names[p.IntN(len(names))]
			v = of[key]
		case []any:
			i := p.IntN(len(of)+1) - p.IntN(2)*p.IntN(len(of)+2)
			key, v = strconv.Itoa(i), nil
			if i >= 0 && i < len(of) {
				v = of[i]
			} else if p.chance(0.4) {
				key = pick(&p.generator, "-", "x")
			}
		default:
			key, v = "a", nil
		}
		path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		if p.chance(0.4) || v == nil && p.chance(0.9) {
			return path
		}
	}
}

func (p *patcher) patch(document any) []merge.Operation {
	var all []merge.Operation
	for range 1 + p.IntN(4) {
		o := merge.Operation{
			Op:   pick(&p.generator, "add", "remove", "replace", "move", "copy", "test"),
			Path: p.pointer(document)}
		switch o.Op {
		case "add", "replace":
			o.Value = p.json(2)
		case "move", "copy":
			o.From = p.pointer(document)
		case "test":
			o.Value = at(document, o.Path)
			if p.chance(0.2) {
				o.Value = p.json(1)
			}
		}
		all = append(all, o)
	}
	return all
}

// at is the value at a pointer, or nil.
func at(v any, pointer string) any {
	for _, key := range strings.Split(pointer, "/")[1:] {
		switch of := v.(type) {
		case map[string]any:
			v = of[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(of) {
				return nil
			}
			v = of[i]
		default:
			return nil
		}
	}
	return fuzz.Copy(v)
}

// apply applies a patch as the API server does, and reports whether that panics. The library panics
// if it tests a list with a null.
func apply(patch jsonpatch.Patch, document string) (out []byte, panics bool, err error) {
	defer func() { panics = recover() != nil }()
	out, err = patch.Apply([]byte(document))
	return out, false, err
}

// TestJSONPatch compares JSON patches with the library of the API server: the objects, and which
// patches fail.
func TestJSONPatch(t *testing.T) {
	p := &patcher{generator{Rand: rand.New(rand.NewPCG(testenv.NumberOr(t, "TRAINWELD_SEED", 1), 2))}}
	applied := 0
	cases := int(testenv.NumberOr(t, "TRAINWELD_PATCHES", 20000))
	for range cases {
		document := map[string]any{"a": p.json(3), "b": p.json(2)}
		patch := p.patch(document)
		text, err := json.Marshal(patch)
		if err != nil {
			t.Fatal(err)
		}
		read, err := merge.ReadPatch("m", text)
		if err != nil {
			t.Fatal(err)
		}
		parsed := read.Value.(merge.JSONPatch)
		theirs, err := jsonpatch.DecodePatch(text)
		if err != nil {
			t.Fatal(err)
		}
		want, panics, upstream := apply(theirs, canonical(document))
		if panics {
			continue
		}
		before := canonical([]any{document, parsed})
		result, err := merge.StrategicObject(nil, document,
			[]merge.Patch{{Manager: "m", Value: parsed}})
		if (err == nil) != (upstream == nil) {
			t.Fatalf("%s\npatch %s\nupstream %v, we %v", canonical(document), text, upstream, err)
		}
		if now := canonical([]any{document, parsed}); now != before {
			t.Fatalf("%s\npatch %s\nchanges its inputs to %s", before, text, now)
		}
		if err != nil {
			var at *merge.PatchError
			if !errors.As(err, &at) || !strings.Contains(err.Error(), "operation ") {
				t.Fatalf("patch %s: %v", text, err)
			}
			continue
		}
		applied++
		var object any
		d := json.NewDecoder(bytes.NewReader(want))
		if err := d.Decode(&object); err != nil {
			t.Fatal(err)
		}
		if w, g := canonical(object), canonical(result.Value); w != g {
			t.Fatalf("%s\npatch %s\nupstream\n%s\nwe\n%s", canonical(document), text, w, g)
		}
		fuzz.Scribble(result.Value)
		if now := canonical([]any{document, parsed}); now != before {
			t.Fatalf("%s\npatch %s\nshares memory with its result", before, text)
		}
	}
	if applied < cases/5 {
		t.Errorf("only %d of %d patches apply", applied, cases)
	}
}

// TestJSONPatch_Owners compares the managed fields of JSON patches with the managed fields of
// updates.
func TestJSONPatch_Owners(t *testing.T) {
	all := files(t)
	d, err := compile("JobSet", all["JobSet-2.3"])
	if err != nil {
		t.Fatal(err)
	}
	live := merge.Object{"apiVersion": d.kind.GroupVersion().String(), "kind": d.kind.Kind,
		"metadata": merge.Object{"name": "it"}}
	m := managedfieldstest.NewTestFieldManager(d.converter, d.kind)
	for i, text := range []string{
		`[{"op": "add", "path": "/spec", "value": {"replicatedJobs": [{"name": "a", "replicas": 1}, {"name": "b"}]}}]`,
		`[{"op": "replace", "path": "/spec/replicatedJobs/0/replicas", "value": 2}]`,
		"- {op: move, from: /spec/replicatedJobs/1, path: /spec/replicatedJobs/0}\n- {op: add, " +
			"path: /metadata/labels, value: {x: z}}",
		`[{"op": "remove", "path": "/spec/replicatedJobs/1"}, {"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"}]`,
	} {
		patch, err := merge.ReadPatch(manager(i%2), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		result, err := merge.Apply(d.typ, live, []merge.Patch{patch}, merge.Live())
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Update(&unstructured.Unstructured{Object: unowned(result.Value)},
			manager(i%2)); err != nil {
			t.Fatal(err)
		}
		if difference := differ(t, m.Live().(*unstructured.Unstructured).Object,
			result.Value); difference != "" {
			t.Fatalf("patch %d: %s", i, difference)
		}
		live = result.Value
	}
}
