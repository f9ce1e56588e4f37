package output

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Spool keeps what is encoded until every input has rendered, since nothing is written when one has not: a
// little of it in memory, more in a temporary file, so that the memory does not grow with the output. The zero
// value is empty and ready for use.
type Spool struct {
	memory []byte
	file   *os.File // what no longer had room in memory
	size   int64    // of the file
	// limit is how much is held in memory; 0 stands for spoolLimit.
	limit int
}

// spoolLimit holds what some hundred TrainJobs become, so that most runs need no file.
const spoolLimit = 4 << 20

// Section is a text in a spool.
type Section struct{ start, length int64 }

// Add keeps a text. The file is readable by nobody else, and gone when the program is: where the system allows
// it, the file has lost its name before anything is written to it.
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
			return at, fmt.Errorf("the output is held in a temporary file until all inputs have rendered: %w; let TMPDIR name a directory with room", err)
		}
		s.file = file
		_ = os.Remove(file.Name()) // where an open file keeps its name, close removes it
	}
	if _, err := s.file.WriteAt(text, s.size); err != nil {
		return at, fmt.Errorf("the output is held in a temporary file until all inputs have rendered: %w; let TMPDIR name a directory with room", err)
	}
	s.size += int64(len(text))
	return at, nil
}

// Text returns a text that was added. It is safe to call from several goroutines once all is added.
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

// Close gives the room back.
func (s *Spool) Close() {
	if s.file == nil {
		return
	}
	// Nothing that matters is in it any more.
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}
