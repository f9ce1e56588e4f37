// Package blameview shows the layers that set the fields of objects: line by line, as histories,
// and as JSON.
//
// Its first file to read is rows.go.
package blameview

import (
	"bufio"
	"fmt"
	"iter"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Options controls the output.
type Options struct {
	Field      string // a path as in a manifest; "" for all fields
	Format     string // text, json, html or wide
	Color      option.Color
	ShowOrigin bool
	ShowValues bool
}

// Formats returns the names of the formats. The first one is for terminals.
func Formats() []string { return []string{"text", "json", "html", "wide"} }

// Write writes the selected fields to standard output.
func Write(p *host.Program, opts Options, selected []Selection) error {
	if opts.Format == "html" {
		return writeBlamePage(p.Stdout, p.Version(), opts, selected)
	}
	managed := len(selected) > 0 && selected[0].Entries != nil
	if opts.Format == "json" && managed {
		return report.EncodeReport(p.Stdout, newOwnersReport(selected))
	}
	if opts.Format == "json" {
		return writeBlameJSON(p.Stdout, selected, opts.ShowValues)
	}
	t := blameText{w: bufio.NewWriter(p.Stdout), screen: opts.Color.Screen(p, p.Stdout), opts: opts}
	if opts.Format == "wide" {
		t.wide(selected)
		return t.w.Flush()
	}
	for i, s := range selected {
		if i > 0 {
			fmt.Fprintln(t.w)
		}
		switch {
		case managed && opts.Field == "":
			t.owners(s)
		case managed:
			t.ownersOf(s)
		case opts.Field == "":
			t.object(s)
		default:
			t.history(s)
		}
	}
	return t.w.Flush()
}

// each yields the selected fields, or all.
func (s Selection) each() iter.Seq[*blame.Field] {
	return func(yield func(*blame.Field) bool) {
		if s.Fields == nil && s.Unset == nil {
			s.Object.Fields()(yield)
			return
		}
		for _, f := range s.Fields {
			for field := range f.All() {
				if !yield(field) {
					return
				}
			}
		}
	}
}

// blameText writes for people.
type blameText struct {
	w      *bufio.Writer
	screen host.Screen
	opts   Options
	colors map[merge.Owner]string
}

// The marks of lines.
const (
	quietMark     = "·"
	disputedMark  = "!"
	overridesMark = "~"
	agreeMark     = " +"
)

// The ANSI escapes of owners, in the order in which they appear; the runtime is dim.
var ownerColors = []string{"36", "33", "35", "32", "34", "96", "93", "95", "92", "94"}

const (
	dim   = "2"
	alarm = "1;31"
)

// layerName returns a layer for a column: a manager by its bare name.
func layerName(layer merge.Owner) string {
	if name, ok := layer.Manager(); ok {
		return report.Line(name)
	}
	return string(layer)
}

// color assigns a color to a layer on first use.
func (t *blameText) color(layer merge.Owner) {
	if layer != "" && t.colors[layer] == "" {
		t.colors[layer] = ownerColors[(len(t.colors)-1)%len(ownerColors)]
	}
}

func (t *blameText) paint(color, text string) string {
	return host.Painter(t.screen.Color && color != "").Paint(color, text)
}

// painter returns a function that paints text in the color of a layer.
func (t *blameText) painter(layer merge.Owner) func(string) string {
	return func(text string) string { return t.paint(t.colors[layer], text) }
}

// history writes the claims of all layers on the selected fields.
func (t *blameText) history(s Selection) {
	fmt.Fprintln(t.w, t.paint(host.Bold, s.title()))
	if s.Unset != nil {
		fmt.Fprintf(t.w, "%s\n  nobody sets it; it could be set by:\n",
			report.Printable(s.Unset.Path.String()))
		for _, who := range s.Unset.Setters {
			fmt.Fprintf(t.w, "  - %s\n", report.Printable(who))
		}
		return
	}
	t.colors = map[merge.Owner]string{runtimepatch.RuntimeLayer: dim}
	for field := range s.each() {
		text := report.Printable(field.Path.String())
		if field.Disputed {
			text += "   " + t.paint(alarm, "managers disagree")
		}
		fmt.Fprintln(t.w, text)
		t.claims(s.Blamed, field)
	}
}

// claims returns the claims on a field with their values, and tells why one of several wins.
func (o Options) claims(b Blamed, f *blame.Field) []page.ClaimRow {
	all := make([]page.ClaimRow, len(f.Claims))
	for i, c := range f.Claims {
		all[i] = page.ClaimRow{
			Layer: string(c.Owner), Value: runtimepatch.FormatClaim(f.Path, c, o.ShowValues),
			Place: printable.Position(c.Position)}
		if from, ok := b.Copied[c.Position]; ok {
			all[i].Place += " from " + from.Kind + " " + from.Name + " " + from.Field + " at " +
				printable.Position(from.At)
		}
		if c.Value == nil {
			all[i].Value = "emptied"
		}
		if i == f.InForce() && len(f.Claims) > 1 {
			all[i].Mark = "wins"
			if f.IsPresence() && c.Value != nil {
				all[i].Mark = "brought it"
			}
		}
	}
	return all
}

// claims writes a table of the claims on a field.
func (t *blameText) claims(b Blamed, f *blame.Field) {
	claims := t.opts.claims(b, f)
	rows := make([][]string, len(claims))
	var widths []int
	for i, c := range claims {
		rows[i] = []string{report.Printable(c.Layer), report.Printable(c.Value),
			report.Printable(c.Place)}
		widths = report.Measure(widths, rows[i])
		t.color(merge.Owner(c.Layer))
	}
	report.Fit(widths, 2, t.screen.Room()-len("    brought it"))
	for i, cells := range rows {
		line := "  " + report.Row(cells, widths, 2, t.painter(f.Claims[i].Owner)) +
			t.paint(host.Bold, claims[i].Mark)
		fmt.Fprintln(t.w, strings.TrimRight(line, " "))
	}
}

// Copies are the sources of replacements, by the places of the fields that they set.
type Copies map[fieldpath.Position]origins.Copied

// Blamed is an object with the layers that set its fields.
type Blamed struct {
	ID     fieldpath.Object
	Object *blame.Object
	Build  string   // the directory whose build holds the TrainJob, or ""
	Way    *Diagram // nil for objects that come of no TrainJob
	Copied Copies   // of an object of a build
	Live   string   // the file of the states in a cluster, or ""
	IsLive bool     // the file holds the object
	// Document and Entries describe an object with managed fields. They are nil for objects
	// rendered from a TrainJob.
	Document *manifest.Document
	Entries  []Entry
}

// IsBuilt reports whether the object is an output of a build, and not what becomes of one.
func (b Blamed) IsBuilt() bool { return b.Build != "" && b.Way == nil && b.Entries == nil }

// title names the object in a report.
func (b Blamed) title() string {
	if b.Build == "" {
		return report.Printable(b.ID.String())
	}
	text := b.ID.String() + ", built from " + printable.Name(b.Build)
	switch {
	case b.IsLive:
		text += ", as it is in " + printable.Name(b.Live)
	case b.Live != "":
		text += ", not in " + printable.Name(b.Live)
	}
	return report.Printable(text)
}

// Selection is an object with its selected fields.
type Selection struct {
	Blamed
	Fields []*blame.Field // nil if no field was selected
	Unset  *blame.UnsetField
}
