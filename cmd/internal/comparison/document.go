package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// document is the report for people. Text, Markdown and HTML write the same parts.
type document struct {
	headline string
	effects  part
	notes    []string
	causes   part
	// others are what managers disagree on, other findings, and remedies. Standard error has them
	// beside a text.
	others []part
	groups []*changeGroup
}

// part is a list with a head. A list that is cut ends with the number of what it lacks.
type part struct {
	head, lead, noun string
	items            []item
}

// item is an entry of a list, with its details. Some TrainJobs of the list may have it only.
type item struct {
	spans, jobs []span
	details     []item
}

// line returns the item with its TrainJobs.
func (i item) line() []span {
	if len(i.jobs) == 0 {
		return i.spans
	}
	return slices.Concat(i.spans, []span{words(" of ")}, i.jobs)
}

// span is a piece of a line.
type span struct {
	style style
	text  string
}

// style is how a span looks, where a format distinguishes it.
type style uint8

const (
	plain  style = iota
	code         // a name or a field of the input
	strong       // a mark
	layer        // the name of a layer
	source       // the address that explains a cause; not in text
)

func words(text string) span { return span{plain, shortened(text, longestText)} }

func named(text string) span { return span{code, shortened(text, longestText)} }

const (
	// longestText is the longest message, value or field in a list.
	longestText = 500
	// longestName is the longest name in a list: a namespace and a name.
	longestName = 330
	// mostRows is the number of changes that a report lists for a cause, and of remedies.
	mostRows = 12
	// mostTitle is the number of TrainJobs in a title.
	mostTitle = 10
)

// plainText returns spans without their looks.
func plainText(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		if s.style != source {
			b.WriteString(s.text)
		}
	}
	return b.String()
}

// document returns the report.
func (c *Comparison) document() document {
	s, groups := c.summary(), c.groups
	if lines := c.errorLines(); len(lines) > 0 {
		groups = append([]*changeGroup{{lines: lines}}, groups...)
	}
	effects := part{head: "Effects on existing TrainJobs", noun: "effect"}
	for _, r := range c.effects() {
		effects.items = append(effects.items,
			item{spans: append([]span{{strong, string(r.update)}, words(" ")}, r.spans()...)})
	}
	return document{c.headline(s), effects, c.Notes, c.causes(s), []part{
		c.conflicts.part("Who disagrees", "conflict", c.ShowValues),
		c.findings.part("Findings", "finding", c.ShowValues), c.remedies()}, groups}
}

// spans returns the name of a TrainJob, and the build behind it.
func (j *JobDiff) spans() []span {
	spans := []span{{code, shortened(
		fieldpath.Object{Namespace: j.Namespace, Name: j.Name}.String(), longestName)}}
	if j.Build != "" {
		spans = append(spans, words(" ("+j.Build+")"))
	}
	return spans
}

// spans lists the first names of TrainJobs.
func (l jobList) spans(most int) []span {
	var spans []span
	for i, j := range l[:min(most, len(l))] {
		if i > 0 {
			spans = append(spans, words(", "))
		}
		spans = append(spans, j.spans()...)
	}
	if n := len(l) - most; n > 0 {
		spans = append(spans, words(fmt.Sprintf(" and %d more", n)))
	}
	return spans
}

// title returns the TrainJobs of a group.
func (g *changeGroup) title() []span {
	if len(g.jobs) == 0 {
		return []span{words("Errors")}
	}
	first, list := g.jobs[0], g.jobs.spans(mostTitle)
	if len(g.jobs) == 1 {
		return slices.Concat([]span{words(first.Kind + " ")}, list,
			[]span{words(" is " + string(first.State))})
	}
	return append([]span{words(fmt.Sprintf("%s are %s alike: ",
		report.Count(len(g.jobs), first.Kind), first.State))}, list...)
}

// shortened cuts text to a number of characters.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// causes returns the causes.
func (c *Comparison) causes(s summary) part {
	p := part{head: "Who causes it", noun: "cause"}
	for _, by := range s.Causes {
		made := item{spans: []span{named(by.Name)}}
		switch {
		case by.Text != "":
			made.spans = append(made.spans, span{source, by.Link}, words(": "+by.Text))
		case len(by.Files) == 1:
			made.spans = append(made.spans, words(" in "), named(printable.Name(by.Files[0])))
		case len(by.Files) > 1:
			made.spans = append(made.spans, words(fmt.Sprintf(" in %d files", len(by.Files))))
		}
		made.spans = append(made.spans, words(": "+report.Count(len(by.TrainJobs), "TrainJob")))
		if by.Before != "" {
			made.details = append(made.details, item{spans: []span{
				words("before the upgrade: " + by.Before + "; see " + by.Link)}})
		}
		for i, row := range by.Changes {
			if i == mostRows {
				made.details = append(made.details, more(len(by.Changes)-i, "change"))
				break
			}
			detail := item{spans: []span{named(row.What)}}
			if len(row.TrainJobs) < len(by.TrainJobs) {
				detail.jobs = row.TrainJobs.spans(5)
			}
			made.details = append(made.details, detail)
		}
		p.items = append(p.items, made)
	}
	return p
}

