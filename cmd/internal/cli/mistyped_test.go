package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/codes"
)

const (
	mistypedRuntime = `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"ClusterTrainingRuntime","metadata":{"name":"rt"},"spec":{"mlPolicy":{"torch":{}},"template":{"spec":{"replicatedJobs":[
		{"name":"node","template":{"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},"spec":{"template":{"spec":{"containers":[{"name":"node","image":"i"}]}}}}}]}}}}`
	mistypedJob = `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"llm"},"spec":{"runtimeRef":{"name":"rt"},"trainer":{"image":"i"},"runtimePatches":[
		{"manager":"a.io/b","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{"containers":[{"name":"node"}]}}}}}]}}}}]}}`
	mistypedJobSet = `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"llm"},"spec":{"replicatedJobs":[
		{"name":"node","template":{"spec":{"template":{"spec":{"runtimeClassName":"kata","containers":[{"name":"node","image":"i"}]}}}}}]}}`
)

// TestOneFindingPerMistake gives every field of the Go types a value of a wrong type. Then it gives
// the field a value that most fields of its type reject. The first value adds one finding to the
// findings of the document without the field. The second value adds one at most.
func TestOneFindingPerMistake(t *testing.T) {
	if testenv.Race {
		t.Skip("one goroutine, and thousands of documents")
	}
	object := func(text string) map[string]any {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	seed := testenv.Seed(t)
	runtimes := filepath.Join(t.TempDir(), "runtimes.yaml")
	if err := os.WriteFile(runtimes, []byte(mistypedRuntime), 0o666); err != nil {
		t.Fatal(err)
	}
	job := object(mistypedJob)
	patch := job["spec"].(map[string]any)["runtimePatches"].([]any)[0]
	for _, role := range []struct {
		name string
		root reflect.Type
		base any
	}{
		{"runtime", reflect.TypeFor[trainer.ClusterTrainingRuntime](), object(mistypedRuntime)},
		{"TrainJob", reflect.TypeFor[trainer.TrainJob](), job},
		{"JobSet", reflect.TypeFor[jobset.JobSet](), object(mistypedJobSet)},
	} {
		t.Run(role.name, func(t *testing.T) {
			for _, values := range []struct {
				of    func(reflect.Type) []any
				least int
			}{{mistyped, 1}, {wrong, 0}} {
				mistakes := mistakesIn(role.root, role.base, values.of)
				if len(mistakes) < 200 {
					t.Errorf("only %d mistakes", len(mistakes))
				}
				if every := testenv.Every(8); every > 1 {
					kept, from := mistakes[:0], int(seed%uint64(every))
					for i := from; i < len(mistakes); i += every {
						kept = append(kept, mistakes[i])
					}
					mistakes = kept
				}
				for batch := range slices.Chunk(mistakes, 300) {
					var with, without []any
					for i, m := range batch {
						with, without = append(with, numbered(m.with, i)),
							append(without, numbered(m.without, i))
					}
					after, before := checkLines(t, with, "-r", runtimes),
						checkLines(t, without, "-r", runtimes)
					for i, m := range batch {
						if values.least == 0 &&
							strings.HasPrefix(
								m.path, "spec template spec replicatedJobs 0 template spec ") {
							continue // of a runtime; a JobSet has the same fields
						}
						m.judge(t, before[i], after[i], values.least)
					}
				}
			}
		})
	}
	t.Run("patch", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "patch.yaml")
		for i, m := range mistakesIn(reflect.TypeFor[trainer.RuntimePatch](), patch, mistyped) {
			if i%6 != 0 {
				continue // the fields are those of a TrainJob, and each takes a run
			}
			report := func(patch any) []lineFinding {
				data, err := json.Marshal(patch)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, data, 0o666); err != nil {
					t.Fatal(err)
				}
				plain := object(mistypedJob)
				delete(plain["spec"].(map[string]any), "runtimePatches")
				return slices.Concat(
					checkLines(t, []any{plain}, "-r", runtimes, "--patch", file)...)
			}
			m.judge(t, report(m.without), report(m.with), 1)
		}
	})
}

// mistake is a value that a field does not take.
type mistake struct {
	path          string
	value         any
	with, without any // the document with the value, and without the field
}

