package upstream_test

import (
	"slices"
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
		outcomes := outcomesOf(t, server.Upstream, pair, 1)
		is := agrees(t, server.Upstream, pair, outcomes)
		if !is {
			outcomes = outcomesOf(t, server.Upstream, pair, 24) // plugins run in a random order
			is = agrees(t, server.Upstream, pair, outcomes)
		}
		row.Add(is, func(k int) bool { return agrees(t, turned[k], pair, outcomes) })
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

// outcomesOf asks the release's own code several times.
func outcomesOf(t *testing.T, u *upstream.Upstream, pair *fuzz.Documents,
	times int) (all []oracle.Outcome) {
	t.Helper()
	for range times {
		outcome, err := u.Render(pair.TrainJob, pair.Runtime)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, outcome)
	}
	return all
}

// agrees reports whether trainweld makes the objects of one of the outcomes, with the data of a
// release.
func agrees(t *testing.T, with *upstream.Upstream, pair *fuzz.Documents,
	outcomes []oracle.Outcome) bool {
	t.Helper()
	got, err := upstream.Trainweld(with, pair.TrainJob, pair.Runtime)
	if err != nil {
		return false
	}
	kinds, _ := upstream.Kinds(pair.Runtime)
	return slices.ContainsFunc(outcomes, func(want oracle.Outcome) bool {
		if want.Failed != "" || len(got.Objects) == 0 {
			return want.Failed != "" && len(got.Rejected) > 0
		}
		diff, err := upstream.Diff(want.Objects, got.Objects, kinds)
		return err == nil && diff == ""
	})
}
