package fuzz

import (
	"fmt"
	"strings"

	"github.com/trainweld/trainweld/render/release"
)

// Row judges what is known of a release by what its own code answers, a switch at a time. A switch
// is confirmed by an answer that only its own position gives, and wrong by one that only the
// position in the release before gives.
type Row struct {
	// Turned are the release with one of its switches each in the position before.
	Turned []release.Release

	of, before release.Release
	switches   []judgedSwitch // of Turned
	answers    int
}

type judgedSwitch struct {
	release.Switch
	confirmed, wrong int
}

// NewRow returns the row of a release that has another one before it.
func NewRow(r *release.Release) *Row {
	w := &Row{of: *r, before: release.Known()[r.Index()-1]}
	for _, s := range release.Switches() {
		if now := *r; s.Set(&now, &w.before) {
			w.Turned, w.switches = append(w.Turned, now), append(w.switches, judgedSwitch{Switch: s})
		}
	}
	return w
}

// Add counts an answer: whether the release gives it, and whether the one of an index of Turned
// does.
func (w *Row) Add(is bool, was func(k int) bool) {
	w.answers++
	for k := range w.switches {
		switch was := was(k); {
		case is && !was:
			w.switches[k].confirmed++
		case was && !is:
			w.switches[k].wrong++
		}
	}
}

// Report returns a line for each switch: wrong, confirmed with the mark that can go, or not shown.
// The last line names what the confirmed switches do not turn on the way from the release before.
// The second result has the lines of the wrong switches alone.
func (w *Row) Report() (lines, wrong []string) {
	row := w.before
	for _, s := range w.switches {
		verdict := "not shown"
		switch mark := release.MarkOf(w.of.Name, s.ID); {
		case s.wrong > 0:
			verdict = fmt.Sprintf("wrong by %d answers, right by %d", s.wrong, s.confirmed)
			wrong = append(wrong, fmt.Sprintf("%s of Trainer %s: %s", s.ID, w.of.Name, verdict))
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
	for _, s := range w.switches {
		if s.Set(&row, &w.of) {
			missing = append(missing, s.ID)
		}
	}
	return append(lines, fmt.Sprintf(
		"by %d answers, the confirmed switches turn Trainer %s into %s but for: %s", w.answers,
		w.before.Name, w.of.Name, strings.Join(missing, ", "))), wrong
}
