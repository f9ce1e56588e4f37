// Package fn implements the command fn. It renders TrainJobs and merges patches in a pipeline of
// kustomize or kpt.
//
// Its first file to read is fn.go.
package fn

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/output"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/podgroups"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// Command returns the command with its flags and its help.
func Command(p *host.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "fn",
		Short: "Render TrainJobs or merge patches as a KRM function of kustomize or kpt",
		Long: `Read a ResourceList from standard input, render its TrainJobs, and write it to standard output. kustomize and
kpt run it as a KRM function. Runtimes are items of the list, or in files. The JobSet of a TrainJob and its
related objects replace it. With mode: add they follow it, and replace the results of an earlier run. All
other items stay as they are, including JobSets. Annotations that name an item's file stay.

Findings become results of the list. A conflict has a tag for each manager's value. Findings also go to
standard error, since kustomize does not show results. If one is an error, the items stay as they were.

Options are the fields of a functionConfig of kind RenderTrainJobs, of trainweld.github.io/v1alpha1:

  to             jobset, jobs or pods
  as             applied or stored
  for            review, or apply for JobSets that are applied instead of the TrainJobs: see render --help
  onConflict     fail or last
  forceManagers  managers that win all their conflicts, the first one first
  mode           replace or add
  trainerVersion the release of the Trainer, with its JobSet: 2.0, 2.1, 2.2, 2.3 or 2.4
  kubernetesVersion
                 the minor version of Kubernetes: 1.32, 1.33, 1.34, 1.35, 1.36 or 1.37
  featureGates   feature gates of the controller, such as TrainJobStatus=true
  namespace      the namespace of objects that name none (default "default")
  patches        managers' patches, applied to every TrainJob after its own
  files          files and directories with TrainJobs and runtimes, for a generator
  runtimeFiles   files and directories with runtimes
  patchFiles     files with managers' patches
  policy         the policy file (default the nearest trainweld.yaml)
  recursive      true to also read subdirectories
  strict         true to count warnings as errors
  all            true to also show notes, which report no problem

A functionConfig of kind MergePatches instead merges managers' patches into items
of any kind, by the definition of the kind, and renders nothing:

  patches         the patches in their order: manager, patch, an object or a string with one, and target, which selects
                  items as in a kustomization, by default the object that the patch names
  definitions     CustomResourceDefinitions. Those among the items count, and of the Trainer and JobSet all are known
  configMaps      names of ConfigMaps among the items with CustomResourceDefinitions
  definitionFiles files and directories with CustomResourceDefinitions
  onConflict, forceManagers, protected, option
                  as the flags of trainweld merge
  strict          true to count warnings as errors

Results tell which fields each manager owns, as FieldsV1.

Paths are relative to the working directory, which is that of the kustomization, and stay within the repository.

Exit status: 0 done; 1 a finding is an error; 2 usage, input or output failed.`,
		Example: `  # As kustomize runs it, by this annotation of the functionConfig
  #
  #   config.kubernetes.io/function: |
  #     exec: {path: trainweld, args: [fn]}
  kustomize build --enable-alpha-plugins --enable-exec .

  # By hand
  trainweld fn < resourcelist.yaml`,
		Args: option.NoArguments,
		RunE: func(*cobra.Command, []string) error { return run(p) },
	}
}

// run answers one ResourceList. It returns an error for other input.
func run(p *host.Program) error {
	data, unreadable := manifest.Read(p.Files, p.Stdin, manifest.Stdin)
	if unreadable != nil {
		return fmt.Errorf("standard input: %s; %s", unreadable.Message, report.Help(*unreadable))
	}
	list, err := resourcelist.Read(data)
	if err != nil {
		return fmt.Errorf(
			"standard input: %w; a function reads a ResourceList: see 'trainweld fn --help'", err)
	}
	bounded := *p
	// a configuration of the repository names the files, and no flag
	bounded.Files = host.Bounded(p.Files, ".")
	p = &bounded
	if isMerge(list.Config) {
		return runMerge(p, list)
	}
	opts, wrong := parseFnOptions(list.Config)
	if wrong != nil {
		return rejectOptions(p, list, wrong)
	}
	f := newFunction(p, list, opts)
	if err := option.UnknownManager(f.in, opts.Force); err != nil {
		return rejectOptions(
			p, list, []misuse{
				{opts.at + "forceManagers", strings.TrimPrefix(err.Error(), option.ForceFlag+": ")}})
	}
	return f.answer(p, f.run(), nil, fnHelp)
}

