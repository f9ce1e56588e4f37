// Package test implements the command test. It checks that recorded TrainJobs still render to the
// same objects.
//
// Its first file to read is test.go.
package test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/golden"
	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

// testFlags are the flags of test.
type testFlags struct {
	run     string
	update  string
	format  string
	verbose bool
	*option.Global
	workspace.Flags
}

// The values of --update.
const (
	updateWrite = "write"
	updateDiff  = "diff"
)

// Command returns the command with its flags and its help.
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := testFlags{Global: g}
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use:   "test DIR... [flags]",
		Short: "Test that runtimes render to their reviewed results",
		Long: `Render the cases below directories, and compare the results with their want folders. A case is a folder with a
TrainJob. Its runtime is in the same folder, or in a folder above it up to DIR, so that cases can share it. An
options.yaml has the names of render's flags, such as to: pods, for its folder and the folders below.

The folder want has one file for each TrainJob, as render --output-dir writes it. Its findings.txt has the errors
and warnings, if there are any. A difference is shown by merge key, with the layer that sets the field now.
--update writes the results, and removes files without a result. --update=diff shows these changes.

The report goes to standard output, a summary to standard error.

Exit status: 0 every case passes, or was updated; 1 a case fails, or --update=diff shows a change; 2 usage, input
or output failed.`,
		Example: `  # Every case below a directory
  trainweld test testdata/runtimes

  # Those of one runtime, with the names of those that pass
  trainweld test testdata/runtimes --run torch/ -v

  # What a new version of a runtime changes, and then take it
  trainweld test testdata/runtimes --update=diff
  trainweld test testdata/runtimes --update

  # For continuous integration
  trainweld test testdata/runtimes -o junit > golden.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(p, flags, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.run, "run", "", "only the cases whose paths match this regular expression")
	f.StringVar(&flags.update, "update", "", "write the renderings; with =diff, show the changes")
	f.Lookup("update").NoOptDefVal = updateWrite
	f.StringVarP(&flags.format, "output", "o", "text",
		"the format of the report: text, "+strings.Join(report.TestFormats(), ", "))
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "also name the cases that pass")
	commandline.Words(cmd, "update", updateWrite, updateDiff)
	commandline.Words(cmd, "output", testFormats()...)
	return cmd
}

func testFormats() []string { return append([]string{"text"}, report.TestFormats()...) }

// check returns an error for invalid flags.
func (flags testFlags) check(dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("nothing to test: name directories with cases")
	}
	if slices.Contains(dirs, "") {
		return errors.New("an empty path: name a directory")
	}
	if err := option.OneOf("-o", flags.format, testFormats()...); err != nil {
		return err
	}
	if flags.update != "" {
		if err := option.OneOf("--update", flags.update, updateWrite, updateDiff); err != nil {
			return err
		}
	}
	if flags.update != "" && flags.format != "text" {
		return fmt.Errorf("--update reports as text: remove -o %s", flags.format)
	}
	if flags.format != "text" && flags.verbose {
		return fmt.Errorf("-v has no effect on -o %s: remove it", flags.format)
	}
	if err := flags.Color.Check(flags.format); err != nil {
		return err
	}
	return nil
}

// testCase is a case with the directory that was searched for it.
type testCase struct {
	*golden.Case
	dir string
}

func (c testCase) path() string { return path.Join(filepath.ToSlash(c.dir), c.Name) }

// run runs cases.
func run(p *host.Program, flags testFlags, dirs []string) error {
	if err := flags.check(dirs); err != nil {
		return exit.Usage(err)
	}
	if missing := unreadableDirs(p, dirs); missing != nil {
		if err := report.WriteBeside(p.Stderr, missing, report.Options{}); err != nil {
			return err
		}
		return exit.Status(exit.Failed)
	}
	cases, err := findCases(dirs, flags.run)
	if err != nil {
		return err
	}
	t := testRun{flags: flags, warned: map[string]bool{}, shown: map[string]string{},
		out: p.Stdout, errs: p.Stderr, paint: flags.Color.Painter(p, p.Stdout)}
	progress := p.Progress()
	var updates []caseOutcome
	parallel.Ordered(len(cases), func(i int) caseOutcome {
		r, err := cases[i].Run(golden.Options{Release: flags.Release, Kubernetes: flags.Kubernetes,
			ShowValues: flags.ShowValues})
		return caseOutcome{cases[i], r, err}
	}, func(i int, o caseOutcome) {
		if flags.update == updateWrite { // add reports it after the files are written
			updates = append(updates, o)
		} else {
			progress.End()
			t.add(o.testCase, o.result, o.err)
		}
		progress.Step("tested", i+1, len(cases))
	})
	progress.End()
	if err := updateCases(p, updates); err != nil {
		return fmt.Errorf("--update: %w", err)
	}
	for _, o := range updates {
		t.add(o.testCase, o.result, o.err)
	}
	return t.end()
}

// caseOutcome is the result of a case.
type caseOutcome struct {
	testCase
	result *golden.Result
	err    error
}

// updateCases writes the changes of all cases.
func updateCases(p *host.Program, outcomes []caseOutcome) error {
	return output.WriteAll(p, func(w *output.Writing) error {
		for _, o := range outcomes {
			if o.err != nil || len(o.result.Changes) == 0 {
				continue
			}
			changes, err := w.In(o.dir)
			if err != nil {
				return err
			}
			for _, c := range o.result.Changes {
				if c.New != nil {
					changes.Put(c.Name, c.New)
				} else {
					changes.Delete(c.Name)
				}
			}
		}
		return nil
	})
}

// unreadableDirs returns findings on missing and unreadable directories.
func unreadableDirs(p *host.Program, dirs []string) finding.List {
	var missing finding.List
	for _, dir := range dirs {
		if _, err := fs.Stat(p.Files, dir); err != nil {
			_, found := manifest.Files(p.Files, []string{dir}, false)
			missing = append(missing, found...)
		}
	}
	return missing
}

// findCases returns the cases below dirs whose paths match run. It returns each case once.
func findCases(dirs []string, run string) ([]testCase, error) {
	match, err := regexp.Compile(run)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("--run: %w", err))
	}
	var cases []testCase
	seen := map[string]bool{}
	all := 0
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil {
			return nil, err
		} else if !info.IsDir() {
			return nil, exit.Usage(fmt.Errorf(
				"%s is not a directory; test takes directories with cases", printable.Name(dir)))
		}
		found, err := golden.Find(host.BoundedFolder(dir), filepath.ToSlash(dir))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", printable.Name(dir), err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf(
				"there is no case in %s: a case is a folder with a TrainJob", printable.Name(dir))
		}
		all += len(found)
		for _, c := range found {
			one := testCase{c, dir}
			if name := one.path(); !seen[name] && match.MatchString(name) {
				seen[name] = true
				cases = append(cases, one)
			}
		}
	}
	if len(cases) == 0 {
		return nil, exit.Usage(
			fmt.Errorf("--run: %q matches none of %s, such as %s", run, report.Count(all, "case"),
				path.Join(filepath.ToSlash(dirs[0]), "...")))
	}
	return cases, nil
}
