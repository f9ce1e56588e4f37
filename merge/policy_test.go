package merge_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// The laws of the policies, for Pods and the patches of several managers.

// podCase is a Pod with patches.
type podCase struct {
	base    corev1.PodSpec
	patches []merge.Patch
}

// podMaker makes Pods and patches to them, as JSON.
type podMaker struct {
	*rand.Rand
	nulls, directives bool
}

func (m podMaker) one(of ...any) any { return of[m.IntN(len(of))] }

// object makes an object with some of the fields.
func (m podMaker) object(fields map[string]func() any) merge.Object {
	made := merge.Object{}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range fields {
			if !yield(name) {
				return
			}
		}
	}) {
		switch {
		case m.IntN(2) > 0:
		case m.nulls && m.IntN(12) == 0:
			made[name] = nil
		default:
			made[name] = fields[name]()
		}
	}
	if m.directives && m.IntN(25) == 0 {
		made["$patch"] = "replace"
	}
	return made
}

// list makes items of distinct keys.
func (m podMaker) list(key string, fields map[string]func() any, keys ...any) []any {
	list := []any{}
	for _, i := range m.Perm(len(keys))[:m.IntN(len(keys)+1)] {
		item := m.object(fields)
		delete(item, "$patch")
		if m.directives && m.IntN(12) == 0 {
			item = merge.Object{"$patch": "delete"}
		}
		item[key] = keys[i]
		list = append(list, item)
	}
	return list
}

func (m podMaker) text() any { return m.one("x", "y", "z") }

func (m podMaker) number() any { return m.one(int64(1), int64(2), int64(3)) }

func (m podMaker) probe() any {
	return m.object(map[string]func() any{
		"exec": func() any { return merge.Object{"command": []any{m.text()}} },
		"httpGet": func() any {
			return m.object(map[string]func() any{"path": m.text, "port": m.number, "host": m.text})
		},
		"grpc":           func() any { return merge.Object{"port": m.number()} },
		"periodSeconds":  m.number,
		"timeoutSeconds": m.number,
	})
}

func (m podMaker) container() map[string]func() any {
	return map[string]func() any{
		"image": m.text, "command": func() any {
			return []any{m.text()}
		}, "livenessProbe": m.probe, "readinessProbe": m.probe,
		"env": func() any {
			return m.list("name", map[string]func() any{"value": m.text, "valueFrom": func() any {
				return m.object(map[string]func() any{
					"fieldRef": func() any {
						return merge.Object{"fieldPath": m.one("", "spec.nodeName")}
					},
					"secretKeyRef": func() any {
						return merge.Object{"name": m.text(), "key": m.one("", "k")}
					},
				})
			}}, "A", "B", "C")
		},
		"volumeMounts": func() any {
			return m.list("mountPath", map[string]func() any{"name": func() any {
				return m.one("", "v")
			}, "subPath": m.text, "subPathExpr": m.text}, "/a", "/b", "/c")
		},
		"ports": func() any {
			return m.list("containerPort",
				map[string]func() any{"name": m.text, "protocol": m.text}, int64(1), int64(2),
				int64(3))
		},
		"securityContext": func() any {
			return m.object(
				map[string]func() any{"runAsUser": m.number, "seccompProfile": func() any {
					return m.object(map[string]func() any{"type": func() any {
						return m.one("Localhost", "Unconfined")
					}, "localhostProfile": m.text})
				}})
		},
	}
}

func (m podMaker) spec() merge.Object {
	return m.object(map[string]func() any{
		"containers":     func() any { return m.list("name", m.container(), "a", "b", "c") },
		"initContainers": func() any { return m.list("name", m.container(), "i", "j") },
		"volumes": func() any {
			return m.list("name", map[string]func() any{
				"emptyDir": func() any { return m.object(map[string]func() any{"medium": m.text}) },
				"hostPath": func() any { return merge.Object{"path": m.one("", "", "x")} },
				"secret": func() any {
					return m.object(map[string]func() any{"secretName": m.text})
				},
			}, "v", "w", "u")
		},
		"nodeSelector": func() any {
			entries := m.object(map[string]func() any{"k": m.text, "l": m.text})
			delete(entries, "$patch")
			return entries
		},
		"tolerations": func() any {
			return []any{merge.Object{"key": m.text()}}
		}, "schedulerName": m.text, "priority": m.number,
		"imagePullSecrets": func() any { return m.list("name", nil, "r", "s", "t") },
	})
}

