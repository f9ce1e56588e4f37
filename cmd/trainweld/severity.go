package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/docs"
	"github.com/trainweld/trainweld/schema"
)

// severities are what was decided on single codes; the zero severity leaves a finding out.
type severities map[schema.Code]schema.Severity

const severityOff = "off"

func severityLevels() []string {
	return []string{schema.Error.String(), schema.Warning.String(), severityOff}
}

func codeNames() []string {
	var names []string
	for _, code := range docs.Codes() {
		names = append(names, string(code))
	}
	return names
}

// parseSeverities reads the values of --severity. The last word on a code counts.
func parseSeverities(words []string) (severities, error) {
	parsed := severities{}
	for _, word := range words {
		name, level, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("--severity: %q is not CODE=LEVEL, such as TW541=off", word)
		}
		if !slices.Contains(codeNames(), name) {
			return nil, fmt.Errorf("--severity: there is no finding %q%s", name, didYouMean(name, codeNames()))
		}
		code := schema.Code(name)
		switch level {
		case schema.Error.String():
			parsed[code] = schema.Error
		case schema.Warning.String():
			parsed[code] = schema.Warning
		case severityOff:
			parsed[code] = 0
		default:
			levels := severityLevels()
			return nil, fmt.Errorf("--severity: %q is none of %s%s", level, strings.Join(levels, ", "), didYouMean(level, levels))
		}
	}
	return parsed, nil
}

// apply gives findings the severity that was decided, and leaves out those that are off.
func (s severities) apply(findings schema.Findings) schema.Findings {
	var kept schema.Findings
	for _, f := range findings {
		if severity, decided := s[f.Code]; decided {
			if severity == 0 {
				continue
			}
			f.Severity = severity
		}
		kept = append(kept, f)
	}
	return kept
}

// completeSeverity completes first the code, then the level.
func completeSeverity(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if name, _, ok := strings.Cut(toComplete, "="); ok {
		var words []string
		for _, level := range severityLevels() {
			words = append(words, name+"="+level)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, code := range docs.Codes() {
		page, _ := docs.Of(code) // every code has one
		words = append(words, string(code)+"=\t"+page.Title)
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
