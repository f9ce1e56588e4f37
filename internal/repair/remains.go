package repair

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/manifest"
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
	for _, path := range removed {
		var item fieldpath.Path
		take(content, path, 0, &item)
		if item != nil {
			idle = append(idle, item)
		}
	}
	return slices.DeleteFunc(idle, func(item fieldpath.Path) bool {
		return slices.ContainsFunc(idle, func(outer fieldpath.Path) bool { return len(outer) < len(item) && item.HasPrefix(outer) })
	})
}

// gone replaces an item that is removed, so that the indexes of the others stay.
type gone struct{}

// take removes the field at a path from the value at its first n steps. It reports whether nothing is left of the value, and sets idle to
// the outermost item that is left without an effect.
func take(value any, path fieldpath.Path, n int, idle *fieldpath.Path) bool {
	if n == len(path) {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		name, ok := path[n].Field()
		if !ok {
			name, _ = path[n].Key()
		}
		inner, known := v[name]
		if !known || !take(inner, path, n+1, idle) {
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
		i := indexOf(v, path[n])
		if i < 0 || !take(v[i], path, n+1, idle) {
			return false
		}
		v[i] = gone{}
		return !slices.ContainsFunc(v, func(item any) bool { return item != gone{} })
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
func indexOf(list []any, step fieldpath.Step) int {
	if i, ok := step.Index(); ok && i < len(list) {
		return i
	}
	key, value, ok := step.Item()
	if !ok {
		value, _ = step.Element()
	}
	return slices.IndexFunc(list, func(item any) bool {
		if fields, isObject := item.(map[string]any); isObject && ok {
			item = fields[key]
		}
		return item == any(value)
	})
}
