package fn

import "github.com/trainweld/trainweld/cmd/internal/resourcelist"

// placing places the rendered objects among the items of a list.
type placing struct {
	order []*resourcelist.Item
	// after holds the new items that follow an item, and gone the removed items.
	after map[*resourcelist.Item][]*resourcelist.Item
	gone  map[*resourcelist.Item]bool
	// there holds the input items by name, and next the first free index of each file.
	there map[resourcelist.ID]*resourcelist.Item
	next  map[string]int
	last  []*resourcelist.Item
}

func newPlacing(items []*resourcelist.Item) *placing {
	p := &placing{
		order: items, after: map[*resourcelist.Item][]*resourcelist.Item{},
		gone:  map[*resourcelist.Item]bool{},
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

// put places the objects of a TrainJob: in its place, or with add behind it. A nil TrainJob was
// read from a file, so its objects go to the end. An object of an earlier run is replaced in its
// place.
//
// The first object that replaces a TrainJob keeps its position in the file. Others get new
// positions there, because an orchestrator that writes files identifies objects by position.
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

// items returns all items in their final order.
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
