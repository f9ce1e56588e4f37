package upstream21

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// Trainweld is a running fuzz/oldjobs of trainweld.
type Trainweld struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// Answer is an answer of fuzz/oldjobs: a pair, or its rendering.
type Answer struct {
	TrainJob Object         `json:"trainJob"`
	Runtime  Object         `json:"runtime"`
	JobSet   *jobset.JobSet `json:"jobSet"`
	Refused  []string       `json:"refused"`
	Error    string         `json:"error"`
}

// StartTrainweld builds fuzz/oldjobs of the module in the directory root into the directory dir, and starts it.
func StartTrainweld(root, dir string) (*Trainweld, error) {
	program := filepath.Join(dir, "oldjobs")
	build := exec.Command("go", "build", "-o", program, "./fuzz/oldjobs")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build fuzz/oldjobs: %w", err)
	}
	t := &Trainweld{command: exec.Command(program)}
	t.command.Stderr = os.Stderr
	var err error
	if t.in, err = t.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.out = bufio.NewReader(out)
	return t, t.command.Start()
}

// Stop ends the program.
func (t *Trainweld) Stop() error {
	return errors.Join(t.in.Close(), t.command.Wait())
}

// Generate returns the pair of a seed.
func (t *Trainweld) Generate(seed uint64) (Answer, error) { return t.ask(Object{"seed": seed}) }

// Render returns trainweld's rendering of a pair.
func (t *Trainweld) Render(trainJob, runtime Object) (Answer, error) {
	return t.ask(Object{"trainJob": trainJob, "runtime": runtime})
}

func (t *Trainweld) ask(question Object) (answer Answer, err error) {
	if err := json.NewEncoder(t.in).Encode(question); err != nil {
		return answer, fmt.Errorf("ask trainweld: %w", err)
	}
	line, err := t.out.ReadBytes('\n')
	if err != nil {
		return answer, fmt.Errorf("trainweld's answer: %w", err)
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return answer, fmt.Errorf("trainweld's answer: %w", err)
	}
	if answer.Error != "" {
		return answer, fmt.Errorf("trainweld: %s", answer.Error)
	}
	return answer, nil
}
