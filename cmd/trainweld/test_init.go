package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/trainweld/internal/report"
	"github.com/trainweld/trainweld/render/golden"
	"github.com/trainweld/trainweld/schema"
	"github.com/trainweld/trainweld/schema/manifest"
)

// testInit makes cases for runtimes.
func (p *program) testInit(cmd *cobra.Command, flags testFlags, paths []string) error {
	for _, name := range []string{"run", "update", "output", "show-values"} {
		if cmd.Flags().Changed(name) {
			return usageError{fmt.Errorf("--init makes cases: leave --%s out", name)}
		}
	}
	switch {
	case len(paths) == 0:
		return usageError{errors.New("--init: name files with runtimes")}
	case slices.Contains(paths, ""), cmd.Flags().Changed("output-dir") && flags.outputDir == "":
		return usageError{errors.New("an empty path: name a file or a directory")}
	case slices.Contains(paths, manifest.Stdin):
		return usageError{errors.New("--init puts cases beside the runtime's file: give a file, not -")}
	}
	runtimes, findings := p.runtimesOf(paths)
	if len(runtimes) == 0 && findings.Err() == nil {
		findings = append(findings, schema.Finding{
			Code: schema.CodeNoRuntime, Severity: schema.Error,
			Message: "the inputs hold no runtime", Help: "name files with a TrainingRuntime or a ClusterTrainingRuntime",
		})
	}
	if err := p.report(findings, report.Options{}); err != nil {
		return err
	}
	if err := failure(findings, false); err != nil {
		return err
	}
	made := 0
	var roots []string
	for _, r := range runtimes {
		root, n, err := p.initRuntime(r, flags.outputDir)
		if err != nil {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
		made += n
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	fmt.Fprintf(p.stderr, "%s made; review what they render to, and run them with: trainweld test %s\n", report.Count(made, "case"), report.Printable(strings.Join(roots, " ")))
	return nil
}

// runtimesOf are the runtimes in files, and what reading them finds.
func (p *program) runtimesOf(paths []string) ([]*manifest.Document, schema.Findings) {
	in := newInput(inputFlags{}, &progress{})
	var runtimes []*manifest.Document
	for _, d := range p.documents(in, paths, inputFlags{}) {
		id, name := d.ID, schema.Fields("metadata", "name")
		switch d.Object.(type) {
		case *trainer.TrainingRuntime, *trainer.ClusterTrainingRuntime:
		default:
			continue
		}
		if len(validation.IsDNS1123Subdomain(id.Name)) > 0 {
			in.findings = append(in.findings, schema.Finding{
				Code: schema.CodeUnsafeOutputName, Severity: schema.Error, Object: id, Path: name, Position: d.Position(name),
				Message: fmt.Sprintf("no folder is made for the name %q: it is no name that a cluster takes, and may lead out of the directory", id.Name),
				Help:    "use lower-case letters, digits, dashes and dots, 253 at most, and begin and end with a letter or digit",
			})
			continue
		}
		runtimes = append(runtimes, d)
	}
	return runtimes, in.findings
}

// initRuntime writes the cases of one runtime, and returns the directory to test and how many are new.
func (p *program) initRuntime(d *manifest.Document, outputDir string) (root string, made int, err error) {
	starts, err := golden.Walk(d.Object)
	if err != nil {
		return "", 0, err
	}
	root = filepath.Dir(d.File)
	if outputDir != "" {
		root = outputDir
	}
	home := filepath.Join(root, d.ID.Name)
	if err := os.MkdirAll(home, 0o777); err != nil {
		return "", 0, err
	}
	if outputDir != "" {
		data, err := os.ReadFile(d.File)
		if err != nil {
			return "", 0, err
		}
		if err := writeUnless(filepath.Join(home, filepath.Base(d.File)), data); err != nil {
			return "", 0, err
		}
	}
	fresh := map[string]bool{}
	for _, s := range starts {
		name := path.Join(d.ID.Name, s.Name)
		folder := filepath.Join(home, s.Name)
		if err := os.Mkdir(folder, 0o777); errors.Is(err, fs.ErrExist) {
			fmt.Fprintf(p.stderr, "%s is there already, and left alone\n", report.Printable(filepath.ToSlash(folder)))
			continue
		} else if err != nil {
			return "", 0, err
		}
		for file, data := range s.Files {
			if err := writeUnless(filepath.Join(folder, file), data); err != nil {
				return "", 0, err
			}
		}
		fresh[name] = true
	}
	return root, len(fresh), p.firstRun(root, fresh)
}

// writeUnless writes a file that is not there yet.
func writeUnless(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// firstRun writes what the new cases render to.
func (p *program) firstRun(root string, fresh map[string]bool) error {
	cases, err := golden.Find(os.DirFS(root), filepath.ToSlash(root))
	if err != nil {
		return err
	}
	for _, c := range cases {
		if !fresh[c.Name] {
			continue
		}
		r, err := c.Run(golden.Options{})
		if err != nil {
			return err
		}
		if err := golden.Update(root, r); err != nil {
			return err
		}
		name := report.Printable(path.Join(filepath.ToSlash(root), c.Name))
		if _, err := fmt.Fprintf(p.stdout, "wrote %s\n", name); err != nil {
			return err
		}
		for _, f := range r.Expected {
			fmt.Fprintf(p.stderr, "%s expects an error: %s\n", name, report.Printable(f.Error()))
		}
	}
	return nil
}