// compiledPodPlan is compiled once for all tests.
var compiledPodPlan = sync.OnceValues(func() (plan[corev1.PodSpec], error) {
	return planFor[corev1.PodSpec](schema.PodRules(reflect.TypeFor[corev1.PodSpec]()))
})

// podPlan merges patches of any shape into Pods.
func podPlan(t testing.TB) plan[corev1.PodSpec] {
	plan, err := compiledPodPlan()
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// forPods calls hold with many cases. A case may have nulls in its patches, and some have
// directives. A law that is broken is a text.
func forPods(t *testing.T, directives bool, hold func(podCase) string) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 7))
	for range testenv.Cases(t, 4_000) {
		m := podMaker{Rand: random}
		var c podCase
		if err := json.Unmarshal([]byte(inJSON(m.spec())), &c.base); err != nil {
			t.Fatal(err)
		}
		m.nulls, m.directives = random.IntN(3) == 0, directives && random.IntN(2) == 0
		for i := range 1 + random.IntN(4) {
			patch := m.spec()
			c.patches = append(c.patches, merge.Patch{Manager: fmt.Sprint("m", i), Value: &patch})
		}
		if broken := hold(c); broken != "" {
			t.Fatalf("%s\nbase %s\npatches %s", broken, inJSON(c.base), inJSON(c.patches))
		}
	}
}

func inJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// treeOf is a value in JSON.
func treeOf(v any) (tree any) {
	_ = json.Unmarshal([]byte(inJSON(v)), &tree)
	return tree
}

// unordered is a tree with the items of its list-maps in the order of their keys.
func unordered(t *schema.Type, tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			if f := t.Field(name); f != nil {
				tree[name] = unordered(f.Type, value)
			}
		}
	case []any:
		if t.Kind == schema.ListMap {
			for i := range tree {
				tree[i] = unordered(t.Elem, tree[i])
			}
			slices.SortStableFunc(tree, func(a, b any) int {
				return cmp.Compare(keyIn(t, a), keyIn(t, b))
			})
		}
	}
	return tree
}

func keyIn(t *schema.Type, item any) string { return fmt.Sprint(item.(map[string]any)[t.Key]) }

// TestOrder: an order permutes items and changes no value.
func TestOrder(t *testing.T) {
	plan := podPlan(t)
	forPods(t, true, func(c podCase) string {
		upstream, err := plan.Apply(&c.base, c.patches)
		based, other := plan.Apply(&c.base, c.patches, options{Order: "base"}.list()...)
		if (err == nil) != (other == nil) {
			return fmt.Sprintf("errors %v and %v", err, other)
		}
		if err != nil {
			return ""
		}
		return gocmp.Diff(unordered(plan.Type(), treeOf(upstream.Value)),
			unordered(plan.Type(), treeOf(based.Value)))
	})
}

// TestOrder_Base: the items of the base come first, in their order. New ones follow in the order in
// which the patches name them.
func TestOrder_Base(t *testing.T) {
	plan := podPlan(t)
	forPods(t, false, func(c podCase) string {
		layers, nulls := []any{treeOf(c.base)}, false
		for _, p := range c.patches {
			layers, nulls = append(layers, treeOf(p.Value)), nulls ||
				strings.Contains(inJSON(p.Value), "null")
		}
		for _, o := range []options{{}, {Precedence: "first"}, {Managers: []string{"m1"}}} {
			o.Order = "base"
			result, err := plan.Apply(&c.base, c.patches, o.list()...)
			if err != nil || nulls && o.Precedence+string(strings.Join(o.Managers, "")) != "" {
				return ""
			}
			if broken := firstNamed(plan.Type(), treeOf(result.Value), layers); broken != "" {
				return fmt.Sprintf("%+v: %s", o, broken)
			}
		}
		return ""
	})
}

