package comparison

import (
	"fmt"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
)

// name names the TrainJob in lists.
func (j *JobDiff) name() jobName { return jobName{j.ID.Namespace, j.ID.Name, j.Build} }

// jobName tells the TrainJobs of a comparison apart. Several builds may hold one of the same name.
type jobName struct{ namespace, name, build string }

// changeGroup holds the TrainJobs with the same changes.
type changeGroup struct {
	jobs   []*JobDiff
	blocks [][]*ObjectDiff // of the first TrainJob, those with the same changes together
}

// groups combines equal changes, in the order of the first of each.
func (c *Comparison) groups() []*changeGroup {
	var groups []*changeGroup
	known := map[string]*changeGroup{}
	for _, j := range c.Jobs {
		g := known[j.alike]
		if g == nil || c.All {
			g = &changeGroup{}
			known[j.alike] = g
			groups = append(groups, g)
			of := map[string]int{}
			for _, o := range j.Objects {
				i, ok := of[o.alike]
				if !ok {
					i = len(g.blocks)
					of[o.alike] = i
					g.blocks = append(g.blocks, nil)
				}
				g.blocks[i] = append(g.blocks[i], o)
			}
		}
		g.jobs = append(g.jobs, j)
	}
	return groups
}

// title returns the TrainJobs of a group.
func (g *changeGroup) title() []span {
	first, names := g.jobs[0], make([]jobName, len(g.jobs))
	for i, j := range g.jobs {
		names[i] = j.name()
	}
	list := firstNames(names, mostTitle)
	if len(names) == 1 {
		return append(append([]span{words(first.ID.Kind + " ")}, list...),
			words(" is "+string(first.state)))
	}
	return append([]span{words(fmt.Sprintf("%s are %s alike: ",
		report.Count(len(names), first.ID.Kind), first.state))}, list...)
}

// mostTitle is the number of TrainJobs in a title.
const mostTitle = 10

// mostFields is the number of changes of existing objects that a report lists for a TrainJob.
const mostFields = 30

// lines returns a group's effects on existing TrainJobs, the errors of a rejection, and the unified
// diffs of its blocks.
func (c *Comparison) lines(g *changeGroup) ([]hunkLine, error) {
	var lines []hunkLine
	add := func(mark byte, text string) {
		lines = append(lines, hunkLine{mark: mark, text: " " + text})
	}
	first := g.jobs[0]
	for _, text := range first.queueChange() {
		add('#', text)
	}
	fields := first.updateEffect.Fields
	for i, f := range fields {
		if i == mostFields && !c.All {
			add('#', "and "+report.Count(len(fields)-i, "more change")+
				" of the objects that exist")
			break
		}
		add('#', f.String())
	}
	for _, f := range first.rejectedOld {
		add('-', errorText(f))
	}
	last := ""
	for i, f := range first.rejected {
		add('!', errorText(f))
		if note := claimText(first.causesOf(i)[0]); note != last {
			last, lines[len(lines)-1].note = note, note
		}
	}
	for _, b := range g.blocks {
		block, err := c.block(g, b)
		if err != nil {
			return nil, err
		}
		lines = append(lines, block...)
	}
	return lines, nil
}

// block returns the unified diff of objects that change alike, shown for the first one.
func (c *Comparison) block(g *changeGroup, objects []*ObjectDiff) ([]hunkLine, error) {
	first := objects[0]
	others := append([]*ObjectDiff(nil), objects[1:]...)
	for _, j := range g.jobs[1:] {
		for _, o := range j.Objects {
			if o.alike == first.alike {
				others = append(others, o)
			}
		}
	}
	name := objectNames(objects, g.jobs[0].ID.Namespace)
	lines := []hunkLine{{mark: 'a', text: "--- " + c.old.Name + ": " + name},
		{mark: 'b', text: "+++ " + c.new.Name + ": " + name}}
	switch first.state {
	case stateCreated:
		lines[0].text = "--- /dev/null"
	case stateRemoved:
		lines[1].text = "+++ /dev/null"
	}
	hunks, err := c.hunks(first, others)
	return append(lines, hunks...), err
}

// objectNames names the objects of a block.
func objectNames(objects []*ObjectDiff, namespace string) string {
	const most = 5
	var list []string
	for i, o := range objects {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(list, ", "), len(objects)-most)
		}
		name := fieldpath.Object{Namespace: namespace, Name: o.Key.Name}.String()
		if i == 0 || objects[i-1].Key.Kind != o.Key.Kind {
			name = o.Key.Kind + " " + name
		}
		if o.Key.Number > 0 {
			name += fmt.Sprintf(" (number %d)", o.Key.Number+1)
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

// String returns the line with escapes for characters that a terminal interprets, except tabs.
func (l hunkLine) String() string {
	text := report.PrintableTabs(l.text)
	if l.note != "" {
		text += "  # " + report.Printable(l.note)
	}
	if l.mark == '@' || l.mark == 'a' || l.mark == 'b' {
		return text
	}
	return report.Line(string(l.mark) + text)
}
