package repair

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
)

// Flags are the flags of a command that repairs what it finds.
type Flags struct {
	fix    string
	prefer []string
	diff   bool
}

// The values of --fix.
const (
	fixCertain = "certain"
	fixUnion   = "union"
)

// Add adds the flags to a command. The completion of managers reads the inputs that the command line names so far.
func (flags *Flags) Add(p *host.Program, cmd *cobra.Command, inputs *workspace.Flags) {
	f := cmd.Flags()
	f.StringVar(&flags.fix, "fix", "", "change the files where a finding has one right repair; with =union, also set the union of lists in patches that disagree")
	f.Lookup("fix").NoOptDefVal = fixCertain
	f.Var((*option.Repeated)(&flags.prefer), "prefer", "with --fix: let a `MANAGER` win its conflicts, and remove the values of others; of several, the first one wins (repeatable)")
	f.BoolVarP(&flags.diff, "diff", "d", false, "with --fix: show the changes, and write no file; the report goes to standard error")
	commandline.Words(cmd, "fix", fixCertain, fixUnion)
	commandline.Complete(cmd, "prefer", option.CompleteManagers(p, inputs))
}

// On reports whether the command repairs.
func (flags Flags) On() bool { return flags.fix != "" }

// Preferred returns the managers of --prefer. Summary names the managers that the inputs do not know. Such a name causes no
// error. A repair removes a patch that loses all its fields, and a second run must not fail.
func (flags Flags) Preferred() *option.Forced { return option.NewForced("--prefer", flags.prefer) }

// Check returns an error for flags that do not fit together.
func (flags Flags) Check() error {
	switch {
	case flags.fix != "":
		return option.OneOf("--fix", flags.fix, fixCertain, fixUnion)
	case len(flags.prefer) > 0:
		return errors.New("--prefer chooses a repair: add --fix")
	case flags.diff:
		return errors.New("-d shows the changes of --fix: add --fix")
	}
	return nil
}

// Report returns the stream of the report. The changes of -d take standard output.
func (flags Flags) Report(p *host.Program) io.Writer {
	if flags.diff {
		return p.Stderr
	}
	return p.Stdout
}

// Apply repairs the files of an input, and writes them. With -d it shows the changes instead. It returns an error if a file
// changes meanwhile or cannot be written.
func (flags Flags) Apply(p *host.Program, inputs workspace.Flags, check Check) (*Result, error) {
	result, err := run(p, inputs, Options{Prefer: flags.prefer, Union: flags.fix == fixUnion}, check)
	if err != nil {
		return nil, err
	}
	if flags.diff {
		return result, output.WriteDiffs(p.Stdout, result.Files)
	}
	if err := output.WriteInPlace(p, result.Files); err != nil {
		return nil, fmt.Errorf("--fix: %w", err)
	}
	return result, nil
}

// Summary counts the repaired findings, by their files and codes, and names unknown managers. Lines end with a line break.
func (flags Flags) Summary(r *Result, preferred *option.Forced) string {
	if r == nil {
		return ""
	}
	verb := "repaired"
	if flags.diff {
		verb = "would repair"
	}
	summary := r.summary(verb) + "\n"
	if err := preferred.Err(); err != nil {
		summary += err.Error() + "\n"
	}
	return summary
}

// Hint returns the end of a summary that counts the findings with one right repair. It is empty after a repair, and without any.
func (flags Flags) Hint(found finding.List) string {
	n := repairable(found)
	if flags.On() || n == 0 {
		return ""
	}
	return fmt.Sprintf("; --fix repairs %d of them", n)
}