// firstNamed reports items of a list-map that are not in the order in which the layers name them
// first. A null forgets the earlier layers.
func firstNamed(t *schema.Type, got any, layers []any) string {
	switch got := got.(type) {
	case map[string]any:
		for name, value := range got {
			f := t.Field(name)
			if f == nil {
				continue
			}
			var within []any
			for _, layer := range layers {
				if layer == nil {
					within = nil
					continue
				}
				if of, isThere := layer.(map[string]any)[name]; isThere {
					within = append(within, of)
				}
			}
			if broken := firstNamed(f.Type, value, within); broken != "" {
				return broken
			}
		}
	case []any:
		if t.Kind != schema.ListMap {
			return ""
		}
		rank, items := map[string]int{}, map[string][]any{}
		for _, layer := range layers {
			if layer == nil {
				rank, items = map[string]int{}, map[string][]any{}
				continue
			}
			for _, item := range layer.([]any) {
				key := keyIn(t, item)
				if _, isNamed := rank[key]; !isNamed {
					rank[key] = len(rank)
				}
				items[key] = append(items[key], item)
			}
		}
		last := -1
		for _, item := range got {
			key := keyIn(t, item)
			if rank[key] < last {
				return fmt.Sprintf("%s: item %s is not at its place in %s", t, key, inJSON(got))
			}
			last = rank[key]
			if broken := firstNamed(t.Elem, item, items[key]); broken != "" {
				return broken
			}
		}
	}
	return ""
}

// TestOrder_Long: long lists, which are indexed, keep their order as well. So do sets and the lists
// of a definition.
func TestOrder_Long(t *testing.T) {
	names := func(prefix string, n int) (list []any, set []any) {
		for i := range n {
			list, set = append(list, merge.Object{"name": fmt.Sprint(prefix, i)}),
				append(set, fmt.Sprint(prefix, i))
		}
		return list, set
	}
	old, oldSet := names("b", 40)
	var patches []merge.Patch
	for i := range 4 {
		added, addedSet := names(fmt.Sprint("p", i, "-"), 3)
		patch := merge.Object{"items": append(added, old[20-i], merge.Object{"name": "p0-1"}),
			"marks": append(addedSet, oldSet[9])}
		if i == 0 {
			patch["items"] = added
		}
		patches = append(patches, merge.Patch{Manager: fmt.Sprint(i), Value: &patch})
	}
	base := merge.Object{"items": old, "marks": oldSet}
	typed, err := planForType(reflect.TypeFor[lists](), schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	defined := objectPlan(`{type: object, properties: {
		items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}}}},
		marks: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`)
	for _, plan := range []plan[merge.Object]{typed, defined} {
		result, err := plan.Apply(&base, patches, options{Order: "base"}.list()...)
		if err != nil {
			t.Fatal(err)
		}
		wantSet, list := slices.Clone(oldSet), slices.Clone(old)
		for i := range 4 {
			added, addedSet := names(fmt.Sprint("p", i, "-"), 3)
			list, wantSet = append(list, added...), append(wantSet, addedSet...)
		}
		if d := gocmp.Diff(merge.Object{"items": list, "marks": wantSet}, result.Value); d != "" {
			t.Errorf("order (-want +got):\n%s", d)
		}
	}
}

// TestOptions rejects policies that do not exist or contradict each other, in each kind of plan.
func TestOptions(t *testing.T) {
	for want, o := range map[string]options{
		`merge: Unions: Unsupported value: "none": supported values: "last", "error"`: {
			Unions: "none"},
		`merge: Defaults: Forbidden: may only be set when the rules have defaults`: {
			Defaults: "rules"},
		`merge: Prefer: Duplicate value: "a"`: {
			Managers: []string{"a", "a"}},
		`merge: ProtectError: Forbidden: may not be set when Protect is not`: {
			ProtectedError: true},
		`merge: Prefer: Forbidden: may not be set with First or BaseWins`: {
			Managers: []string{"a"}, Precedence: "first"},
	} {
		for _, plan := range []plan[merge.Object]{planForJSON(), objectPlan("{type: object}")} {
			_, err := plan.Apply(nil, nil, o.list()...)
			if checked := plan.Check(o); err == nil || err.Error() != want ||
				fmt.Sprint(checked) != want {
				t.Errorf("errors %v and %v, want %s", err, checked, want)
			}
		}
	}
}

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

// TestUnions_Error names the members of a union and their layers.
func TestUnions_Error(t *testing.T) {
	base := corev1.PodSpec{
		Containers: []corev1.Container{
			{Name: "c", LivenessProbe: &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}}}}}
	probe := func(member string, fields merge.Object) merge.Patch {
		return merge.Patch{Manager: member, Value: &merge.Object{
			"containers": []any{
				merge.Object{"name": "c", "livenessProbe": merge.Object{member: fields}}},
		}}
	}
	_, err := podPlan(t).Apply(
		&base, []merge.Patch{probe("grpc", merge.Object{"port": int64(1)}),
			probe("httpGet", merge.Object{})}, options{Unions: "error"}.list()...)
	want := `patch of manager/httpGet: .containers[name="c"].livenessProbe: Forbidden: may not set more than one member of the union "handler": ` +
		`exec of base, httpGet of manager/httpGet, grpc of manager/grpc`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	profile := func(name, field, value string) merge.Patch {
		return merge.Patch{
			Manager: name,
			Value: &merge.Object{
				"securityContext": merge.Object{"seccompProfile": merge.Object{field: value}}}}
	}
	_, err = podPlan(t).Apply(
		nil, []merge.Patch{profile("a", "localhostProfile", "p"),
			profile("b", "type", "Unconfined")}, options{Unions: "error"}.list()...)
	want = `patch of manager/b: .securityContext.seccompProfile: Forbidden: may not set more than one member of the union "profile": ` +
		`type "Unconfined" of manager/b, localhostProfile of manager/a`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// differing returns the fields in which two trees differ. The order of list-maps does not count.
