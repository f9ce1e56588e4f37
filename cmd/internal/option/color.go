package option

import (
	"fmt"
	"io"

	"github.com/trainweld/trainweld/cmd/internal/host"
)

// Color is the value of --color.
type Color string

const autoColor Color = "auto"

func colorWords() []string { return []string{string(autoColor), "always", "never"} }

// Check returns an error for a color of a format other than text.
func (c Color) Check(format string) error {
	if c == autoColor || format == "text" {
		return nil
	}
	return fmt.Errorf("--color has no effect on -o %s: remove it", format)
}

// Screen returns the capabilities of an output of the program. The flag decides on colors.
func (c Color) Screen(p *host.Program, out io.Writer) host.Screen {
	s := p.Screen(out)
	if c != autoColor {
		s.Color = c == "always"
	}
	return s
}

// Painter returns what adds the colors to the text of an output.
func (c Color) Painter(p *host.Program, out io.Writer) host.Painter {
	return host.Painter(c.Screen(p, out).Color)
}
