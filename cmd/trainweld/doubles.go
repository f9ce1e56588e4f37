package main

import (
	"cmp"
	"slices"

	"github.com/trainweld/trainweld/cmd/trainweld/internal/report"
	"github.com/trainweld/trainweld/schema"
	"github.com/trainweld/trainweld/schema/manifest"
)

// withoutDoubles leaves out what admission has found in a document at a place of which reading the
// document has said more: both find unknown fields and wrong types, and reading knows what was meant.
func withoutDoubles(found, reading schema.Findings, d *manifest.Document) schema.Findings {
	found = withoutConsequences(found)
	if len(reading) == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(f schema.Finding) bool {
		return f.Object.Kind == d.ID.Kind && slices.ContainsFunc(reading, func(r schema.Finding) bool { return doubles(f, r, d) })
	})
}

// withoutConsequences leaves out what an item without its merge key leads to: the key is required, and no merge finds
// the item.
func withoutConsequences(found schema.Findings) schema.Findings {
	keyless := map[string]bool{}
	for _, f := range found {
		if f.Code == schema.CodeNoMergeKey {
			keyless[f.Path.String()] = true
		}
	}
	if len(keyless) == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(f schema.Finding) bool {
		switch f.Code {
		case schema.CodeNoMerge:
			return keyless[f.Path.String()]
		case schema.CodeMissingField:
			return len(f.Path) > 0 && keyless[f.Path[:len(f.Path)-1].String()]
		}
		return false
	})
}

func doubles(f, reading schema.Finding, d *manifest.Document) bool {
	if reading.Severity != schema.Error {
		return false
	}
	switch f.Code {
	case schema.CodeUnknownField:
		return under(f.Path, reading.Path, d)
	case schema.CodeWrongType:
		// A wrong type anywhere keeps all that is around it from being read.
		return under(f.Path, reading.Path, d) || isWrongType(reading.Code) && under(reading.Path, f.Path, d)
	case schema.CodeMissingField:
		return isWrongType(reading.Code) && under(f.Path, reading.Path, d) || isMisspelt(f.Path, reading)
	case schema.CodeBadValue, schema.CodeBrokenRule:
		return isWrongType(reading.Code) && under(f.Path, reading.Path, d)
	default:
		return false
	}
}

// isMisspelt says whether the field that is missing is there under a name which is nearly its own.
func isMisspelt(missing schema.Path, reading schema.Finding) bool {
	last := len(missing) - 1
	if reading.Code != schema.CodeUnknownField || last < 0 || len(reading.Path) != last+1 || !reading.Path.HasPrefix(missing[:last]) {
		return false
	}
	name, isField := missing[last].Field()
	written, isKey := reading.Path[last].Field()
	return isField && isKey && schema.Nearest(written, []string{name}) != ""
}

func isWrongType(code schema.Code) bool {
	return code == schema.CodeWrongType || code == schema.CodeAmbiguousWord
}

// under says whether a field of the document is the other one or lies in it. Items of lists may be named
// by their keys in one path and by their places in the other, so that places are what is compared.
func under(path, other schema.Path, d *manifest.Document) bool {
	if len(other) == 0 {
		return true
	}
	if len(path) < len(other) {
		return false
	}
	path = path[:len(other)]
	return path.String() == other.String() || d.Has(path) && d.Has(other) && d.Position(path) == d.Position(other)
}

// oncePerRuntime says once what a runtime does to all TrainJobs that name it.
func oncePerRuntime(found schema.Findings) schema.Findings {
	type key struct {
		code     schema.Code
		severity schema.Severity
		at       schema.Position
		message  string
	}
	first := map[key]int{}
	others := map[int]int{}
	var once schema.Findings
	for _, f := range found {
		if !comesFromRuntime(f) {
			once = append(once, f)
			continue
		}
		k := key{f.Code, f.Severity, f.Position, f.Message}
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

// comesFromRuntime says whether a finding is about an object that a controller makes, and its cause is in
// the runtime.
func comesFromRuntime(f schema.Finding) bool {
	if isRuntime(f.Object) {
		return false
	}
	for _, c := range slices.Backward(f.Claims) {
		if c.Position != (schema.Position{}) {
			return c.Layer == schema.Runtime && c.Position == f.Position
		}
	}
	return false
}

// inOrder sorts findings by the order of the files, and within a file by place.
func inOrder(found schema.Findings, files []string) schema.Findings {
	rank := map[string]int{}
	for i, file := range files {
		rank[file] = i + 1
	}
	slices.SortStableFunc(found, func(a, b schema.Finding) int {
		return cmp.Or(
			cmp.Compare(rank[a.Position.File], rank[b.Position.File]),
			cmp.Compare(a.Position.File, b.Position.File),
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
		)
	})
	return found
}
