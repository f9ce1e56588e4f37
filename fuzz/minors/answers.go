package minors

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
)

// Count is how many objects are drawn.
const Count = 5000

// Answer is what one version does with a new object.
type Answer struct {
	Undecoded string   `json:"undecoded,omitempty"`
	Causes    []string `json:"causes,omitempty"` // of a refusal, as REASON FIELD
	Unknown   []string `json:"unknown,omitempty"`
	Dropped   []string `json:"dropped,omitempty"`
}

// Refused reports whether the version refuses the object.
func (a Answer) Refused() bool { return a.Undecoded != "" || len(a.Causes) > 0 }

// Record has the answers of the versions to the drawn objects. Drawn tells whether the objects are
// still the same.
type Record struct {
	Drawn   string
	Words   []string
	Answers map[string][][]int // of each version: refused, then words of what is not stored
}

// Drawn returns the sum of all drawn objects.
func Drawn() string {
	sum := sha256.New()
	for i := range uint64(Count) {
		sum.Write(Draw(i).JSON())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Add adds the answers of a version.
func (r *Record) Add(version string, answers []Answer) {
	var rows [][]int
	for _, a := range answers {
		row := []int{0}
		if a.Refused() {
			row[0] = 1
		}
		for _, word := range slices.Concat(a.Unknown, a.Dropped) {
			at := slices.Index(r.Words, word)
			if at < 0 {
				at, r.Words = len(r.Words), append(r.Words, word)
			}
			row = append(row, at)
		}
		rows = append(rows, row)
	}
	r.Answers[version] = rows
}

// Pack returns the record in a short form.
func (r *Record) Pack() ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}

// Unpack reads the short form.
func Unpack(packed []byte) (r Record, err error) {
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return r, err
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}
