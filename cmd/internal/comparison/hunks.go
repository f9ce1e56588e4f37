package comparison

import (
	"fmt"
	"slices"
	"strings"

	linediff "github.com/rogpeppe/go-internal/diff"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// mostFields is the number of changes of existing objects that a report lists for a TrainJob.
const mostFields = 30

// hunkLine is a line of a unified diff. Its mark is '-', '+', ' ', '@' for the head of a hunk, 'a'
// or 'b' for the head of a version, '!' for an error, or '#' for an effect.
type hunkLine struct {
	mark byte
	text string
	path fieldpath.Path
	note string // a comment at its end
	// layer is the layer that sets or set the line, if there is one.
	layer merge.Owner
}

// String returns the line with escapes for characters that a terminal interprets, except tabs.
func (l hunkLine) String() string {
	text := report.PrintableTabs(l.text)
	if l.note != "" {
		text += "  # " + report.Printable(l.note)
	}
	if l.mark == '@' || l.mark == 'a' || l.mark == 'b' {
		return text
	}
	return report.Line(string(l.mark) + text)
}

// lines returns the effects on a TrainJob that exists, the errors of a rejection, and the unified
// diffs of its objects, those that change alike together.
func (c *Comparison) lines(j *JobDiff) ([]hunkLine, error) {
	var lines []hunkLine
	add := func(mark byte, text string) {
		lines = append(lines, hunkLine{mark: mark, text: " " + text})
	}
	for _, text := range j.Existing {
		add('#', text)
	}
	for i, f := range j.Fields {
		if i == mostFields && !c.All {
			add('#', "and "+report.Count(len(j.Fields)-i, "more change")+
				" of the objects that exist")
			break
		}
		add('#', f.String())
	}
	for _, r := range j.RejectedOld {
		add('-', r.String())
	}
	last := ""
	for _, r := range j.Rejected {
		add('!', r.String())
		if by := r.causes; len(by) > 0 && by[0].String() != last {
			last = by[0].String()
			lines[len(lines)-1].note = last
		}
	}
	shown := map[string]bool{}
	for _, o := range j.Objects {
		if shown[o.alike] {
			continue
		}
		shown[o.alike] = true
		name := objectNames(j.Namespace, slices.DeleteFunc(slices.Clone(j.Objects),
			func(other *ObjectDiff) bool { return other.alike != o.alike }))
		old, new := c.old.Name+": "+name, c.new.Name+": "+name
		switch o.State {
		case stateCreated:
			old = "/dev/null"
		case stateRemoved:
			new = "/dev/null"
		}
		lines = append(lines, hunkLine{mark: 'a', text: "--- " + old},
			hunkLine{mark: 'b', text: "+++ " + new})
		hunks, err := c.hunks(o)
		if err != nil {
			return nil, err
		}
		lines = append(lines, hunks...)
	}
	return lines, nil
}

// objectNames names objects.
func objectNames(namespace string, objects []*ObjectDiff) string {
	const most = 5
	var list []string
	for i, o := range objects[:min(most, len(objects))] {
		name := fieldpath.Object{Namespace: namespace, Name: o.Name}.String()
		if i == 0 || objects[i-1].Kind != o.Kind {
			name = o.Kind + " " + name
		}
		if o.key.Number > 0 {
			name += fmt.Sprintf(" (number %d)", o.key.Number+1)
		}
		list = append(list, name)
	}
	if more := len(objects) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list, ", "), more)
	}
	return strings.Join(list, ", ")
}

