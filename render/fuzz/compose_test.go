package fuzz_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/render/fuzz"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// composer is the manager of composed patches. No case has one of it.
const composer = "platform.example.com/compose"

// TestCompose holds the laws of runtimepatch.Compose. Upstream's own merge judges the patch.
func TestCompose(t *testing.T) {
	var governed atomic.Int64
	lawFor(t, cases(t)/4, fuzz.Options{Checked: true, Least: 1}, func(c *fuzz.Case) string { return composes(c, &governed) })
	if _, isOne := testenv.Number(t, "TRAINWELD_CASE"); !isOne && governed.Load() == 0 {
		t.Error("the rules govern no field with several claims")
	}
}

// composes: upstream merges the composed patch to the value of each rule, and changes no other field. Any order of the other patches
// gives the same values, and a second composed patch is equal.
func composes(c *fuzz.Case, governed *atomic.Int64) string {
	found, broken := find(c)
	if broken != "" {
		return broken
	}
	empties := func(claim merge.Claim) bool { return claim.Value == nil }
	if slices.ContainsFunc(found, func(c conflict.Conflict) bool { return slices.ContainsFunc(c.Claims, empties) }) {
		return "" // a null around a field hides its claims in some orders; render reports the null instead of the rule
	}
	random := rand.New(rand.NewPCG(c.Seed, 3))
	rules := rulesFor(c, random)
	before := encode(c.Patches)
	entry, err := runtimepatch.Compose(c.Template, c.Patches, composer, rules)
	if !bytes.Equal(before, encode(c.Patches)) {
		return "Compose changes the patches that it is given"
	}
	shuffled := slices.Clone(c.Patches)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	other, otherErr := runtimepatch.Compose(c.Template, shuffled, composer, rules)
	if err != nil || otherErr != nil {
		return failsAlike(err, otherErr)
	}
	plain, err := upstream(c.Template, c.Patches)
	if err != nil {
		return fmt.Sprintf("upstream refuses the patches: %v", err)
	}
	got, err := upstream(c.Template, append(slices.Clone(c.Patches), entry))
	if err != nil {
		return fmt.Sprintf("upstream refuses the composed patch: %v", err)
	}
	want, err := upstream(c.Template, append(shuffled, other))
	if err != nil {
		return fmt.Sprintf("upstream refuses the composed patch in another order: %v", err)
	}
	if text := composedAlike(got, want, rules); text != "" {
		return text
	}
	if text := composesOnly(plain, got, rules); text != "" {
		return text
	}
	all := append(slices.Clone(c.Patches), entry)
	result, err := runtimepatch.Apply(c.Template, all, runtimepatch.Options{Owners: true})
	if err != nil {
		return err.Error()
	}
	for _, composition := range compose.Find(result.Owners, rules) {
		if len(composition.Claims) > 1 {
			governed.Add(1)
		}
		if !composition.IsHeld() {
			return fmt.Sprintf("%s holds %v, and the rule gives %v (%v)", composition.Path, composition.Claims[len(composition.Claims)-1].Value, composition.Value, composition.Err)
		}
	}
	again, err := runtimepatch.Compose(c.Template, all, composer, rules)
	if x, y := encode([]trainer.RuntimePatch{entry}), encode([]trainer.RuntimePatch{again}); err != nil || !bytes.Equal(x, y) {
		return fmt.Sprintf("a second Compose gives (-first +second, %v):\n%s", err, gocmp.Diff(decode(x), decode(y)))
	}
	return ""
}

// failsAlike finds a difference between the errors of two orders. An order decides only which of several values is in force.
func failsAlike(err, other error) string {
	var found, others finding.List
	if !errors.As(err, &found) || !errors.As(other, &others) {
		return fmt.Sprintf("Compose returns %v, and in another order %v", err, other)
	}
	for _, list := range []finding.List{found, others} {
		for _, f := range list {
			if f.Code != codes.NoComposition {
				return fmt.Sprintf("Compose returns %v", f)
			}
		}
	}
	paths := func(list finding.List) []string {
		var texts []string
		for _, f := range list {
			texts = append(texts, f.Path.String())
		}
		slices.Sort(texts)
		return texts
	}
	if x, y := paths(found), paths(others); !slices.Equal(x, y) {
		return fmt.Sprintf("Compose fails at %q, and in another order at %q", x, y)
	}
	return ""
}

// composedAlike finds a governed field with two values. The order of a list does not count.
func composedAlike(got, want *trainer.JobSetTemplateSpec, rules compose.Rules) string {
	has, had := governedLeaves(got, rules), governedLeaves(want, rules)
	for text, leaf := range had {
		rule, _ := rules.For(leaf.path)
		if now, ok := has[text]; !ok || !rule.IsSame(decode([]byte(now.value)), decode([]byte(leaf.value))) {
			return fmt.Sprintf("%s of %s is %s in one order, and %s in another", rule.Kind, text, leaf.value, now.value)
		}
	}
	if len(has) != len(had) {
		return fmt.Sprintf("%d governed fields are set in one order, and %d in another", len(has), len(had))
	}
	return ""
}

// composesOnly finds a field that changes, and that no rule governs.
func composesOnly(plain, got *trainer.JobSetTemplateSpec, rules compose.Rules) string {
	had, has := templateLeaves(plain), templateLeaves(got)
	for text, leaf := range had {
		if _, isGoverned := rules.For(leaf.path); !isGoverned && leaf.value != perhaps && has[text].value != leaf.value {
			return fmt.Sprintf("the composed patch changes %s from %s to %q, and no rule governs it", text, leaf.value, has[text].value)
		}
	}
	return ""
}

// governedLeaves returns the leaves that rules govern.
func governedLeaves(template *trainer.JobSetTemplateSpec, rules compose.Rules) map[string]leaf {
	all := templateLeaves(template)
	for text, leaf := range all {
		if _, ok := rules.For(leaf.path); !ok || leaf.value == perhaps || leaf.value == present {
			delete(all, text)
		}
	}
	return all
}

// fields are the fields that rules may govern, with the kinds that fit.
var fields = sync.OnceValue(func() []explain.Rule {
	var all []explain.Rule
	for _, path := range explain.Paths() {
		if rule, err := explain.Field(path); err == nil && rule.Compositions != nil {
			all = append(all, rule)
		}
	}
	return all
})

// rulesFor returns the rules of all fields that have a union or a maximum, and random ones for the others.
func rulesFor(c *fuzz.Case, random *rand.Rand) compose.Rules {
	var rules compose.Rules
	for _, field := range fields() {
		r := compose.Rule{Path: field.Path, Kind: field.Compositions[random.IntN(len(field.Compositions)-1)], Seconds: compose.KindMaximum}
		if r.Kind == compose.KindAgree {
			if random.IntN(3) > 0 || field.Kind != "scalar" && field.Kind != "map" && field.Kind != "atomic" {
				continue
			}
			r.Kind, r.Owner = compose.KindOwner, c.Patches[random.IntN(len(c.Patches))].Manager
			if random.IntN(8) == 0 {
				r.Kind = compose.KindAgree
			}
		}
		if isIdentity(r.Path) {
			continue
		}
		rules = append(rules, r)
	}
	return rules
}

// isIdentity reports whether a field is the key of its list's items.
func isIdentity(path fieldpath.Path) bool {
	if len(path) < 2 {
		return false
	}
	key, _, isItem := path[len(path)-2].Item()
	name, isField := path[len(path)-1].Field()
	return isItem && isField && key == name
}
