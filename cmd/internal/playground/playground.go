// Package playground runs command lines on files in memory: what do commands print?
//
//	answer := playground.Run(playground.Request{
//		Files: map[string]string{"job.yaml": job, "runtime.yaml": runtime},
//		Lines: [][]string{{"render", "-f", "job.yaml", "-r", "runtime.yaml"}},
//	}, render.Command)
//
// The page of folder web asks it in a browser, where no command may read anything else. It has two programs. The one of cmd/playground
// renders. The one of cmd/playground/checks also has the rules of the API server and of webhooks, and is twice as large.
package playground

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Request holds files and the command lines that read them.
type Request struct {
	// Files are the texts of all files, by their names. A name has no folder.
	Files map[string]string `json:"files"`
	// Lines are command lines without the name of the program.
	Lines [][]string `json:"lines"`
}

// Answer is what one command line prints, with its exit status.
type Answer struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Status int    `json:"status"`
	// Findings are the findings of the command, as text for a page. Their help names no flag.
	Findings string `json:"findings"`
	// Report holds them as -o json writes them for other commands. It is nil if the command line is invalid.
	Report json.RawMessage `json:"report,omitempty"`
}

// A Command returns a command of the program.
type Command func(*host.Program) *cobra.Command

// Run runs the command lines of a request in order with these commands, and returns an answer for each. Errors are part of an answer.
func Run(r Request, commands ...Command) []Answer {
	answers := make([]Answer, len(r.Lines))
	for i, line := range r.Lines {
		var stdout, stderr bytes.Buffer
		var found reported
		p := &host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: files(r.Files)}
		status := commandline.Run(p, line, func(p *host.Program) *cobra.Command {
			p.Stdout, p.Stderr = messages{p.Stdout, &found}, messages{p.Stderr, &found}
			return root(p, commands)
		})
		answers[i] = Answer{Stdout: stdout.String(), Stderr: stderr.String(), Status: status, Findings: found.text.String(), Report: found.report.Bytes()}
	}
	return answers
}

// reported holds the findings of a command line in two forms.
type reported struct{ text, report bytes.Buffer }

// messages is an output that also keeps its findings.
type messages struct {
	io.Writer
	found *reported
}

func (m messages) Receive(findings finding.List, opts report.Options) error {
	opts.Help = help
	if err := report.Write(&m.found.report, "json", findings, opts); err != nil {
		return err
	}
	return report.Write(&m.found.text, "text", findings, opts)
}

// help returns the remedy of a finding for a page with editors.
func help(f finding.Finding) string {
	if codes.AssumesRuntime(f) {
		return "add the runtime of your cluster, if it differs"
	}
	return f.Remedy.Text
}

// root returns the command with the commands of a playground.
func root(p *host.Program, commands []Command) *cobra.Command {
	root := &cobra.Command{Use: "trainweld", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	for _, command := range commands {
		root.AddCommand(command(p))
	}
	return root
}
