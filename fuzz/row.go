package fuzz

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/render/release"
)

// Row judges what is known of a release by what its own code answers, a switch at a time. A switch
// is confirmed by an answer that differs more with the switch in the position before, and wrong by
// one that differs less with it in another position, of any release.
type Row struct {
	// Turned are the release with one switch each in another position: first the switches that
	// turn in the release, in the position before, then each in every other position.
	Turned []release.Release

	of, before           release.Release
	switches             []judgedSwitch // of Turned
	turning              int            // the number of the first ones
	answers, unexplained int
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

// Add counts an answer by the number of values in which the release differs from it, and that for
// an index of Turned.
func (w *Row) Add(differ int, with func(k int) int) {
	w.answers++
	asked, explained := len(w.switches), differ == 0
	if explained {
		asked = w.turning // no other position is nearer
	}
	for k := range asked {
		switch n := with(k); {
		case n > differ:
			w.switches[k].confirmed++
		case n < differ:
			w.switches[k].wrong++
			explained = true
		}
	}
	if !explained {
		w.unexplained++
	}
}

// Differing returns the number of values, decoded from JSON, in which two objects differ.
func Differing(a, b any) (n int) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			for name := range a {
				n += Differing(a[name], b[name])
			}
			for name := range b {
				if _, has := a[name]; !has {
					n += Differing(b[name], nil)
				}
			}
			return n
		}
		for name := range a {
			n += Differing(a[name], nil)
		}
		return max(n, 1)
	case []any:
		other, _ := b.([]any)
		for i := range max(len(a), len(other)) {
			switch {
			case i >= len(a):
				n += Differing(other[i], nil)
			case i >= len(other):
				n += Differing(a[i], nil)
			default:
				n += Differing(a[i], other[i])
			}
		}
		if other == nil {
			n = max(n, 1)
		}
		return n
	}
	if reflect.DeepEqual(a, b) {
		return 0
	}
	return 1
}

// Report returns a line for each switch that turns in the release: wrong, confirmed with the mark
// that can go, or not shown. Lines follow for those that are wrong though they do not turn, and for
// answers that no switch explains. The last line names what the confirmed switches do not turn on
// the way from the release before. The second result has the lines of the wrong switches alone.
func (w *Row) Report() (lines, wrong []string) {
	row := w.before
	for k, s := range w.switches {
		verdict := "not shown"
		switch mark := release.MarkOf(w.of.Name, s.ID); {
		case s.wrong > 0:
			verdict = fmt.Sprintf("wrong by %d answers, to which the position of Trainer %s is "+
				"nearer; right by %d", s.wrong, s.as, s.confirmed)
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
	if w.unexplained > 0 {
		line := fmt.Sprintf("%d of %d answers differ from Trainer %s, and no switch explains them",
			w.unexplained, w.answers, w.of.Name)
		lines, wrong = append(lines, line), append(wrong, line)
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
