package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// document is the report for people. Text, Markdown and HTML write the same parts.
type document struct {
	headline string
	effects  []effectRow
	notes    []string
	causes   part
	// others are what managers disagree on, other findings, remedies, and errors of the old
	// version. Standard error has them beside a text.
	others []part
	errors []hunkLine // those that a text shows: no TrainJob has them
	groups []*changeGroup
}

// effectRow is an effect on existing TrainJobs: what becomes of them, and how.
type effectRow struct {
	head string
	text []span
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
	see          // the same address after an advice; in text only
)

func words(text string) span { return span{plain, shortened(text, longestText)} }

func named(text string) span { return span{code, shortened(text, longestText)} }

// longestText is the longest message, value or field in a list.
const longestText = 500

// plainText returns spans without their looks.
func plainText(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s.style {
		case source:
		case see:
			b.WriteString("; see " + s.text)
		default:
			b.WriteString(s.text)
		}
	}
	return b.String()
}

// document returns the report.
func (c *Comparison) document() document {
	s, conflicts := c.summary(), c.findingPart(c.conflicts, "Who disagrees", "conflict")
	findings := c.findingPart(c.findings, "Findings", "finding")
	d := document{headline: s.headline(), effects: c.effects().rows(), notes: c.new.Notes,
		causes: s.part(), errors: c.errorLines(), groups: c.groups()}
	d.others = []part{conflicts, findings, c.remedies(), c.oldErrorPart()}
	return d
}

// spans returns the name of a TrainJob, and the build behind it.
func (n jobName) spans() []span {
	spans := []span{{code, shortened(
		fieldpath.Object{Namespace: n.namespace, Name: n.name}.String(), longestName)}}
	if n.build != "" {
		spans = append(spans, words(" ("+n.build+")"))
	}
	return spans
}

// firstNames lists the first names of TrainJobs.
func firstNames(names []jobName, most int) []span {
	var spans []span
	for i, name := range names[:min(most, len(names))] {
		if i > 0 {
			spans = append(spans, words(", "))
		}
		spans = append(spans, name.spans()...)
	}
	if n := len(names) - most; n > 0 {
		spans = append(spans, words(fmt.Sprintf(" and %d more", n)))
	}
	return spans
}

// longestName is the longest name in a list: a namespace and a name.
const longestName = 330

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

// mostRows is the number of changes that a report lists for a cause.
const mostRows = 12

