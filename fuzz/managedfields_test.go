package fuzz_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	smdpath "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// TestManagedFields: each manager owns the fields that server-side apply records for the same
// patches, wherever the two merges agree. A table of docs/differences.md lists the fields in which
// they do not. Nothing else is omitted.
func TestManagedFields(t *testing.T) {
	t.Parallel()
	server, err := newServerSide()
	if err != nil {
		t.Fatal(err)
	}
	differs := map[string]string{}
	differences(runtimepatch.JobSetTemplate(), server.Schema, nil, differs)
	if diff := cmp.Diff(documentedDifferences(t), differs); diff != "" {
		t.Errorf("docs/differences.md has another table than the two schemas (-documented "+
			"+real):\n%s", diff)
	}
	n := int(min(testenv.Cases(t, 2000), 2000)) // structured-merge-diff takes its time
	compared, left, undeclared := 0, 0, 0
	for seed := range uint64(n) {
		c := fuzz.Merge(seed, fuzz.Options{Checked: true})
		merged, owners, err := server.apply(c)
		if errors.Is(err, errNotDeclared) {
			undeclared++ // the Go types say more than the definition takes
			continue
		}
		if err != nil {
			t.Fatalf("%v: structured-merge-diff: %v", c, err)
		}
		result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		v := view{server, templateLeaves(&result.Template), templateLeaves(merged),
			writersOf(result.History)}
		entries := runtimepatch.ManagedFields(result.History)
		for i, entry := range entries {
			if i > 0 && entry.Manager != c.Patches[i-1].Manager {
				t.Fatalf("%v: entry %d is %s's", c, i, entry.Manager)
			}
			ours, theirs := smdpath.NewSet(), smdpath.NewSet()
			if err := ours.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
				t.Fatal(err)
			}
			if owned := owners[entry.Manager]; owned != nil {
				theirs = owned.Set()
			}
			want, got := v.fields(theirs), v.fields(ours)
			compared += len(want)
			left += theirs.Size() - len(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%v: %s owns (-structured-merge-diff +trainweld):\n%s", c, entry.Manager,
					diff)
			}
		}
	}
	t.Logf("%d fields compared in %d cases, %d outside the template or documented differences; "+
		"%d cases with undeclared fields", compared, n-undeclared, left, undeclared)
	if compared < 20*n || left > compared || undeclared > n/10 {
		t.Error("that says too little")
	}
}

// view reads field sets of one case in the terms that both sides have.
type view struct {
	server       *serverSide
	ours, theirs leaves
	writers      map[string]map[merge.Owner]bool
}

// fields returns the paths of a set in which the two merges agree, in the terms of package schema.
// No path leads into a value that either side takes as one.
func (v view) fields(set *smdpath.Set) []string {
	paths := map[string]bool{}
	set.Iterate(func(p smdpath.Path) {
		path, whole := v.path(p)
		if len(path) == 0 || !v.agree(path, whole) || !whole && v.filled(path) {
			return
		}
		paths[path.String()] = true
	})
	return slices.Sorted(maps.Keys(paths))
}

// path translates a path, down to a value that either side takes as one. Then whole reports whether
// only one of the two does.
func (v view) path(p smdpath.Path) (path fieldpath.Path, whole bool) {
	t, at := runtimepatch.JobSetTemplate(), v.server.Schema
	for _, element := range p {
		step, ok := stepOf(t, element)
		if !ok {
			return nil, false
		}
		path = path.Append(step)
		t, at = t.Lookup(fieldpath.Path{step}), crdOf(at, step)
		if t == nil || at == nil {
			return nil, false // of the object and not of the template, such as its kind
		}
		if here, there := t.Kind == schema.Atomic, isAtomicThere(at); here || there {
			return path, here != there
		}
	}
	return path, false
}

