package blameview

import (
	"io"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// blameReport is the report of -o json: every object with its set fields.
type blameReport struct {
	Objects []blameObject `json:"objects" doc:"The objects that blame shows, each with its set fields."`
}

type blameObject struct {
	Kind      string       `json:"kind"`
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Build     string       `json:"build,omitempty" doc:"The directory whose build holds the TrainJob."`
	Fields    []blameField `json:"fields" doc:"The fields in the order of the object, or those of FIELD."`
}

type blameField struct {
	Path      string       `json:"path" doc:"The field, such as .spec.replicatedJobs[name=\"node\"].replicas."`
	Layer     merge.Owner  `json:"layer" doc:"Who set the value that holds. Empty for an unset field."`
	Agree     int          `json:"agree,omitempty" doc:"The number of other layers with the same value."`
	Disputed  bool         `json:"disputed,omitempty" doc:"Managers disagree about the field."`
	Overrides bool         `json:"overrides,omitempty" doc:"The value replaces another one."`
	Claims    []blameClaim `json:"claims" doc:"Who set the field, in the order of writing."`
	Setters   []string     `json:"setters,omitempty" doc:"The layers that could set an unset field."`
}

// blameClaim holds the value of a claim: null if the layer emptied the field. Present is set
// instead if the layer only named an item or an empty struct. Source is the field of the TrainJob
// or of the runtime.
type blameClaim struct {
	Layer   merge.Owner `json:"layer" doc:"Who set the value, such as manager/NAME, runtime, trainjob or policy/torch."`
	Value   any         `json:"value" doc:"The value as JSON, or its mask. Null if the layer empties the field, or only names an item."`
	Present bool        `json:"present,omitempty" doc:"The layer only names an item or an empty object."`
	Source  string      `json:"source,omitempty" doc:"The field of the TrainJob or of the runtime that the value comes from."`
	File    string      `json:"file" doc:"The file that holds the value. Empty if no file does."`
	Line    int         `json:"line" doc:"From 1. 0 if it is not known."`
	Column  int         `json:"column" doc:"In characters, from 1. 0 if it is not known."`
	From    *blameFrom  `json:"from,omitempty" doc:"The field whose value a replacement copies."`
}

// blameFrom is the source of a replacement.
type blameFrom struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Path   string `json:"path" doc:"The field, as the replacement writes it."`
	File   string `json:"file" doc:"The file that holds the value. Empty if no file does."`
	Line   int    `json:"line" doc:"From 1. 0 if it is not known."`
	Column int    `json:"column" doc:"In characters, from 1. 0 if it is not known."`
}

func writeBlameJSON(w io.Writer, selected []Selection, showValues bool) error {
	out := blameReport{Objects: []blameObject{}}
	for _, s := range selected {
		o := blameObject{Kind: s.ID.Kind, Namespace: s.ID.Namespace, Name: s.ID.Name,
			Build: s.Build, Fields: []blameField{}}
		for field := range s.each() {
			o.Fields = append(o.Fields, newBlameField(s.Blamed, field, showValues))
		}
		if s.Unset != nil {
			o.Fields = append(
				o.Fields, blameField{Path: s.Unset.Path.String(), Claims: []blameClaim{},
					Setters: s.Unset.Setters})
		}
		out.Objects = append(out.Objects, o)
	}
	return report.EncodeReport(w, out)
}

func newBlameField(b Blamed, field *blame.Field, showValues bool) blameField {
	f := blameField{
		Path: field.Path.String(), Layer: field.Claims[field.InForce()].Owner, Agree: field.Agree(),
		Disputed: field.Disputed, Overrides: field.Overrides(), Claims: []blameClaim{},
	}
	for _, c := range field.Claims {
		claim := blameClaim{Layer: c.Owner, Value: c.Value, Source: c.At.String(),
			File: c.Position.File, Line: c.Position.Line, Column: c.Position.Column}
		if c.Value == any(merge.Presence{}) {
			claim.Value, claim.Present = nil, true
		} else if !showValues && c.Value != nil && runtimepatch.IsSecretOf(c.Owner, field.Path) {
			claim.Value = finding.FormatValue(field.Path, c.Value, false)
		} else if !showValues {
			claim.Value = finding.HideSecrets(field.Path, c.Value)
		}
		if from, ok := b.Copied[c.Position]; ok {
			claim.From = &blameFrom{from.Kind, from.Name, from.Field, from.At.File, from.At.Line,
				from.At.Column}
		}
		f.Claims = append(f.Claims, claim)
	}
	return f
}
