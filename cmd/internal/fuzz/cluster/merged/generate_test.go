package merged

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/cmd/internal/builtin"
	"github.com/trainweld/trainweld/fuzz"
)

// generator makes patches by the Go types. Words are few, so that items and references of base and
// patches meet, and wild: about one in six is invalid.
type generator struct {
	*rand.Rand
	at uint64 // the seed
}

func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

// patch returns a patch of a kind, with a few fields.
func (g *generator) patch(k *kind) map[string]any {
	t, ok := builtin.TypeOf(k.version.String(), k.name)
	if !ok {
		panic("no type of " + k.name)
	}
	fields := map[string]any{}
	path := strings.Split("spec", ".")
	if k.template != "" {
		path = strings.Split(k.template, ".")
		if path[len(path)-1] != "template" && !g.chance(4) {
			path = append(path, "template")
		}
	}
	if len(path) > 0 && path[len(path)-1] == "template" {
		if g.chance(12) {
			set(fields, append(slices.Clone(path), "metadata"), g.metadata())
		}
		path = append(path, "spec")
	} else if k.name == "Pod" && g.chance(12) {
		fields["metadata"] = g.metadata()
	}
	for _, name := range path {
		t = fieldOf(t, name)
	}
	set(fields, path, g.object(t, 0))
	return fields
}

func set(fields map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		next, ok := fields[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			fields[name] = next
		}
		fields = next
	}
	fields[path[len(path)-1]] = value
}

func fieldOf(t reflect.Type, name string) reflect.Type {
	for _, f := range reflect.VisibleFields(t) {
		if jsonName(f) == name {
			return concrete(f.Type)
		}
	}
	panic(t.String() + " has no field " + name)
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func concrete(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func (g *generator) metadata() map[string]any {
	m := map[string]any{}
	if g.chance(2) {
		m["labels"] = map[string]any{
			pick(g, []string{"app", "b", "example.com/b", "-bad", "a/b/c"}): pick(
				g, []string{"a", "b", "", "no space", "é"})}
	}
	if g.chance(2) {
		m["annotations"] = map[string]any{pick(g, []string{
			"b", "UPPER", "bad key", "controller.kubernetes.io/pod-deletion-cost",
			"container.apparmor.security.beta.kubernetes.io/app",
			"container.apparmor.security.beta.kubernetes.io/none",
			"seccomp.security.alpha.kubernetes.io/pod", "kubernetes.io/config.mirror",
		}): pick(g, []string{"a", "1", "+1", "x y", "runtime/default", "localhost/a", "unconfined",
			"localhost/../a"})}
	}
	return m
}

// wild are strings that are invalid at most places.
var wild = []string{"", "Bad_Name", "no space", "-a", "..", "../a", "/", "é", "a=b",
	strings.Repeat("a", 64), strings.Repeat("b", 300), "$(A)", "*", "0", "1.2.3.4.5", "/a:b"}

var quantities = []string{"1", "2", "500m", "1Gi", "2Mi", "4Mi", "-1", "0", "1.5"}

func (g *generator) value(f reflect.StructField, of reflect.Type, depth int) any {
	if g.chance(30) {
		return nil
	}
	return g.of(concrete(f.Type), jsonName(f), of, depth+1)
}

func (g *generator) of(t reflect.Type, name string, of reflect.Type, depth int) any {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return pick(g, quantities)
	case reflect.TypeFor[intstr.IntOrString]():
		return pick(g, []any{80, 443, "http", "web", 0, 70000, "UPPER", "", 8080, 1})
	case reflect.TypeFor[corev1.ResourceList]():
		list := map[string]any{}
		for range 1 + g.IntN(2) {
			resource := pick(g, resourceNames[:6])
			if g.chance(12) {
				resource = pick(g, resourceNames)
			}
			quantity := pick(g, quantities[:4])
			if g.chance(10) {
				quantity = pick(g, quantities)
			}
			list[resource] = quantity
		}
		if of == reflect.TypeFor[corev1.VolumeResourceRequirements]() {
			list["storage"] = pick(g, quantities)
		}
		return list
	case reflect.TypeFor[metav1.Time]():
		return "2026-01-01T00:00:00Z"
	case reflect.TypeFor[metav1.FieldsV1]():
		return map[string]any{}
	case reflect.TypeFor[corev1.ResourceName]():
		return pick(g, []string{"cpu", "memory", "gpu"})
	}
	switch t.Kind() {
	case reflect.Struct:
		return g.object(t, depth)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return ""
		}
		list := []any{}
		n := 1 + g.IntN(2)
		if g.chance(30) {
			n = 0
		}
		for range n {
			list = append(list, g.of(concrete(t.Elem()), name, of, depth+1))
		}
		return list
	case reflect.Map:
		out := map[string]any{}
		for range 1 + g.IntN(2) {
			out[pick(g, []string{"app", "b", "example.com/b", "a", "-bad"})] = g.of(
				concrete(t.Elem()), "label", of, depth+1)
		}
		return out
	case reflect.Bool:
		return g.chance(2)
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Float64:
		if known := fields().Numbers[name]; known != nil && !g.chance(10) {
			return pick(g, known)
		}
		if g.chance(8) {
			return pick(g, []int64{0, -1, 65535, 65536, 100001})
		}
		return pick(g, []int64{1, 2, 3, 10})
	case reflect.String:
		return g.text(t, name, of)
	}
	panic("no value of " + t.String())
}

func (g *generator) text(t reflect.Type, name string, of reflect.Type) string {
	if g.chance(14) {
		return pick(g, wild)
	}
	f := fields()
	for _, known := range [][]string{f.Enums[t.Name()], fuzz.Members(t),
		f.Words[of.Name()+"."+name], f.Words[name]} {
		if len(known) > 0 {
			return pick(g, known)
		}
	}
	return pick(g, []string{"a", "b"})
}

// structural are the errors about names, ports, keys and unions, and of the fields that choose
// their members.
var structural = regexp.MustCompile(
	`Duplicate value|(\.|^)(name|host|hosts|secretName|ingressClassName|port|nodePort|targetPort|endPort|protocol|number|healthCheckNodePort|type|sessionAffinity)(\[\d+\])?: |may not specify both|cannot set both|must match dataSourceRef|may not be specified when|is required|must specify a peer|must not be set when|may not be (set|used)|may only be (set|used)|first value must match|must be empty when`)

// isStructural reports whether an error of the API server is about names, ports, keys or unions.
func isStructural(rejected []string) bool {
	return slices.ContainsFunc(rejected, structural.MatchString)
}
