package fuzz

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/render/release"
)

// Row judges what is known of a release by what its own code answers, a switch at a time. A switch
// is confirmed by an answer that only its own position gives and not the one in the release before.
// It is wrong by an answer that only another position gives, of any release.
type Row struct {
	// Turned are the release with one switch each in another position: first the switches that turn
	// in the release, in the position before, then each in every other position.
	Turned []release.Release

	of, before release.Release
	switches   []judgedSwitch // of Turned
	turning    int            // the number of the first ones
	answers    int
}

type judgedSwitch struct {
	release.Switch
	as               string // the release that has the other position
	confirmed, wrong int
}

// NewRow returns the row of a release that has another one before it.
func NewRow(r *release.Release) *Row {
	w := &Row{of: *r, before: release.Known()[r.Index()-1]}
	w.turn(&w.before)
	w.turning = len(w.Turned)
	for _, other := range slices.Backward(release.Known()) {
		w.turn(&other)
	}
	return w
}

// turn adds the release with one switch each in the position of another release, unless that is in
// Turned already.
func (w *Row) turn(as *release.Release) {
	for _, s := range release.Switches() {
		now := w.of
		if s.Set(&now, as) && !slices.ContainsFunc(w.Turned, func(r release.Release) bool {
			return reflect.DeepEqual(r, now)
		}) {
			w.Turned = append(w.Turned, now)
			w.switches = append(w.switches, judgedSwitch{Switch: s, as: as.Name})
		}
	}
}

// Add counts an answer: whether the release gives it, and whether the one of an index of Turned
// does.
func (w *Row) Add(is bool, was func(k int) bool) {
	w.answers++
	asked := len(w.switches)
	if is {
		asked = w.turning // no other position is then better
	}
	for k := range asked {
		switch was := was(k); {
		case is && !was:
			w.switches[k].confirmed++
		case was && !is:
			w.switches[k].wrong++
		}
	}
}

// Report returns a line for each switch that turns in the release: wrong, confirmed with the mark
// that can go, or not shown. Lines follow for those that are wrong though they do not turn. The
// last line names what the confirmed switches do not turn on the way from the release before. The
// second result has the lines of the wrong switches alone.
func (w *Row) Report() (lines, wrong []string) {
	row := w.before
	for k, s := range w.switches {
		verdict := "not shown"
		switch mark := release.MarkOf(w.of.Name, s.ID); {
		case s.wrong > 0:
			verdict = fmt.Sprintf("wrong by %d answers, which the position of Trainer %s gives; "+
				"right by %d", s.wrong, s.as, s.confirmed)
			wrong = append(wrong, fmt.Sprintf("%s of Trainer %s: %s", s.ID, w.of.Name, verdict))
		case k >= w.turning:
			continue
		case s.confirmed > 0:
			verdict = fmt.Sprintf("confirmed by %d answers", s.confirmed)
			if mark != "" {
				verdict += fmt.Sprintf(": its mark [%s] can go", mark)
			}
			s.Set(&row, &w.of)
		}
		lines = append(lines, fmt.Sprintf("%-20s %s", s.ID, verdict))
	}
	var missing []string
	for _, s := range w.switches[:w.turning] {
		if s.Set(&row, &w.of) {
			missing = append(missing, s.ID)
		}
	}
	return append(lines, fmt.Sprintf(
		"by %d answers, the confirmed switches turn Trainer %s into %s but for: %s", w.answers,
		w.before.Name, w.of.Name, strings.Join(missing, ", "))), wrong
}