// lineFinding is a finding without the names of objects and of items, which differ between the
// documents. For the same reason it has a message for a wrong type only.
type lineFinding struct{ Code, Severity, Path, Message string }

// judge compares the findings of the two documents. The value may also answer one rule of those
// that the document without it breaks, and meet the next one.
func (m mistake) judge(t *testing.T, without, with []lineFinding, least int) {
	t.Helper()
	added := slices.DeleteFunc(slices.Clone(with), func(f lineFinding) bool {
		return slices.Contains(without, f)
	})
	answered := slices.DeleteFunc(slices.Clone(without), func(f lineFinding) bool {
		return slices.Contains(with, f)
	})
	if len(added) >= least && len(added) <= 1+len(answered) {
		return
	}
	t.Errorf("%s = %.40q has %d findings", m.path, fmt.Sprint(m.value), len(added))
	for _, f := range added {
		t.Logf("  %+v", f)
	}
}

// numbered gives a document a name of its own, where a mistake has left it one.
func numbered(doc any, i int) any {
	if meta, ok := doc.(map[string]any)["metadata"].(map[string]any); ok {
		if name, _ := meta["name"].(string); name == "llm" || name == "rt" {
			meta["name"] = fmt.Sprint("x", i)
		}
	}
	return doc
}

// checkLines checks a file of one document a line, and returns the findings of each.
func checkLines(t *testing.T, documents []any, args ...string) [][]lineFinding {
	t.Helper()
	var text, stdout, stderr bytes.Buffer
	for _, d := range documents {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
		text.WriteString("\n---\n")
	}
	p := host.Program{Stdin: &text, Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}
	runLine(&p, append([]string{"check", "-", "-o", "json", "--all"}, args...))
	var report struct {
		Findings []struct {
			lineFinding
			File string
			Line int
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	found := make([][]lineFinding, len(documents))
	items := regexp.MustCompile(`\[[^]]*\]`)
	for _, f := range report.Findings {
		if f.Line == 0 {
			t.Fatalf("%+v has no line", f)
		}
		if strings.HasSuffix(f.File, "runtimes.yaml") {
			continue
		}
		f.Path = items.ReplaceAllString(f.Path, "")
		if f.Code != string(codes.WrongType) {
			f.Message = ""
		}
		at := (f.Line - 1) / 2
		found[at] = append(found[at], f.lineFinding)
	}
	return found
}

// mistakesIn puts values into each field of the types that the root reaches, by the first path to
// it. The first fields of a type get all values, the others one after the other.
func mistakesIn(root reflect.Type, base any, values func(reflect.Type) []any) []mistake {
	const whole = 3
	var all []mistake
	times := map[string]int{}
	eachField(root, func(steps []any, typ reflect.Type) {
		if len(steps) == 1 && (steps[0] == "kind" || steps[0] == "apiVersion") {
			return
		}
		of := values(typ)
		kind := scalarOf(typ) + typ.Kind().String()
		if times[kind]++; times[kind] > whole && len(of) > 0 {
			of = []any{of[times[kind]%len(of)]}
		}
		for _, value := range of {
			all = append(all, mistake{
				path: strings.Trim(fmt.Sprint(steps), "[]"), value: value,
				with:    with(runtime.DeepCopyJSONValue(base), root, steps, value),
				without: with(runtime.DeepCopyJSONValue(base), root, steps, nil),
			})
		}
	})
	return all
}

// eachField yields the fields of the structs that the root reaches, shortest paths first. A step is
// a name, or 0 for the first item of a list.
func eachField(root reflect.Type, yield func(steps []any, typ reflect.Type)) {
	type visit struct {
		steps []any
		typ   reflect.Type
	}
	seen := map[reflect.Type]bool{}
	for queue := []visit{{typ: root}}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		if v.steps != nil {
			yield(v.steps, v.typ)
		}
		next := func(step any, t reflect.Type) {
			queue = append(queue, visit{append(slices.Clip(v.steps), step), indirect(t)})
		}
		switch {
		case scalarOf(v.typ) != "":
		case v.typ.Kind() == reflect.Slice:
			next(0, v.typ.Elem())
		case v.typ.Kind() == reflect.Map:
			next("cpu", v.typ.Elem())
		case v.typ.Kind() == reflect.Struct && !seen[v.typ]:
			seen[v.typ] = true
			fieldsIn(v.typ, func(name string, t reflect.Type, _ bool) { next(name, t) })
		}
	}
}

// fieldsIn yields the fields of a struct as JSON has them, and whether encoding/json always writes
// them.
func fieldsIn(t reflect.Type, yield func(name string, typ reflect.Type, always bool)) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			fieldsIn(f.Type, yield)
		// the cluster ignores these
		case name == "status" && indirect(f.Type).Kind() == reflect.Struct, name == "managedFields":
		default:
			yield(name, f.Type, !strings.Contains(options, "omitempty"))
		}
	}
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// with sets a field of a document. The value nil makes only the parents of the field.
func with(doc any, t reflect.Type, steps []any, value any) any {
	t = indirect(t)
	switch {
	case len(steps) == 0:
		return value
	case steps[0] == 0:
		items, _ := doc.([]any)
		switch {
		case len(steps) > 1 && len(items) > 0:
			items[0] = with(items[0], t.Elem(), steps[1:], value)
		case len(steps) > 1:
			items = []any{with(nil, t.Elem(), steps[1:], value)}
		case value != nil:
			items = append(items, value)
		}
		return items
	}
	name, m := steps[0].(string), map[string]any{}
	if doc != nil {
		m = doc.(map[string]any)
	} else if t.Kind() == reflect.Struct {
		m = filled(t).(map[string]any)
	}
	if len(steps) == 1 && value == nil {
		delete(m, name)
		return m
	}
	var inner reflect.Type
	if t.Kind() == reflect.Map {
		inner = t.Elem()
	} else {
		fieldsIn(t, func(field string, typ reflect.Type, _ bool) {
			if field == name {
				inner = typ
			}
		})
	}
	m[name] = with(m[name], inner, steps[1:], value)
	return m
}

