package oracle

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Question asks one thing: exactly one field is set.
type Question struct {
	Render   *Pair    `json:"render,omitempty"`
	Children Object   `json:"children,omitempty"`
	Hold     *Held    `json:"hold,omitempty"`
	Apply    *Request `json:"apply,omitempty"`
	Form     Object   `json:"form,omitempty"`
	Pod      Object   `json:"pod,omitempty"`
	Prune    Object   `json:"prune,omitempty"`
}

// Pair is a TrainJob and its runtime; a nil runtime means that the cluster has none. Later are the
// runtimes that replace it, stored.
type Pair struct {
	TrainJob Object   `json:"trainJob"`
	Runtime  Object   `json:"runtime,omitempty"`
	Later    []Object `json:"later,omitempty"`
}

// Held are the objects of the cluster.
type Held struct {
	Objects []Object `json:"objects,omitempty"`
}

// Request creates an object, or updates an old one that is stored.
type Request struct {
	Object Object `json:"object"`
	Old    Object `json:"old,omitempty"`
}

// Answer is the answer to a question.
type Answer struct {
	// Outcome answers Render.
	Outcome *Outcome `json:"outcome,omitempty"`
	// Children answers Children.
	Children *Children `json:"children,omitempty"`
	// Object answers Prune and Pod, and Apply where the object is stored.
	Object Object `json:"object,omitempty"`
	// Rejected answers Apply, and Form with one word.
	Rejected []string `json:"refused,omitempty"`
	// Warnings are the warnings of the webhooks, for Apply.
	Warnings []string `json:"warnings,omitempty"`
	// Error is an error of the oracle itself.
	Error string `json:"error,omitempty"`
}

// Ask answers a question.
func (o *Oracle) Ask(q Question) (a Answer, err error) {
	switch {
	case q.Render != nil:
		outcome := o.Render(q.Render.TrainJob, q.Render.Runtime, q.Render.Later...)
		a.Outcome = &outcome
	case q.Children != nil:
		a.Children, err = o.Children(q.Children)
	case q.Hold != nil:
		err = o.Hold(q.Hold.Objects...)
	case q.Apply != nil:
		a.Object, a.Rejected, err = o.Apply(q.Apply.Object, q.Apply.Old)
		a.Warnings = o.warnings
	case q.Form != nil:
		if o.Form(q.Form) {
			a.Rejected = []string{"form"}
		}
	case q.Pod != nil:
		a.Object, err = o.Mutate("/mutate--v1-pod", q.Pod)
	case q.Prune != nil:
		a.Object, err = o.Prune(q.Prune)
	default:
		err = errors.New("the question asks nothing")
	}
	return a, err
}

// Main is the main function of a release's program. Its flags name the directories of the modules.
// One of trainer and jobSet may be nil.
func Main(trainer Trainer, jobSet JobSet) {
	var modules Modules
	flag.StringVar(&modules.Trainer, "trainer", "", "the directory of the Trainer's module")
	flag.StringVar(&modules.JobSet, "jobset", "", "the directory of JobSet's module")
	flag.Parse()
	o, err := New(trainer, jobSet, modules)
	if err == nil {
		err = o.serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "oracle: %v\n", err)
		os.Exit(1)
	}
}

// serve answers questions, one a line.
func (o *Oracle) serve(in io.Reader, out io.Writer) error {
	questions, answers := bufio.NewReader(in), bufio.NewWriter(out)
	for {
		line, err := questions.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		var q Question
		if err := Convert(json.RawMessage(line), &q); err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		a, err := o.Ask(q)
		if err != nil {
			a.Error = err.Error()
		}
		if err := json.NewEncoder(answers).Encode(a); err != nil {
			return err
		}
		if err := answers.Flush(); err != nil {
			return err
		}
	}
}
