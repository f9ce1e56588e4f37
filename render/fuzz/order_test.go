package fuzz_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/render/fuzz"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestOrderConflicts holds the answer against all orders of up to five managers, merged by upstream.
func TestOrderConflicts(t *testing.T) {
	t.Run("Checked", func(t *testing.T) {
		t.Parallel()
		law(t, fuzz.Options{Checked: true, Least: 2, Most: 5}, dependenceIsOrder)
	})
	t.Run("Tidy", func(t *testing.T) {
		t.Parallel()
		law(t, fuzz.Options{Tidy: true, Least: 2, Most: 5}, dependenceIsOrder)
	})
	t.Run("Wild", func(t *testing.T) {
		t.Parallel()
		law(t, fuzz.Options{Directives: true, Least: 2, Most: 5}, dependenceIsOrder)
	})
}

// dependenceIsOrder: each patch is of a manager of its own. A dependence is reported if and only if the order matters. It matters if
// two orders give templates that differ by more than the order inside lists. It also matters if one order does not merge.
func dependenceIsOrder(c *fuzz.Case) string {
	for i := range c.Patches {
		c.Patches[i].Manager = fmt.Sprintf("m%d.example/a", i)
	}
	if _, err := upstream(c.Template, c.Patches); err != nil {
		return ""
	}
	one, other, rejected := twoOutcomes(c.Template, c.Patches)
	found, err := runtimepatch.OrderConflicts(c.Template, c.Patches)
	switch decides := one != "" || rejected != nil; {
	case err != nil:
		return fmt.Sprintf("the given order fails to merge: %v", err)
	case decides && len(found) == 0:
		return fmt.Sprintf("no dependence is reported, and the order decides (refused: %v):\n%s", rejected, cmp.Diff(one, other))
	case !decides && len(found) > 0:
		return fmt.Sprintf("every order gives the same template, and dependences are reported: %v", found)
	}
	return ""
}
