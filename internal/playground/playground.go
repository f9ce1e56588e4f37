// Package playground runs command lines on files in memory: what do the commands render and blame print?
//
//	answer := playground.Run(playground.Request{
//		Files: map[string]string{"job.yaml": job, "runtime.yaml": runtime},
//		Lines: [][]string{{"render", "-f", "job.yaml", "-r", "runtime.yaml"}},
//	})
//
// The page of folder web asks it in a browser, where no command may read anything else. The findings are those of rendering. The
// rules of the API server and of webhooks are not part of it: the command check has them.
package playground

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/command/blame"
	"github.com/trainweld/trainweld/internal/command/render"
	"github.com/trainweld/trainweld/internal/commandline"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/report"
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
	// Findings are those of standard error as text for a page: their help names no flag.
	Findings string `json:"findings"`
	// Report holds them as -o json writes them for other commands. It is nil if the command line is invalid.
	Report json.RawMessage `json:"report,omitempty"`
}

// Run runs the command lines of a request in order, and returns an answer for each. Errors are part of an answer.
func Run(r Request) []Answer {
	answers := make([]Answer, len(r.Lines))
	for i, line := range r.Lines {
		var stdout bytes.Buffer
		var stderr messages
		p := &host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: files(r.Files)}
		status := commandline.Run(p, line, root)
		answers[i] = Answer{Stdout: stdout.String(), Stderr: stderr.String(), Status: status, Findings: stderr.text.String(), Report: stderr.report.Bytes()}
	}
	return answers
}

// messages is a standard error that also keeps its findings.
type messages struct {
	bytes.Buffer
	text, report bytes.Buffer
}

func (m *messages) Receive(findings finding.List, opts report.Options) error {
	opts.Help = help
	if err := report.Write(&m.report, "json", findings, opts); err != nil {
		return err
	}
	return report.WriteBeside(&m.text, findings, opts)
}

// help returns the remedy of a finding for a page with editors.
func help(f finding.Finding) string {
	if f.AssumesRuntime() {
		return "give the runtime of your cluster, if it differs"
	}
	return f.Remedy.Text
}

// root returns the command with the commands of a playground.
func root(p *host.Program) *cobra.Command {
	root := &cobra.Command{Use: "trainweld", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.AddCommand(render.Command(p), blame.Command(p))
	return root
}
