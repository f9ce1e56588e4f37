package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/cli"
	"github.com/trainweld/trainweld/cmd/internal/host"
)

// TestDocuments holds that each command has a page with all its flags, and each shell the completion of the program.
func TestDocuments(t *testing.T) {
	files := map[string]string{}
	all, err := documents("v1.2.3", time.Date(2030, time.May, 6, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		files[e.name] = string(e.data)
	}
	pages := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		pages++
		page := files["man/"+strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"]
		for _, want := range []string{"\n.SH DESCRIPTION\n", "\n.SH OPTIONS\n", "\n.SH EXAMPLES\n", "2030\\-05\\-06", "trainweld v1.2.3"} {
			if !strings.Contains(page, want) {
				t.Errorf("page of %s: no %q", cmd.CommandPath(), want)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if want := `\fB\-\-` + strings.ReplaceAll(f.Name, "-", `\-`) + `\fR`; !f.Hidden && !strings.Contains(page, want) {
				t.Errorf("page of %s: no %q", cmd.CommandPath(), want)
			}
		})
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				visit(c)
			}
		}
	}
	visit(cli.Root(&host.Program{}, nil))
	if want := pages + len(completions); len(files) != want || pages < 15 {
		t.Errorf("%d files for %d commands, want %d", len(files), pages, want)
	}
	for file, want := range map[string]string{
		"_trainweld": "#compdef trainweld\n", "trainweld.bash": "__start_trainweld", "trainweld.fish": "complete -c trainweld",
		"trainweld.ps1": "Register-ArgumentCompleter -CommandName 'trainweld'",
	} {
		if !strings.Contains(files["completions/"+file], want) {
			t.Errorf("%s: no %q", file, want)
		}
	}
}

func TestManPage(t *testing.T) {
	parent := &cobra.Command{Use: "tool"}
	cmd := &cobra.Command{
		Use: "run FILE", Short: "Run it's file",
		Long: "Read a file\nand run it:\n\n  key   a\\b\n  .dot  c\n\n.start of a line\n\nOne more:\n  1. table",
		Run:  func(*cobra.Command, []string) {}, Example: "  tool run `a` > ~/b",
	}
	cmd.Flags().StringP("output", "o", "text", "the `FORM` of the output")
	cmd.Flags().Bool("dry-run", false, "write nothing")
	parent.AddCommand(cmd)
	want := `.TH TOOL\-RUN 1 2030\-05\-06 "trainweld v1"
.SH NAME
tool\-run \- Run it\(aqs file
.SH SYNOPSIS
.B tool run
FILE [flags]
.br
.SH DESCRIPTION
.PP
Read a file
and run it:
.PP
.PP
.EX
  key   a\eb
  .dot  c
.EE
.PP
\&.start of a line
.PP
One more:
.PP
.EX
  1. table
.EE
.SH OPTIONS
.TP
\fB\-\-dry\-run\fR
write nothing
.TP
\fB\-h\fR, \fB\-\-help\fR
help for run
.TP
\fB\-o\fR, \fB\-\-output\fR \fIFORM\fR
the FORM of the output (default text)
.SH EXAMPLES
.PP
.EX
  tool run \(gaa\(ga > \(ti/b
.EE
.SH SEE ALSO
.BR tool (1)
`
	if diff := cmp.Diff(want, manPage(cmd, "v1", time.Date(2030, time.May, 6, 0, 0, 0, 0, time.UTC))); diff != "" {
		t.Errorf("manPage (-want +got):\n%s", diff)
	}
}
