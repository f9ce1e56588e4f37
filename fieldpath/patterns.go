package fieldpath

import "iter"

// Patterns are patterns of [Path.Matches]. The work for one path does not grow with them. The zero value has none. They never change,
// and many goroutines may use them.
type Patterns struct{ root patternNode }

// patternNode is where the patterns with one beginning are.
type patternNode struct {
	ends []int // the numbers of the patterns that end here
	next map[Step]*patternNode
	any  []Step // those of next that stand for any item, key or element: a schema has few of them in one place
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
				if at.next[step] = below; step.isPattern() {
					at.any = append(at.any, step)
				}
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
		if same := n.next[step]; same != nil {
			below = append(below, same)
		}
		for _, s := range n.any {
			if s != step && s.standsFor(step) {
				below = append(below, n.next[s])
			}
		}
	}
	return below
}
