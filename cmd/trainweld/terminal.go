package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// screen is what an output can show.
type screen struct {
	// columns is how wide it is; 0 where lines may have any length, as in a file or a pipe.
	columns  int
	terminal bool
	color    bool
}

// screen looks at the output and at the environment: NO_COLOR (no-color.org) and TERM=dumb switch colours
// off, COLUMNS sets the width. color is auto, always or never.
func (p *program) screen(color string) screen {
	var s screen
	if p.size != nil {
		s.columns, s.terminal = p.size(unwrap(p.stdout))
	}
	if columns, err := strconv.Atoi(p.getenv("COLUMNS")); err == nil && columns > 0 {
		s.columns = columns
	}
	s.color = color == "always" || color == "auto" && s.terminal && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"
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
