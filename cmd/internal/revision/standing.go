package revision

import (
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Standing counts the findings on the old version. A change brings the other findings.
type Standing map[finding.Key]int

// Add adds findings of the old version, each once.
func (s Standing) Add(found finding.List) {
	for _, f := range found.Distinct() {
		s[lasting(f)]++
	}
}

// Take reports whether the old version has a finding, and removes it. Two findings of the new version need two of the old one.
func (s Standing) Take(f finding.Finding) bool {
	k := lasting(f)
	if s[k] == 0 {
		return false
	}
	s[k]--
	return true
}

// lasting returns the key of a finding without its line. An object may move to another file.
func lasting(f finding.Finding) finding.Key {
	k := f.Key()
	k.Position.Line, k.Position.Column = 0, 0
	if f.Object.Name != "" {
		k.Position = fieldpath.Position{}
	}
	if f.Code == finding.CodeDuplicateObject {
		k.Message = "" // it names the line of the other object
	}
	return k
}
