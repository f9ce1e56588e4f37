package host

import (
	"fmt"
	"io"
	"time"
)

// Progress says on a terminal how far a long run has come. What is done within a second needs no words.
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

// Progress is for one run of a command; without a terminal, or a clock, it says nothing.
func (p *Program) Progress() *Progress {
	if !p.Terminal || p.Clock == nil {
		return &Progress{}
	}
	now := p.Clock()
	return &Progress{w: p.Stderr, clock: p.Clock, start: now, last: now}
}

// Step says that so many of so many are done.
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

// End wipes the line for what comes next.
func (p *Progress) End() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
