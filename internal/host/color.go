package host

import "fmt"

// The colours of reports, as terminals take them.
const (
	Red   = "31"
	Green = "32"
	Cyan  = "36"
	Bold  = "1"
)

// Painter colours text, or leaves it as it is.
type Painter bool

// Paint returns the text in a colour.
func (c Painter) Paint(color, text string) string {
	if !c || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Painter is what --color asks for: always, never, or auto, which is what standard output can show.
func (p *Program) Painter(when string) (Painter, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return Painter(p.Color), nil
	default:
		return false, fmt.Errorf("--color: %q is none of auto, always and never", when)
	}
}
