package comparison

import "github.com/trainweld/trainweld/fieldpath"

// name names the TrainJob in lists.
func (j *JobDiff) name() jobName { return jobName{j.ID.Namespace, j.ID.Name, j.Build} }

// jobName tells the TrainJobs of a comparison apart. Several builds may hold one of the same name.
type jobName struct{ namespace, name, build string }

// String returns "team-a/llm", or "team-a/llm (overlays/prod)" for a build.
func (n jobName) String() string {
	name := fieldpath.Object{Namespace: n.namespace, Name: n.name}.String()
	if n.build != "" {
		name += " (" + n.build + ")"
	}
	return name
}

// markdown returns "`team-a/llm`", or "`team-a/llm` (overlays/prod)" for a build.
func (n jobName) markdown() string {
	name := codeSpan(
		shortened(fieldpath.Object{Namespace: n.namespace, Name: n.name}.String(), longestName))
	if n.build != "" {
		name += " (" + safeText(shortened(n.build, longestName)) + ")"
	}
	return name
}

// changeGroup holds the TrainJobs with the same changes.
type changeGroup struct {
	jobs   []*JobDiff
	blocks []block // of the first TrainJob
}

// block holds objects of one TrainJob with the same changes.
type block struct{ objects []*ObjectDiff }

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
					g.blocks = append(g.blocks, block{})
				}
				g.blocks[i].objects = append(g.blocks[i].objects, o)
			}
		}
		g.jobs = append(g.jobs, j)
	}
	return groups
}

func (g *changeGroup) names() []jobName {
	names := make([]jobName, len(g.jobs))
	for i, j := range g.jobs {
		names[i] = j.name()
	}
	return names
}
