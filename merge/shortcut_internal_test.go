package merge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/schema"
)

// TestShortCuts holds the short cuts for the types that most patches are made of to the walk over the
// schema without them: the same template, the same owners in the same order, the same error.
func TestShortCuts(t *testing.T) {
	next := rand.New(rand.NewPCG(testenv.Seed(t), 3))
	for i := range 1500 {
		opts := []fuzz.Options{{}, {Checked: true, Least: 2}, {Directives: true}}[i%3]
		c := fuzz.Merge(next.Uint64(), opts)
		if want, got := outcome(c, true), outcome(c, false); want != got {
			text, _ := yaml.Marshal(map[string]any{"template": c.Template, "patches": c.Patches})
			t.Fatalf("case %d (%+v): the walk over the schema makes one thing, the short cuts another:\n%s\n%s", c.Seed, opts, cmp.Diff(want, got), text)
		}
	}
}

// outcome is all that can be seen of a merge with owners, and the template of one without.
func outcome(c *fuzz.Case, byField bool) string {
	var text strings.Builder
	for _, owners := range []bool{true, false} {
		r, err := apply(c.Template, c.Patches, merger{owners: owners, byField: byField})
		if err != nil {
			return err.Error()
		}
		data, err := json.MarshalIndent(&r.Template, "", " ")
		fmt.Fprintln(&text, string(data), err)
		if !owners {
			continue
		}
		for path, claims := range r.Owners.All() {
			fmt.Fprintln(&text, path)
			for _, claim := range claims {
				data, err := json.Marshal(claim)
				fmt.Fprintln(&text, string(data), err)
			}
		}
		for f := range r.Owners.Patched() {
			fmt.Fprintln(&text, f.Path(), f.Contested())
		}
	}
	return text.String()
}

// TestListKinds merges an item into a list-map of every kind that a patch can hold.
func TestListKinds(t *testing.T) {
	seen := map[*schema.Type]bool{}
	kinds := map[reflect.Type]bool{}
	var visit func(s *schema.Type, template, patch reflect.Type)
	visit = func(s *schema.Type, template, patch reflect.Type) {
		template, patch = pointee(template), pointee(patch)
		if seen[s] {
			return
		}
		seen[s] = true
		switch s.Kind {
		case schema.Struct:
			for _, f := range s.Patchable() {
				visit(f.Type, template.FieldByIndex(f.Template.Index).Type, patch.FieldByIndex(f.Patch.Index).Type)
			}
		case schema.ListMap:
			kinds[patch] = true
			dst, src := reflect.New(template).Elem(), reflect.New(patch).Elem()
			src.Set(reflect.MakeSlice(patch, 1, 1))
			key, _ := s.KeyField().Patch.Of(src.Index(0))
			key.SetString("a")
			m := merger{log: newLog(nil, &additions{}), spine: theSpine(), owners: true}
			for range 2 { // into none, and into one
				if err := m.listMap(s, dst, dst.Len() > 0, src, rootNode); err != nil {
					t.Errorf("%v: %v", patch, err)
				}
			}
			if dst.Len() != 1 {
				t.Errorf("%v: merged one item twice, and the list has %d", patch, dst.Len())
			}
			visit(s.Elem, template.Elem(), patch.Elem())
		}
	}
	visit(schema.JobSetTemplate(), reflect.TypeFor[trainer.JobSetTemplateSpec](), reflect.TypeFor[trainer.JobSetTemplatePatch]())
	if len(kinds) < 8 {
		t.Errorf("found only %v", kinds)
	}
}

func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
