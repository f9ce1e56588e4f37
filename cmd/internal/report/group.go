package report

import (
	"strings"

	"github.com/trainweld/trainweld/finding"
)

const (
	// MaxShown is the largest number of causes of one code in one file that formats for people
	// show.
	MaxShown = 100
	// leastGroup is the number of findings from which they form a group.
	leastGroup = 3
	// mostNamed is the number of findings of one cause that formats for people name, if they count
	// at least two more. One more would take as many lines as its name.
	mostNamed = 3
)

// Group holds three or more findings with one cause, or one finding. Findings with one cause agree
// on everything except their objects and positions.
type Group struct {
	// First is the finding to show whole.
	First finding.Finding
	// Others are the next findings, as many as a report names.
	Others finding.List
	// Count is the number of all findings.
	Count int

	kind string // of all objects; "" for several kinds
}

// groupKey is equal for findings with one cause.
type groupKey struct {
	code                        finding.Code
	severity                    finding.Severity
	message, path, help, claims string
}

// excess counts the findings of one code in one file that no group shows.
type excess struct {
	file  string
	code  finding.Code
	count int
}

func (e excess) String() string { return Count(e.count, "more finding") + " of " + string(e.code) }

// Groups returns the findings in groups, in the order of the first of each. With Options.All, each
// finding is a group.
func (o Options) Groups(findings finding.List) []Group {
	groups, _ := o.groups(findings, len(findings))
	return groups
}

// groups returns at most most groups of one code in one file, and counts the findings of the
// others.
func (o Options) groups(findings finding.List, most int) (groups []Group, left []excess) {
	if o.All {
		most = len(findings)
	}
	causes, count := o.causes(findings)
	begun, leftAt, groupAt := map[excess]int{}, map[excess]int{}, map[int]int{}
	for i, f := range findings {
		if at, ok := groupAt[causes[i]]; ok {
			groups[at].add(f)
			continue
		}
		at := excess{file: f.Position.File, code: f.Code}
		if begun[at] == most {
			if _, ok := leftAt[at]; !ok {
				leftAt[at] = len(left)
				left = append(left, at)
			}
			left[leftAt[at]].count++
			continue
		}
		begun[at]++
		if !o.All && count[causes[i]] >= leastGroup {
			groupAt[causes[i]] = len(groups)
		}
		groups = append(groups, Group{First: f, Count: 1, kind: f.Object.Kind})
	}
	return groups, left
}

// causes numbers the causes. It returns the number of each finding, and counts the findings of each
// cause.
func (o Options) causes(findings finding.List) (numbers, count []int) {
	numbers = make([]int, len(findings))
	if o.All {
		return numbers, []int{0}
	}
	known := map[groupKey]int{}
	for i, f := range findings {
		c := o.causeOf(f)
		n, ok := known[c]
		if !ok {
			n = len(count)
			known[c] = n
			count = append(count, 0)
		}
		numbers[i] = n
		count[n]++
	}
	return numbers, count
}

func (o Options) causeOf(f finding.Finding) groupKey {
	name := f.Object.Name
	c := groupKey{
		code: f.Code, severity: f.Severity,
		message: Nameless(f.Message, name), path: Nameless(f.Path.String(), name),
		help: Nameless(o.help(f), name),
	}
	var b strings.Builder
	for _, claim := range claims(f) {
		b.WriteString(string(claim.Owner) + "\x00" + Nameless(o.value(f, claim), name) + "\x00")
	}
	c.claims = b.String()
	return c
}

func (g *Group) add(f finding.Finding) {
	switch g.Count++; {
	case g.Count <= mostNamed+1:
		g.Others = append(g.Others, f)
	case g.Count == mostNamed+2:
		g.Others = g.Others[:mostNamed-1]
	}
	if f.Object.Kind != g.kind {
		g.kind = ""
	}
}

// More counts the findings after the first: "39 more TrainJobs". It returns "" for one finding.
func (g *Group) More() string {
	switch {
	case g.Count == 1:
		return ""
	case g.First.Object.Name == "":
		return Count(g.Count-1, "more place")
	case g.kind == "":
		return Count(g.Count-1, "more object")
	default:
		return Count(g.Count-1, "more "+g.kind)
	}
}

// Unnamed returns the number of findings that the group does not name.
func (g *Group) Unnamed() int { return g.Count - 1 - len(g.Others) }

// Nameless returns text with a NUL byte for each occurrence of a name. An occurrence is a word. A
// dash or a dot may follow it, as in the names of a TrainJob's children.
func Nameless(text, name string) string {
	if name == "" || !strings.Contains(text, name) {
		return text
	}
	var b strings.Builder
	for last := byte(' '); ; {
		i := strings.Index(text, name)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		if i > 0 {
			last = text[i-1]
		}
		b.WriteString(text[:i])
		text = text[i+len(name):]
		if isNameByte(last) || text != "" && isAlphanumeric(text[0]) {
			b.WriteString(name)
		} else {
			b.WriteByte(0)
		}
		last = name[len(name)-1]
	}
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isNameByte(c byte) bool { return isAlphanumeric(c) || c == '-' || c == '_' }
