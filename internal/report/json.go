package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/printable"
	"github.com/trainweld/trainweld/merge"
)

// jsonFinding is a finding for programs. An unknown position has line 0 and column 0.
type jsonFinding struct {
	Code     finding.Code     `json:"code"`
	Severity finding.Severity `json:"severity"`
	Object   string           `json:"object"`
	Path     string           `json:"path"`
	Message  string           `json:"message"`
	Help     string           `json:"help"`
	Claims   []jsonClaim      `json:"claims"`
	Orders   []jsonOrder      `json:"orders,omitempty"`
	Build    string           `json:"build,omitempty"`
	More     []string         `json:"moreBuilds,omitempty"`
	Repair   string           `json:"repair,omitempty"`
	jsonPosition
}

// jsonClaim holds the value of a claim: null if the layer emptied the field. Present is set instead if the layer only named an
// item or an empty struct. Masked is set if the value is a mask. Field is the path from the finding to the claim's field, if
// they differ.
type jsonClaim struct {
	Layer   engine.Layer `json:"layer"`
	Value   any          `json:"value"`
	Present bool         `json:"present,omitempty"`
	Masked  bool         `json:"masked,omitempty"`
	Field   string       `json:"field,omitempty"`
	jsonPosition
}

// jsonOrder is an order of the writers. Unset is set if the field is missing in this order. Effect states an outcome that is not a
// value.
type jsonOrder struct {
	Writers []string `json:"writers"`
	Value   any      `json:"value"`
	Unset   bool     `json:"unset,omitempty"`
	Masked  bool     `json:"masked,omitempty"`
	Field   string   `json:"field,omitempty"`
	Manager string   `json:"manager,omitempty"`
	Effect  string   `json:"effect,omitempty"`
}

type jsonPosition struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// writeJSON writes one object with the list of findings.
func writeJSON(w io.Writer, findings finding.List, opts Options) error {
	list := make([]jsonFinding, len(findings))
	for i, f := range findings {
		claims := make([]jsonClaim, len(f.Claims))
		for j, c := range f.Claims {
			claims[j] = opts.jsonClaim(f, c)
		}
		list[i] = jsonFinding{f.Code, f.Severity, f.Object.String(), f.Path.String(), f.Message, opts.help(f), claims, opts.jsonOrders(f), f.Build, f.MoreBuilds, repairOf(f), jsonPosition(f.Position)}
	}
	return encodeJSON(w, struct {
		Findings []jsonFinding `json:"findings"`
		Version  string        `json:"trainerVersion,omitempty"`
	}{list, opts.trainerVersions()})
}

// repairOf returns "certain" for a finding with one right repair, "choice" for one that the user chooses, and "" without a repair.
func repairOf(f finding.Finding) string {
	switch {
	case f.Remedy.IsCertain:
		return "certain"
	case f.Remedy.Do == finding.LetOneWin:
		return "choice"
	}
	return ""
}

// trainerVersions returns the versions of Releases, separated by commas.
func (o Options) trainerVersions() string {
	versions := make([]string, len(o.Releases))
	for i, r := range o.Releases {
		versions[i] = r.Version
	}
	return strings.Join(versions, ", ")
}

func (o Options) jsonClaim(f finding.Finding, c engine.Claim) jsonClaim {
	claim := jsonClaim{Layer: c.Layer, Value: c.Value, jsonPosition: jsonPosition(c.Position)}
	if tail := tailOf(f, c); len(tail) > 0 {
		claim.Field = tail.String()
	}
	path := pathOf(f, c)
	switch {
	case c.Value == any(engine.Presence{}):
		claim.Value, claim.Present = nil, true
	case c.Value != nil && !o.ShowValues && merge.IsSecretOf(c.Layer, path):
		claim.Value, claim.Masked = merge.FormatClaim(path, c, false), true
	case !o.ShowValues:
		claim.Value = finding.HideSecrets(path, c.Value)
	}
	return claim
}

func (o Options) jsonOrders(f finding.Finding) []jsonOrder {
	var orders []jsonOrder
	for _, order := range f.Orders {
		j := jsonOrder{Writers: order.Writers, Value: order.Value, Unset: !order.IsSet && order.Effect == "", Manager: order.Manager, Effect: order.Effect}
		if tail := below(f.Path, order.Path); len(tail) > 0 {
			j.Field = tail.String()
		}
		switch {
		case o.ShowValues || !order.IsSet:
		case order.Value != nil && finding.IsSecret(order.Path):
			j.Value, j.Masked = order.Outcome(false), true
		default:
			j.Value = finding.HideSecrets(order.Path, order.Value)
		}
		orders = append(orders, j)
	}
	return orders
}

// encodeJSON writes a value as indented JSON. It escapes characters that a terminal interprets, and keeps all others.
func encodeJSON(w io.Writer, value any) error {
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

// escapeJSON escapes the invisible characters that the encoder keeps: DEL, control characters above ASCII, and characters that
// change the writing direction.
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