func differing(t *schema.Type, a, b any, at fieldpath.Path) (found []fieldpath.Path) {
	x, isObject := a.(map[string]any)
	y, areObjects := b.(map[string]any)
	switch {
	case isObject && areObjects && (t.Kind == schema.Struct || t.Kind == schema.Map):
		names := maps.Clone(x)
		maps.Copy(names, y)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			of := t.Elem
			if f := t.Field(name); f != nil {
				of = f.Type
			}
			found = append(found, differing(of, x[name], y[name], at.Append(t.Step(name)))...)
		}
	case t.Kind == schema.ListMap:
		old, now := itemsOf(t, a), itemsOf(t, b)
		names := maps.Clone(old)
		maps.Copy(names, now)
		for _, key := range slices.Sorted(maps.Keys(names)) {
			found = append(
				found, differing(t.Elem, old[key], now[key],
					at.Append(fieldpath.Item(t.Key, key)))...)
		}
	case !reflect.DeepEqual(a, b):
		found = append(found, at)
	}
	return found
}

func itemsOf(t *schema.Type, list any) map[string]any {
	items := map[string]any{}
	of, _ := list.([]any)
	for _, item := range of {
		items[keyIn(t, item)] = item
	}
	return items
}

// at returns the part of a tree at a path, or nil.
func at(tree any, path fieldpath.Path) any {
	for _, step := range path {
		switch of := tree.(type) {
		case map[string]any:
			name, isField := step.Field()
			if !isField {
				name, _ = step.Key()
			}
			tree = of[name]
		case []any:
			tree = nil
			for _, item := range of {
				if key, value, ok := step.Item(); ok &&
					fmt.Sprint(item.(map[string]any)[key]) == value {
					tree = item
				}
			}
		default:
			return nil
		}
	}
	return tree
}

// said returns the values of the base and the patches at a path, nil for none.
func (c podCase) said(path fieldpath.Path) (base any, patches []any) {
	for _, p := range c.patches {
		patches = append(patches, at(treeOf(p.Value), path))
	}
	return at(treeOf(c.base), path), patches
}

// merged merges the patches by a policy and by none.
func (c podCase) merged(t *testing.T,
	o options) (none, by *merge.Result[corev1.PodSpec], err error) {
	t.Helper()
	plan := podPlan(t)
	if none, err = plan.Apply(&c.base, c.patches); err != nil {
		return nil, nil, err
	}
	by, err = plan.Apply(&c.base, c.patches, o.list()...)
	return none, by, err
}