// part returns the causes.
func (s summary) part() part {
	p := part{head: "Who causes it", noun: "cause"}
	for _, by := range s.causes {
		made := item{spans: []span{named(by.name)}}
		switch {
		case by.Text != "":
			made.spans = append(made.spans, span{source, by.Link}, words(": "+by.Text))
		case len(by.files) == 1:
			made.spans = append(made.spans, words(" in "), named(printable.Name(by.files[0])))
		case len(by.files) > 1:
			made.spans = append(made.spans, words(fmt.Sprintf(" in %d files", len(by.files))))
		}
		made.spans = append(made.spans, words(": "+report.Count(len(by.jobs), s.noun)))
		if by.Before != "" {
			made.details = append(made.details, item{spans: []span{
				words("before the upgrade: " + by.Before), {see, by.Link}}})
		}
		for i, row := range by.rows {
			if i == mostRows {
				made.details = append(made.details, more(len(by.rows)-i, "change"))
				break
			}
			detail := item{spans: []span{named(row.what)}}
			if len(row.jobs) < len(by.jobs) {
				detail.jobs = firstNames(row.jobs, 5)
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

// findingPart lists findings on the new version with their managers and values, new ones first.
func (c *Comparison) findingPart(of openFindings, head, noun string) part {
	p := part{head: head, noun: "cause"}
	introduced := codes.JoinBuilds(of.introduced)
	preexisting := codes.JoinBuilds(of.preexisting)
	p.lead = report.Count(len(introduced)+len(preexisting), noun)
	if n := len(introduced); n > 0 {
		p.lead += fmt.Sprintf(", %d new", n)
	}
	if of.inUnchanged > 0 {
		p.lead += fmt.Sprintf("; %d more in TrainJobs that do not change", of.inUnchanged)
	}
	opts := report.Options{ShowValues: !c.mask}
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
		spans = append(append(spans, words(" of ")),
			jobName{f.Object.Namespace, f.Object.Name, built}.spans()...)
	} else if built != "" {
		spans = append(spans, words(" in "), named(built))
	}
	if more := g.More(); more != "" {
		spans = append(spans, words(" and "+more))
	}
	var details []item
	if f.Code != codes.Overlap { // the claims of an overlap say what its message says
		line := []span{words(f.Message)}
		if at := f.Position.String(); at != "" {
			line = append(line, words(" at "), named(at))
		}
		details = append(details, item{spans: line})
	}
	for _, claim := range opts.Claims(f) {
		line := []span{{layer, string(claim.Layer)}, words(" "), {code, claim.Value}}
		if claim.Place != "" {
			line = append(line, words(" at "), span{code, claim.Place})
		}
		if claim.Mark != "" {
			line = append(line, words(", "), span{strong, claim.Mark})
		}
		details = append(details, item{spans: line})
	}
	return item{spans: spans, details: details}
}

// mostTodo is the number of remedies in a report.
const mostTodo = 12

// remedies lists what to do, each once.
func (c *Comparison) remedies() part {
	p := part{head: "What to do", noun: "remedy"}
	known := map[string]bool{}
	add := func(spans ...span) {
		if text := plainText(spans); !known[text] && len(p.items) < mostTodo {
			known[text] = true
			p.items = append(p.items, item{spans: spans})
		}
	}
	by, kind := c.effects().by, c.noun
	for _, r := range []struct {
		names     []jobName
		one, many string
	}{
		{slices.Concat(by[effect{Replaced, byStuck}], by[effect{Replaced, byFrozen}]),
			"delete the " + kind + " if it exists, and create it again",
			"delete the %d " + kind + "s where they exist, and create them again"},
		{by[effect{Rejected, byRules}],
			"suspend the job, and apply the change once no Pods are active",
			"suspend the %d jobs, and apply the change once no Pods are active"},
		{slices.Concat(by[effect{Kept, byRules}], by[effect{Kept, inPart}]),
			"to use the changed runtime, delete the TrainJob if it exists, and create it again",
			"to use the changed runtime, delete the %d TrainJobs where they exist, and create " +
				"them again"},
	} {
		text := r.one
		if len(r.names) > 1 {
			text = fmt.Sprintf(r.many, len(r.names))
		}
		if len(r.names) > 0 {
			add(append([]span{words(text + ": ")}, firstNames(r.names, 5)...)...)
		}
	}
	for _, j := range c.Jobs {
		isRejected := j.state == stateRejected || j.state == stateBroken
		if isRejected && j.updateEffect.effect() != (effect{Rejected, byRules}) {
			for _, f := range j.rejected {
				add(words(string(f.Code)+": "), words(f.Remedy.Text))
			}
		}
	}
	for _, of := range []openFindings{c.conflicts, c.findings} {
		for _, f := range slices.Concat(of.introduced, of.preexisting) {
			add(words(string(f.Code)+": "), words(f.Remedy.Text))
		}
	}
	return p
}

// oldErrorPart lists the errors of the old version alone that belong to no TrainJob.
func (c *Comparison) oldErrorPart() part {
	p := part{head: "What the old version does not read", noun: "error"}
	for i, f := range c.oldErrors {
		if i == mostTodo {
			p.items = append(p.items, more(len(c.oldErrors)-i, p.noun))
			break
		}
		p.items = append(p.items, item{spans: []span{named(errorText(f))}})
	}
	return p
}

// errorLines returns the errors that no TrainJob shows, those of the old version alone first.
func (c *Comparison) errorLines() (lines []hunkLine) {
	shown := map[string]bool{}
	for _, j := range c.Jobs {
		for _, f := range j.rejected {
			shown[errorText(f)] = true
		}
	}
	for _, f := range c.oldErrors {
		lines = append(lines, hunkLine{mark: '-', text: " " + errorText(f)})
	}
	for _, f := range slices.Concat(c.findings.introduced, c.findings.preexisting) {
		if f.Severity >= finding.Error && !shown[errorText(f)] {
			lines = append(lines, hunkLine{mark: '!', text: " " + errorText(f)})
		}
	}
	return lines
}

// errorText returns an error with its place, its code and its field.
func errorText(f finding.Finding) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Position, f.Code, f.Path)) + ": " + f.Message
}
