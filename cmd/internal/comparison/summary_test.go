package comparison

import (
	"slices"
	"testing"
)

func TestComparison_WithoutOld(t *testing.T) {
	tests := []struct {
		name, old, new string
		files, want    []string
	}{
		{"a revision and the working tree", "HEAD:", "",
			[]string{"HEAD:a.yaml", "HEAD:b.yaml", "a.yaml"}, []string{"HEAD:b.yaml", "a.yaml"}},
		{"two revisions", "v1:", "v2:", []string{"v1:a.yaml", "v2:a.yaml", "v2:b.yaml"},
			[]string{"v2:a.yaml", "v2:b.yaml"}},
		{"two paths", "", "", []string{"new/a.yaml", "old/a.yaml"},
			[]string{"new/a.yaml", "old/a.yaml"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &Comparison{old: &Version{Prefix: test.old}, new: &Version{Prefix: test.new}}
			if got := c.withoutOld(slices.Clone(test.files)); !slices.Equal(got, test.want) {
				t.Errorf("withoutOld(%q) = %q, want %q", test.files, got, test.want)
			}
		})
	}
}
