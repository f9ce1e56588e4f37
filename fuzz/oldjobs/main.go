// Command oldjobs renders TrainJobs of Trainer 2.1 with trainweld, line by line.
//
// It is trainweld's side of the comparison with Trainer v2.1.0 (fuzz/upstream21). One program cannot link that version and
// trainweld's. The command reads questions from standard input and writes an answer for each, both as JSON on one line:
//
//	{"seed": 42}                          a generated pair: {"trainJob": {…}, "runtime": {…}}
//	{"trainJob": {…}, "runtime": {…}}     its rendering: {"jobSet": {…}, "refused": ["TW…"]}
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/legacy"
)

type question struct {
	Seed     *uint64         `json:"seed"`
	TrainJob json.RawMessage `json:"trainJob"`
	Runtime  json.RawMessage `json:"runtime"`
}

type answer struct {
	TrainJob any            `json:"trainJob,omitempty"`
	Runtime  any            `json:"runtime,omitempty"`
	JobSet   *jobset.JobSet `json:"jobSet,omitempty"`
	Refused  []string       `json:"refused,omitempty"`
	Error    string         `json:"error,omitempty"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "oldjobs: %v\n", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	questions, answers := json.NewDecoder(in), bufio.NewWriter(out)
	for {
		var q question
		if err := questions.Decode(&q); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read a question: %w", err)
		}
		if err := json.NewEncoder(answers).Encode(reply(q)); err != nil {
			return err
		}
		if err := answers.Flush(); err != nil {
			return err
		}
	}
}

func reply(q question) answer {
	if q.Seed != nil {
		pair := fuzz.Old(*q.Seed)
		old := &legacy.TrainJob{TypeMeta: pair.TrainJob.TypeMeta, ObjectMeta: pair.TrainJob.ObjectMeta}
		old.Spec = legacy.TrainJobSpec{TrainJobSpec: pair.TrainJob.Spec, Overrides: *pair.Overrides}
		return answer{TrainJob: old, Runtime: pair.Runtime}
	}
	in, refused, err := read(q.TrainJob, q.Runtime)
	if err != nil || refused != nil {
		return answer{Refused: refused, Error: message(err)}
	}
	return in.render()
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
