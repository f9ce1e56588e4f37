package main

import (
	"errors"
	"io"
	"syscall"
)

// sink is standard output. It keeps the first error, so that a command cannot lose it, and writes nothing after it.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}

// unwrap returns the output of the machine below a sink, which alone is a file or a terminal.
func unwrap(w io.Writer) io.Writer {
	if s, ok := w.(*sink); ok {
		return s.w
	}
	return w
}

// isClosedPipe reports whether a write failed because nobody reads any more.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || isBrokenPipe(err)
}
