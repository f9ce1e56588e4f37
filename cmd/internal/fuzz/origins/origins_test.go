// Package origins_test compares the places of values with what kustomize does: it changes the text
// at each place, builds again, and the value must be another one.
package origins_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/trainweld/trainweld/cmd/internal/origins"
)

// instead are the files of a tree, with others instead of some.
type instead struct {
	filesys.FileSystem
	files map[string][]byte
}

func (f instead) ReadFile(name string) ([]byte, error) {
	if data, ok := f.files[name]; ok {
		return data, nil
	}
	return f.FileSystem.ReadFile(name)
}

// source builds the files of a tree.
func source(files filesys.FileSystem) origins.Source {
	return origins.Source{
		Build: func(dir string, others map[string][]byte) ([][]byte, error) {
			made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(
				instead{files, others}, dir)
			if err != nil {
				return nil, err
			}
			texts := make([][]byte, made.Size())
			for i, r := range made.Resources() {
				if texts[i], err = r.MarshalJSON(); err != nil {
					return nil, err
				}
			}
			return texts, nil
		},
		Read: func(name string) ([]byte, error) {
			if files.IsDir(name) {
				return nil, errors.New("a directory")
			}
			return files.ReadFile(name)
		},
		Dir: func(name string) (string, bool) { return filepath.Clean(name), files.IsDir(name) },
	}
}