// answer writes the findings, and the list with the items unless a finding is an error. The results
// belong to the items.
func (f *function) answer(p *host.Program, items []*resourcelist.Item,
	results []resourcelist.Result, help func(finding.Finding) string) error {
	findings := f.messagesWithFiles(codes.Distinct(f.findings))
	if err := report.WriteBeside(p.Stderr, f.withFiles(findings),
		report.Options{ShowNotes: f.opts.All, Strict: f.opts.Strict, Help: help,
			Releases: f.in.Releases()}); err != nil {
		return err
	}
	failed := exit.For(findings, f.opts.Strict)
	// results identify items by their indexes in the input
	f.list.Results = f.results(findings, help)
	warn(p.Stderr, f.list, f.former)
	if failed == nil {
		f.list.Items, f.list.Results = items, append(f.list.Results, results...)
	}
	if err := f.list.Write(p.Stdout); err != nil {
		return err
	}
	return failed
}

// rejectOptions answers with the errors of the options and with the unchanged items.
func rejectOptions(p *host.Program, list *resourcelist.List, wrong []misuse) error {
	for _, w := range wrong {
		fmt.Fprintf(p.Stderr, "trainweld: %s\n", report.Printable(w.Error()))
		list.Results = append(list.Results, misuseResult(list.Config, w))
	}
	if err := list.Write(p.Stdout); err != nil {
		return err
	}
	return exit.Status(exit.Failed)
}

// function is a run over one list.
type function struct {
	list     *resourcelist.List
	former   []misuse // fields of the configuration that the next release does not read
	opts     *fnOptions
	in       *workspace.Input
	jobs     map[*manifest.Document]*resourcelist.Item // by their documents
	items    map[fieldpath.Object]*resourcelist.Item   // of the decoded objects
	versions map[fieldpath.Object]string               // the apiVersions of the decoded objects
	findings finding.List
}

// newFunction reads the items, and the files that the options name.
func newFunction(p *host.Program, list *resourcelist.List, opts *fnOptions) *function {
	// The JobSet would otherwise appear to set the API server's defaults.
	opts.Spelled = opts.To != "jobset"
	f := &function{
		list: list, former: opts.former, opts: opts, in: workspace.New(opts.Flags),
		jobs:  map[*manifest.Document]*resourcelist.Item{},
		items: map[fieldpath.Object]*resourcelist.Item{}, versions: map[fieldpath.Object]string{},
	}
	for i, item := range list.Items {
		f.readItem(p, i, item)
	}
	for _, d := range f.in.ReadDocuments(p, opts.Files) {
		f.add(d, true)
	}
	for _, d := range f.in.ReadDocuments(p, opts.Runtimes) {
		f.add(d, false)
	}
	if opts.patches != "" {
		patches, findings := f.in.ApplyPolicy(p.Files, configFile, ".").DecodePatches(
			configFile, []byte(opts.patches))
		f.in.Patches = append(f.in.Patches, patches...)
		f.in.Findings = append(f.in.Findings, findings...)
	}
	f.in.ReadPatches(p)
	f.in.DefaultPatches()
	f.in.Findings = f.in.Rate(f.in.WithoutPatchFiles(f.in.Findings))
	return f
}

// readItem reads a TrainJob, a runtime or a snapshot. It ignores other items.
func (f *function) readItem(p *host.Program, i int, item *resourcelist.Item) {
	data, err := item.YAML()
	if err != nil {
		f.in.Findings = append(f.in.Findings, unwritable(i, err))
		return
	}
	documents, findings, _ := f.in.ApplyPolicy(p.Files, itemFile(i), ".").Decode(
		itemFile(i), data, nil)
	for n := range findings {
		findings[n].Object = f.opts.InNamespace(findings[n].Object)
	}
	// An item without apiVersion and kind belongs to another tool.
	f.in.Findings = append(f.in.Findings, slices.DeleteFunc(findings, func(f finding.Finding) bool {
		return f.Code == codes.NotAnObject
	})...)
	for _, d := range documents { // one, or none if the item is broken
		if d.Object != nil || d.Broken {
			f.jobs[d], f.items[f.opts.InNamespace(d.ID)] = item, item
			f.add(d, true)
		}
	}
}

