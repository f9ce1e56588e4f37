package compose_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/compose"
)

// TestLaws holds that each rule is commutative, associative and idempotent, over random claims. TRAINWELD_CASES sets their number.
func TestLaws(t *testing.T) {
	cases, seed := testenv.Cases(t, 20_000), testenv.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	for range cases {
		r, all := randomClaims(random)
		if problem := brokenLaw(r, all, random); problem != "" {
			t.Fatalf("seed %d: %s of %v: %s", seed, r.Kind, all, problem)
		}
	}
}

// FuzzLaws is TestLaws with the cases of a fuzzer.
func FuzzLaws(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		random := rand.New(rand.NewPCG(a, b))
		r, all := randomClaims(random)
		if problem := brokenLaw(r, all, random); problem != "" {
			t.Fatalf("%s of %v: %s", r.Kind, all, problem)
		}
	})
}

// brokenLaw returns a violation of the laws by a rule and some claims, or "".
func brokenLaw(r compose.Rule, all []merge.Claim, random *rand.Rand) string {
	want := result(r, all)
	other := slices.Clone(all)
	random.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	if got := result(r, other); got != want {
		return fmt.Sprintf("another order gives %s, not %s", got, want)
	}
	if got := result(r, append(other, all[random.IntN(len(all))])); got != want {
		return fmt.Sprintf("a repeated claim gives %s, not %s", got, want)
	}
	cut := random.IntN(len(other) + 1)
	if got := grouped(r, other[:cut], other[cut:]); got != want {
		return fmt.Sprintf("two groups %v and %v give %s, not %s", other[:cut], other[cut:], got, want)
	}
	return ""
}

// result returns the composed value as JSON, or "no value".
func result(r compose.Rule, all []merge.Claim) string {
	value, err := r.Compose(all...)
	if err != nil {
		return "no value"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// grouped composes the results of groups. A group without a claim that takes part adds its claims as they are.
func grouped(r compose.Rule, groups ...[]merge.Claim) string {
	var all []merge.Claim
	for _, group := range groups {
		takesPart := func(c merge.Claim) bool {
			_, isManager := c.Layer.Manager()
			return c.Layer == merge.Manager(r.Owner) || r.Kind != compose.KindOwner && (isManager || r.Kind != compose.KindAgree)
		}
		first := slices.IndexFunc(group, takesPart)
		if first < 0 {
			all = append(all, group...)
			continue
		}
		value, err := r.Compose(group...)
		if err != nil {
			return "no value"
		}
		all = append(all, merge.Claim{Layer: group[first].Layer, Value: value})
	}
	return result(r, all)
}

// randomClaims returns a rule and claims of few managers on its field.
func randomClaims(random *rand.Rand) (compose.Rule, []merge.Claim) {
	one := func(values ...any) any { return values[random.IntN(len(values))] }
	r := compose.Rule{Kind: compose.Kinds()[random.IntN(len(compose.Kinds()))], Owner: "a"}
	value := func() any {
		return one("x", "y", int64(1), true, []any{"x", "y"}, []any{"y", "x"}, map[string]any{"x": "y"}, nil)
	}
	switch {
	case r.Kind == compose.KindMinimum || r.Kind == compose.KindMaximum:
		value = func() any { return one(int64(1), int64(30), int64(600), "1", "1Gi", "1024Mi", "1500m", "1.5", nil) }
	case r.Kind == compose.KindUnion && random.IntN(2) == 0:
		r = tolerations(one(compose.KindAgree, compose.KindMaximum, compose.Kind("")).(compose.Kind))
		value = func() any { return listOf(random, func() any { return toleration(random, one) }) }
	case r.Kind == compose.KindUnion:
		value = func() any {
			return listOf(random, func() any { return one("x", "y", int64(9), int64(10), map[string]any{"weight": int64(1)}, "") })
		}
	}
	all := make([]merge.Claim, 1+random.IntN(5))
	for i := range all {
		all[i] = merge.Claim{Layer: one(merge.Manager("a"), merge.Manager("b"), merge.Manager("c"), merge.Layer("runtime")).(merge.Layer), Value: value()}
	}
	return r, all
}

// listOf returns up to three items, or null.
func listOf(random *rand.Rand, item func() any) any {
	n := random.IntN(5) - 1
	if n < 0 {
		return nil
	}
	list := make([]any, n)
	for i := range list {
		list[i] = item()
	}
	return list
}

func toleration(random *rand.Rand, one func(...any) any) any {
	t := map[string]any{"key": one("k", "l")}
	if random.IntN(2) == 0 {
		t["operator"] = one("Equal", "Exists", "")
	}
	if random.IntN(3) == 0 {
		t["effect"] = one("NoExecute", "")
	}
	if random.IntN(2) == 0 {
		t["tolerationSeconds"] = one(int64(0), int64(30), int64(300))
	}
	return t
}
