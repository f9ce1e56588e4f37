package blameview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// ownersReport is the report of -o json on managed fields: every object with its owned fields.
type ownersReport struct {
	Objects []ownersObject `json:"objects" doc:"The objects with managed fields."`
}

type ownersObject struct {
	Kind      string        `json:"kind"`
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	Fields    []ownersField `json:"fields" doc:"The owned fields, or those of FIELD."`
}

type ownersField struct {
	Path   string      `json:"path" doc:"The field, such as .spec.replicas."`
	Owners []jsonOwner `json:"owners" doc:"The entries of metadata.managedFields that hold the field."`
}

// jsonOwner is an entry of metadata.managedFields with its position.
type jsonOwner struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation" doc:"Apply or Update."`
	Subresource string `json:"subresource,omitempty"`
	APIVersion  string `json:"apiVersion,omitempty"`
	Time        string `json:"time,omitempty"`
	File        string `json:"file" doc:"The file of the entry."`
	Line        int    `json:"line" doc:"From 1. 0 if it is not known."`
	Column      int    `json:"column" doc:"In characters, from 1. 0 if it is not known."`
}

// newOwnersReport reports the selected fields.
func newOwnersReport(selected []Selection) ownersReport {
	out := ownersReport{Objects: []ownersObject{}}
	for _, s := range selected {
		o := ownersObject{Kind: s.ID.Kind, Namespace: s.ID.Namespace, Name: s.ID.Name,
			Fields: []ownersField{}}
		for field := range s.each() {
			f := ownersField{Path: field.Path.String()}
			for _, c := range field.Claims {
				e := s.entryOf(c)
				f.Owners = append(f.Owners, jsonOwner{
					Manager: e.Manager, Operation: e.Operation, Subresource: e.Subresource,
					APIVersion: e.APIVersion, Time: e.Time,
					File: e.Position.File, Line: e.Position.Line, Column: e.Position.Column,
				})
			}
			o.Fields = append(o.Fields, f)
		}
		out.Objects = append(out.Objects, o)
	}
	return out
}

// owners writes a legend, and a line for each owner of each field.
func (t *blameText) owners(s Selection) {
	t.colors = map[merge.Owner]string{runtimepatch.RuntimeLayer: dim}
	var rows []row
	count := map[merge.Owner]int{}
	for field := range s.each() {
		for _, c := range field.Claims {
			t.color(c.Owner)
			count[c.Owner]++
			rows = append(
				rows, row{name: report.Line(s.entryOf(c).Label()),
					text: report.Printable(field.Path.String()), layer: c.Owner})
		}
	}
	fmt.Fprintln(
		t.w, t.paint(host.Bold, "# "+report.Printable(s.ID.String())+", by who owns each field"))
	var table [][]string
	var layers []merge.Owner
	for i, e := range s.Entries {
		layer := EntryLayer(i)
		if count[layer] == 0 {
			continue
		}
		layers = append(layers, layer)
		table = append(table, []string{e.Label(), report.Count(count[layer], "field"), e.Time})
	}
	t.table("#   ", table, layers)
	t.write(rows)
}

// ownersOf writes the owners of the selected fields.
func (t *blameText) ownersOf(s Selection) {
	t.colors = map[merge.Owner]string{runtimepatch.RuntimeLayer: dim}
	fmt.Fprintln(t.w, t.paint(host.Bold, report.Printable(s.ID.String())))
	for field := range s.each() {
		fmt.Fprintln(t.w, report.Printable(field.Path.String()))
		var table [][]string
		var layers []merge.Owner
		for _, c := range field.Claims {
			e := s.entryOf(c)
			t.color(c.Owner)
			layers = append(layers, c.Owner)
			table = append(table, []string{e.Label(), e.Time, printable.Position(e.Position)})
		}
		t.table("  ", table, layers)
	}
}

// table writes cells in columns and omits empty columns. The first cell has the color of its layer.
func (t *blameText) table(indent string, rows [][]string, layers []merge.Owner) {
	var widths []int
	for _, cells := range rows {
		for i := range cells {
			if i == 0 {
				cells[i] = report.Line(cells[i])
			} else {
				cells[i] = report.Printable(cells[i])
			}
		}
		widths = report.Measure(widths, cells)
	}
	report.Fit(widths, 2, t.screen.Room()-len(indent))
	for i, cells := range rows {
		fmt.Fprintln(
			t.w, strings.TrimRight(indent+report.Row(cells, widths, 2, t.painter(layers[i])), " "))
	}
}

// Entry is one entry of metadata.managedFields.
type Entry struct {
	Manager, Operation, Subresource, APIVersion, Time string
	Position                                          fieldpath.Position
}

// Label names the entry in a column.
func (e Entry) Label() string {
	return cmp.Or(e.Manager, "-") + " " +
		strings.TrimSpace(cmp.Or(e.Operation, "-")+" "+e.Subresource)
}

// EntryLayer numbers an entry as the layer of its claims. Two entries may have the same manager.
func EntryLayer(i int) merge.Owner { return merge.Owner(strconv.Itoa(i)) }

// entryOf returns the entry of a claim.
func (b Blamed) entryOf(c merge.Claim) Entry {
	i, err := strconv.Atoi(string(c.Owner))
	if err != nil || i < 0 || i >= len(b.Entries) {
		return Entry{}
	}
	return b.Entries[i]
}

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
