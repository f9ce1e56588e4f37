package upstream21

import "slices"

// Smaller returns a function that yields copies of the objects, each without one field or item. The outermost come first. The
// function returns false after the last copy.
func Smaller(objects ...Object) func() ([]Object, bool) {
	n := 0
	return func() ([]Object, bool) {
		small := make([]Object, len(objects))
		level := make([]any, len(objects))
		for i, o := range objects {
			small[i] = clone(o).(Object)
			level[i] = small[i]
		}
		if !drop(n, level) {
			return nil, false
		}
		n++
		return small, true
	}
}

// drop removes the n-th part.
func drop(n int, level []any) bool {
	for len(level) > 0 {
		var below []any
		for _, v := range level {
			parent, ok := v.(Object)
			if !ok {
				continue
			}
			for _, key := range sortedKeys(parent) {
				if n == 0 {
					delete(parent, key)
					return true
				}
				n--
				list, _ := parent[key].([]any)
				for i := range list {
					if n == 0 {
						parent[key] = slices.Delete(list, i, i+1)
						return true
					}
					n--
				}
				below = append(append(below, list...), parent[key])
			}
		}
		level = below
	}
	return false
}

func sortedKeys(o Object) []string {
	keys := make([]string, 0, len(o))
	for key := range o {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func clone(v any) any {
	switch v := v.(type) {
	case Object:
		out := make(Object, len(v))
		for key := range v {
			out[key] = clone(v[key])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	default:
		return v
	}
}