// TestUnions: the policy of unions removes only union members, and none that the last patch on the
// union sets. An error names the members that would be removed.
func TestUnions(t *testing.T) {
	pod := podPlan(t).Type()
	decided := 0
	forPods(t, false, func(c podCase) string {
		none, by, err := c.merged(t, options{Unions: "last"})
		if err != nil {
			return ""
		}
		changed := differing(pod, treeOf(none.Value), treeOf(by.Value), nil)
		for _, path := range changed {
			last := len(path) - 1
			name, _ := path[last].Field()
			u := slices.IndexFunc(pod.Lookup(path[:last]).Unions, func(u schema.Union) bool {
				return u.Has(name)
			})
			if u < 0 || at(treeOf(by.Value), path) != nil {
				return fmt.Sprintf("%s is not a member that was removed", path)
			}
			if !slices.ContainsFunc(notesOf(by.Notes, merge.Decided), func(d merge.Note) bool {
				return slices.Equal(d.Path, path) && d.Option == "Unions" && len(d.Losers) > 0
			}) {
				return fmt.Sprintf("no decision on %s: %v", path, notesOf(by.Notes, merge.Decided))
			}
			union := pod.Lookup(path[:last]).Unions[u]
			if _, said := c.said(path); union.Discriminator == "" && said[len(said)-1] != nil {
				return fmt.Sprintf("the last patch sets %s, and it was removed", path)
			}
		}
		decided += len(changed)
		_, _, err = c.merged(t, options{Unions: "error"})
		var failed *merge.PatchError
		if errors.As(err, &failed) != (len(changed) > 0) {
			return fmt.Sprintf("error %v, and %d members were removed", err, len(changed))
		}
		return broken(pod, treeOf(by.Value), c, nil)
	})
	if decided == 0 {
		t.Error("nothing was decided")
	}
}

// broken reports a union without a discriminator of which different patches set two members, or a
// patch and the base.
func broken(t *schema.Type, tree any, c podCase, path fieldpath.Path) string {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			if f := t.Field(name); f != nil {
				if b := broken(f.Type, value, c, path.Append(fieldpath.Field(name))); b != "" {
					return b
				}
			}
		}
		for _, u := range t.Unions {
			setters := map[int]bool{}
			for name := range tree {
				if u.Discriminator != "" || !u.Has(name) {
					continue
				}
				base, patches := c.said(path.Append(fieldpath.Field(name)))
				last := -1
				for i, said := range patches {
					if said != nil {
						last = i
					}
				}
				if last >= 0 || base != nil {
					setters[last] = true
				}
			}
			if len(setters) > 1 {
				return fmt.Sprintf("%s: several members of union %q: %s", path, u.Name,
					inJSON(tree))
			}
		}
	case []any:
		for _, item := range tree {
			if t.Kind == schema.ListMap {
				if b := broken(t.Elem, item, c,
					path.Append(fieldpath.Item(t.Key, keyIn(t, item)))); b != "" {
					return b
				}
			}
		}
	}
	return ""
}

// TestEmpty: the policy of empty strings changes only strings that are always encoded. They keep
// the last text that is not empty.
func TestEmpty(t *testing.T) {
	pod := podPlan(t).Type()
	decided := 0
	forPods(t, false, func(c podCase) string {
		none, by, err := c.merged(t, options{Empty: "skip"})
		if err != nil {
			return fmt.Sprint(err)
		}
		for _, path := range differing(pod, treeOf(none.Value), treeOf(by.Value), nil) {
			name, _ := path[len(path)-1].Field()
			base, patches := c.said(path)
			want := any("")
			for _, said := range append([]any{base}, patches...) {
				if said != nil && said != "" {
					want = said
				}
			}
			f := pod.Lookup(path[:len(path)-1]).Field(name)
			if f.Template.OmitEmpty || at(treeOf(none.Value), path) != "" ||
				at(treeOf(by.Value), path) != want {
				return fmt.Sprintf("%s: %v, want %v", path, at(treeOf(by.Value), path), want)
			}
			if !slices.ContainsFunc(notesOf(by.Notes, merge.Decided), func(d merge.Note) bool {
				return slices.Equal(d.Path, path) && d.Option == "SkipEmpty"
			}) {
				return fmt.Sprintf("no decision on %s", path)
			}
			decided++
		}
		return ""
	})
	if decided == 0 {
		t.Error("nothing was decided")
	}
}

// TestDefaults: the policy of defaults adds fields that nobody set, and changes neither the owners
// nor the conflicts.
func TestDefaults(t *testing.T) {
	pod, added := podPlan(t).Type(), 0
	forPods(t, true, func(c podCase) string {
		none, by, err := c.merged(t, options{Defaults: "rules"})
		if err != nil {
			return ""
		}
		for _, path := range differing(pod, treeOf(none.Value), treeOf(by.Value), nil) {
			if at(treeOf(none.Value), path) != nil {
				return fmt.Sprintf("%s was set, and is now %v", path, at(treeOf(by.Value), path))
			}
			added++
		}
		if difference := gocmp.Diff(ownersIn(none.History),
			ownersIn(by.History)); difference != "" {
			return difference
		}
		return gocmp.Diff(fmt.Sprint(conflict.Find(none.History)),
			fmt.Sprint(conflict.Find(by.History)))
	})
	if added == 0 {
		t.Error("nothing was added")
	}
}

