package crds_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// number is the number that a variable of the environment holds, or another.
func number(t testing.TB, variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: want a number: %v", variable, text, err)
	}
	return n
}

// TestServerSideApply compares forced applies: the object, the fields of each manager, and what is refused.
func TestServerSideApply(t *testing.T) {
	seed := number(t, "TRAINWELD_SEED", 1)
	all := files(t)
	cases := int(number(t, "TRAINWELD_OBJECTS", 3000)) / len(all)
	for name, data := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := compile(name, data)
			if err != nil {
				t.Fatal(err)
			}
			g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(len(data)))), root: d.typ}
			refused, merged := 0, 0
			for i := range cases {
				p := g.pair()
				want := d.upstream(p)
				if want.refused < 0 && !p.updated && strings.Contains(fmt.Sprint(want.err), "duplicate entries") {
					p.updated = true // nobody can apply such a base, and a live object may be one
					want = d.upstream(p)
				}
				got, _ := d.ours(p)
				if want.err != nil {
					refused++
				} else {
					merged++
				}
				if difference := compare(want, got, p.updated); difference != "" {
					t.Fatalf("case %d:\nbase %s\npatches %s\n%s", i, canonical(p.base), canonical(p.patches), difference)
				}
			}
			t.Logf("%d merged, %d refused", merged, refused)
		})
	}
}
