package fieldpath

import "iter"

// Matches reports whether a pattern names the field or one that contains it. Any in a pattern
// matches each step.
func (p Path) Matches(pattern Path) bool {
	if len(pattern) > len(p) {
		return false
	}
	for i, step := range pattern {
		if step != p[i] && step != Any() {
			return false
		}
	}
	return true
}

// Patterns are patterns of [Path.Matches]. The work for one path does not grow with them. The zero
// value has none. They never change, and many goroutines may use them.
type Patterns struct{ root patternNode }

// patternNode is where the patterns with one beginning are.
type patternNode struct {
	ends []int // the numbers of the patterns that end here
	next map[Step]*patternNode
}

// NewPatterns returns the given patterns. Their numbers are their places in the list.
func NewPatterns(list []Path) *Patterns {
	p := &Patterns{}
	for number, pattern := range list {
		at := &p.root
		for _, step := range pattern {
			below := at.next[step]
			if below == nil {
				if at.next == nil {
					at.next = map[Step]*patternNode{}
				}
				below = &patternNode{}
				at.next[step] = below
			}
			at = below
		}
		at.ends = append(at.ends, number)
	}
	return p
}

// Matching returns the numbers of the patterns that match a path, the shortest ones first.
func (p *Patterns) Matching(path Path) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, nodes := 0, p.start(); len(nodes) > 0; i++ {
			for _, n := range nodes {
				for _, number := range n.ends {
					if !yield(number) {
						return
					}
				}
			}
			if i == len(path) {
				return
			}
			nodes = matchStep(nodes, path[i])
		}
	}
}

// HasWithin reports whether a pattern goes on behind a path.
func (p *Patterns) HasWithin(path Path) bool {
	nodes := p.start()
	for _, step := range path {
		nodes = matchStep(nodes, step)
	}
	for _, n := range nodes {
		if n.next != nil {
			return true
		}
	}
	return false
}

func (p *Patterns) start() []*patternNode {
	if p == nil {
		return nil
	}
	return []*patternNode{&p.root}
}

func matchStep(nodes []*patternNode, step Step) (below []*patternNode) {
	for _, n := range nodes {
		if next := n.next[step]; next != nil {
			below = append(below, next)
		}
		if next := n.next[Any()]; next != nil && step != Any() {
			below = append(below, next)
		}
	}
	return below
}