func ownersIn(o *merge.History) (owners []string) {
	for path, claims := range o.All() {
		owners = append(owners, fmt.Sprint(path, claims))
	}
	return owners
}

// TestPrecedence: a precedence changes a value only where Find reports an overlap, and then the
// manager that it names wins.
func TestPrecedence(t *testing.T) {
	pod := podPlan(t).Type()
	decided := 0
	forPods(t, false, func(c podCase) string {
		for _, o := range []options{{Precedence: "first"}, {Managers: []string{"m1", "m0"}}} {
			none, by, err := c.merged(t, o)
			if err != nil {
				return fmt.Sprint(err)
			}
			found := conflict.Find(none.History)
			for _, path := range differing(pod, treeOf(none.Value), treeOf(by.Value), nil) {
				if !slices.ContainsFunc(found, func(c conflict.Conflict) bool {
					return path.HasPrefix(c.Path) || c.Path.HasPrefix(path)
				}) {
					return fmt.Sprintf("%+v changes %s, and no overlap is reported", o, path)
				}
			}
			for _, overlap := range found {
				if overlap.Kind != conflict.Overlap ||
					slices.ContainsFunc(overlap.Claims, func(c merge.Claim) bool {
						return c.Value == nil
					}) {
					continue
				}
				wins := overlap.Claims[0]
				if o.Precedence == "" {
					wins = overlap.Claims[len(overlap.Claims)-1]
					for _, name := range []string{"m0", "m1"} {
						if i := slices.IndexFunc(overlap.Claims, func(c merge.Claim) bool {
							return c.Owner == merge.Manager(name)
						}); i >= 0 {
							wins = overlap.Claims[i]
						}
					}
				}
				if !slices.ContainsFunc(notesOf(by.Notes, merge.Decided), func(d merge.Note) bool {
					isValue := merge.SameValue(at(treeOf(by.Value), overlap.Path), wins.Value)
					return (d.Option == "First") == (o.Managers == nil) &&
						slices.Equal(d.Path, overlap.Path) && (d.Owner == wins.Owner || isValue) &&
						len(d.Losers) > 0
				}) {
					return fmt.Sprintf("%+v: overlap %v: decisions %v, want %s to win", o, overlap,
						notesOf(by.Notes, merge.Decided), wins.Owner)
				}
				decided++
			}
		}
		return ""
	})
	if decided == 0 {
		t.Error("nothing was decided")
	}
}

// somePolicies returns options with policies at random.
func somePolicies(r *rand.Rand) options {
	o := options{
		Order: []string{"", "base"}[r.IntN(2)], Unions: []string{"", "last"}[r.IntN(2)],
		Empty: []string{"", "skip"}[r.IntN(2)], Precedence: []string{"", "first"}[r.IntN(2)],
	}
	if r.IntN(3) == 0 {
		o.Protected = []fieldpath.Path{fieldpath.Fields("containers", "livenessProbe"),
			fieldpath.Fields("nodeSelector")}
	}
	if r.IntN(4) == 0 {
		o.Precedence = "base"
	} else if o.Precedence == "" && r.IntN(2) == 0 {
		o.Managers = []string{"m2", "m0"}
	}
	return o
}

// TestFind_Policies: the conflicts do not depend on a policy, and a policy hides none. The owners
// of a field tell its value.
func TestFind_Policies(t *testing.T) {
	for _, directives := range []bool{false, true} {
		random := rand.New(rand.NewPCG(1, 2))
		forPods(t, directives, func(c podCase) string {
			o := somePolicies(random)
			none, by, err := c.merged(t, o)
			if err != nil {
				return ""
			}
			want, got := conflictTexts(none.History), conflictTexts(by.History)
			if directives { // they decide in the order of the merge what members a union has
				isUnion := func(text string) bool { return strings.HasPrefix(text, "union") }
				want, got = slices.DeleteFunc(want, isUnion), slices.DeleteFunc(got, isUnion)
			}
			if !slices.Equal(want, got) {
				return fmt.Sprintf("%+v: conflicts\n  %q, want\n  %q", o, got, want)
			}
			return ownersBroken(by)
		})
	}
}

