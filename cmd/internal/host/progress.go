package host

import (
	"fmt"
	"io"
	"time"
)

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
