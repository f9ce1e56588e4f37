package build

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// message is a message about one build, between a builder and the process that builds.
type message struct {
	build uint64
	op    byte
	parts []string
}

// The operations. Answers have the operation that they answer; an operation on files has an error, or "", as its first part.
const (
	opBuild = 'b' // a directory; what the build makes
	opClean = 'c' // a path; the directory and the name without links
	opRead  = 'r' // a path; the content
)

// mostParts and mostPart limit a message. A part is a file, or the output of a build.
const (
	mostParts = 1 << 20
	mostPart  = mostOutput + 1<<20
)

var errMessage = errors.New("the message is too large")

// send writes a message. The caller lets nobody else write meanwhile.
func send(w io.Writer, m message) error {
	head := binary.AppendUvarint(nil, m.build)
	head = binary.AppendUvarint(append(head, m.op), uint64(len(m.parts)))
	for _, part := range m.parts {
		head = binary.AppendUvarint(head, uint64(len(part)))
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, part := range m.parts {
		if _, err := io.WriteString(w, part); err != nil {
			return err
		}
	}
	return nil
}

// receive reads a message.
func receive(r *bufio.Reader) (m message, err error) {
	if m.build, err = binary.ReadUvarint(r); err != nil {
		return m, err
	}
	if m.op, err = r.ReadByte(); err != nil {
		return m, err
	}
	count, err := binary.ReadUvarint(r)
	if err != nil || count > mostParts {
		return m, errors.Join(err, errMessage)
	}
	sizes, all := make([]uint64, count), uint64(0)
	for i := range sizes {
		if sizes[i], err = binary.ReadUvarint(r); err != nil {
			return m, err
		}
		if all += sizes[i]; sizes[i] > mostPart || all > 2*mostPart {
			return m, errMessage
		}
	}
	m.parts = make([]string, count)
	for i, size := range sizes {
		part := make([]byte, size)
		if _, err := io.ReadFull(r, part); err != nil {
			return m, err
		}
		m.parts[i] = string(part)
	}
	return m, nil
}