// stepOf translates a step into a value of type t.
func stepOf(t *schema.Type, element smdpath.PathElement) (fieldpath.Step, bool) {
	switch {
	case element.FieldName != nil && t.Kind == schema.Map:
		return fieldpath.Key(*element.FieldName), true
	case element.FieldName != nil:
		return fieldpath.Field(*element.FieldName), true
	case element.Value != nil:
		return fieldpath.Element(fmt.Sprint((*element.Value).Unstructured())), true
	case element.Key != nil:
		for _, field := range *element.Key {
			if field.Name == t.Key {
				return fieldpath.Item(t.Key, fmt.Sprint(field.Value.Unstructured())), true
			}
		}
	}
	return fieldpath.Step{}, false
}

// agree reports whether both merges have the same value at a path. If only one side takes it as
// one, that side has one owner. So the path counts only if one layer wrote all of it.
func (v view) agree(path fieldpath.Path, whole bool) bool {
	if !whole {
		return v.ours[path.String()].value == v.theirs[path.String()].value
	}
	writers := map[merge.Owner]bool{}
	for text, layers := range v.writers {
		if strings.HasPrefix(text, path.String()) {
			maps.Copy(writers, layers)
		}
	}
	return len(writers) == 1 && maps.Equal(below(v.ours, path), below(v.theirs, path))
}

// filled reports whether a path is an empty struct that another layer filled, or that Go always
// encodes. Server-side apply remembers the manager that named it. Here the fields in it have
// owners, and it has none of its own.
func (v view) filled(path fieldpath.Path) bool {
	text := path.String()
	if leaf, ok := v.ours[text]; ok {
		return leaf.value == perhaps
	}
	for other := range v.ours {
		if strings.HasPrefix(other, text+".") {
			return true
		}
	}
	return false
}

func below(l leaves, path fieldpath.Path) map[string]string {
	values := map[string]string{}
	for text, leaf := range l {
		if leaf.path.HasPrefix(path) {
			values[text] = leaf.value
		}
	}
	return values
}

// writersOf are the layers that wrote each field.
func writersOf(o *merge.History) map[string]map[merge.Owner]bool {
	writers := map[string]map[merge.Owner]bool{}
	for path, claims := range o.All() {
		layers := map[merge.Owner]bool{}
		for _, claim := range claims {
			layers[claim.Owner] = true
		}
		writers[path.String()] = layers
	}
	return writers
}

// differences collects the fields of the template that the two schemas do not merge alike, by their
// last name. So the same field of every container is one row.
func differences(t *schema.Type, at *spec.Schema, path fieldpath.Path, found map[string]string) {
	name := ""
	if len(path) > 0 {
		field, ok := path[len(path)-1].Field()
		if name = field; !ok {
			field, _ = path[len(path)-2].Field()
			name = field + "[]"
		}
	}
	here := t.Kind == schema.Atomic
	switch there := isAtomicThere(at); {
	case here && !there:
		kind, _ := at.Extensions.GetString("x-kubernetes-list-type")
		found[name] = strings.TrimSpace(kind + " " + strings.Join(keysThere(at), ", "))
		return
	case there && !here && t.Kind != schema.Scalar:
		found[name] = "atomic"
		return
	case here:
		return
	}
	switch t.Kind {
	case schema.ListMap:
		if keys := keysThere(at); !slices.Equal(keys, []string{t.Key}) {
			found[name] = "keys " + strings.Join(keys, ", ")
		}
		differences(t.Elem, at.Items.Schema, path.Append(fieldpath.Item(t.Key, "")), found)
	case schema.Struct:
		for _, f := range t.Fields {
			if property := crdOf(at, fieldpath.Field(f.Name)); property != nil {
				differences(f.Type, property, path.Append(fieldpath.Field(f.Name)), found)
			}
		}
	}
}

var differenceRow = regexp.MustCompile("^\\| `([^|]+)` \\| ([^|]+) \\|")

// documentedDifferences reads the table of the section on managed fields.
func documentedDifferences(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(data), "\n## Managed fields\n")
	if !ok {
		return nil
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for line := range strings.Lines(section) {
		if m := differenceRow.FindStringSubmatch(line); m != nil {
			for _, name := range strings.Split(m[1], "`, `") {
				rows[name] = strings.TrimSpace(m[2])
			}
		}
	}
	return rows
}
