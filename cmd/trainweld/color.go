package main

import "fmt"

// The colours of reports, as terminals take them.
const (
	red   = "31"
	green = "32"
	cyan  = "36"
	bold  = "1"
)

// painter colours text, or leaves it as it is.
type painter bool

func (c painter) paint(color, text string) string {
	if !c || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// painter is what --color asks for: always, never, or auto, which is what standard output can show.
func (p *program) painter(when string) (painter, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return painter(p.color), nil
	default:
		return false, fmt.Errorf("--color: %q is none of auto, always and never", when)
	}
}
