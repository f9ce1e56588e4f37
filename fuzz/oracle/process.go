package oracle

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Process is a running program of a release.
type Process struct {
	// Modules are the directories of the release's modules.
	Modules Modules

	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// Start builds the program in the directory of a nested module into the folder bin, and starts it.
// A program that is there already is not built again.
func Start(dir, bin string) (*Process, error) {
	program, err := filepath.Abs(filepath.Join(bin, filepath.Base(dir)))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(program); err != nil {
		// The build downloads the modules that the program links.
		if _, err := run(dir, "build", "-o", program, "."); err != nil {
			return nil, err
		}
	}
	listed, err := run(dir, "list", "-m", "-f", "{{.Path}}={{.Dir}}",
		"github.com/kubeflow/trainer/v2", "sigs.k8s.io/jobset")
	if err != nil {
		return nil, err
	}
	p := &Process{}
	for line := range strings.Lines(listed) {
		switch path, folder, _ := strings.Cut(strings.TrimSpace(line), "="); path {
		case "github.com/kubeflow/trainer/v2":
			p.Modules.Trainer = folder
		default:
			p.Modules.JobSet = folder
		}
	}
	p.command = exec.Command(program, "-trainer", p.Modules.Trainer, "-jobset", p.Modules.JobSet)
	p.command.Stderr = os.Stderr
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.command.Start()
}

func run(dir string, args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Dir, command.Stderr = dir, os.Stderr
	// go.work does not name the modules of releases
	command.Env = append(command.Environ(), "GOWORK=off")
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w", args[0], dir, err)
	}
	return string(out), nil
}

// Ask sends a question to the program.
func (p *Process) Ask(q Question) (a Answer, err error) {
	if err := json.NewEncoder(p.in).Encode(q); err != nil {
		return a, fmt.Errorf("ask the oracle: %w", err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("the oracle's answer: %w", err)
	}
	if err := Convert(json.RawMessage(line), &a); err != nil {
		return a, fmt.Errorf("the oracle's answer: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// Stop ends the program.
func (p *Process) Stop() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	return p.command.Wait()
}
