package command_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/trainweld/trainweld/cmd/internal/builtin"
	"github.com/trainweld/trainweld/cmd/internal/host"
	command "github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fuzz/strategic"
	"github.com/trainweld/trainweld/merge/tree"
)

type object = map[string]any

// TestCommand compares what trainweld merge makes of every built-in kind with upstream. The
// objects, once decoded, are equal, and no object has a field that neither the base nor a patch
// has.
func TestCommand(t *testing.T) {
	var taken, rejected atomic.Int64
	n := strategic.ForCases(t, 3_000, strategic.NewCase, func(m *strategic.Case) string {
		differs, isTaken := compareCommand(m)
		if isTaken {
			taken.Add(1)
		} else {
			rejected.Add(1)
		}
		return differs
	})
	if n >= 1000 && taken.Load() < int64(n)/8 {
		t.Errorf("only %d of %d objects merge: the law says little", taken.Load(), n)
	}
	t.Logf("%d bases, %d merged and %d refused", n, taken.Load(), rejected.Load())
}

// TestCommand_Keys does the same for lists with items of the same merge key. The command accepts
// them as the API server does.
func TestCommand_Keys(t *testing.T) {
	var taken atomic.Int64
	strategic.ForCases(t, 1_000, newTwins, func(m *strategic.Case) string {
		differs, isTaken := compareCommand(m)
		if isTaken {
			taken.Add(1)
		}
		return differs
	})
	if taken.Load() == 0 {
		t.Error("no object merges")
	}
}

// newTwins makes Services and Deployments with ports and spread constraints of few keys.
func newTwins(from rand.Source) *strategic.Case {
	rng := rand.New(from)
	list := func(key, second string, keys []any, seconds []string, more string) []any {
		items := []any{}
		for range rng.IntN(4) {
			item := object{key: keys[rng.IntN(len(keys))]}
			if second := second; rng.IntN(3) > 0 || second == "whenUnsatisfiable" {
				item[second] = seconds[rng.IntN(len(seconds))]
			}
			if rng.IntN(2) > 0 {
				item[more] = int64(rng.IntN(3))
			}
			items = append(items, item)
		}
		return items
	}
	protocols := []string{"TCP", "UDP"}
	service := func() object {
		return object{
			"spec": object{
				"ports": list("port", "protocol", []any{int64(53), int64(80)}, protocols,
					"targetPort")}}
	}
	deployment := func() object {
		pod := object{
			"containers": []any{
				object{"name": "a",
					"ports": list("containerPort", "protocol", []any{int64(53), int64(80)},
						protocols, "hostPort")}}}
		if rng.IntN(2) > 0 {
			pod["topologySpreadConstraints"] = list("topologyKey", "whenUnsatisfiable",
				[]any{"zone", "host"}, []string{"DoNotSchedule", "ScheduleAnyway"}, "maxSkew")
		}
		return object{"spec": object{"template": object{"spec": pod}}}
	}
	version, kind, makeObject := "v1", "Service", service
	if rng.IntN(2) > 0 {
		version, kind, makeObject = "apps/v1", "Deployment", deployment
	}
	m := &strategic.Case{}
	m.Type, _ = builtin.TypeOf(version, kind)
	m.Base, _ = strategic.Decode(m.Type, strategic.Encode(makeObject()))
	if rng.IntN(2) > 0 {
		m.Base = reflect.New(m.Type).Interface()
	}
	for range 1 + rng.IntN(2) {
		m.Patches = append(m.Patches, makeObject())
	}
	return m
}

