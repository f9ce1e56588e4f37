package fuzz_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestLaws holds the laws that the packages merge and conflict document.
func TestLaws(t *testing.T) {
	checked := fuzz.Options{Checked: true}
	managers := fuzz.Options{Checked: true, Least: 2}
	t.Run("Upstream", func(t *testing.T) {
		t.Parallel()
		law(t, fuzz.Options{Directives: true}, equalsUpstream)
	})
	t.Run("UpstreamChecked", func(t *testing.T) { t.Parallel(); law(t, checked, equalsUpstream) })
	t.Run("Overlap", func(t *testing.T) { t.Parallel(); law(t, managers, overlapIsOrder) })
	t.Run("Union", func(t *testing.T) { t.Parallel(); law(t, managers, unionIsTwoMembers) })
	t.Run("UnionWild", func(t *testing.T) {
		t.Parallel()
		law(t, fuzz.Options{Tidy: true, Least: 2}, unionIsTwoMembers)
	})
	t.Run("Pure", func(t *testing.T) {
		t.Parallel()
		law(t, fuzz.Options{Directives: true}, inputsAreLeftAlone)
	})
}

// equalsUpstream: rule 1. The result is upstream's, list order included, and it fails when upstream
// does.
func equalsUpstream(c *fuzz.Case) string {
	merged, wantErr := upstream(c.Template, c.Patches)
	var want []byte
	if wantErr == nil {
		want = typed(merged)
	}
	got, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
	switch {
	case wantErr != nil && err == nil:
		return fmt.Sprintf("upstream refuses it (%v) and Apply does not", wantErr)
	case wantErr == nil && err != nil:
		return fmt.Sprintf("Apply refuses it (%v) and upstream does not", err)
	case wantErr != nil:
		return ""
	}
	if made := typed(&got.Template); !bytes.Equal(made, want) {
		return fmt.Sprintf("Apply makes another template than upstream:\n%s",
			cmp.Diff(decode(want), decode(made)))
	}
	return ""
}

// overlapIsOrder: rule 3. No overlap is reported if and only if every order of the patches gives
// the same template. The order inside list-maps and sets does not count. Upstream's own merge tries
// the orders. The overlaps are the fields that the patches, read naively, claim in two ways.
func overlapIsOrder(c *fuzz.Case) string {
	found, broken := find(c)
	if broken != "" {
		return broken
	}
	reported := pathsOf(found, conflict.Overlap)
	one, other, err := twoOutcomes(c.Template, c.Patches)
	switch {
	case err != nil:
		return fmt.Sprintf(
			"check.Patches passes it, and upstream refuses it in some order: %v", err)
	case one != "" && len(reported) == 0:
		return fmt.Sprintf("no overlap is reported, and the order of the patches decides:\n%s",
			cmp.Diff(decode([]byte(one)), decode([]byte(other))))
	case one == "" && len(reported) > 0:
		return fmt.Sprintf("every order gives the same template, and overlaps are reported on %v",
			reported)
	}
	if want := claimedTwice(c.Patches); !slices.Equal(want, reported) {
		return fmt.Sprintf("overlaps are reported on\n  %v\nand the patches disagree on\n  %v",
			reported, want)
	}
	return ""
}

// unionIsTwoMembers: rule 3. A union is reported if and only if two managers claim in different
// members of it.
func unionIsTwoMembers(c *fuzz.Case) string {
	found, broken := find(c)
	if broken != "" {
		return broken
	}
	if want, reported := clashes(c.Patches),
		pathsOf(found, conflict.Union); !slices.Equal(want, reported) {
		return fmt.Sprintf(
			"unions are reported on\n  %v\nand two managers set different members of\n  %v",
			reported, want)
	}
	return ""
}

func find(c *fuzz.Case) (conflict.Conflicts, string) {
	result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
	if err != nil {
		return nil, fmt.Sprintf("Apply refuses it: %v", err)
	}
	found := conflict.Find(result.History)
	for _, f := range found {
		if len(namesOf(f.Claims)) < 2 {
			return nil, fmt.Sprintf("%v at %v is between fewer than two managers: %v", f.Kind,
				f.Path, f.Claims)
		}
	}
	return found, ""
}

func namesOf(claims []merge.Claim) map[string]bool {
	names := map[string]bool{}
	for _, claim := range claims {
		if name, ok := claim.Owner.Manager(); ok {
			names[name] = true
		}
	}
	return names
}

func pathsOf(found conflict.Conflicts, kind conflict.Kind) []string {
	paths := []string{}
	for _, f := range found {
		if f.Kind == kind {
			paths = append(paths, f.Path.String())
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// twoOutcomes lays the patches over the template in every order. It returns two templates that
// differ by more than the order inside lists, or nothing when there are none.
func twoOutcomes(template *trainer.JobSetTemplateSpec,
	patches []trainer.RuntimePatch) (one, other string, err error) {
	try := func(order []trainer.RuntimePatch) bool {
		var merged *trainer.JobSetTemplateSpec
		if merged, err = upstream(template, order); err != nil {
			return false
		}
		outcome := unordered(merged)
		if one == "" {
			one = outcome
		}
		other = outcome
		return one == other
	}
	if fuzz.Permute(slices.Clone(patches), try) {
		return "", "", nil
	}
	return one, other, err
}

// claimedTwice returns the paths on which the patches disagree. Two managers claim them with
// different values, or one claims a null and another a field within. Then what others claim within
// is no path of its own: the field is emptied or not.
func claimedTwice(patches []trainer.RuntimePatch) []string {
	claims := make([]leaves, len(patches))
	for i := range patches {
		claims[i] = patchLeaves(&patches[i])
	}
	paths := map[string]fieldpath.Path{}
	var emptied []fieldpath.Path
	for i, mine := range claims {
		for j, theirs := range claims {
			if i == j {
				continue
			}
			for text, leaf := range mine {
				if leaf.value == perhaps {
					continue
				}
				if their, ok := theirs[text]; ok && their.value != leaf.value &&
					their.value != perhaps {
					paths[text] = leaf.path
				}
				if leaf.value != "null" {
					continue
				}
				for _, their := range theirs {
					if their.path.HasPrefix(leaf.path) && their.value != "null" {
						paths[text], emptied = leaf.path, append(emptied, leaf.path)
					}
				}
			}
		}
	}
	maps.DeleteFunc(paths, func(_ string, path fieldpath.Path) bool {
		return slices.ContainsFunc(emptied, func(around fieldpath.Path) bool {
			return len(path) > len(around) && path.HasPrefix(around)
		})
	})
	return slices.Sorted(maps.Keys(paths))
}
