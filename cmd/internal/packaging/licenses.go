package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// accepted are the licenses, by SPDX identifier, that a linked module may have. All of them let a program under the Apache license
// contain the module. Check the terms of another one before you add it.
var accepted = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// mostUnknown is the number of words that a license may have besides known texts. Titles, names and lists of files need them.
const mostUnknown = 100

// licenses identifies texts, each once.
type licenses struct {
	known *classifier.Classifier
	seen  map[string]classification
}

// classification holds the licenses that a text contains, or the problem with it.
type classification struct {
	names   []string
	problem string
}

// newLicenses loads the texts of all known licenses.
func newLicenses() (licenses, error) {
	c, err := assets.DefaultClassifier()
	return licenses{c, map[string]classification{}}, err
}

// identify fills in the licenses of the modules. It returns an error that names each module without an accepted license.
func (l licenses) identify(modules []module) error {
	var wrong []string
	for i := range modules {
		m := &modules[i]
		names, problems := l.of(*m)
		for _, problem := range problems {
			wrong = append(wrong, fmt.Sprintf("%s@%s: %s", m.path, m.version, problem))
		}
		m.licenses = names
	}
	if wrong != nil {
		return fmt.Errorf("modules that a release cannot contain:\n  %s", strings.Join(wrong, "\n  "))
	}
	return nil
}

// of returns the licenses of a module, sorted, and the problems with them.
func (l licenses) of(m module) (names, problems []string) {
	found := map[string]bool{}
	for _, t := range m.texts {
		if !isLicense(t.name) {
			continue
		}
		v, ok := l.seen[string(t.data)]
		if !ok {
			v = l.classify(t.data)
			l.seen[string(t.data)] = v
		}
		if v.problem != "" {
			problems = append(problems, t.name+": "+v.problem)
		}
		for _, name := range v.names {
			found[name] = true
		}
	}
	if len(found) == 0 && problems == nil {
		problems = []string{"no license found"}
	}
	return slices.Sorted(maps.Keys(found)), problems
}

// classify identifies the licenses of a text. Almost all of its words must belong to licenses that are accepted.
func (l licenses) classify(data []byte) classification {
	lines := bytes.Split(data, []byte("\n"))
	known := make([]bool, len(lines)+1)
	var names []string
	for _, m := range l.known.Match(data).Matches {
		for line := m.StartLine; line <= m.EndLine && line < len(known); line++ {
			known[line] = true
		}
		if m.MatchType == "Copyright" {
			continue
		}
		if !slices.Contains(accepted, m.Name) {
			return classification{problem: fmt.Sprintf("license %s is not accepted: must be one of %s", m.Name, strings.Join(accepted, ", "))}
		}
		names = append(names, m.Name)
	}
	if names == nil {
		return classification{problem: "unknown license"}
	}
	unknown := 0
	for i, line := range lines {
		if !known[i+1] {
			unknown += len(bytes.Fields(line))
		}
	}
	if unknown > mostUnknown {
		return classification{problem: fmt.Sprintf("%d words belong to no known license: must be at most %d", unknown, mostUnknown)}
	}
	return classification{names: names}
}

// legalEntries returns the licenses and notices of the modules as files of an archive.
func legalEntries(modules []module) []entry {
	var files []entry
	for _, m := range modules {
		folder := "licenses/" + m.path + "/"
		if m.own {
			folder = ""
		}
		for _, t := range m.texts {
			files = append(files, entry{folder + t.name, 0o644, t.data})
		}
	}
	return files
}
