package authorship

import (
	"io"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/report"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/blame"
)

// blameReport is the report of -o json: every object with its set fields.
type blameReport struct {
	Objects []blameObject `json:"objects"`
}

type blameObject struct {
	Kind      string       `json:"kind"`
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Build     string       `json:"build,omitempty"`
	Fields    []blameField `json:"fields"`
}

type blameField struct {
	Path string `json:"path"`
	// Layer is the layer that set the field, and Agree the number of other layers with the same value.
	Layer     engine.Layer `json:"layer"`
	Agree     int          `json:"agree,omitempty"`
	Disputed  bool         `json:"disputed,omitempty"`
	Overrides bool         `json:"overrides,omitempty"`
	Claims    []blameClaim `json:"claims"`
	// Setters lists the layers that could set an unset field.
	Setters []string `json:"setters,omitempty"`
}

// blameClaim holds the value of a claim: null if the layer emptied the field. Present is set instead if the layer only named
// an item or an empty struct. Source is the field of the TrainJob or of the runtime.
type blameClaim struct {
	Layer   engine.Layer `json:"layer"`
	Value   any          `json:"value"`
	Present bool         `json:"present,omitempty"`
	Source  string       `json:"source,omitempty"`
	File    string       `json:"file"`
	Line    int          `json:"line"`
	Column  int          `json:"column"`
}

func writeBlameJSON(w io.Writer, selected []Selection, showValues bool) error {
	out := blameReport{Objects: []blameObject{}}
	for _, s := range selected {
		o := blameObject{Kind: s.ID.Kind, Namespace: s.ID.Namespace, Name: s.ID.Name, Build: s.Build, Fields: []blameField{}}
		for field := range s.each() {
			o.Fields = append(o.Fields, newBlameField(field, showValues))
		}
		if s.Unset != nil {
			o.Fields = append(o.Fields, blameField{Path: s.Unset.Path.String(), Claims: []blameClaim{}, Setters: s.Unset.Setters})
		}
		out.Objects = append(out.Objects, o)
	}
	return report.EncodeJSON(w, out)
}

func newBlameField(field *blame.Field, showValues bool) blameField {
	f := blameField{
		Path: field.Path.String(), Layer: field.Claims[field.InForce()].Layer, Agree: field.Agree(),
		Disputed: field.Disputed, Overrides: field.Overrides(), Claims: []blameClaim{},
	}
	for _, c := range field.Claims {
		claim := blameClaim{Layer: c.Layer, Value: c.Value, Source: c.Source.String(), File: c.Position.File, Line: c.Position.Line, Column: c.Position.Column}
		if c.Value == any(engine.Presence{}) {
			claim.Value, claim.Present = nil, true
		} else if !showValues && c.Value != nil && merge.IsSecretOf(c.Layer, field.Path) {
			claim.Value = finding.FormatValue(field.Path, c.Value, false)
		} else if !showValues {
			claim.Value = finding.HideSecrets(field.Path, c.Value)
		}
		f.Claims = append(f.Claims, claim)
	}
	return f
}
