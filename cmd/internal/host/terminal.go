package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Screen describes the capabilities of an output.
type Screen struct {
	// Columns is the width. It is 0 for lines of any length, as in a file or a pipe.
	Columns  int
	Terminal bool
	Color    bool
}

// Screen returns the capabilities of an output. NO_COLOR (no-color.org) and TERM=dumb disable
// colors, and COLUMNS sets the width.
func (p *Program) Screen(out io.Writer) Screen {
	var s Screen
	if p.Size != nil {
		s.Columns, s.Terminal = p.Size(Unwrap(out))
	}
	if columns, err := strconv.Atoi(p.Getenv("COLUMNS")); err == nil && columns > 0 {
		s.Columns = columns
	}
	s.Color = s.Terminal && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb"
	return s
}

// Room returns the width that a table has to fit into. It is 0 for output that is not a terminal,
// whatever COLUMNS says: a program may read the table.
func (s Screen) Room() int {
	if !s.Terminal {
		return 0
	}
	return s.Columns
}

// hostTerminal reports whether a writer is a terminal of this machine, and its width.
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
	if !bool(c) || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Marked returns a line of a unified diff in the color of its mark: -, + or @, and a or b for the
// name of a file.
func (c Painter) Marked(mark byte, line string) string {
	color, ok := map[byte]string{'-': Red, '+': Green, '@': Cyan, 'a': Bold, 'b': Bold}[mark]
	if !ok {
		return line
	}
	return c.Paint(color, line)
}

// Progress shows the progress of a long run on a terminal. It shows nothing in the first second.
type Progress struct {
	w     io.Writer
	clock func() time.Time
	start time.Time
	last  time.Time
	shown bool
}

const (
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
)

// Progress returns the progress of one run. It shows nothing without a terminal or a clock.
func (p *Program) Progress() *Progress {
	if !p.Terminal || p.Clock == nil {
		return &Progress{}
	}
	now := p.Clock()
	return &Progress{w: p.Stderr, clock: p.Clock, start: now, last: now}
}

// Step updates the progress line to "verb done/total".
func (p *Progress) Step(verb string, done, total int) {
	if p.w == nil {
		return
	}
	now := p.clock()
	if now.Sub(p.start) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.w, "\r%s %d of %d\x1b[K", verb, done, total)
}

// End clears the progress line.
func (p *Progress) End() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Sink is standard output. It keeps the first error, in case a command drops it, and writes nothing
// afterwards.
type Sink struct {
	w   io.Writer
	Err error // the first error
}

// NewSink returns a sink for an output.
func NewSink(w io.Writer) *Sink { return &Sink{w: w} }

func (s *Sink) Write(p []byte) (int, error) {
	if s.Err != nil {
		return 0, s.Err
	}
	n, err := s.w.Write(p)
	s.Err = err
	return n, err
}

// Unwrap returns the output below a Sink, which may be a file or a terminal.
func Unwrap(w io.Writer) io.Writer {
	if s, ok := w.(*Sink); ok {
		return s.w
	}
	return w
}

// IsClosedPipe reports whether a write failed because the pipe has no reader.
func IsClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || isBrokenPipe(err)
}
