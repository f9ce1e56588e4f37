package fn

import "github.com/trainweld/trainweld/internal/resourcelist"

// placing puts what TrainJobs become among the items of a list.
type placing struct {
	order []*resourcelist.Item
	// after is what comes after an item, and gone the items that are left out.
	after map[*resourcelist.Item][]*resourcelist.Item
	gone  map[*resourcelist.Item]bool
	// there are the items that came, by their names, and next the first free index of each file.
	there map[resourcelist.ID]*resourcelist.Item
	next  map[string]int
	last  []*resourcelist.Item
}

func newPlacing(items []*resourcelist.Item) *placing {
	p := &placing{
		order: items, after: map[*resourcelist.Item][]*resourcelist.Item{}, gone: map[*resourcelist.Item]bool{},
		there: map[resourcelist.ID]*resourcelist.Item{}, next: map[string]int{},
	}
	for _, item := range items {
		if id := item.ID(); id.Name != "" {
			p.there[id] = item
		}
		if file, ok := item.File(); ok {
			p.next[file.Path] = max(p.next[file.Path], file.Index+1)
		}
	}
	return p
}

// put puts what a TrainJob becomes into its place, or, with add, behind it. A TrainJob that is no item, which
// is nil, was read from a file: what it becomes stands at the end. What is there from an earlier run is
// replaced where it stands.
//
// The first object that replaces a TrainJob takes its place in its file, too; others get places of their
// own there, since an orchestrator that writes files knows an object by its place.
func (p *placing) put(job *resourcelist.Item, made []*resourcelist.Item, add bool) {
	free := job != nil && !add
	for _, item := range made {
		if old := p.there[item.ID()]; old != nil {
			if file, ok := old.File(); ok {
				item.SetFile(file, old)
			}
			p.after[old] = append(p.after[old], item)
			p.gone[old] = true
			continue
		}
		if job == nil {
			p.last = append(p.last, item)
			continue
		}
		if file, ok := job.File(); ok {
			if !free {
				file.Index = p.next[file.Path]
				p.next[file.Path]++
			}
			item.SetFile(file, job)
		}
		free = false
		p.after[job] = append(p.after[job], item)
	}
	if job != nil && !add {
		p.gone[job] = true
	}
}

// items are all items in their places.
func (p *placing) items() []*resourcelist.Item {
	var all []*resourcelist.Item
	for _, item := range p.order {
		if !p.gone[item] {
			all = append(all, item)
		}
		all = append(all, p.after[item]...)
	}
	return append(all, p.last...)
}
