package comparison

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

// TestWriteMarkdown_Limit wants a comment that fits, however long names, queues, fields and
// remedies are.
func TestWriteMarkdown_Limit(t *testing.T) {
	for _, tc := range []struct {
		reason string
		jobs   int
		name   string
	}{
		{"many TrainJobs", 3000, "a"},
		{"long names", 20, strings.Repeat("n", 5000)},
		{"one name that is longer than a comment", 1, strings.Repeat("n", 70_000)},
		{"names that escapes make longer", 20, strings.Repeat("<", 5000)},
		{"names of several bytes a character", 20, strings.Repeat("日", 5000)},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			old, new := &Version{Name: "old"}, &Version{Name: "new"}
			for i := range tc.jobs {
				id := fieldpath.Object{Kind: "TrainJob", Namespace: "default",
					Name: fmt.Sprint(tc.name, i)}
				old.Jobs = append(old.Jobs, Job{ID: id, Queue: tc.name + "old"})
				new.Jobs = append(new.Jobs, Job{ID: id, Queue: fmt.Sprint(tc.name, "new", i)})
				new.Conflicts = append(new.Conflicts, finding.Finding{
					Code: codes.Overlap, Severity: finding.Warning, Object: id,
					Path: fieldpath.Fields("spec", tc.name),
					Claims: []merge.Claim{{Owner: merge.Manager(tc.name), Value: tc.name},
						{Owner: merge.Manager("b"), Value: i}},
					Remedy: finding.Remedy{Text: fmt.Sprint(tc.name, i)},
				})
			}
			var c Comparison
			if err := c.Add(old, new, func(*Job, *Job) (e UpdateEffect) { return e }); err != nil {
				t.Fatal(err)
			}
			var comment, rest strings.Builder
			if err := c.WriteMarkdown(&comment, &rest, "rest.md"); err != nil {
				t.Fatal(err)
			}
			if n := comment.Len(); n > 60_000 {
				t.Errorf("the comment has %d bytes", n)
			}
			if !strings.Contains(comment.String(), "The rest is in the file `rest.md`.") {
				t.Errorf("the comment does not name the file of the rest:\n%.2000s",
					comment.String())
			}
			if last := fmt.Sprint("default/", tc.name, tc.jobs-1); tc.name == "a" &&
				!strings.Contains(rest.String(), last) {
				t.Errorf("the rest lacks %q", last)
			}
		})
	}
}
