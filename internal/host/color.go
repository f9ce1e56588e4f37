package host

import "fmt"

// The ANSI escapes of the colors in reports.
const (
	Red   = "31"
	Green = "32"
	Cyan  = "36"
	Bold  = "1"
)

// Painter adds colors to text if it is true.
type Painter bool

// Paint returns the text in a color.
func (c Painter) Paint(color, text string) string {
	if !c || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Painter parses the value of --color. auto adds colors if standard output shows them. Other values than always, never and
// auto are errors.
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
