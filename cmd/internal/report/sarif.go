package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// The types are the part of SARIF 2.1.0 that this package writes. They omit empty values, because
// GitHub rejects files with empty objects.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool         `json:"tool"`
	ColumnKind string            `json:"columnKind"`
	Properties map[string]string `json:"properties,omitempty"`
	Results    []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string             `json:"id"`
	ShortDescription sarifMessage       `json:"shortDescription"`
	FullDescription  sarifMessage       `json:"fullDescription"`
	Help             sarifMessage       `json:"help"`
	HelpURI          string             `json:"helpUri"`
	Default          sarifConfiguration `json:"defaultConfiguration"`
}

type sarifConfiguration struct {
	Level string `json:"level"`
}

type sarifMessage struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	ID       int                    `json:"id,omitempty"`
	Message  *sarifMessage          `json:"message,omitempty"`
	Physical sarifPhysicalLocation  `json:"physicalLocation"`
	Logical  []sarifLogicalLocation `json:"logicalLocations,omitempty"`
}

type sarifPhysicalLocation struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLine"`
	EndColumn   int `json:"endColumn,omitempty"`
}

type sarifLogicalLocation struct {
	Name string `json:"fullyQualifiedName"`
}

// trainerVersion names the property with the releases of the Trainer.
const trainerVersion = "trainerVersion"

// writeSARIF writes one run with the rules that occur, sorted by their codes.
func writeSARIF(w io.Writer, findings finding.List, opts Options) error {
	s := sarif{opts: opts, rules: rulesOf(findings), seen: map[string]int{}}
	run := sarifRun{
		Tool: sarifTool{
			sarifDriver{Name: "trainweld", Version: opts.Version, InformationURI: codes.Home,
				Rules: s.rules}},
		ColumnKind: "unicodeCodePoints",
		Results:    make([]sarifResult, len(findings)),
	}
	if versions := opts.trainerVersions(); versions != "" {
		run.Properties = map[string]string{trainerVersion: versions}
	}
	for i, f := range findings {
		run.Results[i] = s.result(f)
	}
	return EncodeJSON(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// rulesOf returns the codes that occur, each with its page and its worst severity.
func rulesOf(findings finding.List) []sarifRule {
	worst := map[finding.Code]finding.Severity{}
	for _, f := range findings {
		worst[f.Code] = max(worst[f.Code], f.Severity)
	}
	rules := []sarifRule{}
	for code, severity := range worst {
		page, ok := codes.Of(code)
		if !ok {
			page = codes.Page{Title: string(code), Meaning: string(code), Fix: string(code),
				URL: codes.Home}
		}
		rules = append(rules, sarifRule{
			ID:               string(code),
			ShortDescription: sarifMessage{Text: page.Title},
			FullDescription:  sarifMessage{Text: page.Meaning},
			Help:             sarifMessage{Text: page.Fix, Markdown: page.Markdown},
			HelpURI:          page.URL,
			Default:          sarifConfiguration{severity.String()},
		})
	}
	slices.SortFunc(rules, func(a, b sarifRule) int { return cmp.Compare(a.ID, b.ID) })
	return rules
}

type sarif struct {
	opts  Options
	rules []sarifRule
	seen  map[string]int // the number of findings with a fingerprint
}

func (s sarif) result(f finding.Finding) sarifResult {
	location := sarifLocation{Physical: s.physical(s.opts.locatable(f.Position))}
	if where := objectAndField(f); where != "" {
		location.Logical = []sarifLogicalLocation{{Name: where}}
	}
	r := sarifResult{
		RuleID: string(f.Code),
		RuleIndex: slices.IndexFunc(s.rules, func(r sarifRule) bool {
			return r.ID == string(f.Code)
		}),
		Level:        f.Severity.String(),
		Message:      sarifMessage{Text: withoutLinks(strings.Join(s.opts.prose(f), "\n"))},
		Locations:    []sarifLocation{location},
		Fingerprints: map[string]string{"trainweld/v1": s.fingerprint(f)},
	}
	for _, c := range f.Claims {
		if c.Position.File == "" {
			continue
		}
		r.Related = append(r.Related, sarifLocation{
			ID: len(r.Related) + 1,
			Message: &sarifMessage{
				Text: withoutLinks(
					Printable(string(c.Owner)) + ": " + Printable(s.opts.value(f, c)))},
			Physical: s.physical(c.Position),
		})
	}
	return r
}

// physical returns a position as a region. The region reaches to the end of the line if the line is
// known.
func (s sarif) physical(p fieldpath.Position) sarifPhysicalLocation {
	region := sarifRegion{StartLine: max(p.Line, 1), StartColumn: max(p.Column, 1),
		EndLine: max(p.Line, 1)}
	if s.opts.Line != nil && p.Line > 0 {
		if end := utf8.RuneCountInString(
			strings.TrimRight(s.opts.Line(p), " \t\r")); end >= region.StartColumn {
			region.EndColumn = end + 1
		}
	}
	if region.EndColumn == 0 && p.Column > 0 {
		region.EndColumn = region.StartColumn + 1
	}
	return sarifPhysicalLocation{sarifArtifact{uri(s.opts.rooted(p.File))}, region}
}

// locatable returns the position. A finding on the inputs as a whole gets the first file, because
// GitHub ignores results without a location.
func (o Options) locatable(p fieldpath.Position) fieldpath.Position {
	switch {
	case p.File != "":
		return p
	case len(o.Files) > 0:
		return fieldpath.Position{File: o.Files[0]}
	default:
		return fieldpath.Position{File: "."}
	}
}

// fingerprint identifies a finding, and does not change when lines move. It covers the file, the
// code, the object, the field and the claiming layers, and numbers duplicates. GitHub computes its
// own fingerprint from the line and warns of a different one.
func (s sarif) fingerprint(f finding.Finding) string {
	parts := []string{slashed(s.opts.rooted(f.Position.File)), string(f.Code), f.Object.String(),
		f.Path.String()}
	for _, c := range f.Claims {
		parts = append(parts, string(c.Owner))
	}
	if len(f.Path) == 0 {
		parts = append(parts, f.Message)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	hash := hex.EncodeToString(sum[:16])
	s.seen[hash]++
	return fmt.Sprintf("%s:%d", hash, s.seen[hash])
}

// withoutLinks escapes the brackets of a string that contains a Markdown link.
func withoutLinks(text string) string {
	if !strings.Contains(text, "](") {
		return text
	}
	return brackets.Replace(text)
}

var brackets = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`)

// slashed returns a path with forward slashes and without a leading "./".
func slashed(file string) string {
	file = filepath.ToSlash(file)
	if short := strings.TrimPrefix(file, "./"); short != "" {
		return short
	}
	return file
}

// rooted returns a path from the root of the repository, whatever the working directory.
func (o Options) rooted(file string) string {
	if o.Rooted == nil || file == "" {
		return file
	}
	return o.Rooted(file)
}

// uri returns a path as a URI reference.
func uri(file string) string {
	u := url.URL{Path: slashed(file)}
	if filepath.IsAbs(file) {
		u.Scheme, u.Path = "file", "/"+strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}
