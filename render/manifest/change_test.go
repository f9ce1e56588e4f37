package manifest_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// changeOf returns a change for a test: an action, a path, and the new name, path or value.
func changeOf(t *testing.T, do, path string, with any) manifest.Change {
	t.Helper()
	parse := func(text string) fieldpath.Path {
		p, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	c := manifest.Change{Path: parse(path)}
	switch do {
	case "remove":
		c.Do = manifest.RemoveField
	case "set":
		c.Do, c.Value = manifest.SetField, with
	case "rename":
		c.Do, c.Name = manifest.RenameField, with.(string)
	case "quote":
		c.Do = manifest.QuoteField
	case "move":
		c.Do, c.To = manifest.MoveField, parse(with.(string))
	}
	return c
}

// step is a change of a test case.
type step struct {
	do, path string
	with     any
}

const changeHead = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"

// TestDocument_Change changes fields in the text of an object. All other bytes stay.
func TestDocument_Change(t *testing.T) {
	job := func(text string) string { return changeHead + text }
	tests := []struct {
		name, file, want, rejected, reason string
		changes                            []step
	}{
		{
			name: "remove", changes: []step{{"remove", ".spec.b", nil}}, reason: "comments on lines of their own stay",
			file: job("spec:\n  a: 1 # a\n  # above\n  b:\n    c: 1 # c\n    # deep\n\n  # d\n  d: 'x'\n"), want: job("spec:\n  a: 1 # a\n  # above\n\n  # d\n  d: 'x'\n"),
		},
		{
			name: "set a list in brackets, with new items around the old ones", reason: "new items are where the list has them, and comments stay with their items",
			changes: []step{{"set", ".spec.a", []any{"x", "b", "m", "c", "o", "p"}}},
			file:    job("spec:\n  a: [\n    # above b\n    b, # b\n\n    # above c\n    c # c\n  ]\n"),
			want:    job("spec:\n  a: [\n    x,\n    # above b\n    b, # b\n    m,\n\n    # above c\n    c, # c\n    o,\n    p\n  ]\n"),
		},
		{
			name: "set a list in brackets on one line", changes: []step{{"set", ".spec.a", []any{"x", "b", "m", "c", "o"}}}, reason: "a new item precedes the first one",
			file: job("spec:\n  a: [b, c] # end\n"), want: job("spec:\n  a: [x, b, m, c, o] # end\n"),
		},
		{
			name: "remove the last entry", changes: []step{{"remove", ".spec.a.b.c", nil}}, reason: "empty maps go too",
			file: job("spec:\n  a:\n    b:\n      c: 1\n  d: 2\n"), want: job("spec:\n  d: 2\n"),
		},
		{
			name: "remove all entries", changes: []step{{"remove", ".spec.a.b", nil}, {"remove", ".spec.a.c", nil}}, reason: "several changes empty a map together",
			file: job("spec:\n  a:\n    b: 1\n    c: 1\n  d: 2"), want: job("spec:\n  d: 2"),
		},
		{
			name: "remove an empty map's neighbor", changes: []step{{"remove", ".spec.a", nil}}, reason: "a map that was empty before stays",
			file: job("spec:\n  a: {}\n  b: {}\n"), want: job("spec:\n  b: {}\n"),
		},
		{
			name: "remove the first key of an item", changes: []step{{"remove", `.spec.l[name="x"].b`, nil}}, reason: "the next key follows the dash",
			file: job("spec:\n  l:\n  - b: 1\n    name: x\n  - name: y\n"), want: job("spec:\n  l:\n  - name: x\n  - name: y\n"),
		},
		{
			name: "remove two first keys of an item", changes: []step{{"remove", `.spec.l[name="x"].b`, nil}, {"remove", `.spec.l[name="x"].c`, nil}}, reason: "the next key follows the dash",
			file: job("spec:\n  l:\n  - b: 1\n    c:\n      d: 1\n\n    # of x\n    name: x\n"), want: job("spec:\n  l:\n  - # of x\n    name: x\n"),
		},
		{
			name: "remove the last field between blank lines, and add others", changes: []step{{"remove", ".spec.b", nil}, {"set", ".spec.c", 2}, {"set", ".x", 3}}, reason: "the new fields take the place",
			file: job("spec:\n  a: 1\n\n  b: 1\n\n"), want: job("spec:\n  a: 1\n\n  c: 2\nx: 3\n"),
		},
		{
			name: "remove all first fields", changes: []step{{"remove", ".spec.a", nil}, {"remove", ".spec.b", nil}}, reason: "no blank line stays above the first",
			file: job("spec:\n  a: 1\n\n  b: 1\n\n  c: 1\n"), want: job("spec:\n  c: 1\n"),
		},
		{
			name: "remove items", changes: []step{{"remove", `.spec.l[name="x"]`, nil}, {"remove", ".spec.m[0]", nil}, {"remove", `.spec.f[="b"]`, nil}},
			reason: "an item has a dash and lines", file: job("spec:\n  l:\n    - name: x\n      v: >\n        text\n\n        more\n    - name: y\n  m: [1, 2]\n  f: [a, b]\n"),
			want: job("spec:\n  l:\n    - name: y\n  m: [2]\n  f: [a]\n"),
		},
		{
			name: "remove the only item", changes: []step{{"remove", `.spec.l[name="x"]`, nil}}, reason: "an empty list goes too",
			file: job("spec:\n  l:\n  - name: x\n  a: 1\n"), want: job("spec:\n  a: 1\n"),
		},
		{
			name: "remove in braces", changes: []step{{"remove", ".spec.a", nil}, {"remove", ".metadata.labels.c", nil}}, reason: "a comma goes with the entry",
			file: job("spec: {a: 1, b: {x: 1}}\nmetadata: {name: x, labels: {a: '}', c: d}}\n"), want: job("spec: {b: {x: 1}}\nmetadata: {name: x, labels: {a: '}'}}\n"),
		},
		{
			name: "remove lines in braces", changes: []step{{"remove", ".spec.c", nil}}, reason: "an entry may have a line of its own",
			file: job("spec: {\n  a: 1, # a\n  b: 2,\n  c: 3\n}\n"), want: job("spec: {\n  a: 1, # a\n  b: 2\n}\n"),
		},
		{
			name: "remove in JSON", changes: []step{{"remove", ".spec.b", nil}, {"remove", ".metadata.labels.x", nil}}, reason: "JSON keeps its form",
			file: "{\"apiVersion\": \"trainer.kubeflow.org/v1alpha1\", \"kind\": \"TrainJob\",\n \"spec\": {\n   \"a\": 1,\n   \"b\": {}\n },\n \"metadata\": {\"labels\": {\"x\": \"y\"}, \"name\": \"n\"}}",
			want: "{\"apiVersion\": \"trainer.kubeflow.org/v1alpha1\", \"kind\": \"TrainJob\",\n \"spec\": {\n   \"a\": 1\n },\n \"metadata\": {\"name\": \"n\"}}",
		},
		{
			name: "equal duplicates", changes: []step{{"remove", ".spec.a", nil}, {"remove", `.spec.l[name="x"]`, nil}}, reason: "the first one stays",
			file: job("spec:\n  a: {b: 1}\n  a:\n    b: 1\n  l:\n  - {name: x, v: 1}\n  - v: 1\n    name: x\n"), want: job("spec:\n  a: {b: 1}\n  l:\n  - {name: x, v: 1}\n"),
		},
		{name: "equal duplicates alone", changes: []step{{"remove", ".spec.a.b", nil}}, file: job("spec:\n  a:\n    b: 1\n    b: 1\n"), want: job("spec:\n  a:\n    b: 1\n"), reason: "the first one stays, and so does the map"},
		{name: "other duplicates", changes: []step{{"remove", ".spec.a", nil}}, file: job("spec:\n  a: 1\n  a: 2\n"), rejected: ".spec.a: it has duplicates with other values", reason: "the user chooses"},
		{
			name: "set a scalar", changes: []step{{"set", ".spec.a", 8}, {"set", ".spec.b", "8"}, {"set", ".spec.c", "y"}, {"set", ".spec.d", "z"}, {"set", ".spec.e", true}, {"set", ".spec.l[1]", "w"}},
			reason: "quotes stay where a string stays", file: job("spec:\n  a: \"8\" # a\n  b: 8\n  c: 'x'   # c\n  d:\n  e: |\n    text\n  l: [a, b]\n"),
			want: job("spec:\n  a: 8 # a\n  b: \"8\"\n  c: 'y'   # c\n  d: z\n  e: true\n  l: [a, w]\n"),
		},
		{
			name: "set a missing field", changes: []step{{"set", ".spec.trainer.resourcesPerNode.limits", map[string]any{"cpu": "1"}}}, reason: "parents are added",
			file: job("spec:\n  suspend: true\n# end\n"), want: job("spec:\n  suspend: true\n  trainer:\n    resourcesPerNode:\n      limits:\n        cpu: \"1\"\n# end\n"),
		},
		{
			name: "set at the end", changes: []step{{"set", ".metadata.labels[\"a/b\"]", "c"}}, reason: "a file may lack the last line break",
			file: job("metadata:\n  name: x"), want: job("metadata:\n  name: x\n  labels:\n    a/b: c"),
		},
		{
			name: "set below null", changes: []step{{"set", ".spec.a.b", 1}, {"set", ".spec.c.d", 1}}, reason: "null and {} are replaced",
			file: job("spec:\n  a: # none\n  c: {} # empty\n"), want: job("spec:\n  a: # none\n    b: 1\n  c: # empty\n    d: 1\n"),
		},
		{
			name: "set items", changes: []step{{"set", `.spec.env[name="B"].value`, "2"}, {"set", `.spec.env[name="A"].value`, "3"}, {"set", `.spec.new[name="C"].value`, "4"}}, reason: "an item is added with its key",
			file: job("spec:\n  env:\n    - name: A\n      value: \"1\"\n"), want: job("spec:\n  env:\n    - name: A\n      value: \"3\"\n    - name: B\n      value: \"2\"\n  new:\n    - name: C\n      value: \"4\"\n"),
		},
		{
			name: "set a list", changes: []step{{"set", ".spec.t", []any{map[string]any{"k": "0"}, map[string]any{"k": "a"}, map[string]any{"k": "m"}, map[string]any{"k": "b", "o": "E"}}}}, reason: "equal items keep their text",
			file: job("spec:\n  t:\n  # a\n  - k: 'a' # first\n  - {k: gone}\n  # b\n  - {o: E, k: b}\n"),
			want: job("spec:\n  t:\n  # a\n  - k: \"0\"\n  - k: 'a' # first\n  - k: m\n  # b\n  - {o: E, k: b}\n"),
		},
		{
			name: "set a list in another order", changes: []step{{"set", ".spec.t", []any{map[string]any{"k": "b"}, map[string]any{"k": "a"}}}}, reason: "items are moved with their comments",
			file: job("spec:\n  t:\n  - k: 'a' # first\n  - k: b\n  u: 1\n"), want: job("spec:\n  t:\n  - k: b\n  - k: 'a' # first\n  u: 1\n"),
		},
		{
			name: "set a map", changes: []step{{"set", ".spec.m", map[string]any{"a": 1, "c": map[string]any{"d": 1}}}}, reason: "equal entries keep their text",
			file: job("spec:\n  m:\n    # c\n    c: {d: 1} # equal\n    b: 2\n    a: 0\n"), want: job("spec:\n  m:\n    # c\n    c: {d: 1} # equal\n    a: 1\n"),
		},
		{
			name: "set another kind", changes: []step{{"set", ".spec.a", []any{"x"}}, {"set", ".spec.b", "v"}, {"set", ".spec.l[0]", map[string]any{"z": 1}}}, reason: "a list for a string, and back",
			file: job("spec:\n  a: x # one\n  b: # two\n    - c\n    - d\n  l:\n    - q\n    - r\n"), want: job("spec:\n  a: # one\n    - x\n  b: v # two\n  l:\n    - z: 1\n    - r\n"),
		},
		{
			name: "set in braces", changes: []step{{"set", ".spec.a.b", 1}, {"set", ".spec.c", "a,b"}, {"set", ".spec.l[=\"z\"]", "z"}}, reason: "braces stay braces",
			file: job("spec: {a: {x: 1}, l: [x]}\n"), want: job("spec: {a: {x: 1, b: 1}, l: [x, z], c: \"a,b\"}\n"),
		},
		{
			name: "set in JSON", changes: []step{{"set", ".spec.b.c", []any{"d"}}, {"set", ".metadata.x", 1}}, reason: "JSON keeps its form",
			file: "{\n  \"apiVersion\": \"trainer.kubeflow.org/v1alpha1\",\n  \"kind\": \"TrainJob\",\n  \"spec\": {\n    \"a\": 1\n  },\n  \"metadata\": {\"name\":\"n\"}\n}\n",
			want: "{\n  \"apiVersion\": \"trainer.kubeflow.org/v1alpha1\",\n  \"kind\": \"TrainJob\",\n  \"spec\": {\n    \"a\": 1,\n    \"b\": {\n      \"c\": [\n        \"d\"\n      ]\n    }\n  },\n  \"metadata\": {\"name\":\"n\",\"x\":1}\n}\n",
		},
		{
			name: "rename", changes: []step{{"rename", ".spec.runtimeref", "runtimeRef"}, {"rename", `.spec.l[name="nod"]`, "node"}, {"set", `.spec.l[name="nod"].v`, 2}}, reason: "a name changes in its place",
			file: job("spec:\n  \"runtimeref\" : # c\n    name: x\n  l: [{name: 'nod', v: 1}]\n"), want: job("spec:\n  \"runtimeRef\" : # c\n    name: x\n  l: [{name: 'node', v: 2}]\n"),
		},
		{name: "rename to a sibling", changes: []step{{"rename", ".spec.a", "b"}}, file: job("spec: {a: 1, b: 2}\n"), rejected: ".spec.a: it is already set", reason: "a name is unique"},
		{
			name: "move", changes: []step{{"move", `.spec.p[m="x"].c[name="node"].resources`, ".spec.trainer.resourcesPerNode"}, {"move", `.spec.p[m="x"].c[name="node"].env`, ".spec.trainer.env"}},
			reason: "comments move along",
			file:   job("spec:\n  trainer:\n    numNodes: 2\n  p:\n  - m: x\n    c:\n    - name: node\n      # GPUs\n      resources: # eight\n        limits:\n          gpu: '8' # all\n      env: [{name: A, value: \"1\"}]\n"),
			want:   job("spec:\n  trainer:\n    numNodes: 2\n    # GPUs\n    resourcesPerNode: # eight\n      limits:\n        gpu: '8' # all\n    env: [{name: A, value: \"1\"}]\n  p:\n  - m: x\n    c:\n    - name: node\n"),
		},
		{
			name: "move an item", changes: []step{{"move", `.spec.c[name="x"]`, `.spec.i[name="x"]`}, {"move", `.spec.c[name="w"]`, `.spec.j[name="w"]`}}, reason: "an item has its key",
			file: job("spec:\n  c:\n  - name: x # x\n    a: 1\n  - name: w\n  i:\n  - name: z\n"), want: job("spec:\n  i:\n  - name: z\n  - name: x # x\n    a: 1\n  j:\n  - name: w\n"),
		},
		{
			name: "quote", changes: []step{{"quote", ".spec.a", nil}, {"quote", ".spec.b", nil}, {"quote", ".spec.c", nil}}, reason: "a string keeps its characters",
			file: job("spec: {a: yes, b: 1.10, c: 0x1F}\n"), want: job("spec: {a: \"yes\", b: \"1.10\", c: \"0x1F\"}\n"),
		},
		{name: "move to a set field", changes: []step{{"move", ".spec.a", ".spec.b"}}, file: job("spec: {a: 1, b: 2}\n"), rejected: ".spec.a: it is already set", reason: "nothing is lost"},
		{
			name: "an item of a List", changes: []step{{"set", ".spec.a", 2}, {"remove", ".spec.b", nil}}, reason: "paths start at the object",
			file: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(changeHead, "\n", "\n  ") + "spec:\n    a: 1\n    b: 2\n", want: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(changeHead, "\n", "\n  ") + "spec:\n    a: 2\n",
		},
		{
			name: "line breaks of Windows", changes: []step{{"set", ".spec.b.c", 1}, {"remove", ".spec.a", nil}}, reason: "lines end like the others",
			file: strings.ReplaceAll(job("spec:\n  a: 1\n  d: 1\n"), "\n", "\r\n"), want: strings.ReplaceAll(job("spec:\n  d: 1\n  b:\n    c: 1\n"), "\n", "\r\n"),
		},
		{
			name: "an anchor of its own", changes: []step{{"set", ".spec.a", 2}}, reason: "no alias refers to it",
			file: job("spec:\n  a: &x 1\n"), want: job("spec:\n  a: &x 2\n"),
		},
		{name: "an anchor", changes: []step{{"set", ".spec.a", 2}}, file: job("spec:\n  a: &x 1\n  b: *x\n"), rejected: ".spec.a: it has an anchor in use", reason: "other parts would change"},
		{name: "an anchor around", changes: []step{{"set", ".spec.a.b", 2}}, file: job("spec:\n  a: &x {b: 1}\n  b: *x\n"), rejected: ".spec.a.b: it has an anchor in use", reason: "other parts would change"},
		{name: "an anchor within", changes: []step{{"remove", ".spec.a", nil}}, file: job("spec:\n  a: {b: &x 1}\n  b: *x\n"), rejected: ".spec.a: it has an anchor in use", reason: "the alias would lose it"},
		{name: "an alias", changes: []step{{"set", ".spec.b.c", 2}}, file: job("spec:\n  a: &x {c: 1}\n  b: *x\n"), rejected: ".spec.b.c: it comes from a merge key or an alias", reason: "the anchor would change"},
		{name: "an alias as a whole", changes: []step{{"remove", ".spec.b", nil}}, file: job("spec:\n  a: &x {c: 1}\n  b: *x\n"), want: job("spec:\n  a: &x {c: 1}\n"), reason: "the alias is a text of its own"},
		{name: "a merge key", changes: []step{{"remove", ".spec.b.c", nil}}, file: job("spec:\n  a: &x {c: 1}\n  b:\n    <<: *x\n    d: 1\n"), rejected: ".spec.b.c: it comes from a merge key", reason: "the anchor would change"},
		{name: "missing", changes: []step{{"remove", ".spec.b", nil}}, file: job("spec: {a: 1}\n"), rejected: ".spec.b: it is missing", reason: "the text changed"},
		{name: "within a removed field", changes: []step{{"remove", ".spec.a", nil}, {"set", ".spec.a.b", 2}}, file: job("spec: {a: {b: 1}, c: 1}\n"), rejected: ".spec.a.b: another change edits the same lines", reason: "they contradict"},
		{name: "around a set field", changes: []step{{"set", ".spec.a.b", 2}, {"remove", ".spec.a", nil}}, file: job("spec: {a: {b: 1}, c: 1}\n"), rejected: ".spec.a: another change edits the same lines", reason: "they contradict"},
		{name: "two values", changes: []step{{"set", ".spec.a", 2}, {"set", ".spec.a", 3}}, file: job("spec: {a: 1}\n"), rejected: ".spec.a: another change edits the same lines", reason: "they contradict"},
		{name: "a scalar on the way", changes: []step{{"set", ".spec.a.b", 2}}, file: job("spec: {a: 1}\n"), rejected: ".spec.a.b: the path does not fit the value", reason: "a number has no fields"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			documents, _ := manifest.Decode("f", []byte(tt.file))
			if len(documents) == 0 {
				t.Fatal("nothing is read")
			}
			var changes []manifest.Change
			for _, s := range tt.changes {
				changes = append(changes, changeOf(t, s.do, s.path, s.with))
			}
			edits, err := documents[0].Change(changes)
			switch {
			case tt.rejected != "":
				if err == nil || !strings.HasPrefix(err.Error(), tt.rejected) {
					t.Errorf("%s: %v, want %s", tt.reason, err, tt.rejected)
				}
				return
			case err != nil:
				t.Fatalf("%s: %v", tt.reason, err)
			}
			if got := string(manifest.ApplyEdits([]byte(tt.file), edits)); got != tt.want {
				t.Errorf("%s: got\n%s\nwant\n%s", tt.reason, got, tt.want)
			}
		})
	}
}
