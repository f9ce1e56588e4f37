package merged

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
)

type operation = map[string]any

// operations returns a JSON patch that sets much of what a patch sets. Some of its operations
// remove, move, copy or test what the base has. Now and then one fails.
func (g *generator) operations(base, patch map[string]any) []any {
	all := g.added(nil, "", base, plain(patch).(map[string]any))
	for range max(0, g.IntN(4)-1) {
		all = append(all, g.other(base))
	}
	if len(all) == 0 {
		all = append(all, g.other(base))
	}
	return all
}

// added appends the operations that set the fields of a patch at a path.
func (g *generator) added(all []any, path string, base, patch map[string]any) []any {
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		at := path + "/" + escape(name)
		switch value := patch[name].(type) {
		case map[string]any:
			if into, ok := base[name].(map[string]any); ok && !g.chance(8) {
				all = g.added(all, at, into, value)
				continue
			}
		case []any:
			if into, ok := base[name].([]any); ok && !g.chance(8) {
				all = g.addedItems(all, at, into, value)
				continue
			}
		}
		op := "add"
		if base[name] != nil && g.chance(2) {
			op = "replace"
		}
		all = append(all, operation{"op": op, "path": at, "value": patch[name]})
	}
	return all
}

func (g *generator) addedItems(all []any, path string, base, items []any) []any {
	for _, item := range items {
		at := slices.IndexFunc(base, func(other any) bool {
			return nameOf(other) != nil && nameOf(other) == nameOf(item)
		})
		switch into, fields := g.itemAt(base, at), asFields(item); {
		case into != nil && fields != nil && !g.chance(4):
			all = g.added(all, path+"/"+strconv.Itoa(at), into, fields)
		case len(base) > 0 && g.chance(3):
			all = append(
				all, operation{"op": pick(g, []string{"add", "replace"}),
					"path": path + "/" + strconv.Itoa(g.IntN(len(base))), "value": item})
		default:
			all = append(all, operation{"op": "add", "path": path + "/-", "value": item})
		}
	}
	return all
}

func (g *generator) itemAt(list []any, i int) map[string]any {
	if i < 0 {
		return nil
	}
	return asFields(list[i])
}

func asFields(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

func nameOf(item any) any { return asFields(item)["name"] }

// other returns an operation on what the base has.
func (g *generator) other(base map[string]any) operation {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(base)), func(name string) bool {
		return slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)
	})
	if len(names) == 0 {
		return operation{"op": "test", "path": "/metadata/name", "value": nameOf(base["metadata"])}
	}
	name := pick(g, names)
	path, value := g.pointer("/"+escape(name), base[name])
	op := pick(g, []string{"remove", "remove", "copy", "copy", "move", "test"})
	if strings.HasSuffix(path, "/name") { // which may be a merge key
		op = "test"
	}
	switch op {
	case "remove":
		return operation{"op": "remove", "path": path}
	case "test":
		if g.chance(4) {
			value = pick(g, []any{"other", nil, 1})
		}
		return operation{"op": "test", "path": path, "value": value}
	case "move":
		return operation{"op": "move", "from": path, "path": g.beside(path)}
	}
	return operation{"op": "copy", "from": path, "path": g.beside(path)}
}

// beside returns a place for the value at a path: in the same list, or under another name.
func (g *generator) beside(path string) string {
	cut := strings.LastIndexByte(path, '/')
	if _, err := strconv.Atoi(path[cut+1:]); err == nil {
		return path[:cut] + "/" + pick(g, []string{"-", "-", "0", "0", "9"})
	}
	return path[:cut] + "/" +
		pick(g, []string{"initContainers", "containers", "volumes", "replicas", "labels", "name",
			"value", "image"})
}

// pointer returns a random path from a value on, and the value there.
func (g *generator) pointer(path string, value any) (string, any) {
	for !g.chance(7) {
		switch in := value.(type) {
		case map[string]any:
			if len(in) == 0 {
				return path, value
			}
			name := pick(g, slices.Sorted(maps.Keys(in)))
			path, value = path+"/"+escape(name), in[name]
		case []any:
			if len(in) == 0 {
				return path, value
			}
			i := g.IntN(len(in))
			path, value = path+"/"+strconv.Itoa(i), in[i]
		default:
			return path, value
		}
	}
	return path, value
}

func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// compareOperations compares the merge of JSON patches with the API server's library. It returns
// bothAccept if both merge to the same object, and unmerged if neither does. The library panics at
// a test of a list with null, as the API server does.
func (m *mergeCase) compareOperations(t *testing.T,
	merged *objectmerge.Result) (result outcome, rejected []string) {
	t.Helper()
	defer func() {
		if recover() != nil {
			result = unmerged
		}
	}()
	text, invalid := encode(t, m.base), false
	for _, patch := range m.patches {
		operations, err := jsonpatch.DecodePatch(encode(t, plain(patch)))
		if err == nil {
			text, err = operations.Apply(text)
		}
		switch {
		case err == nil: // each patch is a request, whose result the API server may refuse
			invalid = invalid || len(m.rejections(fieldsIn(text), false)) > 0
		case merged == nil:
			return unmerged, nil
		default:
			t.Logf("the API server cannot merge: %v", err)
			return missed, nil
		}
	}
	switch {
	case merged == nil && invalid:
		return unmerged, nil
	case merged == nil:
		return falseRefusal, nil
	}
	var want, got any // in which 2.0 is 2
	for into, from := range map[*any][]byte{&want: text, &got: encode(t, merged.Fields)} {
		if err := json.Unmarshal(from, into); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(withoutNulls(want), withoutNulls(got)) {
		t.Errorf("JSON patches %s\nof %s\nupstream %s\nhere     %s", encode(t, m.patches),
			encode(t, m.base), text, encode(t, merged.Fields))
	}
	return bothAccept, nil
}

// fieldsIn returns a decoded object, or nil for another value.
func fieldsIn(text []byte) map[string]any {
	var fields map[string]any
	if kjson.UnmarshalCaseSensitivePreserveInts(text, &fields) != nil {
		return nil
	}
	return fields
}

// withoutNulls returns a value without the fields that are null.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range value {
			if field != nil {
				out[name] = withoutNulls(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = withoutNulls(value[i])
		}
		return out
	}
	return value
}
