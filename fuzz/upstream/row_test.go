package upstream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// TestRow asks a release's own code about each switch that turns in it. For each pair it renders
// with the release's row, and with each switch back in the position before. A switch is confirmed
// if only its own position gives the code's objects, and wrong if only the one before does. The
// list says so, and which marks can go. Rules of webhooks do not show in objects: TestVerdicts has
// them.
//
// The row that the confirmed switches give, from the release before, must be the one that stands,
// but for what no pair shows.
func TestRow(t *testing.T) {
	server := newAPIServer(t)
	r := server.Release
	if r.Index() == 0 {
		t.Skip("the oldest release has none before it")
	}
	before := release.Known()[r.Index()-1]
	var turned []turnedSwitch
	for _, s := range release.Switches() {
		if now := *r; s.Set(&now, &before) {
			turned = append(turned, turnedSwitch{Switch: s, with: under(server.Upstream, now)})
		}
	}
	n, ok := testenv.Number(t, "TRAINWELD_PAIRS")
	if !ok {
		n = 300
	}
	p := pairs{server: server, codes: map[string]bool{}, rejected: map[string]int{}}
	compared, series := 0, testenv.Seed(t)
	for i := range n {
		pair := p.generate(t, i/2+i%2*series)
		if server.rejectsForm(pair.Runtime) || server.rejectsForm(pair.TrainJob) {
			continue
		}
		compared++
		outcomes := outcomesOf(t, server.Upstream, pair, 1)
		is := agrees(t, server.Upstream, pair, outcomes)
		if !is {
			outcomes = outcomesOf(t, server.Upstream, pair, 24) // plugins run in a random order
			is = agrees(t, server.Upstream, pair, outcomes)
		}
		for k := range turned {
			switch was := agrees(t, turned[k].with, pair, outcomes); {
			case is && !was:
				turned[k].confirmed++
			case was && !is:
				turned[k].wrong++
			}
		}
	}
	row := before
	for _, s := range turned {
		mark := release.MarkOf(r.Name, s.ID)
		verdict := "not shown"
		switch {
		case s.wrong > 0:
			verdict = fmt.Sprintf("wrong in %d pairs, right in %d", s.wrong, s.confirmed)
			t.Errorf("%s of Trainer %s: %s", s.ID, r.Name, verdict)
		case s.confirmed > 0:
			verdict = fmt.Sprintf("confirmed by %d pairs", s.confirmed)
			if mark != "" {
				verdict += fmt.Sprintf(": its mark [%s] can go", mark)
			}
			s.Set(&row, r)
		}
		t.Logf("%-20s %s", s.ID, verdict)
	}
	var missing []string
	for _, s := range release.Switches() {
		if s.Set(&row, r) {
			missing = append(missing, s.ID)
		}
	}
	t.Logf("of %d pairs, %d compared. The confirmed switches turn Trainer %s into %s but for: %s",
		n, compared, before.Name, r.Name, strings.Join(missing, ", "))
}

type turnedSwitch struct {
	release.Switch
	with             *upstream.Upstream // a release with the switch in the position before
	confirmed, wrong int
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
