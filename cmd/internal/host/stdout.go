package host

import (
	"errors"
	"io"
	"syscall"
)

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
