package merge_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

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

func ownersIn(o *merge.History) (owners []string) {
	for path, claims := range o.All() {
		owners = append(owners, fmt.Sprint(path, claims))
	}
	return owners
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
