package engine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/schema"
)

// The laws of the policies, for Pods and the patches of several managers.

// podCase is a Pod with patches.
type podCase struct {
	base    corev1.PodSpec
	patches []engine.Layered[engine.Object]
}

// podMaker makes Pods and patches to them, as JSON.
type podMaker struct {
	*rand.Rand
	nulls, directives bool
}

func (m podMaker) one(of ...any) any { return of[m.IntN(len(of))] }

// object makes an object with some of the fields.
func (m podMaker) object(fields map[string]func() any) engine.Object {
	made := engine.Object{}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range fields {
			if !yield(name) {
				return
			}
		}
	}) {
		switch {
		case m.IntN(3) > 0:
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
			item = engine.Object{"$patch": "delete"}
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
		"exec":           func() any { return engine.Object{"command": []any{m.text()}} },
		"httpGet":        func() any { return m.object(map[string]func() any{"path": m.text, "port": m.number, "host": m.text}) },
		"grpc":           func() any { return engine.Object{"port": m.number()} },
		"periodSeconds":  m.number,
		"timeoutSeconds": m.number,
	})
}

func (m podMaker) container() map[string]func() any {
	return map[string]func() any{
		"image": m.text, "command": func() any { return []any{m.text()} }, "livenessProbe": m.probe, "readinessProbe": m.probe,
		"env": func() any {
			return m.list("name", map[string]func() any{"value": m.text, "valueFrom": func() any {
				return m.object(map[string]func() any{
					"fieldRef":     func() any { return engine.Object{"fieldPath": m.one("", "spec.nodeName", "metadata.name")} },
					"secretKeyRef": func() any { return engine.Object{"name": m.text(), "key": m.one("", "k", "l")} },
				})
			}}, "A", "B", "C", "D")
		},
		"volumeMounts": func() any {
			return m.list("mountPath", map[string]func() any{"name": func() any { return m.one("", "v", "w") }, "subPath": m.text, "subPathExpr": m.text}, "/a", "/b", "/c")
		},
		"ports": func() any {
			return m.list("containerPort", map[string]func() any{"name": m.text, "protocol": m.text}, int64(1), int64(2), int64(3))
		},
		"securityContext": func() any {
			return m.object(map[string]func() any{"runAsUser": m.number, "seccompProfile": func() any {
				return m.object(map[string]func() any{"type": func() any { return m.one("Localhost", "Unconfined") }, "localhostProfile": m.text})
			}})
		},
	}
}

func (m podMaker) spec() engine.Object {
	return m.object(map[string]func() any{
		"containers":     func() any { return m.list("name", m.container(), "a", "b", "c") },
		"initContainers": func() any { return m.list("name", m.container(), "i", "j") },
		"volumes": func() any {
			return m.list("name", map[string]func() any{
				"emptyDir": func() any { return m.object(map[string]func() any{"medium": m.text}) },
				"hostPath": func() any { return engine.Object{"path": m.text()} },
				"secret":   func() any { return m.object(map[string]func() any{"secretName": m.text}) },
			}, "v", "w", "u")
		},
		"nodeSelector": func() any {
			entries := m.object(map[string]func() any{"k": m.text, "l": m.text})
			delete(entries, "$patch")
			return entries
		},
		"tolerations": func() any { return []any{engine.Object{"key": m.text()}} }, "schedulerName": m.text, "priority": m.number,
		"imagePullSecrets": func() any { return m.list("name", nil, "r", "s", "t") },
	})
}

// podPlan merges patches of any shape into Pods.
func podPlan(t testing.TB) *engine.Plan[corev1.PodSpec, engine.Object] {
	plan, err := engine.For[corev1.PodSpec, engine.Object](schema.PodRules(reflect.TypeFor[corev1.PodSpec]()))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// forPods calls hold with many cases. A case may have nulls in its patches, and some have directives. A law that is broken is a
// text.
func forPods(t *testing.T, directives bool, hold func(podCase) string) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 7))
	for range testenv.Cases(t, 8_000) {
		m := podMaker{Rand: random}
		var c podCase
		if err := json.Unmarshal([]byte(inJSON(m.spec())), &c.base); err != nil {
			t.Fatal(err)
		}
		m.nulls, m.directives = random.IntN(3) == 0, directives && random.IntN(2) == 0
		for i := range 1 + random.IntN(4) {
			patch := m.spec()
			c.patches = append(c.patches, engine.Layered[engine.Object]{Layer: engine.Manager(fmt.Sprint("m", i)), Patch: &patch})
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
			slices.SortStableFunc(tree, func(a, b any) int { return cmp.Compare(keyIn(t, a), keyIn(t, b)) })
		}
	}
	return tree
}

