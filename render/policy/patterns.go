package policy

import "github.com/trainweld/trainweld/fieldpath"

// patterns are the paths that a manager may set, by their steps, so that the work for one field
// does not grow with them.
type patterns struct {
	ends bool // whether a pattern ends here
	next map[fieldpath.Step]*patterns
}

func (p *patterns) add(pattern fieldpath.Path) {
	for _, step := range pattern {
		if p.next == nil {
			p.next = map[fieldpath.Step]*patterns{}
		}
		if p.next[step] == nil {
			p.next[step] = &patterns{}
		}
		p = p.next[step]
	}
	p.ends = true
}

// find reports whether a pattern matches a path, as [fieldpath.Path.Matches] does, and whether one
// goes on behind it.
func (p *patterns) find(path fieldpath.Path) (matches, goesOn bool) {
	nodes := []*patterns{p}
	for _, step := range path {
		var below []*patterns
		for _, n := range nodes {
			matches = matches || n.ends
			if next := n.next[step]; next != nil {
				below = append(below, next)
			}
			if next := n.next[fieldpath.Any()]; next != nil && step != fieldpath.Any() {
				below = append(below, next)
			}
		}
		nodes = below
	}
	for _, n := range nodes {
		matches, goesOn = matches || n.ends, goesOn || n.next != nil
	}
	return matches, goesOn
}