// compareCommand says how the command differs from upstream, and whether it merges.
func compareCommand(m *strategic.Case) (differs string, taken bool) {
	apiVersion, kind := kindsOf()[m.Type].apiVersion, kindsOf()[m.Type].kind
	if kind == "" || len(m.Patches) == 0 {
		return "", false
	}
	named := func(v any) object {
		o, _ := strategic.JSON(v).(object)
		if o = maps.Clone(o); o == nil {
			return nil
		}
		delete(o, "apiVersion")
		delete(o, "kind")
		if meta, ok := o["metadata"].(object); ok {
			delete(meta, "name")
			delete(meta, "namespace")
		}
		return o
	}
	sets := func(o object, name string) {
		meta, ok := o["metadata"].(object)
		if !ok {
			meta = object{}
			o["metadata"] = meta
		}
		meta["name"] = name
		o["apiVersion"], o["kind"] = apiVersion, kind
	}
	base := named(m.Base)
	sets(base, "a")
	is := &strategic.Case{Type: m.Type, Base: base}
	files := fstest.MapFS{"base.json": {Data: strategic.Encode(base)}}
	var flags workspace.Flags
	flags.Files = []string{"base.json"}
	fields := map[string]bool{}
	paths(m.Type, base, "", fields)
	for i, patch := range m.Patches {
		o := named(patch)
		if o == nil {
			return "", false
		}
		is.Patches = append(is.Patches, o)
		name := fmt.Sprintf("%d.json", i)
		files[name] = &fstest.MapFile{Data: strategic.Encode(o)}
		flags.Patches = append(flags.Patches, name)
		paths(m.Type, o, "", fields)
	}
	p := &host.Program{Files: files, Stdin: strings.NewReader("")}
	merge, found, err := command.Read(p, workspace.New(flags), flags, option.Schema{}, nil)
	if err != nil {
		return fmt.Sprintf("the command cannot read the case: %v", err), false
	}
	if merge == nil || found.Err() != nil {
		// a field that the kind does not have, which an API server rejects or drops
		return "", false
	}
	merged, more := merge.Apply(found)
	want, failedAt, rejected := strategic.Upstream(is)
	switch {
	case merged == nil && rejected == nil && !strategic.IsStricter(is):
		return fmt.Sprintf("the command refuses it (%v), and upstream does not", more.Err()), false
	case merged == nil:
		return "", false
	case rejected != nil:
		return fmt.Sprintf("upstream refuses patch %d (%v), and the command does not", failedAt,
			rejected), false
	}
	if got, wanted := strategic.Canonical(m.Type, merged.Fields),
		strategic.Canonical(m.Type, want); !bytes.Equal(got, wanted) &&
		!(strategic.IsStricter(is) && strategic.Directs(is)) {
		return fmt.Sprintf("the command makes\n  %s\nand upstream\n  %s", got, wanted), true
	}
	made := map[string]bool{}
	paths(nil, merged.Fields, "", made)
	for path := range made {
		if !fields[path] {
			return fmt.Sprintf("the command makes the field %s, which no input has:\n  %s", path,
				strategic.Encode(merged.Fields)), true
		}
	}
	return "", true
}

// paths records the paths of all fields in a value, and [] for an item of a list. The null of a
// field of a Go struct does not count. The null of a map's entry counts. Under a directive,
// upstream keeps it, and an API server stores it as the empty value. Without a type, all nulls
// count.
func paths(t reflect.Type, v any, at string, into map[string]bool) {
	if t != nil {
		t = tree.Concrete(t)
	}
	switch v := v.(type) {
	case object:
		for name, value := range v {
			// A directive's value may be merged as the field's own.
			name = strings.TrimPrefix(name, "$deleteFromPrimitiveList/")
			of := reflect.Type(nil)
			switch {
			case t == nil:
			case t.Kind() == reflect.Map:
				of = t.Elem()
			case t.Kind() == reflect.Struct:
				field, _ := tree.Structs{}.Field(t, name)
				if of = field.Type; of != nil && value == nil {
					continue
				}
			}
			into[at+"."+name] = true
			paths(of, value, at+"."+name, into)
		}
	case []any:
		if t != nil && t.Kind() == reflect.Slice {
			t = t.Elem()
		} else {
			t = nil
		}
		for _, item := range v {
			paths(t, item, at+"[]", into)
		}
	}
}

// named is the version and the kind of a type.
type named struct{ apiVersion, kind string }

var kindsOf = sync.OnceValue(func() map[reflect.Type]named {
	known := map[reflect.Type]named{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		if of, ok := builtin.TypeOf(apiVersion, kind); ok && of == t {
			known[t] = named{apiVersion, kind}
		}
	}
	return known
})
