package report

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"io"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// The types are the elements of JUnit reports that continuous integration reads. They have no time:
// the same input gives the same report.
type junitReport struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`

	index    map[string]int // of Suites, by name
	versions string         // the releases of the Trainer
}

type junitSuite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	// Properties is nil without any.
	Properties *junitProperties `xml:"properties"`
	Cases      []junitCase      `xml:"testcase"`
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Class     string        `xml:"classname,attr"`
	File      string        `xml:"file,attr,omitempty"`
	Line      int           `xml:"line,attr,omitempty"`
	Failure   *junitOutcome `xml:"failure"`
	Skipped   *junitOutcome `xml:"skipped"`
	SystemOut string        `xml:"system-out,omitempty"`
}

type junitOutcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// noFile names the suite of findings on the inputs as a whole.
const noFile = "inputs"

// writeJUnit writes a suite for each file, with a case for each finding. Suites have the order of
// Options.Files, then of the findings. An error is a failure. A warning is skipped, because viewers
// count and show it without failing; Options.Strict makes it a failure. A note passes. A file
// without findings is one case that passes.
func writeJUnit(w io.Writer, findings finding.List, opts Options) error {
	report := junitReport{Name: "trainweld", index: map[string]int{},
		versions: opts.trainerVersions()}
	for _, file := range opts.Files {
		if file != "" {
			report.suite(printable.Name(slashed(file)))
		}
	}
	for _, f := range findings {
		c := opts.junitCase(f)
		report.suite(c.Class).add(c)
	}
	return report.write(w)
}

// suite returns the suite with a name. It adds a missing one.
func (r *junitReport) suite(name string) *junitSuite {
	i, ok := r.index[name]
	if !ok {
		i = len(r.Suites)
		r.index[name] = i
		s := junitSuite{Name: name}
		if r.versions != "" {
			s.Properties = &junitProperties{[]junitProperty{{trainerVersion, r.versions}}}
		}
		r.Suites = append(r.Suites, s)
	}
	return &r.Suites[i]
}

// write counts the cases of the suites and writes the report.
func (r *junitReport) write(w io.Writer) error {
	for i := range r.Suites {
		s := &r.Suites[i]
		if len(s.Cases) == 0 {
			s.add(junitCase{Name: s.Name, Class: s.Name, File: s.Name})
		}
		r.Tests += s.Tests
		r.Failures += s.Failures
		r.Skipped += s.Skipped
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	encoder := xml.NewEncoder(&b)
	encoder.Indent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
}

func (o Options) junitCase(f finding.Finding) junitCase {
	c := junitCase{Name: Title(f.Code), Class: noFile, Line: f.Position.Line}
	if where := objectAndField(f); where != "" {
		c.Name += " in " + Printable(where)
	}
	if f.Position.File != "" {
		c.File = printable.Name(slashed(f.Position.File))
		c.Class = c.File
	}
	outcome := junitOutcome{Message: Printable(f.Message), Type: string(f.Code),
		Text: o.plainText(f)}
	switch {
	case f.Severity >= finding.Error, (f.Severity == finding.Warning || codes.AssumesRuntime(f)) &&
		o.Strict:
		c.Failure = &outcome
	case f.Severity == finding.Warning:
		// Some viewers show only the attribute, others only the text.
		c.SystemOut, outcome.Text, outcome.Type = outcome.Text, "", ""
		c.Skipped = &outcome
	default:
		c.SystemOut = outcome.Text
	}
	return c
}

// plainText formats a finding like the text report, without colors.
func (o Options) plainText(f finding.Finding) string {
	var b bytes.Buffer
	o.Color = false
	t := textReport{w: bufio.NewWriter(&b), opts: o}
	t.finding(f)
	_ = t.w.Flush() // a buffer takes everything
	return b.String()
}
