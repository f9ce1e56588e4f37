package revision

import (
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Baseline counts the findings on the old version. A change brings the other findings.
type Baseline map[codes.Key]int

// Add adds findings of the old version, each once.
func (b Baseline) Add(found finding.List) {
	for _, f := range codes.Distinct(found) {
		b[keyWithoutLine(f)]++
	}
}

// Take reports whether the old version has a finding, and removes it. Two findings of the new
// version need two of the old one.
func (b Baseline) Take(f finding.Finding) bool {
	k := keyWithoutLine(f)
	if b[k] == 0 {
		return false
	}
	b[k]--
	return true
}

// keyWithoutLine returns the key of a finding without its line. An object may move to another file.
func keyWithoutLine(f finding.Finding) codes.Key {
	k := codes.KeyOf(f)
	k.Position.Line, k.Position.Column = 0, 0
	if f.Object.Name != "" {
		k.Position = fieldpath.Position{}
	}
	if f.Code == codes.DuplicateObject {
		k.Message = "" // it names the line of the other object
	}
	return k
}
