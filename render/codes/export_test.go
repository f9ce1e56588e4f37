package codes

import "github.com/trainweld/trainweld/finding"

// Explanations returns the number of rows of the table.
func Explanations() int { return len(explanations) }

// Explanation returns the two codes of a row, and whether the row is about a field within another
// one.
func Explanation(row int) (code, by finding.Code, isWithin bool) {
	e := explanations[row]
	return e.code, e.by, e.where == within
}

// WithoutExplanation calls do while the table lacks a row.
func WithoutExplanation(row int, do func()) {
	was := explanations[row]
	defer func() { explanations[row] = was }()
	explanations[row].code = ""
	do()
}
