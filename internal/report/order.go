package report

import (
	"cmp"
	"slices"

	"github.com/trainweld/trainweld/finding"
)

// InOrder sorts findings by the order of the files, then by position.
func InOrder(found finding.List, files []string) finding.List {
	rank := map[string]int{}
	for i, file := range files {
		rank[file] = i + 1
	}
	slices.SortStableFunc(found, func(a, b finding.Finding) int {
		return cmp.Or(
			cmp.Compare(rank[a.Position.File], rank[b.Position.File]),
			cmp.Compare(a.Position.File, b.Position.File),
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
		)
	})
	return found
}
