package check

import (
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// withoutDoubles removes admission findings that repeat a decoding finding. Both find unknown fields and wrong types, and
// decoding suggests the intended field.
func withoutDoubles(found finding.List, d *manifest.Document) finding.List {
	var all finding.Set
	all.Add(found...)
	found = slices.DeleteFunc(found, all.Supersedes)
	if len(found) == 0 || len(d.Findings) == 0 {
		return found
	}
	r := newReadFindings(d)
	return slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Object.Kind == d.ID.Kind && r.holds(f) })
}

// readFindings holds the decoding errors of a document by their fields. A path may name a list item by key or by index, so
// each field has its path and its position.
type readFindings struct {
	document *manifest.Document
	errors   map[field]bool      // the fields of all errors
	types    map[field]bool      // the fields of wrong types
	around   map[field]bool      // the fields that contain a wrong type
	unknown  map[string][]string // the names of unknown fields, by their object
}

// field identifies a field by the length of its path, and by the path or the position.
type field struct {
	depth int
	path  string
	place fieldpath.Position
}

func newReadFindings(d *manifest.Document) *readFindings {
	r := &readFindings{d, map[field]bool{}, map[field]bool{}, map[field]bool{}, map[string][]string{}}
	for _, f := range d.Findings {
		if f.Severity != finding.Error {
			continue
		}
		r.note(r.errors, f.Path)
		if isWrongType(f.Code) {
			r.note(r.types, f.Path)
			for n := range len(f.Path) + 1 {
				r.note(r.around, f.Path[:n])
			}
		}
		if last := len(f.Path) - 1; f.Code == finding.CodeUnknownField && last >= 0 {
			if name, ok := f.Path[last].Field(); ok {
				in := f.Path[:last].String()
				r.unknown[in] = append(r.unknown[in], name)
			}
		}
	}
	return r
}

func (r *readFindings) note(fields map[field]bool, path fieldpath.Path) {
	fields[field{depth: len(path), path: path.String()}] = true
	if r.document.Has(path) {
		fields[field{depth: len(path), place: r.document.TextPosition(path)}] = true
	}
}

// at reports whether fields contains the field.
func (r *readFindings) at(fields map[field]bool, path fieldpath.Path) bool {
	return fields[field{depth: len(path), path: path.String()}] ||
		r.document.Has(path) && fields[field{depth: len(path), place: r.document.TextPosition(path)}]
}

// under reports whether fields contains the field or one of its parents.
func (r *readFindings) under(fields map[field]bool, path fieldpath.Path) bool {
	if len(fields) == 0 {
		return false
	}
	for n := range len(path) + 1 {
		if r.at(fields, path[:n]) {
			return true
		}
	}
	return false
}

// holds reports whether decoding has reported an admission finding.
func (r *readFindings) holds(f finding.Finding) bool {
	switch f.Code {
	case finding.CodeUnknownField:
		return r.under(r.errors, f.Path)
	case finding.CodeWrongType:
		// A wrong type keeps its parents from being decoded.
		return r.under(r.errors, f.Path) || r.at(r.around, f.Path)
	case finding.CodeMissingField:
		return r.under(r.types, f.Path) || r.isMisspelt(f.Path)
	case finding.CodeBadValue:
		return r.under(r.types, f.Path)
	case finding.CodeBrokenRule:
		// The API server runs no rule on a field that contains a wrong type.
		return r.under(r.types, f.Path) || r.at(r.around, f.Path)
	default:
		return false
	}
}

// isMisspelt reports whether an unknown field has nearly the name of the missing one.
func (r *readFindings) isMisspelt(missing fieldpath.Path) bool {
	last := len(missing) - 1
	if last < 0 {
		return false
	}
	name, ok := missing[last].Field()
	return ok && slices.ContainsFunc(r.unknown[missing[:last].String()], func(written string) bool {
		return finding.Nearest(written, []string{name}) != ""
	})
}

func isWrongType(code finding.Code) bool {
	return code == finding.CodeWrongType || code == finding.CodeAmbiguousWord
}

// oncePerRuntime combines findings that a runtime causes in several TrainJobs.
func oncePerRuntime(found finding.List) finding.List {
	first := map[finding.Key]int{}
	others := map[int]int{}
	var once finding.List
	for _, f := range found {
		if !comesFromRuntime(f) {
			once = append(once, f)
			continue
		}
		k := finding.Finding{Code: f.Code, Severity: f.Severity, Position: f.Position, Message: f.Message}.Key()
		if at, seen := first[k]; !seen {
			first[k] = len(once)
			once = append(once, f)
		} else if once[at].Object != f.Object {
			others[at]++
		}
	}
	for at, n := range others {
		once[at].Message += "; the same goes for " + report.Count(n, "other TrainJob")
	}
	return once
}

// comesFromRuntime reports whether a finding is about a generated object and caused by the runtime.
func comesFromRuntime(f finding.Finding) bool {
	if workspace.IsRuntime(f.Object) {
		return false
	}
	for _, c := range slices.Backward(f.Claims) {
		if c.Position != (fieldpath.Position{}) {
			return c.Layer == runtimepatch.RuntimeLayer && c.Position == f.Position
		}
	}
	return false
}
