// Command conformance tells whether a program renders TrainJobs as each release of Kubeflow Trainer does.
//
//	go run ./cmd/internal/conformance -exec 'PROGRAM'
//
// It starts PROGRAM once for each case and release, as PROGRAM --release 2.2. Standard input has a v1 List: the runtime and the
// TrainJob. The program writes a List with the objects that the Trainer's controller applies, and ends with status 0. Status 1
// means that the release's cluster rejects the TrainJob or its runtime, or that the controller makes no objects. Every other
// status is a failure. The report counts what passes for each behaviour.
//
// The program answers for trainweld itself:
//
//	go build -o bin/conformance ./cmd/internal/conformance
//	bin/conformance -exec 'bin/conformance answer'
//
// The cases are in archives in the folder cases. Their expected objects come from each release's own
// code, see README.md in this folder.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/render/release"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "answer" {
		os.Exit(serve(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run returns 0 if the program passes, 1 if it fails, and 2 for mistakes in flags or cases.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	program := flags.String("exec", "", "the `program` with its arguments, separated by spaces; required")
	only := flags.String("release", "", "run the cases of one release `X`.Y only")
	dir := flags.String("cases", "cmd/internal/conformance/cases", "the `folder` of the cases")
	pattern := flags.String("run", "", "run only the cases whose BEHAVIOUR/NAME matches the `regexp`")
	children := flags.Bool("children", false, "compare what the JobSet controller creates as well: Jobs, Services and volume claims")
	warnings := flags.Bool("warnings", false, "compare whether the program writes warnings of the webhooks")
	record := flags.Bool("record", false, "write what the program says into the cases; for a release's own code")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "conformance:", err)
		return 2
	}
	command := strings.Fields(*program)
	if len(command) == 0 || flags.NArg() > 0 {
		return fail(fmt.Errorf("name the program: -exec 'PROGRAM ARGUMENTS'"))
	}
	releases, err := releasesNamed(*only)
	if err != nil {
		return fail(fmt.Errorf("-release: %w", err))
	}
	matching, err := regexp.Compile(*pattern)
	if err != nil {
		return fail(fmt.Errorf("-run: %w", err))
	}
	archives, err := readArchives(*dir)
	if err != nil {
		return fail(err)
	}
	r := caseRunner{program: started(command), releases: releases, matching: matching, record: *record, children: *children, warnings: *warnings}
	r.run(archives)
	if *record {
		for _, a := range archives {
			if err := a.write(); err != nil {
				return fail(err)
			}
		}
	}
	if r.report(stdout) {
		return 0
	}
	return 1
}

// releasesNamed returns the releases to run: the one of that name, or all.
func releasesNamed(name string) ([]string, error) {
	var all []string
	for _, r := range release.Known() {
		all = append(all, r.Name)
	}
	if name == "" || slices.Contains(all, name) {
		if name != "" {
			all = []string{name}
		}
		return all, nil
	}
	_, err := release.Parse(name)
	if err == nil {
		err = fmt.Errorf("name the minor version: one of %s", strings.Join(all, ", "))
	}
	return nil, err
}