// conflictTexts returns the conflicts of a merge in the order of their texts. For an emptied field
// and a union, the order of the merge decides which claims within represent a manager.
func conflictTexts(owners *merge.History) (texts []string) {
	for _, c := range conflict.Find(owners) {
		claims := c.Managers()
		if c.Kind == conflict.Overlap && !slices.ContainsFunc(c.Claims, func(c merge.Claim) bool {
			return c.Value == nil
		}) {
			claims = nil
			for i, claim := range c.Claims {
				claims = append(claims, fmt.Sprint(c.Fields[i], claim))
			}
		}
		slices.Sort(claims)
		texts = append(texts, fmt.Sprint(c.Kind, c.Path, claims))
	}
	slices.Sort(texts)
	return texts
}

// leaves returns the values of a tree that merge as one, by their paths. It skips values that a Go
// type encodes although nobody sets them.
func leaves(t *schema.Type, tree any, path fieldpath.Path, into map[string]any) map[string]any {
	switch {
	case tree == nil || tree == "" || tree == 0.0:
	case t.Kind == schema.Struct || t.Kind == schema.Map:
		for name, value := range tree.(map[string]any) {
			of := t.Elem
			if f := t.Field(name); f != nil {
				of = f.Type
			}
			leaves(of, value, path.Append(t.Step(name)), into)
		}
	case t.Kind == schema.ListMap:
		for key, item := range itemsOf(t, tree) {
			fields := maps.Clone(item.(map[string]any))
			delete(fields, t.Key)
			into[path.Append(fieldpath.Item(t.Key, key)).String()] = true
			leaves(t.Elem, fields, path.Append(fieldpath.Item(t.Key, key)), into)
		}
	default:
		into[path.String()] = tree
	}
	return into
}

