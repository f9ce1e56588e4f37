// Package migrate implements the command migrate. It converts old TrainJobs and jobs of the
// Training Operator to today's API.
//
// Its first file to read is migrate.go.
package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// sdkManager is the manager of the SDK's patches (Kubeflow SDK,
// kubeflow/trainer/options/kubernetes.py).
const sdkManager = "trainer.kubeflow.org/kubeflow-sdk"

// migrateFlags are the flags of migrate.
type migrateFlags struct {
	workspace.Flags
	target  *release.Release // of the rewritten objects
	manager string
	gang    string
	inPlace bool
	diff    bool
	list    bool
	strict  bool
	*option.Global
}

// Command returns the command with its flags and its help.
func Command(p *host.Program, g *option.Global) *cobra.Command {
	flags := migrateFlags{Global: g}
	g.Inputs(&flags.Flags)
	cmd := &cobra.Command{
		Use:   "migrate PATH... [-r PATH]... [flags]",
		Short: "Rewrite objects of earlier versions for Trainer 2.3",
		Long: `Rewrite objects of earlier versions for Trainer 2.3.

A TrainJob of Trainer 2.0 or 2.1 with spec.podSpecOverrides, spec.podTemplateOverrides, spec.labels or
spec.annotations gets a patch of one manager in spec.runtimePatches. A training job of kubeflow.org/v1 becomes a TrainJob and a
TrainingRuntime of its own. The kinds are
PyTorchJob, MPIJob, XGBoostJob, JAXJob, TFJob and PaddleJob.

The command proves the rewrite of a TrainJob: it renders both forms with the TrainJob's runtime, and compares
the JobSets. If they differ, or if today's API cannot express a field, a finding gives the reason. Then the
command writes nothing.

A PATH is a file, a directory, a quoted glob or - for standard input. Runtimes may also come with -r. The
rewritten files go to standard output. Everything else in them stays, with comments and order. -w writes the
files in place, -d shows the changes, and --list lists the files that change.

With --trainer-version 2.2, fields that Trainer 2.2 lacks are errors in the rewritten objects.

Exit status: 0 done; 1 a finding is an error; 2 usage, input or output failed.`,
		Example: `  # A TrainJob, proved with its runtime
  trainweld migrate job.yaml -r runtime.yaml

  # What would change below a directory
  trainweld migrate -R jobs/ -r runtimes/ -d

  # A PyTorchJob to a TrainingRuntime and a TrainJob
  trainweld migrate pytorchjob.yaml

  # The files themselves, under another manager's name
  trainweld migrate -R jobs/ -r runtimes/ -w --manager team-a.example.com/defaults`,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.Files = append(flags.Files, args...)
			flags.target, flags.Release = flags.Release, nil // what is read has any release
			if err := flags.check(); err != nil {
				return exit.Usage(err)
			}
			return run(p, flags)
		},
	}
	f := cmd.Flags()
	f.VarP((*option.Paths)(&flags.Files), "filename", "f",
		"rewrite the objects of a file, directory, glob or - (repeatable)")
	f.VarP((*option.Paths)(&flags.Runtimes), "runtimes", "r",
		"read runtimes from a file, directory or glob; also <trainjob>-runtime-snapshot "+
			"ConfigMaps (repeatable)")
	option.AddRecursive(f, &flags.Flags)
	f.StringVar(&flags.manager, "manager", sdkManager, "the manager of the new patch")
	f.BoolVarP(&flags.inPlace, "in-place", "w", false,
		"write the files in place instead of to standard output")
	f.BoolVarP(&flags.diff, "diff", "d", false, "show the changes instead of the files")
	f.BoolVar(&flags.list, "list", false, "list the files that change instead of showing them")
	f.BoolVar(&flags.strict, "strict", false, "count warnings as errors: write no unproved result")
	f.StringVar(&flags.gang, "gang-scheduler", "",
		"the gang scheduler of the training operator: coscheduling or volcano; by default from a "+
			"job's schedulingPolicy")
	commandline.Words(cmd, "gang-scheduler", gangSchedulers()...)
	commandline.Words(cmd, "manager", sdkManager)
	return cmd
}

// check returns an error for flags that exclude each other.
func (flags migrateFlags) check() error {
	if len(flags.Files) == 0 {
		return errors.New("nothing to migrate: name files, or - for standard input")
	}
	stdin := 0
	for _, path := range append(append([]string{}, flags.Files...), flags.Runtimes...) {
		switch path {
		case manifest.Stdin:
			stdin++
		case "":
			return errors.New("an empty path: name a file, a directory, a glob or -")
		}
	}
	switch {
	case stdin > 1:
		return errors.New("standard input can be read once: use - once")
	case stdin > 0 && flags.inPlace:
		return errors.New("-w: standard input cannot be written in place: remove -w")
	}
	if flags.target != nil && flags.target.Overrides != release.RuntimePatches {
		return fmt.Errorf(
			"--trainer-version: Trainer %s has no spec.runtimePatches: use a later release",
			flags.target.Name)
	}
	for _, f := range check.Patches(&trainer.JobSetTemplateSpec{},
		[]trainer.RuntimePatch{{Manager: flags.manager}}) {
		return fmt.Errorf("--manager: %s; %s", f.Message, report.Help(f))
	}
	if err := workspace.CheckNamespace(flags.Namespace); err != nil {
		return err
	}
	if flags.gang == "" {
		return nil
	}
	return option.OneOf("--gang-scheduler", flags.gang, gangSchedulers()...)
}