func unwritable(i int, err error) finding.Finding {
	return finding.Finding{
		Code: codes.Syntax, Severity: finding.Error,
		Position: fieldpath.Position{File: itemFile(i)},
		Message:  err.Error(),
		Remedy:   finding.Remedy{Text: "correct the item"},
	}
}

func (f *function) add(d *manifest.Document, jobs bool) {
	f.versions[f.opts.InNamespace(d.ID)] = d.APIVersion
	f.in.Add(d, jobs)
}

// run renders all TrainJobs, and returns the items with the rendered objects.
func (f *function) run() []*resourcelist.Item {
	f.findings = f.in.Findings
	placing := newPlacing(f.list.Items)
	flags := f.opts.Render
	opts, podOpts := flags.Options(), flags.Pods()
	renamed := formerOf(f.in, f.jobs)
	for _, j := range f.in.Jobs {
		renamed.updateReference(j, f.in)
		podOpts.Release = j.Release()
		found, out := pipeline.TrainJob(f.in, j, opts)
		found = append(found, podgroups.Rejected(f.in, j, opts, out, found)...)
		if flags.For == option.ForApply && out.JobSet != nil {
			found = pipeline.ForApply(f.in, j, out, found, false)
		}
		objects := output.Each(out.Objects())
		if flags.To != "jobset" && out.JobSet != nil && found.Err() == nil {
			family := pipeline.Children(out.History, out.JobSet, out.Companions, flags, podOpts)
			found, objects = append(found, f.in.Locate(j, family.Findings)...), family.Objects
		}
		f.findings = append(f.findings, found...)
		if objects == nil || found.Err() != nil {
			continue
		}
		made, dropped, err := newItems(objects)
		if err != nil {
			f.findings = append(f.findings, finding.Finding{
				Code: codes.Syntax, Severity: finding.Error, Object: render.ObjectOf(j.TrainJob),
				Message: err.Error(),
				Remedy: finding.Remedy{
					Text: "report this bug of trainweld with the TrainJob and its runtime"},
			})
			continue
		}
		if len(dropped) > 0 {
			f.findings = append(f.findings, finding.Finding{
				Code: codes.NoMerge, Severity: finding.Warning, Object: render.ObjectOf(j.TrainJob),
				Position: j.Document.Position(nil),
				Message: "annotations of orchestrators are not rendered: " +
					printable.Name(strings.Join(dropped, ", ")),
				Remedy: finding.Remedy{
					Do: finding.Remove,
					Text: "remove them from the annotations of the TrainJob, its runtime and its " +
						"patches"},
			})
		}
		placing.put(f.jobs[j.Document], made, f.opts.mode == addMode)
	}
	return placing.items()
}

// newItems returns items with the objects, and the annotations that they lost: those of
// orchestrators choose the file that kpt writes, or what kustomize does with an object.
func newItems(objects func(func(any, error) bool)) (items []*resourcelist.Item, dropped []string,
	err error) {
	for object, err := range objects {
		if err != nil {
			return nil, nil, err
		}
		var b bytes.Buffer
		if err := manifest.Encode(&b, manifest.YAML, object); err != nil {
			return nil, nil, err
		}
		item, err := resourcelist.NewItem(b.Bytes())
		if err != nil {
			return nil, nil, fmt.Errorf("reading back what was rendered: %w", err)
		}
		dropped = append(dropped, item.DropInstructions()...)
		items = append(items, item)
	}
	return items, slices.Compact(slices.Sorted(slices.Values(dropped))), nil
}

// Items have no readable file: annotations name it at most, and its lines differ. These names
// identify items until a finding is reported.
const (
	itemPrefix = "\x00item "
	configFile = "\x00functionConfig"
)

func itemFile(i int) string { return fmt.Sprintf("%s%d", itemPrefix, i) }

// isStream reports whether a position lies in standard input.
func isStream(p fieldpath.Position) bool { return strings.HasPrefix(p.File, "\x00") }
