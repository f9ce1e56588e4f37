package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit statuses, which the README documents.
const (
	exitDone     = 0 // done, and no finding is an error
	exitFindings = 1 // a finding is an error
	exitFailed   = 2 // usage, input and output
)

// program is the command line as a value: a test runs it without a process.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	files          fs.FS
}

// run executes one command line and returns its exit status.
func (p *program) run(args []string) int {
	root := p.root()
	root.SetArgs(args)
	err := root.Execute()
	var status exitStatus
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, syscall.EPIPE):
		fmt.Fprintln(p.stderr, "trainweld: the reader of the output went away before everything was written; nothing is lost, run it again")
		return exitFailed
	default:
		fmt.Fprintf(p.stderr, "trainweld: %v\n", err)
		return exitFailed
	}
}

// exitStatus ends a command that has said everything already.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "trainweld",
		Short: "Compute, offline, what a Kubeflow TrainJob becomes in a cluster",
		Long: `trainweld computes, offline, what a Kubeflow TrainJob becomes: the runtime's JobSet template and an
ordered list of patches by named managers, merged as the cluster merges them. It says who set what,
and refuses a merge in which managers disagree.

Exit status: 0 done, 1 a finding is an error, 2 usage, input or output failed.`,
		Example: `  # A TrainJob and its runtime to the JobSet
  trainweld render -f job.yaml -r runtime.yaml

  # A directory of TrainJobs to one file each
  trainweld render -f jobs/ -r runtimes/ --output-dir rendered/`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nRun '%s --help' for the flags there are", err, cmd.CommandPath())
	})
	root.AddCommand(p.renderCommand(), p.versionCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	addExamples(root)
	return root
}

// addExamples gives the commands that cobra makes an example each, as all others have.
func addExamples(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Example = "  trainweld help render"
		case "completion":
			cmd.Example = "  source <(trainweld completion bash)"
			for _, shell := range cmd.Commands() {
				shell.Example = "  trainweld completion " + shell.Name()
			}
		}
	}
}

// hostFiles is the file system of the machine, for paths of any form.
type hostFiles struct{}

func (hostFiles) Open(name string) (fs.File, error)          { return os.Open(name) }
func (hostFiles) ReadFile(name string) ([]byte, error)       { return os.ReadFile(name) }
func (hostFiles) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (hostFiles) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
