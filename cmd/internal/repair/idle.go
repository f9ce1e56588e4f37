package repair

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// idleItems returns the items of patches that set nothing without the removed fields: entries of runtimePatches, jobs and containers.
// A patch cannot create a job or a container, so an item with a name alone has no effect. The document itself drops empty maps and
// lists.
func idleItems(d *manifest.Document, removed []fieldpath.Path) []fieldpath.Path {
	if len(removed) == 0 {
		return nil
	}
	content, err := d.Content()
	if err != nil {
		return nil
	}
	var idle []fieldpath.Path
	r := remainingItems{}
	for _, path := range removed {
		var item fieldpath.Path
		r.removeField(content, path, 0, &item)
		if item != nil {
			idle = append(idle, item)
		}
	}
	all := pathsOf(idle)
	return slices.DeleteFunc(idle, func(item fieldpath.Path) bool { return all.hasPrefix(item, len(item)-1) })
}

// pathSet is a set of paths.
type pathSet map[string]bool

func pathsOf(list []fieldpath.Path) pathSet {
	set := pathSet{}
	for _, path := range list {
		set[path.String()] = true
	}
	return set
}

// hasPrefix reports whether the set has one of the first n steps of a path, or fewer of them.
func (s pathSet) hasPrefix(path fieldpath.Path, n int) bool {
	for ; len(s) > 0 && n > 0; n-- {
		if s[path[:n].String()] {
			return true
		}
	}
	return false
}

// gone replaces an item that is removed, so that the indexes of the others stay.
type gone struct{}

// remainingItems has the rest of each list of an object, by its first item.
type remainingItems map[*any]*list

// list is a list from which items are removed.
type list struct {
	remaining int
	byKey     map[string]map[any]int // the first item with a value of each merge key, and with "" of the items themselves
}

func (r remainingItems) of(items []any) *list {
	l := r[&items[0]]
	if l == nil {
		l = &list{len(items), map[string]map[any]int{}}
		r[&items[0]] = l
	}
	return l
}

// removeField removes the field at a path from the value at its first n steps. It reports whether the value is empty, and sets idle to the
// outermost item that is left without an effect.
func (r remainingItems) removeField(value any, path fieldpath.Path, n int, idle *fieldpath.Path) bool {
	if n == len(path) {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		name, _ := path[n].Name()
		inner, known := v[name]
		if !known || !r.removeField(inner, path, n+1, idle) {
			return false
		}
		delete(v, name)
		if len(v) == 0 {
			return true
		}
		if isIdle(v, path[:n]) {
			*idle = slices.Clone(path[:n])
			return true
		}
	case []any:
		if len(v) == 0 {
			return false
		}
		l := r.of(v)
		i := l.indexOf(v, path[n])
		if i < 0 || !r.removeField(v[i], path, n+1, idle) {
			return false
		}
		if v[i] != any(gone{}) {
			v[i] = gone{}
			l.remaining--
		}
		return l.remaining == 0
	}
	return false
}

// isIdle reports whether an item of a patch has no effect.
func isIdle(item map[string]any, path fieldpath.Path) bool {
	const beforeItem = 2
	if len(path) < beforeItem {
		return false
	}
	list, _ := path[len(path)-beforeItem].Field()
	inPatch := slices.Contains(path, fieldpath.Field("trainingRuntimeSpec"))
	for name := range item {
		switch {
		case list == "runtimePatches" && (name == "manager" || name == "time"):
		case inPatch && (list == "replicatedJobs" || list == "containers") && name == "name":
		default:
			return false
		}
	}
	return true
}

// indexOf returns the index of a step's item, or -1.
func (l *list) indexOf(items []any, step fieldpath.Step) int {
	if i, ok := step.Index(); ok && i < len(items) {
		return i
	}
	key, value, ok := step.Item()
	if !ok {
		key = ""
		value, _ = step.Element()
	}
	known := l.byKey[key]
	if known == nil {
		known = map[any]int{}
		for i, item := range slices.Backward(items) {
			if fields, isObject := item.(map[string]any); isObject && ok {
				item = fields[key]
			}
			if text, isText := item.(string); isText {
				known[text] = i
			}
		}
		l.byKey[key] = known
	}
	if i, ok := known[value]; ok {
		return i
	}
	return -1
}
