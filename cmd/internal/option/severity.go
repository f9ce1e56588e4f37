package option

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Severities maps codes to their new severity. Zero removes the findings.
type Severities map[finding.Code]finding.Severity

func severityLevels() []string {
	return []string{finding.Error.String(), finding.Warning.String(), finding.Note.String(), "off"}
}

// CodeNames returns the codes of all findings.
func CodeNames() []string {
	var names []string
	for _, code := range codes.Codes() {
		names = append(names, string(code))
	}
	return names
}

// AddSeverity adds the flag --severity.
func AddSeverity(cmd *cobra.Command, words *[]string) {
	cmd.Flags().Var((*Repeated)(words), "severity",
		"CODE=LEVEL: report a code as error, warning or note, or not at all: off (repeatable)")
	commandline.Complete(cmd, "severity", completeSeverity)
}

// ParseSeverities parses the values of --severity. The last value for a code wins.
func ParseSeverities(words []string) (Severities, error) {
	parsed := Severities{}
	for _, word := range words {
		name, level, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("--severity: %q is not CODE=LEVEL, such as TW541=off", word)
		}
		if instead := codes.Removed(finding.Code(name)); instead != "" {
			return nil, fmt.Errorf("--severity: %s is gone: %s", name, instead)
		}
		if !slices.Contains(CodeNames(), name) {
			return nil, fmt.Errorf("--severity: there is no finding %q%s", name,
				DidYouMean(name, CodeNames()))
		}
		at := slices.Index(severityLevels(), level)
		if at < 0 {
			return nil, OneOf("--severity", level, severityLevels()...)
		}
		parsed[finding.Code(name)] = []finding.Severity{
			finding.Error, finding.Warning, finding.Note, 0}[at]
	}
	return parsed, nil
}

// Codes returns the codes that have a severity.
func (s Severities) Codes() map[finding.Code]bool {
	codes := map[finding.Code]bool{}
	for code := range s {
		codes[code] = true
	}
	return codes
}

// Apply returns the findings with their new severities, without the removed ones.
func (s Severities) Apply(findings finding.List) finding.List {
	return s.apply(findings, func(finding.Finding) bool { return false })
}

// ApplyToWarnings applies the severities to notes and warnings, and keeps errors. An object with
// such an error cannot be rendered.
func (s Severities) ApplyToWarnings(findings finding.List) finding.List {
	return s.apply(findings, func(f finding.Finding) bool { return f.Severity >= finding.Error })
}

func (s Severities) apply(findings finding.List, keeps func(finding.Finding) bool) finding.List {
	if len(s) == 0 {
		return findings
	}
	var kept finding.List
	for _, f := range findings {
		if severity, decided := s[f.Code]; decided && !keeps(f) {
			if severity == 0 {
				continue
			}
			f.Severity = severity
		}
		kept = append(kept, f)
	}
	return kept
}

// completeSeverity completes the code, then the level.
func completeSeverity(_ *cobra.Command, _ []string,
	toComplete string) ([]string, cobra.ShellCompDirective) {
	if name, _, ok := strings.Cut(toComplete, "="); ok {
		var words []string
		for _, level := range severityLevels() {
			words = append(words, name+"="+level)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, code := range codes.Codes() {
		page, _ := codes.Of(code) // every code has one
		words = append(words, string(code)+"=\t"+page.Title)
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