// migration is one run of the command.
type migration struct {
	*workspace.Input
	flags    migrateFlags
	findings finding.List
	sources  map[fieldpath.Object]*manifest.Document // the source documents of the new objects
}

func run(p *host.Program, flags migrateFlags) error {
	flags.Kinds, flags.AnyRelease = trainingJobKinds(), true
	m := migration{flags: flags, sources: map[fieldpath.Object]*manifest.Document{}}
	m.Input = workspace.Read(p, flags.Flags)
	// migrate resolves this finding
	m.findings = m.Input.Findings.Where(func(f finding.Finding) bool {
		return f.Code != codes.OldAPI
	})
	var files []output.Rewritten
	for _, text := range m.Files {
		files = append(files, m.file(text))
	}
	findings := codes.Distinct(m.findings)
	opts := flags.Report(p, p.Stderr)
	if flags.target != nil {
		opts.Releases = []release.Release{*flags.target}
	}
	if err := report.WriteResult(p.Stderr, findings, opts, flags.strict); err != nil {
		return err
	}
	if flags.inPlace {
		if err := output.WriteInPlace(p, files); err != nil {
			return fmt.Errorf("-w: %w", err)
		}
	}
	return showRewritten(p, files, flags)
}

// file rewrites the old objects of one file.
func (m *migration) file(text workspace.File) output.Rewritten {
	objects := make([]manifest.Rewriting, len(text.Documents))
	for i, d := range text.Documents {
		m.unknownJob(d)
		objects[i].Document = d
		if d.Overrides != nil {
			objects[i] = m.overrides(d)
		}
	}
	edits := manifest.Rewrite(objects)
	for _, r := range objects {
		if r.Err != nil {
			m.findings = append(m.findings, cannotEdit(m.ID(r.Document), r.Document, r.Err))
		}
	}
	edits = append(edits, m.trainingJobs(text)...)
	after := manifest.ApplyEdits(text.Data, edits)
	m.checkTarget(text.Name, after)
	return output.Rewritten{Name: text.Name, Old: text.Data, New: after}
}

// checkTarget reports the fields of a rewritten file that the target release lacks. Their places
// are in the new text.
func (m *migration) checkTarget(file string, after []byte) {
	if m.flags.target == nil {
		return
	}
	documents, _, _ := m.API(m.flags.target).Decode(file, after, m.flags.Kinds)
	for _, d := range documents {
		for _, f := range d.Findings {
			f.Position = fieldpath.Position{File: file}
			f.Object = m.flags.InNamespace(f.Object)
			m.findings = append(m.findings, f)
		}
	}
}

// showRewritten writes the requested output.
func showRewritten(p *host.Program, files []output.Rewritten, flags migrateFlags) error {
	var out bytes.Buffer
	for _, f := range files {
		switch {
		case flags.list || flags.diff:
			if flags.list && f.Changed() {
				fmt.Fprintln(&out, printable.Line(printable.Name(f.Name)))
			}
			if flags.diff {
				f.WriteDiff(&out)
			}
		case !flags.inPlace:
			writeSeparator(&out, f.New)
			out.Write(f.New)
		}
	}
	_, err := p.Stdout.Write(out.Bytes())
	return err
}

// writeSeparator writes a line break between two files of a stream, and "---" unless the next one
// starts with it.
func writeSeparator(out *bytes.Buffer, next []byte) {
	if out.Len() == 0 {
		return
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	if !bytes.HasPrefix(next, []byte("---")) {
		out.WriteString("---\n")
	}
}

// overrides returns the change that rewrites a TrainJob of Trainer 2.1 for today's API: as the
// patch of a manager. It leaves a TrainJob that it cannot rewrite, and the findings give the
// reason. A finding also tells if the runtime is missing: then the two forms are not compared.
func (m *migration) overrides(d *manifest.Document) manifest.Rewriting {
	unchanged := manifest.Rewriting{Document: d}
	at := slices.IndexFunc(m.Jobs, func(j workspace.Job) bool { return j.Document == d })
	if at < 0 {
		return unchanged // its own findings give the reason
	}
	j := m.Jobs[at]
	runtime, missing := m.RuntimeOf(j)
	if runtime == nil && missing == nil {
		return unchanged // the runtime has its own findings
	}
	result := render.Migrate(render.Input{TrainJob: j.TrainJob, Runtime: runtime}, d.Overrides,
		m.flags.manager)
	found := result.Findings
	if missing != nil && result.TrainJob != nil {
		missing.Code, missing.Severity = codes.NotProved, finding.Warning
		missing.Message = "patch and overrides were not compared: " + missing.Message
		found = append(found, *missing)
	}
	m.findings = append(m.findings, m.Locate(j, found)...)
	if result.TrainJob == nil {
		return unchanged
	}
	return d.Migration(result.TrainJob.Spec.RuntimePatches)
}

// cannotEdit returns the finding on an object whose text cannot be rewritten.
func cannotEdit(object fieldpath.Object, d *manifest.Document, err error) finding.Finding {
	at := fieldpath.Fields("spec")
	return finding.Finding{
		Code: codes.NotMigrated, Severity: finding.Error, Object: object, Path: at,
		Position: d.Position(at),
		Message:  fmt.Sprintf("its text cannot be edited: %v", err),
		Remedy: finding.Remedy{
			Text: "remove its anchors and merge keys, and run trainweld migrate again"},
	}
}
