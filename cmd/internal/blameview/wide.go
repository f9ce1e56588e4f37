package blameview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/merge"
)

// share is what one layer set in an object with the values of one file.
type share struct {
	layer  string
	file   string
	fields int
}

// shares returns who set the fields of an object, the one with the most fields first.
func (s Selection) shares() []share {
	var all []share
	add := func(c merge.Claim) {
		made := share{layer: layerName(c.Owner), file: c.Position.File}
		if s.Entries != nil {
			made.layer = s.entryOf(c).Label()
		}
		i := slices.IndexFunc(all, func(o share) bool {
			return o.layer == made.layer && o.file == made.file
		})
		if i < 0 {
			i, all = len(all), append(all, made)
		}
		all[i].fields++
	}
	for field := range s.each() {
		for _, c := range s.holders(field) {
			add(c)
		}
	}
	slices.SortStableFunc(all, func(a, b share) int { return cmp.Compare(b.fields, a.fields) })
	return all
}

// holders returns the claims in force: all of a field with owners, and otherwise one.
func (s Selection) holders(f *blame.Field) []merge.Claim {
	if s.Entries != nil {
		return f.Claims
	}
	at := f.InForce()
	return f.Claims[at : at+1]
}

// wide writes a table of the objects. Each has a row for each layer and file that set its fields.
func (t *blameText) wide(selected []Selection) {
	if len(selected) == 0 {
		return
	}
	rows := [][]string{{"OBJECT", "", "FIELDS", "SET BY", "FILE"}}
	builds := func(s Selection) bool { return s.Build != selected[0].Build }
	if slices.ContainsFunc(selected, builds) {
		rows[0][1] = "BUILD"
	}
	for _, s := range selected {
		name, build := report.Line(s.ID.String()), ""
		if rows[0][1] != "" {
			build = printable.Name(s.Build)
		}
		for _, o := range s.shares() {
			rows = append(rows, []string{name, build, strconv.Itoa(o.fields),
				report.Printable(o.layer), report.Printable(o.file)})
			if t.screen.Terminal {
				name, build = "", "" // the rows below belong to the same object
			}
		}
	}
	var widths []int
	for _, cells := range rows {
		widths = report.Measure(widths, cells)
	}
	report.Fit(widths, 2, t.screen.Room())
	for _, cells := range rows {
		fmt.Fprintln(t.w, strings.TrimRight(report.Row(cells, widths, 2, nil), " "))
	}
}
