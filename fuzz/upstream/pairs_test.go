package upstream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestPairs compares the renderings of generated pairs: half of them the same in every run, half of
// them new. TRAINWELD_PAIRS says how many, TRAINWELD_SEED which new ones, and TRAINWELD_PAIR asks for a
// single one.
func TestPairs(t *testing.T) {
	differences, err := upstream.Differences(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	o, err := oracle()
	if err != nil {
		t.Fatal(err)
	}
	p := pairs{oracle: o, codes: map[string]bool{}, refused: map[string]int{}}
	for _, d := range differences {
		p.codes[d.Code] = true
	}
	if seed, ok := testenv.Number(t, "TRAINWELD_PAIR"); ok {
		p.check(t, seed)
		return
	}
	n, ok := testenv.Number(t, "TRAINWELD_PAIRS")
	if !ok {
		n = 2000
		if testing.Short() {
			n = 100
		}
	}
	for seed := range (n + 1) / 2 {
		p.check(t, seed)
	}
	series, ok := testenv.Number(t, "TRAINWELD_SEED")
	if !ok {
		series = rand.Uint64()
	}
	t.Logf("new pairs of this run: TRAINWELD_SEED=%d", series)
	fresh := rand.New(rand.NewPCG(series, 0))
	for range n / 2 {
		p.check(t, fresh.Uint64())
	}
	t.Logf("%d pairs: %d equal, %d refused by both, refused by trainweld alone: %v", n, p.equal, p.both, p.refused)
	if p.equal < int(n)/2 {
		t.Errorf("only %d of %d pairs were compared: the generator makes too much that nobody renders", p.equal, n)
	}
}

type pairs struct {
	oracle      *upstream.Oracle
	codes       map[string]bool // of deliberate refusals
	refused     map[string]int  // pairs that only trainweld refuses, by code
	equal, both int
}

// check compares one pair. It fails the test with the smallest pair that still differs.
func (p *pairs) check(t *testing.T, seed uint64) {
	t.Helper()
	pair := fuzz.Render(seed, fuzz.PairOptions{Policies: upstream.Policies()})
	broken := p.broken(pair)
	if broken == "" {
		return
	}
	steps := 0
	for next := fuzz.SmallerPair(pair); ; {
		small, ok := next()
		if !ok {
			break
		}
		if text := quietly(p, small); text != "" && kindOf(text) == kindOf(broken) {
			pair, broken = small, text
			next = fuzz.SmallerPair(pair)
			steps++
		}
	}
	t.Fatalf("pair %d: %s\n\nthe smallest pair that still does (%d steps smaller; %s):\n%s\nrun it again: cd fuzz/upstream && TRAINWELD_PAIR=%d go test -run '^TestPairs$' .",
		seed, broken, steps, keep(t, fmt.Sprintf("pair-%d", seed), pairYAML(pair)), pairYAML(pair), seed)
}

// kindOf is the first line of what is wrong: shrinking keeps to it.
func kindOf(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// quietly tries a smaller pair without counting it.
func quietly(p *pairs, pair *fuzz.Pair) string {
	return (&pairs{oracle: p.oracle, codes: p.codes, refused: map[string]int{}}).broken(pair)
}

// broken says what is wrong with the pair's rendering, or "".
func (p *pairs) broken(pair *fuzz.Pair) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("trainweld panics\n%v", r)
		}
	}()
	in, err := p.input(pair)
	if err != nil {
		return fmt.Sprintf("cannot be made into objects\n%v", err)
	}
	kinds, _ := upstream.Kinds(in.runtime)
	got, err := upstream.Trainweld(p.oracle.Module(), in.trainJob, in.runtime)
	if err != nil {
		return fmt.Sprintf("cannot be read\n%v", err)
	}
	want := p.oracle.Render(in.trainJob, in.runtime)
	refused := len(got.Refused) > 0
	switch {
	case want.Err != nil && !refused:
		return fmt.Sprintf("trainweld renders what upstream does not\n%v", want.Err)
	case want.Err != nil:
		p.both++
		return ""
	case refused && len(want.Refused) > 0:
		p.both++
	case refused:
		listed := false
		for _, code := range got.Codes() {
			if p.codes[code] {
				p.refused[code]++
				listed = true
			}
		}
		if !listed {
			return fmt.Sprintf("trainweld refuses what upstream renders: %v\n%v", got.Codes(), got.Refused)
		}
	}
	if len(got.Objects) == 0 {
		return fmt.Sprintf("trainweld has no objects beside its refusal: %v\n%v", got.Codes(), got.Refused)
	}
	diff, err := variant(p.oracle, want, in, got, kinds)
	if err != nil {
		return fmt.Sprintf("cannot be compared\n%v", err)
	}
	if diff != "" {
		return "trainweld renders something else than upstream\n" + diff
	}
	if !refused {
		p.equal++
	}
	return ""
}

// input is the pair as JSON objects, without the fields that the API server drops: those never reach
// either side.
func (p *pairs) input(pair *fuzz.Pair) (input, error) {
	in := input{name: pair.String()}
	for _, side := range []struct {
		from any
		to   *upstream.Object
	}{{pair.TrainJob, &in.trainJob}, {pair.Runtime, &in.runtime}} {
		data, err := yaml.Marshal(side.from)
		if err != nil {
			return in, err
		}
		var object upstream.Object
		if err := yaml.Unmarshal(data, &object); err != nil {
			return in, err
		}
		delete(object, "status")
		if *side.to, err = p.oracle.Prune(object); err != nil {
			return in, err
		}
	}
	return in, nil
}

func pairYAML(pair *fuzz.Pair) string {
	var b strings.Builder
	for _, object := range []any{pair.Runtime, pair.TrainJob} {
		data, err := yaml.Marshal(object)
		if err != nil {
			return err.Error()
		}
		lines := strings.Split(string(data), "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasSuffix(l, "creationTimestamp: null") })
		b.WriteString("---\n" + strings.Join(lines, "\n"))
	}
	return b.String()
}