// TestPrecedence_Base: the fields that the base sets stay, and patches set the rest.
func TestPrecedence_Base(t *testing.T) {
	pod := podPlan(t).Type()
	forPods(t, true, func(c podCase) string {
		none, by, err := c.merged(t, options{Precedence: "base"})
		if err != nil {
			return ""
		}
		base, before, now := leaves(pod, treeOf(c.base), nil, map[string]any{}),
			leaves(pod, treeOf(none.Value), nil, map[string]any{}),
			leaves(pod, treeOf(by.Value), nil, map[string]any{})
		for path, value := range base {
			if d := gocmp.Diff(value, now[path]); d != "" {
				return fmt.Sprintf("%s (-base +got):\n%s", path, d)
			}
		}
		for path, value := range before {
			if _, isOfBase := base[path]; !isOfBase && !reflect.DeepEqual(now[path], value) {
				return fmt.Sprintf("%s is %v, and a patch sets %v", path, now[path], value)
			}
		}
		return ownersBroken(by)
	})
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

// TestPolicies_Objects: the policies of objects without a Go type.
func TestPolicies_Objects(t *testing.T) {
	defined := objectPlan(`{type: object, properties: {
		spec: {type: object, properties: {project: {type: string}, other: {type: string}, deep: {type: object, properties: {x: {type: string}, y: {type: string}}}}},
		items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, image: {type: string}}}},
		marks: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`)
	path := func(text string) (paths []fieldpath.Path) {
		parsed, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return append(paths, parsed)
	}
	const base = `{"spec": {"project": "p", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}], "marks": ["m"]}`
	for i, c := range []struct {
		plan           plan[merge.Object]
		o              options
		patches        []string
		want           string
		told, decision string
	}{
		{planForJSON(), options{Protected: path("spec.project")},
			[]string{`{"spec": {"project": "q", "other": "o"}}`},
			`{"spec": {"project": "p", "other": "o", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}], "marks": ["m"]}`, ".spec.project", ".spec.project"},
		{planForJSON(), options{Protected: path("spec.project")},
			[]string{`{"spec": null, "items": null, "marks": null}`}, `{"spec": {"project": "p"}}`,
			".spec.project", ""},
		{planForJSON(), options{Protected: path("extra")},
			[]string{`{"extra": {"a": "b"}, "items": null, "marks": null, "spec": null}`}, `{}`,
			".extra", ".extra.a"},
		{planForJSON(), options{Precedence: "base"},
			[]string{`{"spec": {"project": "q", "other": "o"}, "items": [], "marks": null}`},
			`{"spec": {"project": "p", "other": "o", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}], "marks": ["m"]}`, "", ".spec.project"},
		{defined, options{Protected: path("items.image")},
			[]string{`{"items": [{"name": "a", "image": "j"}, {"name": "c", "image": "k"}]}`},
			`{"spec": {"project": "p", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}, {"name": "c"}], "marks": ["m"]}`, `.items[name="a"].image`, `.items[name="a"].image`},
		{defined, options{Precedence: "base"},
			[]string{`{"items": [{"name": "a", "image": "j"}, {"name": "c", "image": "k"}], "spec": {"project": "q", "deep": null}}`},
			`{"spec": {"project": "p", "deep": {"x": "1"}}, "items": [{"name": "a", "image": "i"}, {"name": "b"}, {"name": "c", "image": "k"}], "marks": ["m"]}`, "", `.items[name="a"].image`},
		{planForJSON(), options{Precedence: "first"},
			[]string{`{"spec": {"project": "q"}, "items": null, "marks": null}`,
				`{"spec": {"project": "r"}}`},
			`{"spec": {"project": "q", "deep": {"x": "1"}}}`, "", ".spec.project"},
	} {
		object := fromJSON[merge.Object](base)
		var patches []merge.Patch
		for j, text := range c.patches {
			patch := fromJSON[merge.Object](text)
			patches = append(patches, merge.Patch{Manager: fmt.Sprint(j), Value: &patch})
		}
		result, err := c.plan.Apply(&object, patches, c.o.list()...)
		if err != nil {
			t.Fatal(i, err)
		}
		if d := gocmp.Diff(fromJSON[merge.Object](c.want), result.Value); d != "" {
			t.Errorf("%d: (-want +got):\n%s", i, d)
		}
		if d := gocmp.Diff(fromJSON[merge.Object](base), object); d != "" {
			t.Errorf("%d: the base changed:\n%s", i, d)
		}
		if (len(notesOf(result.Notes, merge.Protected)) > 0) != (c.told != "") ||
			c.told != "" && notesOf(result.Notes, merge.Protected)[0].Path.String() != c.told {
			t.Errorf("%d: told are %v, want %s", i, notesOf(result.Notes, merge.Protected), c.told)
		}
		if c.decision != "" && !slices.ContainsFunc(notesOf(result.Notes, merge.Decided),
			func(d merge.Note) bool { return d.Path.String() == c.decision }) {
			t.Errorf("%d: decisions %v, want one on %s", i, notesOf(result.Notes, merge.Decided),
				c.decision)
		}
		if c.told == "" {
			continue
		}
		c.o.ProtectedError = true
		if _, err := c.plan.Apply(&object, patches, c.o.list()...); err == nil ||
			err.Error() != "patch of manager/0: "+c.told+": Forbidden: the field is protected" {
			t.Errorf("%d: error %v", i, err)
		}
	}
}

// TestPolicies_Embedded: the base's values come back within an embedded pointer as well, and a
// value of any type.
func TestPolicies_Embedded(t *testing.T) {
	type Inline struct {
		Name  string `json:"name,omitempty"`
		Other string `json:"other,omitempty"`
	}
	type outer struct {
		*Inline
		Any    any               `json:"any,omitempty"`
		Amount resource.Quantity `json:"amount"`
	}
	plan := must(planFor[outer](schema.Rules{}))
	protected := options{Protected: []fieldpath.Path{fieldpath.Fields("name")}}
	for _, c := range []struct {
		o                 options
		base, patch, want string
	}{
		{protected, `{}`, `{"name": "x"}`, `{"amount":"0"}`},
		{protected, `{}`, `{"name": "x", "other": "x"}`, `{"other":"x","amount":"0"}`},
		{protected, `{"name": "y"}`, `{"name": null}`, `{"name":"y","amount":"0"}`},
		{options{Precedence: "base"}, `{"amount": "0"}`, `{"name": "x", "any": "x", "amount": "1"}`,
			`{"name":"x","any":"x","amount":"1"}`},
		{options{Precedence: "base"}, `{"name": "y", "any": "y", "amount": "2"}`,
			`{"name": "x", "any": "x", "amount": "1"}`, `{"name":"y","any":"y","amount":"2"}`},
	} {
		base, patch := fromJSON[outer](c.base), fromJSON[merge.Object](c.patch)
		result, err := plan.Apply(&base, []merge.Patch{{Manager: "a", Value: &patch}},
			c.o.list()...)
		if err != nil || inJSON(result.Value) != c.want {
			t.Errorf("base %s, patch %s: %+v, %v, want %s", c.base, c.patch, result, err, c.want)
		}
	}
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
