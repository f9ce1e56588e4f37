package output

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Spool keeps encoded objects until all inputs have rendered, because an error must prevent all
// output. It uses some memory, then a temporary file, so that memory does not grow with the output.
// The zero value is ready for use.
type Spool struct {
	memory []byte
	file   *os.File // the sections beyond the limit of memory
	size   int64    // the size of the file
	// limit is the limit of memory in bytes. Zero stands for spoolLimit.
	limit int
}

// spoolLimit is enough for some hundred TrainJobs, so most runs need no file.
const spoolLimit = 4 << 20

// Section is the position of a text in a spool.
type Section struct{ start, length int64 }

// Add stores a text. Other users cannot read the temporary file. If the system allows it, the file
// loses its name before the first write, so it vanishes with the program. Add returns the errors of
// that file.
func (s *Spool) Add(text []byte) (Section, error) {
	if s.limit == 0 {
		s.limit = spoolLimit
	}
	at := Section{int64(len(s.memory)) + s.size, int64(len(text))}
	if s.file == nil && len(s.memory)+len(text) <= s.limit {
		s.memory = append(s.memory, text...)
		return at, nil
	}
	if s.file == nil {
		file, err := os.CreateTemp("", "trainweld-*")
		if err != nil {
			return at, fmt.Errorf(
				"the output is held in a temporary file until all inputs have rendered: %w; let "+
					"TMPDIR name a directory with room", err)
		}
		s.file = file
		_ = os.Remove(file.Name()) // a system that keeps the name removes it in Close
	}
	if _, err := s.file.WriteAt(text, s.size); err != nil {
		return at, fmt.Errorf(
			"the output is held in a temporary file until all inputs have rendered: %w; let "+
				"TMPDIR name a directory with room", err)
	}
	s.size += int64(len(text))
	return at, nil
}

// Text returns a stored text. It is safe for concurrent use after the last Add.
func (s *Spool) Text(at Section) ([]byte, error) {
	inMemory := int64(len(s.memory))
	if at.start < inMemory {
		return s.memory[at.start : at.start+at.length], nil
	}
	text := make([]byte, at.length)
	if _, err := s.file.ReadAt(text, at.start-inMemory); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return text, nil
}

// Close removes the temporary file.
func (s *Spool) Close() {
	if s.file == nil {
		return
	}
	// Ignore errors, because the content has been used.
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}
