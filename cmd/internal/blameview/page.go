package blameview

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// mostOpen is the number of objects that a page shows open. More of them begin as a table.
const mostOpen = 2

// blamePage writes objects as a page. Objects with disagreements come first.
type blamePage struct {
	page.Body
	opts   Options
	layers page.Layers
	places bool
}

func writeBlamePage(w io.Writer, version string, opts Options, selected []Selection) error {
	b := blamePage{opts: opts}
	objects := make([]pageObject, len(selected))
	disputed := 0
	for i, s := range selected {
		objects[i] = newPageObject(s)
		disputed += len(objects[i].disputed)
	}
	slices.SortStableFunc(objects, func(a, b pageObject) int {
		return min(len(b.disputed), 1) - min(len(a.disputed), 1)
	})
	for i := range objects {
		objects[i].id = "o" + strconv.Itoa(i+1)
	}
	if len(objects) > mostOpen {
		b.overview(objects)
	}
	for i := range objects {
		b.object(&objects[i], len(objects) <= mostOpen)
	}
	title := "Who set each field"
	if len(objects) == 1 {
		title += " of " + objects[0].title()
	}
	d := page.Document{Title: title, Lead: []string{lead(objects, disputed)}, Version: version,
		Layers: &b.layers, HasPlaces: b.places}
	return page.Write(w, d, &b.Body)
}

// lead counts the objects and the fields on which managers disagree, or those of builds that have
// replaced a value.
func lead(objects []pageObject, disputed int) string {
	text := "no manager disagrees with another one"
	switch {
	case disputed > 0:
		text = "managers disagree on " + report.Count(disputed, "field")
	case !slices.ContainsFunc(objects, func(o pageObject) bool { return !o.IsBuilt() }):
		n := 0
		for _, o := range objects {
			n += len(slices.DeleteFunc(slices.Clone(o.history), func(f *blame.Field) bool {
				return !f.Overrides()
			}))
		}
		text = report.Count(n, "value") + " replaced"
	}
	if len(objects) == 1 {
		return text
	}
	return report.Count(len(objects), "object") + ": " + text
}

// pageObject is an object with its fields that a page shows.
type pageObject struct {
	Selection
	id       string
	disputed []*blame.Field
	history  []*blame.Field       // other fields with several claims
	number   map[*blame.Field]int // of both
	layers   []lineCount          // of the lines
	files    map[merge.Owner]string
	file     string // of most layers
}

func newPageObject(s Selection) pageObject {
	o := pageObject{Selection: s, number: map[*blame.Field]int{}, files: map[merge.Owner]string{}}
	for f := range s.each() {
		switch {
		case f.Disputed:
			o.disputed = append(o.disputed, f)
		case len(f.Claims) > 1 || s.Fields != nil:
			o.history = append(o.history, f)
		default:
			continue
		}
		o.number[f] = len(o.number)
	}
	type origin struct {
		layer merge.Owner
		file  string
	}
	count := map[origin]int{}
	for _, line := range s.Object.Lines() {
		r := row{layer: line.Layer}
		if line.Field != nil && line.Field.Disputed && !line.Continued {
			r.mark = disputedMark
		}
		o.layers = countLine(o.layers, r)
		at := line.Field.InForce()
		if at < 0 || line.Continued || line.Field.Claims[at].Position.File == "" {
			continue
		}
		from := origin{line.Layer, line.Field.Claims[at].Position.File}
		if count[from]++; count[from] > count[origin{line.Layer, o.files[line.Layer]}] {
			o.files[line.Layer] = from.file
		}
	}
	slices.SortStableFunc(o.layers, byRank)
	uses := map[string]int{}
	for _, of := range o.layers {
		if file := o.files[of.layer]; file != "" {
			if uses[file]++; uses[file] > uses[o.file] {
				o.file = file
			}
		}
	}
	return o
}

// overview appends a table of the objects with the managers of their lines.
func (b *blamePage) overview(objects []pageObject) {
	b.Open("nav", page.Attr{Name: "aria-label", Value: "objects"})
	headers := []string{"object"}
	isDisputed := slices.ContainsFunc(objects, func(o pageObject) bool { return o.disputed != nil })
	if isDisputed {
		headers = append(headers, "disputed")
	}
	if slices.ContainsFunc(objects, func(o pageObject) bool { return !o.IsBuilt() }) {
		headers = append(headers, "managers")
	}
	b.Table("The objects of this page", headers...)
	for i := range objects {
		o := &objects[i]
		b.Void("tr", page.Class("item"))
		b.Void("th")
		b.Add("a", o.title(), page.Attr{Name: "href", Value: "#" + o.id})
		if isDisputed {
			disputed := ""
			if n := len(o.disputed); n > 0 {
				disputed = strconv.Itoa(n)
			}
			b.Cell("td", disputed, page.Class("num error"))
		}
		if headers[len(headers)-1] == "managers" {
			b.Void("td")
		}
		for _, of := range o.layers {
			if name, isManager := of.layer.Manager(); isManager {
				b.Add("span", name, page.Class("by "+b.layers.Class(string(of.layer))))
			}
		}
		b.Break()
	}
	b.Close()
	b.Close()
	b.Close()
}

