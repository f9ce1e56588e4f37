package main

import (
	"fmt"
	"io"
	"time"
)

// progress says on a terminal how far a long run has come. What is done within a second needs no words.
type progress struct {
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

// progress is for one run of a command; without a terminal, or a clock, it says nothing.
func (p *program) progress() *progress {
	if !p.terminal || p.clock == nil {
		return &progress{}
	}
	now := p.clock()
	return &progress{w: p.stderr, clock: p.clock, start: now, last: now}
}

// step says that so many of so many are done.
func (p *progress) step(verb string, done, total int) {
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

// end wipes the line for what comes next.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
