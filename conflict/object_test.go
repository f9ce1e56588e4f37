package conflict_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// boxed has a struct, a list of items with structs, and a map, for patches that are objects.
type boxed struct {
	Box    *box              `json:"box,omitempty"`
	Part   *box              `json:"part,omitempty"` // the base has one
	Items  []boxedItem       `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"id"`
	Labels map[string]string `json:"labels,omitempty"`
}

type box struct {
	A     string            `json:"a,omitempty"`
	B     string            `json:"b,omitempty"`
	Inner *box              `json:"inner,omitempty"`
	Marks map[string]string `json:"marks,omitempty"`
}

type boxedItem struct {
	ID  int    `json:"id"`
	Box *box   `json:"box,omitempty"`
	On  *bool  `json:"on,omitempty"`
	As  []int  `json:"as,omitempty"`
	Out string `json:"out,omitempty"`
}

// merging merges patches into a base, for Force.
func merging[T any](base *T) func([]merge.Patch) (*merge.History, error) {
	return func(patches []merge.Patch) (*merge.History, error) {
		result, err := merge.Strategic(base, patches)
		if err != nil {
			return nil, err
		}
		return result.History, nil
	}
}

// objectPatches are patches in JSON, of the managers m0, m1 and so on. A list is a JSON patch.
func objectPatches(t *testing.T, texts ...string) []merge.Patch {
	t.Helper()
	patches := make([]merge.Patch, len(texts))
	for i, text := range texts {
		patches[i].Manager = fmt.Sprintf("m%d", i)
		if read, err := merge.ReadPatch(patches[i].Manager, []byte(text)); err == nil &&
			strings.HasPrefix(text, "[") {
			patches[i] = read
			continue
		}
		var patch merge.Object
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&patch); err != nil {
			t.Fatal(err)
		}
		patches[i].Value = &patch
	}
	return patches
}

// conflictText is a conflict on one line: its kind, its path and the claims with their fields.
func conflictText(c conflict.Conflict) string {
	parts := make([]string, len(c.Claims))
	for i, claim := range c.Claims {
		name, _ := claim.Owner.Manager()
		parts[i] = fmt.Sprintf("%s %s=%s", name, c.Fields[i],
			finding.FormatValue(c.Fields[i], claim.Value, true))
	}
	return fmt.Sprintf("%s %s: %s", c.Kind, c.Path, strings.Join(parts, ", "))
}