// object appends an object: disagreements, the way of its patches, its lines, and the history of
// its fields.
func (b *blamePage) object(o *pageObject, open bool) {
	b.Open("details", page.Class("item object"), page.ID(o.id),
		attr("data-file", printable.Name(o.file)), page.If(open, page.Attr{Name: "open"}))
	b.Open("summary")
	b.Add("h2", o.title())
	if n := len(o.disputed); n > 0 {
		b.Add("span", fmt.Sprintf("%d disputed", n), page.Class("error"))
	}
	b.Close()
	switch {
	case o.Unset != nil:
		b.unset(o)
	case o.Entries != nil:
		b.owners(o)
	case o.Fields != nil:
		for _, f := range slices.Concat(o.disputed, o.history) {
			b.field(o, f)
		}
	default:
		b.allParts(o)
	}
	b.Close()
}

// allParts appends all parts of an object.
func (b *blamePage) allParts(o *pageObject) {
	b.Open("div", page.Class("columns"))
	b.Open("div", page.Class("side"))
	b.diagram(o)
	b.Close()
	b.Open("div")
	if o.disputed != nil {
		b.Open("section", page.Class("first"))
		b.Add("h3", "Managers disagree")
		for _, f := range o.disputed {
			b.field(o, f)
		}
		b.Close()
	}
	b.lines(o)
	if len(o.history) > 0 {
		b.Open("details", page.Class("history"))
		b.Open("summary")
		b.Text("History of " + report.Count(len(o.history), "field"))
		b.Close()
		for _, f := range o.history {
			b.field(o, f)
		}
		b.Close()
	}
	b.Close()
	b.Close()
}

// field appends the claims on a field. Its line refers to them.
func (b *blamePage) field(o *pageObject, f *blame.Field) {
	b.Claims(&b.layers, f.Path.String(), b.opts.claims(o.Blamed, f),
		page.ID(fmt.Sprintf("%slh%d", o.id, o.number[f])))
}

// unset appends the layers that could set a field.
func (b *blamePage) unset(o *pageObject) {
	b.Open("p")
	b.Add("code", o.Unset.Path.String())
	b.Text(": nobody sets it; it could be set by:")
	b.Close()
	b.List(o.Unset.Setters)
}

// owners appends the owners of fields from metadata.managedFields.
func (b *blamePage) owners(o *pageObject) {
	b.Table("The owners of the fields", "field", "owner", "time", "place")
	for f := range o.each() {
		for _, c := range f.Claims {
			e := o.entryOf(c)
			b.Void("tr", page.Class("item"))
			b.Void("th")
			b.Add("code", f.Path.String())
			b.Void("td")
			b.Add("span", e.Label(), page.Class("by "+b.layers.Class(e.Label())))
			b.Cell("td", e.Time)
			b.Cell("td", printable.Position(e.Position), page.Class("place"))
		}
	}
	b.Close()
	b.Close()
}

// lines appends the YAML of an object. Each run of lines starts with the name of its layer.
func (b *blamePage) lines(o *pageObject) {
	lines := o.Object.Lines()
	b.Add("p", "The name beside a line is who sets it. +1: one more sets the same value. ~: the "+
		"value replaces another one. disputed: others set another value.", page.Class("legend"))
	b.Open("ol", page.Class("own"), page.ID(o.id+"l"),
		page.Attr{Name: "aria-label", Value: o.title() + ", by who set each line"})
	var before merge.Owner
	var losers []string
	for i, line := range lines {
		name := ""
		if line.Layer != before {
			name = layerName(line.Layer)
		}
		before = line.Layer
		b.line(o, line, name)
		if f := line.Field; f != nil && f.Disputed && !line.Continued {
			losers = overridden{values: b.opts.ShowValues}.on(line)
		}
		if i+1 == len(lines) || !lines[i+1].Continued {
			for _, text := range losers {
				b.Cell("li", text, page.Class("loser"))
			}
			losers = nil
		}
	}
	b.Close()
}

// line appends a line. The name is its layer's name, or "" for the layer of the line before.
func (b *blamePage) line(o *pageObject, line blame.Line, name string) {
	f, class, mark := line.Field, b.layers.Class(string(line.Layer)), ""
	var path, place, history string
	if f != nil {
		path = f.Path.String()
	}
	if f != nil && !line.Continued {
		if at := f.InForce(); at >= 0 {
			position := f.Claims[at].Position
			position.Column = 0
			if position.File == o.files[line.Layer] {
				position.File = ""
			}
			place = strings.TrimPrefix(printable.Position(position), ":")
			if n := f.Agree(); n > 0 && line.Layer != runtimepatch.RuntimeLayer {
				mark += " +" + strconv.Itoa(n)
			}
			if f.Overrides() && !f.Disputed {
				mark += " ~"
			}
		}
		if i, ok := o.number[f]; ok {
			history = strconv.Itoa(i)
		}
	}
	isDisputed := f != nil && f.Disputed && !line.Continued
	if isDisputed {
		class += " disputed"
	}
	class += page.Indent(line.Text)
	b.places = b.places || place != ""
	b.Void("li", page.If(class != "", page.Class(strings.TrimSpace(class))), attr("data-f", path),
		attr("data-p", place), attr("data-h", history))
	if text := strings.TrimSpace(name + mark); text != "" || isDisputed {
		b.Add("b", text) // the style adds the word disputed
	}
	b.Text(line.Text)
	b.Break()
}

// attr returns an attribute, or none without a value.
func attr(name, value string) page.Attr {
	return page.If(value != "", page.Attr{Name: name, Value: value})
}
