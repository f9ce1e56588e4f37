package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// jsonReport is the report of findings. The tags doc are the descriptions of the JSON Schema.
type jsonReport struct {
	Findings []jsonFinding `json:"findings" doc:"All findings, in the order of the files and their lines."`
	Version  string        `json:"trainerVersion,omitempty" doc:"The releases of the Trainer that the input names, such as \"2.1.0\" or \"2.1.0, 2.3.0\"."`
	Minors   string        `json:"kubernetesVersion,omitempty" doc:"The minor versions of Kubernetes of these releases, in the same order, such as \"1.36\"."`
}

// jsonFinding is a finding for programs. An unknown position has line 0 and column 0.
type jsonFinding struct {
	Code     finding.Code     `json:"code" doc:"The stable code: see findings.md."`
	Severity finding.Severity `json:"severity"`
	Object   string           `json:"object" doc:"Kind, namespace and name, such as \"TrainJob team-a/llm\". Empty if no object is known."`
	Path     string           `json:"path" doc:"The field, such as .spec.trainer.numNodes. Empty for the whole object."`
	Message  message          `json:"message"`
	Help     string           `json:"help" doc:"What to do. Empty for some notes."`
	Claims   []jsonClaim      `json:"claims" doc:"The values involved, in the order of writing."`
	Build    string           `json:"build,omitempty" doc:"The directory whose build holds the object. The file and the line are those of the source."`
	More     []string         `json:"moreBuilds,omitempty" doc:"Further directories whose builds have the finding at the same place of the source. The object is that of the first build."`
	Remedy   *jsonRemedy      `json:"remedy,omitempty" doc:"The one change that removes the finding. Missing if people must choose."`
	jsonPosition
}

type (
	message string
	action  string
)

// jsonRemedy is the one right change of an object.
type jsonRemedy struct {
	Action action `json:"action" doc:"set: give the field the value. quote: make the value a string of the same characters. remove: remove the field. rename: the value is the new name of the field. move: the value is the new path. migrate: run trainweld migrate."`
	Path   string `json:"path" doc:"The field to change, in the object of the finding. Empty for the whole object."`
	Value  any    `json:"value,omitempty" doc:"The new value, name or path. Missing if the action needs none, and for a value that may be a secret."`
}

// jsonClaim holds the value of a claim: null if the layer emptied the field. Present is set instead
// if the layer only named an item or an empty struct. Masked is set if the value is a mask. Field
// is the path from the finding to the claim's field, if they differ.
type jsonClaim struct {
	Layer   merge.Owner `json:"layer" doc:"Who set the value, such as manager/NAME, runtime, trainjob or policy/torch."`
	Value   any         `json:"value" doc:"The value as JSON. Null if the layer empties the field, or only names an item."`
	Present bool        `json:"present,omitempty" doc:"The layer only names an item or an empty object."`
	Masked  bool        `json:"masked,omitempty" doc:"The value is a mask: --show-values shows the value."`
	Field   string      `json:"field,omitempty" doc:"Leads from the path of the finding to the field that the layer set, if that is another one."`
	jsonPosition
}

type jsonPosition struct {
	File   string `json:"file" doc:"The file, empty if there is none."`
	Line   int    `json:"line" doc:"From 1. 0 if it is not known, or for a whole file."`
	Column int    `json:"column" doc:"In characters, from 1. 0 if it is not known, or for a whole line."`
}

// writeJSON writes one object with the list of findings.
func writeJSON(w io.Writer, findings finding.List, opts Options) error {
	list := make([]jsonFinding, len(findings))
	for i, f := range findings {
		claims := make([]jsonClaim, len(f.Claims))
		for j, c := range f.Claims {
			claims[j] = opts.jsonClaim(f, c)
		}
		list[i] = jsonFinding{f.Code, f.Severity, f.Object.String(), f.Path.String(),
			message(f.Message), opts.help(f), claims, f.Build, f.MoreBuilds, opts.jsonRemedy(f),
			jsonPosition(f.Position)}
	}
	return EncodeReport(w, jsonReport{list, opts.trainerVersions(),
		opts.versions(func(r release.Release) string { return r.Kubernetes })})
}

// jsonRemedy returns the remedy of a finding that has one right change, or nil.
func (o Options) jsonRemedy(f finding.Finding) *jsonRemedy {
	if !f.Remedy.IsCertain {
		return nil
	}
	path := f.Path
	if f.Remedy.Path != nil {
		path = f.Remedy.Path
	}
	r := &jsonRemedy{Path: path.String()}
	switch f.Remedy.Do {
	case finding.SetValue:
		r.Action = "set"
		if (o.ShowValues || !finding.IsSecret(path)) &&
			yaml.Unmarshal([]byte(f.Remedy.Options[0]), &r.Value) != nil {
			return nil
		}
	case finding.Quote:
		r.Action = "quote"
	case finding.Remove, finding.Merge:
		r.Action = "remove"
	case finding.Rename:
		r.Action, r.Value = "rename", f.Remedy.Options[0]
	case finding.Move:
		r.Action, r.Value = "move", f.Remedy.Options[0]
	case finding.Migrate:
		r.Action = "migrate"
	default:
		return nil
	}
	return r
}

// versions returns a version of each of Releases, separated by commas.
func (o Options) versions(of func(release.Release) string) string {
	var all []string
	for _, r := range o.Releases {
		all = append(all, of(r))
	}
	return strings.Join(all, ", ")
}

func (o Options) trainerVersions() string {
	return o.versions(func(r release.Release) string { return r.Version })
}

func (o Options) jsonClaim(f finding.Finding, c merge.Claim) jsonClaim {
	claim := jsonClaim{Layer: c.Owner, Value: c.Value, jsonPosition: jsonPosition(c.Position)}
	if tail := tailOf(f, c); len(tail) > 0 {
		claim.Field = tail.String()
	}
	path := pathOf(f, c)
	switch {
	case c.Value == any(merge.Presence{}):
		claim.Value, claim.Present = nil, true
	case c.Value != nil && !o.ShowValues && runtimepatch.IsSecretOf(c.Owner, path):
		claim.Value, claim.Masked = runtimepatch.FormatClaim(path, c, false), true
	case !o.ShowValues:
		claim.Value = finding.HideSecrets(path, c.Value)
	}
	return claim
}

// EncodeJSON writes a value as indented JSON. It escapes characters that a terminal interprets, and
// keeps all others.
func EncodeJSON(w io.Writer, value any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(b.Bytes()))
	return err
}

// escapeJSON escapes the invisible characters that the encoder keeps: DEL, control characters above
// ASCII, and characters that change the writing direction.
func escapeJSON(text []byte) []byte {
	var b bytes.Buffer
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == '\n' || printable.Shows(r) {
			b.Write(text[:size])
		} else if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.Bytes()
}