func keyIn(t *schema.Type, item any) string { return fmt.Sprint(item.(map[string]any)[t.Key]) }

// TestOrder: an order permutes items and changes no value.
func TestOrder(t *testing.T) {
	plan := podPlan(t)
	forPods(t, true, func(c podCase) string {
		upstream, err := plan.Apply(&c.base, c.patches, engine.Options{})
		based, other := plan.Apply(&c.base, c.patches, engine.Options{Order: engine.BaseOrder})
		if (err == nil) != (other == nil) {
			return fmt.Sprintf("errors %v and %v", err, other)
		}
		if err != nil {
			return ""
		}
		return gocmp.Diff(unordered(plan.Type(), treeOf(upstream.Value)), unordered(plan.Type(), treeOf(based.Value)))
	})
}

// TestOrder_Base: the items of the base come first, in their order. New ones follow in the order in which the patches name them.
func TestOrder_Base(t *testing.T) {
	plan := podPlan(t)
	forPods(t, false, func(c podCase) string {
		result, err := plan.Apply(&c.base, c.patches, engine.Options{Order: engine.BaseOrder})
		if err != nil {
			return ""
		}
		layers := []any{treeOf(c.base)}
		for _, p := range c.patches {
			layers = append(layers, treeOf(*p.Patch))
		}
		return firstNamed(plan.Type(), treeOf(result.Value), layers)
	})
}

// firstNamed reports items of a list-map that are not in the order in which the layers name them first. A null forgets the earlier layers.
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

// TestOrder_Long: long lists, which are indexed, keep their order as well, and so do sets and the lists of a definition.
func TestOrder_Long(t *testing.T) {
	names := func(prefix string, n int) (list []any, set []any) {
		for i := range n {
			list, set = append(list, engine.Object{"name": fmt.Sprint(prefix, i)}), append(set, fmt.Sprint(prefix, i))
		}
		return list, set
	}
	old, oldSet := names("b", 40)
	var patches []engine.Layered[engine.Object]
	for i := range 4 {
		added, addedSet := names(fmt.Sprint("p", i, "-"), 3)
		patch := engine.Object{"items": append(added, old[20-i], engine.Object{"name": "p0-1"}), "marks": append(addedSet, oldSet[9])}
		if i == 0 {
			patch["items"] = added
		}
		patches = append(patches, engine.Layered[engine.Object]{Layer: engine.Manager(fmt.Sprint(i)), Patch: &patch})
	}
	base := engine.Object{"items": old, "marks": oldSet}
	typed, err := engine.ForType(reflect.TypeFor[lists](), schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	defined := objectPlan(`{type: object, properties: {
		items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}}}},
		marks: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`)
	for _, plan := range []*engine.Plan[engine.Object, engine.Object]{typed, defined} {
		result, err := plan.Apply(&base, patches, engine.Options{Order: engine.BaseOrder})
		if err != nil {
			t.Fatal(err)
		}
		wantSet, list := slices.Clone(oldSet), slices.Clone(old)
		for i := range 4 {
			added, addedSet := names(fmt.Sprint("p", i, "-"), 3)
			list, wantSet = append(list, added...), append(wantSet, addedSet...)
		}
		if d := gocmp.Diff(engine.Object{"items": list, "marks": wantSet}, result.Value); d != "" {
			t.Errorf("order (-want +got):\n%s", d)
		}
	}
}

// TestOptions_Unknown rejects a policy that does not exist, in each kind of plan.
func TestOptions_Unknown(t *testing.T) {
	for _, plan := range []*engine.Plan[engine.Object, engine.Object]{engine.ForJSON(), objectPlan("{type: object}")} {
		_, err := plan.Apply(nil, nil, engine.Options{Order: "none"})
		if want := `engine: Options.Order: Unsupported value: "none": supported values: "base"`; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
