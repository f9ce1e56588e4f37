package main

import (
	"strings"

	"github.com/trainweld/trainweld/internal/report"
)

// printableTabs is report.Line for a text that may have tabs.
func printableTabs(text string) string {
	parts := strings.Split(text, "\t")
	for i := range parts {
		parts[i] = report.Printable(parts[i])
	}
	first := len(text) - len(strings.TrimLeft(text, "\t"))
	parts[first] = report.Line(parts[first])
	return strings.Join(parts, "\t")
}
