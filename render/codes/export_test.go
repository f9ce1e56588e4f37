package codes

import "github.com/trainweld/trainweld/finding"

// Explanations returns the number of rows of the table, and the two codes of one.
func Explanations() int { return len(explanations) }

func Explanation(row int) (code, by finding.Code) {
	return explanations[row].code, explanations[row].by
}

// WithoutExplanation calls do while the table lacks a row.
func WithoutExplanation(row int, do func()) {
	was := explanations[row]
	defer func() { explanations[row] = was }()
	explanations[row].code = ""
	do()
}