// filled is a value of a type with the fields that it always has, and its name.
func filled(t reflect.Type) any {
	t = indirect(t)
	switch scalar := scalarOf(t); {
	case scalar == "string":
		return "x"
	case scalar == "bool":
		return true
	case slices.Contains([]string{"integer", "integer or string", "quantity"}, scalar):
		return 1
	case scalar == "" && t.Kind() == reflect.Slice:
		return []any{filled(t.Elem())}
	case scalar == "" && t.Kind() == reflect.Struct:
		m := map[string]any{}
		fieldsIn(t, func(name string, typ reflect.Type, always bool) {
			if always || name == "name" || name == "image" {
				m[name] = filled(typ)
			}
		})
		return m
	}
	return nil
}

// scalarOf names the type of what JSON writes as one value, "" for any other.
func scalarOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return "quantity"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](),
		reflect.TypeFor[metav1.Duration]():
		return "time"
	case reflect.TypeFor[intstr.IntOrString]():
		return "integer or string"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	}
	return ""
}

// mistyped lists values of other types.
func mistyped(t reflect.Type) []any {
	object, list := map[string]any{"a": "b"}, []any{"a"}
	switch scalarOf(t) {
	case "quantity":
		return []any{"much", object, list, true}
	case "time":
		return []any{"soon", object, list, 5, true}
	case "integer or string":
		return []any{object, list, 1.5, true}
	case "string":
		return []any{object, list, 5, true, 1.5}
	case "bool":
		return []any{object, list, 5, "true"}
	case "integer":
		return []any{object, list, "5", true, 1.5, json.Number("99999999999999999999"),
			json.Number("1e99")}
	}
	if t.Kind() == reflect.Slice {
		return []any{"a", object, 5, true}
	}
	return []any{"a", list, 5, true}
}

// wrong lists values of the type that many fields do not take.
func wrong(t reflect.Type) []any {
	switch scalarOf(t) {
	case "quantity":
		return []any{"-1"}
	case "string":
		return []any{"Wrong Value!", "", strings.Repeat("long", 100)}
	case "integer":
		return []any{-1, 0, 2147483648}
	case "integer or string":
		return []any{-1, "Wrong!", 2147483648, "-5%"}
	}
	if t.Kind() == reflect.Map {
		return []any{map[string]any{"Wrong Key!": nil},
			map[string]any{"Wrong Key!": filled(t.Elem())}}
	}
	return nil
}
