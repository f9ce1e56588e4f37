package fuzz_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
)

// withoutEmptyLists is a JSON value without its empty lists.
func withoutEmptyLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if v[key] = withoutEmptyLists(child); v[key] == nil {
				delete(v, key)
			}
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = withoutEmptyLists(v[i])
		}
	}
	return v
}

// comesFrom says which claim does not stand where its source says: every claim of the runtime, of a
// manager and of the TrainJob has one, and the input has the claim's value there.
func (h history) comesFrom(p *fuzz.Pair) string {
	inputs := map[bool]any{true: decode(encode(p.Runtime)), false: decode(encode(p.TrainJob))}
	for i, path := range h.paths {
		for _, c := range h.claims[h.texts[i]] {
			if c.Source == nil {
				_, isManager := c.Layer.Manager()
				if isManager || c.Layer == merge.RuntimeLayer || c.Layer == merge.TrainJobLayer {
					return fmt.Sprintf("%v: %s=%s has no source", path, c.Layer, valueOf(c))
				}
				continue
			}
			if slices.Contains(c.Source, fieldpath.Item("name", "")) {
				continue // variables without a name, of which there may be two
			}
			at, found := document{inputs[merge.FromRuntime(c)].(map[string]any)}.find(c.Source, false)
			if !found {
				name, _ := c.Source[len(c.Source)-1].Field()
				if c.Value == nil || name == "command" || name == "args" {
					continue // encoding/json leaves out an empty one, which clears the runtime's
				}
				return fmt.Sprintf("%v: %s=%s comes from %v, which the input does not have", path, c.Layer, valueOf(c), c.Source)
			}
			if _, isPolicy := strings.CutPrefix(string(c.Layer), "policy/"); isPolicy || c.Value == nil || valueOf(c) == present {
				continue
			}
			if _, isScheduler := strings.CutPrefix(string(c.Layer), "scheduler/"); isScheduler {
				continue
			}
			mpi := p.Runtime.Spec.MLPolicy != nil && p.Runtime.Spec.MLPolicy.MPI != nil // its launcher may count as a node
			if name, _ := c.Source[len(c.Source)-1].Field(); mpi && name == "numNodes" || name == "secretRef" {
				continue // computed from it
			}
			there := c
			if there.Value = at.get(); said([]engine.Claim{there}) != said([]engine.Claim{c}) {
				return fmt.Sprintf("%v: %s=%s comes from %v, which is %s", path, c.Layer, valueOf(c), c.Source, valueOf(there))
			}
		}
	}
	return ""
}

// dropBareLists drops lists that merge by item and have none: they say nothing.
func dropBareLists(v any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	object, ok := v.(map[string]any)
	if !ok || t.Kind() != reflect.Struct || encodesItself(t) {
		return
	}
	for name, value := range object {
		f := mustField(t, name)
		list, isList := value.([]any)
		switch {
		case !isList || f.merge == "":
			dropBareLists(value, f.typ)
		case len(list) == 0:
			delete(object, name)
		default:
			for _, item := range list {
				dropBareLists(item, f.typ.Elem())
			}
		}
	}
}
