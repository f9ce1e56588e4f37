package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/revision"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// openFindings holds findings of one kind in the new version. They are new, or belong to TrainJobs
// that differ.
type openFindings struct {
	introduced, preexisting finding.List
	inUnchanged             int // the old ones of TrainJobs that do not differ
}

// openFindingsOf sorts findings of the new version.
func (c *Comparison) openFindingsOf(before, after finding.List) openFindings {
	var of openFindings
	baseline := revision.Baseline{}
	baseline.Add(before)
	differs := map[fieldpath.Object]bool{}
	for _, j := range c.Jobs {
		differs[j.ID] = true
	}
	for _, f := range after {
		switch {
		case !baseline.Take(f):
			of.introduced = append(of.introduced, f)
		case differs[f.Object]:
			of.preexisting = append(of.preexisting, f)
		default:
			of.inUnchanged++
		}
	}
	return of
}

func (c *openFindings) add(other openFindings) {
	c.introduced = append(c.introduced, other.introduced...)
	c.preexisting = append(c.preexisting, other.preexisting...)
	c.inUnchanged += other.inUnchanged
}

// findingSection holds the groups of conflicts or of other findings, new ones first.
type findingSection struct {
	openFindings
	head, noun string
	groups     []report.Group
	new        int // the groups that the change brings
	opts       report.Options
}

// findingSections returns the conflicts and the other findings of the new version.
func (c *Comparison) findingSections() []findingSection {
	sections := []findingSection{
		{openFindings: c.conflicts, head: "Who disagrees", noun: "conflict"},
		{openFindings: c.findings, head: "Findings", noun: "finding"}}
	for i := range sections {
		s := &sections[i]
		s.introduced, s.preexisting = codes.JoinBuilds(s.introduced),
			codes.JoinBuilds(s.preexisting)
		s.opts = report.Options{ShowValues: !c.mask}
		s.groups = s.opts.Groups(s.introduced)
		s.new = len(s.groups)
		s.groups = append(s.groups, s.opts.Groups(s.preexisting)...)
	}
	return sections
}

// count counts the findings.
func (s *findingSection) count() string {
	text := report.Count(len(s.introduced)+len(s.preexisting), s.noun)
	if n := len(s.introduced); n > 0 {
		text += fmt.Sprintf(", %d new", n)
	}
	if s.inUnchanged > 0 {
		text += fmt.Sprintf("; %d more in TrainJobs that do not change", s.inUnchanged)
	}
	return text
}

// markdown returns the section, at most most bytes, and whether it is complete.
func (s *findingSection) markdown(most int) (text string, whole bool) {
	if len(s.groups) == 0 {
		return "", true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n**%s**: %s\n\n", s.head, s.count())
	for i := range s.groups {
		item := s.item(&s.groups[i], i < s.new)
		if b.Len()+len(item) > most {
			fmt.Fprintf(&b, "- and %s\n", report.Count(len(s.groups)-i, "more cause"))
			return b.String(), false
		}
		b.WriteString(item)
	}
	return b.String(), true
}

// item returns a finding with its managers and their values.
func (s *findingSection) item(g *report.Group, isNew bool) string {
	f := g.First
	built := strings.Join(append([]string{f.Build}, f.MoreBuilds...), ", ")
	var b strings.Builder
	b.WriteString("- ")
	if isNew {
		b.WriteString("**new** ")
	}
	b.WriteString(report.Title(f.Code))
	if len(f.Path) > 0 {
		b.WriteString(": " + codeSpan(shortened(f.Path.String(), 500)))
	}
	if f.Object.Name != "" {
		b.WriteString(" of " + jobName{f.Object.Namespace, f.Object.Name, built}.markdown())
	} else if built != "" {
		b.WriteString(" in " + codeSpan(built))
	}
	if more := g.More(); more != "" {
		b.WriteString(" and " + more)
	}
	b.WriteByte('\n')
	claims := s.opts.Claims(f)
	if f.Code != codes.Overlap { // the claims of an overlap say what its message says
		line := safeText(f.Message)
		if at := f.Position.String(); at != "" {
			line += " at " + codeSpan(at)
		}
		fmt.Fprintf(&b, "  - %s\n", line)
	}
	for _, c := range claims {
		line := codeSpan(string(c.Layer)) + " " + codeSpan(c.Value)
		if c.Place != "" {
			line += " at " + codeSpan(c.Place)
		}
		if c.Mark != "" {
			line += ", **" + c.Mark + "**"
		}
		fmt.Fprintf(&b, "  - %s\n", line)
	}
	return b.String()
}

// todo writes the remedies.
func (c *Comparison) todo(b *strings.Builder, sections []findingSection) {
	for i, line := range c.remedies(sections, markdownNames, safeText) {
		if i == 0 {
			b.WriteString("\n**What to do**\n\n")
		}
		fmt.Fprintf(b, "- %s\n", line)
	}
}

// remedies returns the first remedies, each once. As the report's format needs, names lists
// TrainJobs and escape escapes text.
func (c *Comparison) remedies(sections []findingSection, names func([]jobName, int) string,
	escape func(string) string) []string {
	effects := c.effects()
	var lines []string
	add := func(u Update, one, many string) {
		by := byRules
		if u == Replaced {
			by = byFrozen
		}
		ids := effects.by[effect{u, by}]
		if u == Kept {
			ids = slices.Concat(ids, effects.by[effect{u, inPart}])
		}
		if len(ids) == 1 {
			lines = append(lines, one+": "+names(ids, 1))
		} else if len(ids) > 1 {
			lines = append(lines, fmt.Sprintf(many, len(ids))+": "+names(ids, 5))
		}
	}
	kind := c.noun
	add(Replaced, "delete the "+kind+" if it exists, and create it again",
		"delete the %d "+kind+"s where they exist, and create them again")
	add(Rejected, "suspend the job, and apply the change once no Pods are active",
		"suspend the %d jobs, and apply the change once no Pods are active")
	add(Kept, "to use the changed runtime, delete the TrainJob if it exists, and create it again",
		"to use the changed runtime, delete the %d TrainJobs where they exist, and create them "+
			"again")
	for _, j := range c.Jobs {
		for _, f := range j.rejected {
			if (j.state == stateRejected || j.state == stateBroken) &&
				j.updateEffect.effect() != (effect{Rejected, byRules}) {
				lines = append(lines, string(f.Code)+": "+escape(f.Remedy.Text))
			}
		}
	}
	for _, s := range sections {
		for i := range s.groups {
			lines = append(
				lines, string(s.groups[i].First.Code)+": "+escape(s.groups[i].First.Remedy.Text))
		}
	}
	var known []string
	for _, line := range lines {
		if len(known) < mostTodo && !slices.Contains(known, line) {
			known = append(known, line)
		}
	}
	return known
}

// safeText returns text that Markdown and HTML show as it is, and no longer than a remedy should
// be.
func safeText(text string) string {
	var b strings.Builder
	for _, r := range strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(
		shortened(report.Printable(text), 500)) {
		if strings.ContainsRune("\\`*_{}[]|~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// mostTodo is the number of remedies in a comment.
const mostTodo = 12
