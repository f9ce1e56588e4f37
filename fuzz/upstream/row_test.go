package upstream_test

import (
	"math"
	"testing"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// TestRow asks a release's own code about each switch that turns in it. For each pair it renders
// with the release's row, and with each switch back in the position before, and lists what
// fuzz.Row says of them. Rules of webhooks do not show in objects: TestVerdicts has them.
//
// The row that the confirmed switches give, from the release before, must be the one that stands,
// but for what no pair shows.
func TestRow(t *testing.T) {
	server := newAPIServer(t)
	r := server.Release
	if r.Index() == 0 {
		t.Skip("the oldest release has none before it")
	}
	row := fuzz.NewRow(r)
	turned := make([]*upstream.Upstream, len(row.Turned))
	for k, now := range row.Turned {
		turned[k] = under(server.Upstream, now)
	}
	n, ok := testenv.Number(t, "TRAINWELD_PAIRS")
	if !ok {
		n = 300
	}
	p := pairs{server: server, codes: map[string]bool{}, rejected: map[string]int{}}
	series := testenv.Seed(t)
	for i := range n {
		pair := p.generate(t, i/2+i%2*series)
		if server.rejectsForm(pair.Runtime) || server.rejectsForm(pair.TrainJob) {
			continue
		}
		differ, nearest := math.MaxInt, oracle.Outcome{}
		for try := 0; try < 24 && differ > 0; try++ { // plugins run in a random order
			outcome, err := server.Upstream.Render(pair.TrainJob, pair.Runtime)
			if err != nil {
				t.Fatal(err)
			}
			if n := differing(t, server.Upstream, pair, outcome); n < differ || try == 0 {
				differ, nearest = n, outcome
			}
		}
		row.Add(differ, func(k int) int { return differing(t, turned[k], pair, nearest) })
	}
	lines, wrong := row.Report()
	for _, line := range lines {
		t.Log(line)
	}
	for _, line := range wrong {
		t.Error(line)
	}
}

// under returns the same code with the data of another release.
func under(u *upstream.Upstream, r release.Release) *upstream.Upstream {
	other := *u
	other.Release, other.API = &r, manifest.NewAPI(&r, nil)
	return &other
}

// differing returns the number of values in which the objects that trainweld makes with the data of
// a release differ from an outcome. It is math.MaxInt if only one of the two makes any.
func differing(t *testing.T, with *upstream.Upstream, pair *fuzz.Documents,
	want oracle.Outcome) int {
	t.Helper()
	got, err := upstream.Trainweld(with, pair.TrainJob, pair.Runtime)
	if err == nil && want.Failed != "" && len(got.Objects) == 0 && len(got.Rejected) > 0 {
		return 0
	}
	if err != nil || want.Failed != "" || len(got.Objects) == 0 {
		return math.MaxInt
	}
	kinds, _ := upstream.Kinds(pair.Runtime)
	n, err := upstream.Differing(want.Objects, got.Objects, kinds)
	if err != nil {
		return math.MaxInt
	}
	return n
}