// TestFind_Null holds the claims of a conflict about a null: all within the field, in the order of
// the patches.
func TestFind_Null(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name    string
		Patches []string
		Want    []string
	}](t, "testdata/nulls.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			result, err := merge.Strategic(&boxed{Part: &box{B: "z"}},
				objectPatches(t, tc.Patches...))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range conflict.Find(result.History) {
				got = append(got, conflictText(c))
			}
			if diff := cmp.Diff(tc.Want, got); diff != "" {
				t.Errorf("Find() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFind_NullOfSeveral wants the conflict between a null and a manager with two patches. One
// patch deletes a struct, and the other sets it.
func TestFind_NullOfSeveral(t *testing.T) {
	for _, first := range []string{
		`{"part": {"$patch": "delete"}}`, `{"part": {"$patch": "replace", "b": null}}`} {
		patches := objectPatches(t, `{"part": null}`, first, `{"part": {"a": "x"}}`)
		patches[2].Manager = patches[1].Manager
		result, err := merge.Strategic(&boxed{Part: &box{B: "z"}}, patches)
		if err != nil {
			t.Fatal(err)
		}
		if found := conflict.Find(result.History); len(found) != 1 ||
			found[0].Path.String() != ".part" || len(found[0].Managers()) != 2 {
			t.Errorf("Find() for %s = %v, want a conflict of both", first, found)
		}
	}
}

// TestConflict_Against holds the fields that have to go for a manager to win.
func TestConflict_Against(t *testing.T) {
	rules := merge.Rules(
		schema.Rules{
			Unions: map[reflect.Type][]schema.Union{
				reflect.TypeFor[box](): {{Name: "source", Members: []string{"inner", "marks"}}}}})
	replace, more := `{"box": {"$patch": "replace", "a": "x"}}`, `{"box": {"b": "y"}}`
	inner, marks := `{"part": {"inner": {"a": "x"}}}`,
		`{"part": {"inner": {"a": "y"}, "marks": {"c": "d"}}}`
	for _, tc := range []struct {
		patches []string
		manager string
		want    []string
	}{
		{[]string{more, replace}, "m0", []string{`overlap .box: m0, m1 .box, m1`}},
		{[]string{more, replace}, "m1", []string{`overlap .box: m0 .box, m1, m1`}},
		{[]string{inner, marks}, "m0",
			[]string{`union .part: m0, m1, m1 .part.marks`,
				`overlap .part.inner.a: m0, m1 .part.inner.a`}},
		{[]string{inner, marks}, "m1",
			[]string{`union .part: m0, m1, m1`, `overlap .part.inner.a: m0 .part.inner.a, m1`}},
		{[]string{inner, marks, more}, "m2",
			[]string{`union .part: m0, m1, m1`, `overlap .part.inner.a: m0, m1`}},
	} {
		result, err := merge.Strategic(&boxed{}, objectPatches(t, tc.patches...), rules)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range conflict.Find(result.History) {
			parts := make([]string, len(c.Claims))
			for i, path := range c.Against(tc.manager) {
				name, _ := c.Claims[i].Owner.Manager()
				parts[i] = strings.TrimSuffix(name+" "+path.String(), " ")
			}
			got = append(got, fmt.Sprintf("%s %s: %s", c.Kind, c.Path, strings.Join(parts, ", ")))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("Against(%s) for %v (-want +got):\n%s", tc.manager, tc.patches, diff)
		}
	}
}

func textsOf(patches []merge.Patch) []string {
	texts := make([]string, len(patches))
	for i, p := range patches {
		text, _ := json.Marshal(p.Value)
		texts[i] = string(text)
	}
	return texts
}

// TestConflict_Errors checks the texts of a conflict as an error and as a finding.
func TestConflict_Errors(t *testing.T) {
	path := fieldpath.Fields("box", "a")
	claims := []merge.Claim{{Owner: merge.Manager("m0"), Value: "x"},
		{Owner: "runtime", Value: "w"}, {Owner: merge.Manager("m1"), Value: "y"},
		{Owner: merge.Manager("m0"), Value: "z"}}
	overlap := conflict.Conflict{Kind: conflict.Overlap, Path: path, Claims: claims}
	if got, want := overlap.Managers(), []string{"m0", "m1"}; !slices.Equal(got, want) {
		t.Errorf("Managers() = %q, want %q", got, want)
	}
	if got, want := overlap.Error(),
		`.box.a: managers set different values: m0 sets "x", runtime sets "w", m1 sets "y", m0 sets "z"`; got != want {
		t.Errorf("Error() of a conflict without fields = %s, want %s", got, want)
	}
	union := conflict.Conflict{Kind: conflict.Union, Path: path[:1], Claims: claims[:1],
		Fields: []fieldpath.Path{path}}
	for _, tc := range []struct {
		c              conflict.Conflict
		code           finding.Code
		remedy, option string
	}{
		{overlap, finding.CodeOverlap,
			"set the field in one patch only", "m0 m1"},
		{union, finding.CodeUnion,
			"keep one member, and remove the other from its patch",
			"m0"},
		{conflict.Conflict{}, finding.CodeOverlap, "pass the history of the merge", ""},
	} {
		f := tc.c.Finding(fieldpath.Object{Name: "a"})
		if f.Code != tc.code || f.Remedy.Text != tc.remedy ||
			strings.Join(f.Remedy.Options, " ") != tc.option || f.Severity != finding.Error ||
			f.Object.Name != "a" {
			t.Errorf("Finding() of %v = %+v, want %s and %q", tc.c, f, tc.code, tc.remedy)
		}
	}
	all := conflict.Conflicts{overlap, union}
	var found conflict.Conflict
	if err := all.Err(); !errors.As(err, &found) || found.Kind != conflict.Overlap ||
		!strings.Contains(err.Error(), "\n.box: managers set different members of one union") {
		t.Errorf("Err() = %v, want one that holds each conflict", err)
	}
	if err := (conflict.Conflicts{}).Err(); err != nil {
		t.Errorf("Err() of no conflict = %v", err)
	}
}
