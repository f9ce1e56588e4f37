package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/lookup"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// A cluster stops at a value of a wrong type, and reports the next mistake only after its
// correction. This file reports them all at once: it judges an object once more, without these
// values.

// beyondTypes returns the errors of an object that values of a wrong type hide from the given
// findings. judge judges the object's fields. Left out are what may come from the missing values
// themselves, and what is at, within or around an error that is given.
func beyondTypes(
	d *manifest.Document, fields map[string]any, found finding.List,
	judge func(map[string]any) finding.List,
) finding.List {
	var wrong []fieldpath.Path
	left := remains{fields: fields}
	for _, f := range d.Findings {
		if f.Severity != finding.Error ||
			f.Code != codes.WrongType && f.Code != codes.AmbiguousWord {
			continue
		}
		isText := strings.HasPrefix(f.Message, "must be a string")
		if !left.remove(f.Path, isText) {
			return nil
		}
		wrong = append(append(wrong, f.Path), inChildren(f.Path)...)
	}
	if wrong == nil {
		return nil
	}
	known := diff.IndexPaths(found.Where(func(f finding.Finding) bool {
		return f.Severity >= finding.Error && len(f.Path) > 0
	}), func(f finding.Finding) fieldpath.Path { return f.Path })
	return judge(left.fields).Where(func(f finding.Finding) bool {
		if _, isKnown := known.Find(f.Path); isKnown || f.Severity < finding.Error {
			return false
		}
		switch f.Code {
		case codes.MissingField, codes.BrokenRule, codes.NoImage, codes.Immutable,
			codes.PatchedRunning, codes.EndlessUpdate:
			return false
		}
		source := f.Path
		if len(f.Claims) > 0 {
			source = f.Claims[len(f.Claims)-1].At
		}
		return !slices.ContainsFunc(wrong, func(path fieldpath.Path) bool {
			return meet(path, source)
		})
	})
}

// meet reports whether one path is at, within or around the other. One may name an item by its
// index, and the other by its key.
func meet(a, b fieldpath.Path) bool {
	for i := range min(len(a), len(b)) {
		_, isNameA := a[i].Name()
		_, isNameB := b[i].Name()
		_, isIndexA := a[i].Index()
		_, isIndexB := b[i].Index()
		isMixed := isIndexA != isIndexB && !isNameA && !isNameB
		if !isMixed && !a[i:i+1].HasPrefix(b[i:i+1]) {
			return false
		}
	}
	return true
}

// inChildren returns the paths that a field of a JobSet's replicated job has in the Job and in the
// Pod.
func inChildren(path fieldpath.Path) []fieldpath.Path {
	const job, pod = 4, 6 // the elements before the Job's spec, and before the Pod's
	if !path.HasPrefix(fieldpath.Fields("spec", "replicatedJobs")) || len(path) <= job {
		return nil
	}
	if len(path) <= pod {
		return []fieldpath.Path{path[job:]}
	}
	return []fieldpath.Path{path[job:], path[pod:]}
}

// remains are the fields of an object without some values. They are copied before the first one
// goes.
type remains struct {
	fields   map[string]any
	isCopied bool
	places   lookup.Lists
}

// remove removes the value at a path, or replaces it by its text. It returns false for a value
// whose absence says too much: the root, the identity of the object, the reference to the runtime,
// and an item of a list.
func (r *remains) remove(path fieldpath.Path, isText bool) bool {
	for _, needed := range []fieldpath.Path{fieldpath.Fields("metadata", "name"),
		fieldpath.Fields("metadata", "namespace"), fieldpath.Fields("spec", "runtimeRef")} {
		if path.HasPrefix(needed) || needed.HasPrefix(path) {
			return false
		}
	}
	if !r.isCopied {
		r.fields, r.isCopied = tree.Copy(r.fields), true
	}
	var value any = r.fields
	for i, step := range path {
		isLast := i+1 == len(path)
		switch in := value.(type) {
		case map[string]any:
			name, isName := step.Name()
			old, exists := in[name]
			if !isName || !exists {
				return false
			}
			if text, isScalar := textOf(old); isLast && isScalar && isText {
				in[name] = text
			} else if isLast {
				delete(in, name)
			}
			value = old
		case []any:
			at, isThere := r.places.Position(in, step)
			if !isThere {
				return false
			}
			if isLast {
				text, isScalar := textOf(in[at])
				if !isScalar || !isText {
					return false
				}
				in[at] = text
			}
			value = in[at]
		default:
			return false
		}
	}
	return len(path) > 0
}

// textOf returns the text of a scalar.
func textOf(value any) (string, bool) {
	switch value.(type) {
	case string, bool, int64, float64:
		return fmt.Sprint(value), true
	}
	return "", false
}
