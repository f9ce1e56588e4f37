package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// contextLines is the number of equal lines around a difference.
const contextLines = 3

// hunkLine is a line of a unified diff. Its mark is '-', '+', ' ', or '@' for the head of a hunk.
type hunkLine struct {
	mark byte
	text string
	path fieldpath.Path
	note string // a comment at its end
	// layer is the layer that sets or set the line, if there is one.
	layer merge.Owner
}

// hunks returns the differing lines of an object with their causes and context. The notes locate
// the same causes in the other objects.
func (c *Comparison) hunks(o *ObjectDiff, others []*ObjectDiff) ([]hunkLine, error) {
	lines, err := diff.Lines(o.Old, o.New, c.options(o))
	if err != nil {
		return nil, err
	}
	moves := map[string]diff.Change{}
	for _, change := range o.changes {
		if change.Kind == diff.Moved {
			moves[change.Path.String()] = change
		}
	}
	shown := make([]hunkLine, 0, len(lines))
	for _, l := range lines {
		if h, ok := asHunkLine(l, moves); ok {
			shown = append(shown, h)
		}
	}
	var out []hunkLine
	end := 0
	for i := 0; i < len(shown); i++ {
		if shown[i].mark == ' ' {
			continue
		}
		start := max(i-contextLines, end)
		if o.state == stateChanged && (start > end || end == 0) {
			out = append(
				out, hunkLine{mark: '@', text: fmt.Sprintf("@@ %s @@", hunkPath(shown[i].path))})
		}
		last := i
		for j := i; j < len(shown) && j <= last+2*contextLines; j++ {
			if shown[j].mark != ' ' {
				last = j
			}
		}
		end = min(last+1+contextLines, len(shown))
		out = append(out, shown[start:end]...)
		i = end - 1
	}
	notes := annotator{o: o, others: others}
	var keeps byte // the mark of the last line, if its change is kept
	for i := range out {
		out[i].note = strings.TrimPrefix(out[i].note+"; "+notes.of(&out[i]), "; ")
		switch mark := out[i].mark; {
		case mark != '-' && mark != '+' || !o.keeps(out[i].path):
			keeps = 0
		case mark != keeps:
			out[i].note = strings.TrimPrefix(out[i].note+"; "+keptNote(mark), "; ")
			keeps = mark
		}
		out[i].note = strings.TrimSuffix(out[i].note, "; ")
	}
	return out, nil
}

// keptNote returns the note on a line of a change that an update does not bring.
func keptNote(mark byte) string {
	if mark == '-' {
		return "kept: the job keeps the runtime with which it began"
	}
	return "only in a new TrainJob"
}

// asHunkLine converts a line. It reports false for a hidden line: of an item that moves away, only
// the first is shown.
func asHunkLine(l diff.Line, moves map[string]diff.Change) (hunkLine, bool) {
	h := hunkLine{mark: ' ', text: l.Text, path: l.Path}
	move, isMove := moves[l.Path.String()]
	switch l.Op {
	case diff.OldOnly, diff.Was:
		h.mark = '-'
	case diff.NewOnly:
		h.mark = '+'
	case diff.MovedAway:
		if !isMove || isInMoved(l.Path, moves) {
			return h, false
		}
		h.mark, h.note = '-', fmt.Sprintf("moves to place %d", move.To+1)
	case diff.MovedHere:
		if isMove {
			h.mark, h.note = '+', fmt.Sprintf("was in place %d", move.From+1)
		}
	}
	return h, true
}

// isInMoved reports whether a path leads into a moved item.
func isInMoved(path fieldpath.Path, moves map[string]diff.Change) bool {
	for n := range path {
		if _, moved := moves[path[:n].String()]; moved {
			return true
		}
	}
	return false
}

// hunkPath returns the path in the head of a hunk: the parent of the first differing line.
func hunkPath(path fieldpath.Path) string {
	if len(path) < 2 {
		return "."
	}
	return fieldpath.Path(path[:len(path)-1]).String()
}

// annotator finds the causes of lines. Only the first of successive lines with the same cause gets
// a note.
type annotator struct {
	o      *ObjectDiff
	others []*ObjectDiff
	mark   byte
	last   string
}

// of returns the note of a line, and sets its layer.
func (a *annotator) of(l *hunkLine) string {
	if l.mark != a.mark {
		a.mark, a.last = l.mark, ""
	}
	if l.mark != '-' && l.mark != '+' {
		return ""
	}
	side := func(o *ObjectDiff) *diff.Owners {
		if l.mark == '-' {
			return o.before
		}
		return o.after
	}
	claim, ok := soleClaim(side(a.o).Of(l.path), l.path)
	if !ok {
		a.last = ""
		return ""
	}
	l.layer = claim.Owner
	if name := string(claim.Owner) + claim.Position.File; name == a.last {
		return ""
	} else {
		a.last = name
	}
	text := claimText(claim)
	var places []fieldpath.Position
	for _, other := range a.others {
		claims, path := other.claimsOn(l.path, l.mark == '-')
		if c, ok := soleClaim(claims, path); ok && c.Position != claim.Position &&
			!slices.Contains(places, c.Position) {
			places = append(places, c.Position)
		}
	}
	if len(places) > 0 {
		text += fmt.Sprintf(" and %s", report.Count(len(places), "more place"))
	}
	if l.mark == '-' && a.o.state == stateChanged {
		if c, ok := soleClaim(a.o.after.Of(l.path), l.path); ok && leavesNothing(c) &&
			a.o.after.Causes.Of(l.path) == nil {
			text += ", emptied by " + claimText(c)
		} else if ok && c.Value == nil {
			text += ", removed: " + claimText(c)
		}
	}
	return text
}

// claimsOn returns the claims on a line, and their path. Without owners, it returns the claims on
// the change that contains the line.
func (o *ObjectDiff) claimsOn(line fieldpath.Path, old bool) ([]merge.Claim, fieldpath.Path) {
	if of := o.after; !old && of != nil {
		return of.Of(line), line
	}
	if of := o.before; old && of != nil {
		return of.Of(line), line
	}
	var found diff.Change
	for _, c := range o.changes {
		if line.HasPrefix(c.Path) && len(c.Path) >= len(found.Path) {
			found = c
		}
	}
	if old {
		return found.Before, found.Path
	}
	return found.After, found.Path
}

// soleClaim returns the only claim on a line. For an item or an element it is the claim on its
// presence. For a struct that a null emptied it is the null.
func soleClaim(claims []merge.Claim, path fieldpath.Path) (merge.Claim, bool) {
	if len(claims) > 1 && len(path) > 0 {
		last := path[len(path)-1]
		_, _, isItem := last.Item()
		if _, isElement := last.Element(); isItem || isElement {
			claims = claims[:1]
		}
	}
	claimed := slices.DeleteFunc(slices.Clone(claims), func(c merge.Claim) bool {
		return c.Value == any(merge.Presence{})
	})
	if len(claimed) == 1 && claimed[0].Value == nil {
		claims = claimed
	}
	if len(claims) != 1 {
		return merge.Claim{}, false
	}
	return claims[0], true
}

// leavesNothing reports whether a claim removed a field, or left an empty object of it.
func leavesNothing(c merge.Claim) bool {
	object, ok := c.Value.(merge.Object)
	return c.Value == nil || ok && len(object) == 0
}

func claimText(c merge.Claim) string {
	return strings.TrimSpace(string(c.Owner) + " " + c.Position.String())
}