// more counts what a list leaves out.
func more(n int, noun string) item {
	return item{spans: []span{words("and " + report.Count(n, "more "+noun))}}
}

// part lists findings on the new version with their managers and values, new ones first.
func (o *openFindings) part(head, noun string, showValues bool) part {
	p := part{head: head, noun: "cause"}
	opts := report.Options{ShowValues: showValues}
	introduced, preexisting := codes.JoinBuilds(o.introduced), codes.JoinBuilds(o.preexisting)
	p.lead = report.Count(len(introduced)+len(preexisting), noun)
	if n := len(introduced); n > 0 {
		p.lead += fmt.Sprintf(", %d new", n)
	}
	if o.inUnchanged > 0 {
		p.lead += fmt.Sprintf("; %d more in TrainJobs that do not change", o.inUnchanged)
	}
	for _, g := range opts.Groups(introduced) {
		p.items = append(p.items, findingItem(opts, &g, span{strong, "new"}, words(" ")))
	}
	for _, g := range opts.Groups(preexisting) {
		p.items = append(p.items, findingItem(opts, &g))
	}
	return p
}

func findingItem(opts report.Options, g *report.Group, spans ...span) item {
	f := g.First
	spans = append(spans, words(report.Title(f.Code)))
	if len(f.Path) > 0 {
		spans = append(spans, words(": "), named(f.Path.String()))
	}
	built := strings.Join(append([]string{f.Build}, f.MoreBuilds...), ", ")
	if f.Object.Name != "" {
		of := JobDiff{Namespace: f.Object.Namespace, Name: f.Object.Name, Build: built}
		spans = append(append(spans, words(" of ")), of.spans()...)
	} else if built != "" {
		spans = append(spans, words(" in "), named(built))
	}
	if more := g.More(); more != "" {
		spans = append(spans, words(" and "+more))
	}
	var details []item
	add := func(style style, by, text, place string) {
		line := []span{{style, by}, words(" "), {code, text}}
		if style == plain {
			line = []span{words(text)}
		}
		if place != "" {
			line = append(line, words(" at "), named(place))
		}
		details = append(details, item{spans: line})
	}
	if f.Code != codes.Overlap { // the claims of an overlap say what its message says
		add(plain, "", f.Message, printable.Position(f.Position))
	}
	for _, claim := range opts.Claims(f) {
		add(layer, string(claim.Layer), claim.Value, claim.Place)
		if last := &details[len(details)-1]; claim.Mark != "" {
			last.spans = append(last.spans, words(", "), span{strong, claim.Mark})
		}
	}
	return item{spans: spans, details: details}
}

// remedies lists what to do about errors of TrainJobs and about findings, each once.
func (c *Comparison) remedies() part {
	p := part{head: "What to do", noun: "remedy"}
	known := map[string]bool{}
	add := func(code finding.Code, remedy string) {
		text := string(code) + ": " + remedy
		if !known[text] && len(p.items) < mostRows {
			known[text] = true
			p.items = append(p.items, item{spans: []span{words(text)}})
		}
	}
	for _, j := range c.jobs {
		for _, r := range j.Rejected {
			if j.State != stateAccepted {
				add(r.Code, r.remedy)
			}
		}
		for _, f := range j.Findings {
			add(f.Code, f.Remedy.Text)
		}
	}
	for _, of := range []openFindings{c.conflicts, c.findings} {
		for _, f := range slices.Concat(of.introduced, of.preexisting) {
			add(f.Code, f.Remedy.Text)
		}
	}
	return p
}

// errorLines returns the errors that no TrainJob shows, those of the old version alone first.
func (c *Comparison) errorLines() (lines []hunkLine) {
	shown := map[string]bool{}
	for _, j := range c.jobs {
		for _, r := range j.Rejected {
			shown[r.String()] = true
		}
	}
	for _, r := range rejections(c.oldErrors, nil) {
		lines = append(lines, hunkLine{mark: '-', text: " " + r.String()})
	}
	for _, f := range slices.Concat(c.findings.introduced, c.findings.preexisting) {
		if r := rejections(finding.List{f}, nil)[0]; f.Severity >= finding.Error &&
			!shown[r.String()] {
			lines = append(lines, hunkLine{mark: '!', text: " " + r.String()})
		}
	}
	return lines
}
