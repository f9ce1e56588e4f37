package merge_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestOptions_ProtectedByKind takes paths into each kind of field that merges by itself, and
// rejects others. A definition has no keys, only names.
func TestOptions_ProtectedByKind(t *testing.T) {
	type item struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels,omitempty"`
	}
	type kinds struct {
		Labels map[string]string `json:"labels,omitempty"`
		Items  []item            `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
		Marks  []string          `json:"marks,omitempty" patchStrategy:"merge"`
		Args   []string          `json:"args,omitempty"`

		Structs map[string]item `json:"structs,omitempty"`
	}
	typed, err := planForType(reflect.TypeFor[kinds](), schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	defined := objectPlan(`{type: object, properties: {
		labels: {type: object, additionalProperties: {type: string}}, args: {type: array, items: {type: string}},
		items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {
			name: {type: string}, labels: {type: object, additionalProperties: {type: string}}}}},
		whole: {type: object, x-kubernetes-map-type: atomic, properties: {name: {type: string}}},
		marks: {type: array, x-kubernetes-list-type: set, items: {type: string}},
		free: {x-kubernetes-preserve-unknown-fields: true, properties: {in: {type: string}}}}}`)
	whole := fieldpath.Fields("whole")
	labels, items, marks, args := fieldpath.Fields("labels"), fieldpath.Fields("items"),
		fieldpath.Fields("marks"), fieldpath.Fields("args")
	const part, none = "is part of a value that does not merge", "has no field"
	for _, tc := range []struct {
		path                  fieldpath.Path
		wantTyped, wantObject string
	}{
		{nil, "Required value: must name a field", "Required value: must name a field"},
		{labels, "", ""},
		{labels.Append(fieldpath.Key("a")), "", ""},
		{labels.Append(fieldpath.Field("a")), "", ""},
		{labels.Append(fieldpath.Any()), "", ""},
		{labels.Append(fieldpath.Key("a"), fieldpath.Field("b")), "has no fields or items",
			"has no fields or items"},
		{marks.Append(fieldpath.Element("a")), "", ""},
		{marks.Append(fieldpath.Key("a")), "", ""},
		{args.Append(fieldpath.Element("a")), "use .args", "use .args"},
		{args.Append(fieldpath.Index(0)), part, part},
		{items.Append(fieldpath.Item("name", "a"), fieldpath.Field("labels"), fieldpath.Key("a")),
			"", ""},
		{items.Append(fieldpath.Any(), fieldpath.Field("labels"), fieldpath.Key("a")), "", ""},
		{items.Append(fieldpath.Field("labels"), fieldpath.Key("a")), "", ""},
		{whole.Append(fieldpath.Field("name")), none, part},
		{fieldpath.Fields("structs").Append(fieldpath.Key("a")), "", none},
		{fieldpath.Fields("structs").Append(fieldpath.Key("a"), fieldpath.Field("name")), part,
			none},
		{fieldpath.Fields("structs").Append(fieldpath.Key("a"), fieldpath.Key("b")), none, none},
		{fieldpath.Fields("free", "a"), none, ""},
		{fieldpath.Path{fieldpath.Field("free"), fieldpath.Any()}, none, ""},
	} {
		for _, by := range []struct {
			plan plan[merge.Object]
			want string
		}{{typed, tc.wantTyped}, {defined, tc.wantObject}} {
			err := by.plan.Check(options{Protected: []fieldpath.Path{tc.path}})
			if fmt.Sprint(err) == "<nil>" != (by.want == "") ||
				!strings.Contains(fmt.Sprint(err), by.want) {
				t.Errorf("%s: %v, want %q", tc.path, err, by.want)
			}
		}
	}
}

// TestProtected: protected fields keep the base's values, no other field changes, and whoever sets
// one is told.
func TestProtected(t *testing.T) {
	pod := podPlan(t).Type()
	random := rand.New(rand.NewPCG(3, 4))
	told := 0
	forPods(t, true, func(c podCase) string {
		o := options{}
		for _, text := range []string{
			"containers.image", `containers[name="a"]`, "volumes", "nodeSelector",
			"containers.livenessProbe", "schedulerName", `nodeSelector["k"]`, "imagePullSecrets",
			"containers.env", "initContainers.securityContext.runAsUser",
			`containers[*].readinessProbe.httpGet`, "tolerations", "initContainers.ports",
			"containers.command",
		} {
			if path, err := fieldpath.ParsePath(text); err != nil {
				t.Fatal(err)
			} else if random.IntN(5) == 0 {
				o.Protected = append(o.Protected, path)
			}
		}
		none, by, err := c.merged(t, o)
		if err != nil {
			return ""
		}
		isProtected := func(path fieldpath.Path) bool {
			return slices.ContainsFunc(o.Protected, func(pattern fieldpath.Path) bool {
				if name, _ := pattern[0].Field(); len(pattern) > 1 &&
					strings.HasSuffix(name, "ontainers") {
					if _, isField := pattern[1].Field(); isField {
						pattern = slices.Insert(slices.Clone(pattern), 1, fieldpath.Any())
					}
				}
				return path.Matches(pattern)
			})
		}
		base, before, now := leaves(pod, treeOf(c.base), nil, map[string]any{}),
			leaves(pod, treeOf(none.Value), nil, map[string]any{}),
			leaves(pod, treeOf(by.Value), nil, map[string]any{})
		all := maps.Clone(base)
		maps.Copy(all, before)
		maps.Copy(all, now)
		changes := false
		for text := range all {
			path, err := fieldpath.ParsePath(text)
			if err != nil {
				t.Fatal(err)
			}
			want := before[text]
			if isProtected(path) {
				want = base[text]
				changes = changes || !reflect.DeepEqual(want, before[text])
			} else if _, isItem, _ := path[len(path)-1].Item(); isItem != "" && want == nil {
				continue // an item that a protected field keeps
			}
			if !reflect.DeepEqual(want, now[text]) {
				return fmt.Sprintf("%v: %s is %v, want %v", o.Protected, text, now[text], want)
			}
		}
		if changes && len(notesOf(by.Notes, merge.Protected)) == 0 {
			return fmt.Sprintf("%v: nobody is told", o.Protected)
		}
		for _, p := range notesOf(by.Notes, merge.Protected) {
			if !isProtected(p.Path) || p.Owner == merge.BaseLayer {
				return fmt.Sprintf("%v: %v is told", o.Protected, p)
			}
		}
		told += len(notesOf(by.Notes, merge.Protected))
		o.ProtectedError = len(o.Protected) > 0
		_, _, err = c.merged(t, o)
		if failed := (*merge.PatchError)(nil); errors.As(err, &failed) != (len(notesOf(by.Notes, merge.Protected)) > 0) || failed != nil && failed.Owner != notesOf(by.Notes, merge.Protected)[0].Owner {
			return fmt.Sprintf("error %v, and told are %v", err, notesOf(by.Notes, merge.Protected))
		}
		return ownersBroken(by)
	})
	if told == 0 {
		t.Error("nobody was told")
	}
}

// ownersBroken reports a field whose last claim is not its value.
func ownersBroken(by *merge.Result[corev1.PodSpec]) string {
	value := treeOf(by.Value)
	for path, claims := range by.History.All() {
		is, last := at(value, path), claims[len(claims)-1].Value
		switch want := treeOf(last).(type) {
		case nil:
			// a null on a struct stays where its fields are set again
			if reflect.ValueOf(is).IsValid() && reflect.ValueOf(is).Comparable() && is != "" &&
				is != 0.0 {
				return fmt.Sprintf("%s is %v, and its owners say that it is removed: %v", path, is,
					claims)
			}
		case string, float64, bool:
			if is != want && (want != "" || is != nil) {
				return fmt.Sprintf("%s is %v, and its owners say %v", path, is, claims)
			}
		}
	}
	return ""
}

// TestOptions_Protected rejects protected paths that lead to no field.
func TestOptions_Protected(t *testing.T) {
	for text, want := range map[string]string{
		"containers.imag":            `.containers.imag: Invalid value: .containers[*] has no field imag: use .containers[*].image`,
		"containers[0]":              `.containers[0]: Invalid value: .containers has items by their key name: use .containers[*]`,
		"tolerations.key":            `.tolerations.key: Invalid value: .tolerations[*].key is part of a value that does not merge: use .tolerations`,
		"tolerationz.kei":            `.tolerationz.kei: Invalid value: the object has no field tolerationz: use .tolerations`,
		"containers[name=*].image":   `.containers[name="*"].image: Invalid value: .containers has no item that is called *: use .containers[*].image`,
		"image":                      `.image: Invalid value: the object has no field image: use .volumes[*].image`,
		"containers[server].image":   "",
		"containers[*].env[*].value": "",
		"nodeSelector[*]":            "",
		"nodeSelector.zone":          "",
		`containers[name=""].image`:  "",
		"containers.image":           "",
		"volumes":                    "",
		`containers[name="a"]`:       "",
		`nodeSelector["a.b/c"]`:      "",
		"containers.env.value":       "",
		"containers.env[name=A]":     "",
	} {
		path, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = podPlan(t).Apply(nil, nil, options{Protected: []fieldpath.Path{path}}.list()...)
		if want != "" {
			want = "merge: Protect: " + want
		}
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
