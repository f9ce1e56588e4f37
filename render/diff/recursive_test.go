package diff_test

import (
	"testing"

	"github.com/trainweld/trainweld/render/diff"
)

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
	if len(changes) != 1 || changes[0].Kind != diff.Added || changes[0].Path.String() != `.children[name="b"].next` {
		t.Errorf("Compare() = %+v, want next of b added", changes)
	}
	old.Next = old
	if _, err := diff.Compare(old, changed, diff.Options{}); err == nil {
		t.Error("Compare(a value that contains itself) = no error, want one")
	}
}