// hunks returns the differing lines of an object with their causes and context. Lines are equal if
// their fields are as well, so items of lists match by their merge keys.
func (c *Comparison) hunks(o *ObjectDiff) ([]hunkLine, error) {
	pair, err := c.read(o)
	if err != nil {
		return nil, err
	}
	old, new, err := pair.Lines()
	if err != nil {
		return nil, err
	}
	notes, out := annotator{object: o}, []hunkLine(nil)
	add := func(mark byte, l diff.Line) {
		out = append(out, hunkLine{mark: mark, text: l.Text, path: l.Path})
		notes.add(&out[len(out)-1])
	}
	if o.State != stateChanged {
		for _, l := range old {
			add('-', l)
		}
		for _, l := range new {
			add('+', l)
		}
		return out, nil
	}
	numbers, isMoved := map[string]int{}, o.moves() // of different lines
	numbered := func(version string, lines []diff.Line) []byte {
		var b []byte
		for _, l := range lines {
			key := l.Path.String() + "\x00" + l.Text
			if isMoved(l.Path) {
				key = version + key // its other place has no line in common
			}
			if _, known := numbers[key]; !known {
				numbers[key] = len(numbers)
			}
			b = fmt.Appendln(b, numbers[key])
		}
		return b
	}
	var head, i, j, ignored int
	for n, line := range strings.Split(
		string(linediff.Diff("", numbered("old", old), "", numbered("new", new))), "\n") {
		switch {
		case n < 3 || line == "":
		case line[0] == '@':
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,", &i, &ignored, &j); err != nil {
				return nil, err
			}
			i, j, head = i-1, j-1, len(out)
			out = append(out, hunkLine{mark: '@'})
		case line[0] == '-':
			add('-', old[i])
			i++
		case line[0] == '+':
			add('+', new[j])
			j++
		default:
			add(' ', new[j])
			i, j = i+1, j+1
		}
		if last := len(out) - 1; last > head && out[head].text == "" && out[last].mark != ' ' {
			out[head].text = fmt.Sprintf("@@ %s @@", hunkPath(out[last].path))
		}
	}
	return out, nil
}

// moves returns a function that reports whether a path is that of an item with another place in its
// list, or within one. The items are those of all reports.
func (o *ObjectDiff) moves() func(fieldpath.Path) bool {
	items := map[string]bool{}
	for _, c := range o.Changes {
		if c.Kind == diff.Moved {
			items[c.Path.String()] = true
		}
	}
	return func(path fieldpath.Path) bool {
		for n := 1; len(items) > 0 && n <= len(path); n++ {
			if items[fieldpath.Path(path[:n]).String()] {
				return true
			}
		}
		return false
	}
}

// hunkPath returns the path in the head of a hunk: the parent of the first differing line.
func hunkPath(path fieldpath.Path) string {
	if len(path) < 2 {
		return "."
	}
	return fieldpath.Path(path[:len(path)-1]).String()
}

// annotator adds notes to successive lines of an object. Of the lines with the same mark and the
// same note, only the first gets it.
type annotator struct {
	object *ObjectDiff

	mark   byte
	by     string // the cause of the last line
	isKept bool
}

// add adds the note of a line, and sets its layer.
func (a *annotator) add(l *hunkLine) {
	if l.mark != a.mark {
		a.mark, a.by, a.isKept = l.mark, "", false
	}
	if l.mark == ' ' {
		return
	}
	var notes []string
	isOld := l.mark == '-'
	if cause := a.cause(l, isOld); cause != "" {
		notes = append(notes, cause)
	}
	wasKept := a.isKept
	if a.isKept = a.object.keeps(l.path); a.isKept && !wasKept {
		note := "only in a new TrainJob"
		if isOld {
			note = "kept: the job keeps the runtime with which it began"
		}
		notes = append(notes, note)
	}
	l.note = strings.Join(notes, "; ")
}

// cause returns the cause of a line, or "" if it is that of the last line.
func (a *annotator) cause(l *hunkLine, isOld bool) string {
	owners, after := a.object.after, a.object.after
	if isOld {
		owners = a.object.before
	}
	claim, ok := soleClaim(owners.Of(l.path), l.path)
	if !ok {
		a.by = ""
		return ""
	}
	l.layer = claim.Owner
	by := string(claim.Owner) + claim.Position.File
	if by == a.by {
		return ""
	}
	a.by = by
	text := setters([]merge.Claim{claim})[0].String()
	if isOld && a.object.State == stateChanged {
		if c, ok := soleClaim(after.Of(l.path), l.path); ok && leavesNothing(c) {
			text += ", emptied by " + setters([]merge.Claim{c})[0].String()
		}
	}
	return text
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
