package diff_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/internal/casefile"
)

// TestCompare tells what changes between two Pod specs, one case a rule.
func TestCompare(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name, Old, New string
		Want           []string
		Reason         string
	}](t, "testdata/changes.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			old, new := pod(t, tc.Old), pod(t, tc.New)
			changes, err := diff.Compare(old, new, diff.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.Want, told(changes)); d != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Reason, d)
			}
			if broken := laws(old, new, kinds{}); broken != "" {
				t.Error(broken)
			}
		})
	}
}

// pod returns a Pod with a name: an object without fields has no lines.
func pod(t *testing.T, spec string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

func told(changes diff.Changes) []string {
	var lines []string
	for _, c := range changes {
		line := fmt.Sprintf("%s %s", c.Kind, c.Path)
		switch c.Kind {
		case diff.Moved:
			line += fmt.Sprintf(" from %d to %d", c.From, c.To)
		case diff.Added:
			if c.To != diff.NoItem {
				line += fmt.Sprintf(" at %d", c.To)
			}
			line += ": " + encoded(c.New)
		case diff.Removed:
			if c.From != diff.NoItem {
				line += fmt.Sprintf(" from %d", c.From)
			}
			line += ": " + encoded(c.Old)
		default:
			line += ": " + encoded(c.Old) + " -> " + encoded(c.New)
		}
		lines = append(lines, line)
	}
	return lines
}

// TestCompare_LongList moves no item of a long list between two that are new.
func TestCompare_LongList(t *testing.T) {
	container := func(names ...string) *corev1.Container {
		c := &corev1.Container{Name: "c"}
		for _, name := range names {
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: "v"})
		}
		return c
	}
	var names []string
	for i := range 2000 {
		names = append(names, fmt.Sprint("V", i))
	}
	changes, err := diff.Compare(container(names...),
		container(slices.Concat([]string{"first"}, names, []string{"last"})...), diff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) != 2 || changes[0].Kind != diff.Added || changes[1].Kind != diff.Added {
		t.Errorf("%d changes, want the two items that are new: %.200v", len(changes), told(changes))
	}
}

// TestCompare_Invalid names what cannot be compared.
func TestCompare_Invalid(t *testing.T) {
	for _, tc := range []struct {
		name     string
		old, new any
		want     string
	}{
		{"two types", &corev1.Pod{}, &corev1.Service{},
			"diff: a v1.Pod cannot be compared with a v1.Service"},
		{"no object", "a", "b", "diff: the old object: object 1, a string: it is no object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changes, err := diff.Compare(tc.old, tc.new, diff.Options{})
			if err == nil || err.Error() != tc.want || changes != nil {
				t.Errorf("got %v and %v, want %s", changes, err, tc.want)
			}
		})
	}
}

// TestUnstructured compares what has no Go type field by field, with every list as one value.
func TestUnstructured(t *testing.T) {
	object := func(text string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(
			[]byte("{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, spec: "+text+"}"),
			&u.Object); err != nil {
			t.Fatal(err)
		}
		return u
	}
	old, new := object(`{minMember: 2, minResources: {}, list: [{name: a}]}`),
		object(`{minMember: 3, minResources: {}, list: [{name: a, x: q}]}`)
	changes, err := diff.Compare(old, new, diff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`changed .spec.list: [{"name":"a"}] -> [{"name":"a","x":"q"}]`,
		`changed .spec.minMember: 2 -> 3`}
	if d := cmp.Diff(want, told(changes)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if broken := laws(old, new, kinds{}); broken != "" {
		t.Error(broken)
	}
}

type node struct {
	Name     string  `json:"name"`
	Children []*node `json:"children,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Next     *node   `json:"next,omitempty"`
}

func TestCompare_RecursiveType(t *testing.T) {
	old := &node{Name: "a", Children: []*node{{Name: "b"}, {Name: "c"}}}
	changed := &node{Name: "a", Children: []*node{{Name: "b", Next: &node{Name: "d"}}, {Name: "c"}}}
	changes, err := diff.Compare(old, changed, diff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) != 1 || changes[0].Kind != diff.Added ||
		changes[0].Path.String() != `.children[name="b"].next` {
		t.Errorf("Compare() = %+v, want next of b added", changes)
	}
}
