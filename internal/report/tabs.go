package report

import (
	"strings"
)

// PrintableTabs is Line for a string that may have tabs.
func PrintableTabs(text string) string {
	parts := strings.Split(text, "\t")
	for i := range parts {
		parts[i] = Printable(parts[i])
	}
	first := len(text) - len(strings.TrimLeft(text, "\t"))
	parts[first] = Line(parts[first])
	return strings.Join(parts, "\t")
}