func inMemory(t *testing.T, all tree) filesys.FileSystem {
	files := filesys.MakeFsInMemory()
	for name, text := range all {
		if err := files.WriteFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// leaf is a value of an object without parts.
type leaf struct {
	path []any
	node *origins.Node
}

func leaves(n *origins.Node, at []any) (all []leaf) {
	if n.IsGone() {
		return nil
	}
	if n.IsLeaf() {
		return []leaf{{at, n}}
	}
	for _, key := range slices.Sorted(maps.Keys(n.Fields)) {
		all = append(all, leaves(n.Fields[key], append(slices.Clip(at), key))...)
	}
	for i, item := range n.Items {
		all = append(all, leaves(item, append(slices.Clip(at), i))...)
	}
	return all
}

// valueAt returns the value at a path of a decoded object, or nil.
func valueAt(value any, at []any) any {
	for _, step := range at {
		switch step := step.(type) {
		case string:
			fields, _ := value.(map[string]any)
			value = fields[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

func decode(t *testing.T, made [][]byte) []any {
	all := make([]any, len(made))
	for i := range made {
		if err := json.Unmarshal(made[i], &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestOrigins changes the text at the place of each value of generated trees. Then the value is
// another one, or kustomize rejects the change. The exact places are those of a single value.
func TestOrigins(t *testing.T) {
	built, total := 0, counts{}
	for seed := range seeds() {
		openapi.ResetOpenAPI() // kustomize keeps a schema for the whole process
		files, top := newTree(seed)
		s := source(inMemory(t, files))
		made, err := s.Build(top, nil)
		if err != nil {
			t.Logf("seed %d: %v", seed, err)
			continue
		}
		trace, err := origins.New(s, top)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		built++
		total["one object alone"] += alone(t, s, top, made, trace)
		given := asGiven(s, top)
		ordered, err := given.Build(top, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		before := decode(t, ordered)
		for i, o := range trace.Objects {
			at := slices.IndexFunc(ordered, func(text []byte) bool { return bytes.Equal(text, made[i]) })
			for _, l := range leaves(o, nil) {
				c := l.node.Claims[len(l.node.Claims)-1]
				name := trace.Operations[c.Operation].Name
				outcome := perturb(t, given, top, object{before[at], at}, l)
				switch {
				case outcome != "same":
				case isConstant(name, l.path):
					outcome = "constant"
				default:
					t.Errorf("seed %d: object %d: %v: %v stays after a change at %v of %s", seed, i,
						l.path, c.Value, c.At, name)
				}
				total[outcome]++
			}
		}
	}
	t.Logf("%d trees: %v", built, total)
	if built < int(seeds())/2 {
		t.Errorf("only %d trees can be built", built)
	}
}

// asGiven returns a source whose builds have the order of the files, in which an object has its
// place whatever its names are.
func asGiven(s origins.Source, top string) origins.Source {
	sorted, name := s.Build, top+"/kustomization.yaml"
	s.Build = func(dir string, instead map[string][]byte) ([][]byte, error) {
		all := maps.Clone(instead)
		if all == nil {
			all = map[string][]byte{}
		}
		if all[name] == nil {
			var err error
			if all[name], err = s.Read(name); err != nil {
				return nil, err
			}
		}
		all[name] = bytes.ReplaceAll(all[name], []byte("\nsortOptions:"), []byte("\n# the order:"))
		return sorted(dir, all)
	}
	return s
}

// alone traces each object with only what it needs. Where the build has it as it is, its history is
// the same. It returns the number of these objects: others need more.
func alone(t *testing.T, s origins.Source, top string, made [][]byte, trace *origins.Trace) (n int) {
	output := bytes.Join(made, []byte("\n"))
	for i, o := range trace.Objects {
		names := o.Names()
		if len(names) == 0 {
			continue
		}
		kind, name := o.Kind(), names[len(names)-1]
		files, err := origins.Needed(s, top, kind, name)
		if err != nil {
			continue
		}
		less := s
		less.Build = func(dir string, instead map[string][]byte) ([][]byte, error) {
			all := maps.Clone(files)
			maps.Copy(all, instead)
			return s.Build(dir, all)
		}
		one, err := origins.New(less, top)
		if err != nil || !one.Within(output, kind+"/"+name) || one.Objects[i] == nil {
			continue
		}
		n++
		got, err1 := json.Marshal(one.Objects[i])
		want, err2 := json.Marshal(o)
		if err1 != nil || err2 != nil || withoutNumbers(got, one) != withoutNumbers(want, trace) {
			t.Errorf("%s: %s/%s alone: %v, %v\n%s\nwant\n%s", top, kind, name, err1, err2, got, want)
		}
	}
	return n
}

// withoutNumbers replaces the numbers of operations by their names: fewer objects may need fewer.
func withoutNumbers(text []byte, trace *origins.Trace) string {
	return regexp.MustCompile(`"Operation":[0-9]+`).ReplaceAllStringFunc(string(text),
		func(found string) string {
			i, err := strconv.Atoi(strings.TrimPrefix(found, `"Operation":`))
			if err != nil {
				return found
			}
			return fmt.Sprint(trace.Operations[i])
		})
}

// isConstant reports whether an operation writes a value that is always the same, such as the kind
// of what it generates.
func isConstant(operation string, at []any) bool {
	return strings.Contains(operation, "enerator") && len(at) == 1 || operation == "buildMetadata"
}

type counts map[string]int

// seeds returns how many trees are generated: more with ORIGINS_TREES.
func seeds() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("ORIGINS_TREES"), 10, 64); err == nil {
		return n
	}
	return 12
}

// object is an object of a build, with its place in the output.
type object struct {
	fields any
	place  int
}

// perturb changes the text at the place of a value, and tells what the build makes of it.
func perturb(t *testing.T, s origins.Source, top string, of object, l leaf) string {
	at := l.node.Claims[len(l.node.Claims)-1].At
	name := path.Join(top, at.File)
	data, err := s.Read(name)
	if err != nil || at.Line == 0 {
		return "without a line"
	}
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
		at.Column = 0
	}
	text := change(string(data), at.Line, at.Column)
	if text == string(data) {
		return "same"
	}
	made, err := s.Build(top, map[string][]byte{name: []byte(text)})
	if err != nil {
		return "rejected"
	}
	after := decode(t, made)
	if n := len(l.path); n > 1 && (l.path[n-1] == "name" || l.path[n-1] == "port") {
		if _, isItem := l.path[n-2].(int); isItem {
			// a patch that names the item by its key adds one now, and moves the others
			l.path = nil
		}
	}
	if of.place < len(after) &&
		reflect.DeepEqual(valueAt(of.fields, l.path), valueAt(after[of.place], l.path)) {
		return "same"
	}
	return "changed"
}

// mostChanged is how many values of a tree of ORIGINS_DIR are changed, all of most trees. A build
// with thousands of values takes too long to be repeated for each.
const mostChanged = 200

// TestOrigins_Trees does the same for each kustomization below ORIGINS_DIR that can be built.
func TestOrigins_Trees(t *testing.T) {
	dir := os.Getenv("ORIGINS_DIR")
	if dir == "" {
		t.Skip("no ORIGINS_DIR")
	}
	s, total, trees := source(filesys.MakeFsOnDisk()), counts{}, 0
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, _ error) error {
		if d.IsDir() || !slices.Contains(konfig.RecognizedKustomizationFileNames(), d.Name()) {
			return nil
		}
		top := filepath.Dir(name)
		made, err := s.Build(top, nil)
		if err != nil || len(made) == 0 {
			total["not built"]++
			return nil
		}
		trace, err := origins.New(s, top)
		if err != nil || len(trace.Objects) != len(made) {
			t.Errorf("%s: %d objects of %d: %v", top, len(trace.Objects), len(made), err)
			return nil
		}
		trees++
		if len(made) <= 40 {
			total["one object alone"] += alone(t, s, top, made, trace)
		}
		values := 0
		for _, o := range trace.Objects {
			values += len(leaves(o, nil))
		}
		before, random := decode(t, made), rand.New(rand.NewPCG(1, 1))
		for i, o := range trace.Objects {
			for _, l := range leaves(o, nil) {
				total["leaves"]++
				c := l.node.Claims[len(l.node.Claims)-1]
				if c.At.Line == 0 {
					total["without a line"]++
					t.Logf("%s: object %d: %v by %v", top, i, l.path, trace.Operations[c.Operation])
				}
				if random.IntN(values) >= mostChanged {
					continue
				}
				outcome := perturb(t, s, top, object{before[i], i}, l)
				name := trace.Operations[c.Operation].Name
				if outcome == "same" && isConstant(name, l.path) {
					outcome = "constant"
				}
				if total[outcome]++; outcome == "same" {
					t.Logf("%s: object %d: %v: %v stays after a change at %v of %s", top, i, l.path,
						c.Value, c.At, name)
				}
			}
		}
		return nil
	})
	t.Logf("%d trees: %v", trees, total)
}

// change changes a text at a place: the scalar there, or the value of the key there. Of a place
// within a text of a kustomization only the line is known.
func change(text string, line, column int) string {
	lines := strings.Split(text, "\n")
	if column == 0 {
		lines[line-1] = changeLine(lines[line-1])
		return strings.Join(lines, "\n")
	}
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			break
		}
		if n := scalarAt(&document, line, column); n != nil {
			from := lines[n.Line-1]
			start := n.Column - 1
			if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
				lines[n.Line] += "zz"
			} else if strings.Contains(from[start:], n.Value) {
				lines[n.Line-1] = from[:start] +
					strings.Replace(from[start:], n.Value, altered(n.Value), 1)
			} else { // a text of several lines, or with escapes
				if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
					start++
				}
				lines[n.Line-1] = from[:start] + "zz" + from[start:]
			}
			return strings.Join(lines, "\n")
		}
	}
	lines[line-1] += "zz"
	return strings.Join(lines, "\n")
}

// altered returns another value of the same type. A literal keeps its key.
func altered(value string) string {
	if value == "true" || value == "false" {
		return fmt.Sprint(value == "false")
	}
	if strings.Trim(value, "0123456789") == "" && value != "" {
		return "7" + value
	}
	return value + "zz"
}

// changeLine changes the last value of a line.
func changeLine(line string) string {
	end := strings.TrimRight(line, "}]\"' ")
	start := strings.LastIndexAny(end, " :") + 1
	return line[:start] + altered(end[start:]) + line[len(end):]
}

// scalarAt returns the scalar at a place, or the first one in the value of the key there.
func scalarAt(n *yaml.Node, line, column int) *yaml.Node {
	for i, child := range n.Content {
		if found := scalarAt(child, line, column); found != nil {
			return found // a map begins where its first key does
		}
		if child.Line == line && child.Column == column {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				child = n.Content[i+1]
			}
			for len(child.Content) > 0 {
				child = child.Content[len(child.Content)-1]
			}
			return child
		}
	}
	return nil
}
