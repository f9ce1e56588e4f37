package host

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Screen is what an output can show.
type Screen struct {
	// Columns is how wide it is; 0 where lines may have any length, as in a file or a pipe.
	Columns  int
	Terminal bool
	Color    bool
}

// Screen looks at the output and at the environment: NO_COLOR (no-color.org) and TERM=dumb switch colours
// off, COLUMNS sets the width. color is auto, always or never.
func (p *Program) Screen(color string) Screen {
	var s Screen
	if p.Size != nil {
		s.Columns, s.Terminal = p.Size(Unwrap(p.Stdout))
	}
	if columns, err := strconv.Atoi(p.Getenv("COLUMNS")); err == nil && columns > 0 {
		s.Columns = columns
	}
	s.Color = color == "always" || color == "auto" && s.Terminal && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb"
	return s
}

// hostTerminal tells of a writer of this machine whether it is a terminal, and its width.
func hostTerminal(w io.Writer) (columns int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		columns = 0
	}
	return columns, true
}
