package pipeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// Queue holds the ResourceFlavors and the admitted Workloads of --flavors, and the assignments of
// --flavor.
type Queue struct {
	Flavors   []render.ResourceFlavor
	workloads []*admittedWorkload
	assigned  map[string]string // the flavor of each Pod set; nil without --flavor
}

// admittedWorkload is a Workload that no TrainJob has used yet, or one that is used.
type admittedWorkload struct {
	render.Workload
	document *manifest.Document
	used     atomic.Bool
}

const kueueGroup = "kueue.x-k8s.io"

// ReadQueue reads the objects of Kueue in the files of --flavors. assigned are the values of
// --flavor.
func ReadQueue(s workspace.Source, flags workspace.Flags, paths,
	assigned []string) (*Queue, finding.List, error) {
	q := &Queue{}
	for _, text := range assigned {
		set, flavor, ok := strings.Cut(text, "=")
		if _, isAssigned := q.assigned[set]; !ok || set == "" || flavor == "" || isAssigned {
			return nil, nil,
				fmt.Errorf("--flavor: invalid value %q: must be PODSET=FLAVOR, once for each Pod "+
					"set", text)
		}
		if q.assigned == nil {
			q.assigned = map[string]string{}
		}
		q.assigned[set] = flavor
	}
	if len(assigned) > 0 && len(paths) == 0 {
		return nil, nil,
			errors.New("--flavor: name the files of the ResourceFlavors with --flavors")
	}
	flags.Kinds, flags.Unread = nil, nil
	for _, kind := range []string{"ResourceFlavor", "Workload"} {
		// which agree in the fields that reach Pods
		for _, version := range []string{"v1beta2", "v1beta1"} {
			flags.Kinds = append(
				flags.Kinds, manifest.Kind{Group: kueueGroup, Version: version, Kind: kind,
					New: func() any { return new(merge.Object) }})
		}
	}
	in := workspace.New(flags)
	for _, d := range in.ReadDocuments(s, paths) {
		if !strings.HasPrefix(d.APIVersion, kueueGroup+"/") || d.Object == nil {
			continue
		}
		in.Findings = append(in.Findings, q.Add(d, flags)...)
	}
	for i := range in.Findings {
		if f := &in.Findings[i]; f.Code == codes.UnknownVersion {
			f.Severity = finding.Error // the flag names these objects
		}
	}
	if len(paths) > 0 && len(q.Flavors) == 0 && in.Findings.Err() == nil {
		return nil, nil, fmt.Errorf("--flavors: no ResourceFlavor in %s", strings.Join(paths, ", "))
	}
	slices.SortFunc(q.Flavors, func(a, b render.ResourceFlavor) int {
		return strings.Compare(a.Name, b.Name)
	})
	return q, in.Findings, nil
}

// Add adds a ResourceFlavor or a Workload. It reports one that cannot be decoded, and a duplicate
// flavor.
func (q *Queue) Add(d *manifest.Document, flags workspace.Flags) finding.List {
	err := q.add(d, flags)
	if err == nil {
		return nil
	}
	return finding.List{{
		Code: codes.WrongType, Severity: finding.Error, Object: d.ID,
		Position: d.Position(fieldpath.Fields("kind")),
		Message:  err.Error(), Remedy: finding.Remedy{Text: "fix the object"},
	}}
}

func (q *Queue) add(d *manifest.Document, flags workspace.Flags) error {
	fields, err := d.Fields()
	if err != nil {
		return err
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if d.ID.Kind == "ResourceFlavor" {
		var f render.ResourceFlavor
		if err := json.Unmarshal(data, &f); err != nil {
			return err
		}
		if slices.ContainsFunc(q.Flavors, func(other render.ResourceFlavor) bool {
			return other.Name == f.Name
		}) {
			return fmt.Errorf("duplicate ResourceFlavor %q", f.Name)
		}
		q.Flavors = append(q.Flavors, f)
		return nil
	}
	w := &admittedWorkload{document: d}
	if err := json.Unmarshal(data, &w.Workload); err != nil {
		return err
	}
	w.Namespace = flags.NamespaceOf(w.Namespace)
	if w.Status.Admission != nil {
		q.workloads = append(q.workloads, w)
	}
	return nil
}

// Admit returns the TrainJob with the patch that Kueue writes on its admission, and the findings if
// there is none. Without an assignment and a Workload, the TrainJob stays as it is. The rendering
// reports a TrainJob that is invalid itself.
func (q *Queue) Admit(in *workspace.Input, j workspace.Job,
	opts render.Options) (workspace.Job, finding.List) {
	at := slices.IndexFunc(q.workloads, func(w *admittedWorkload) bool {
		return w.Owns(j.TrainJob)
	})
	if q.assigned == nil && at < 0 {
		return j, nil
	}
	input, sets, found := q.sets(in, j, opts)
	if sets == nil {
		return j, found
	}
	var err error
	var w *render.Workload
	if q.assigned != nil {
		w, err = render.Assign(j.TrainJob, sets, q.assigned, q.Flavors)
	} else {
		w = &q.workloads[at].Workload
		q.workloads[at].used.Store(true)
	}
	if err == nil {
		input, err = render.Admit(input, sets, w, q.Flavors)
	}
	if errors.As(err, &found) {
		return j, in.Locate(j, slices.Clone(found))
	}
	j.TrainJob = input.TrainJob
	return j, nil
}

// sets returns the input of a TrainJob and its Pod sets, or why Kueue counts none. Kueue removes
// the selectors of an earlier admission first.
func (q *Queue) sets(in *workspace.Input, j workspace.Job,
	opts render.Options) (render.Input, []render.PodSet, finding.List) {
	input, _ := inputOf(in, j)
	if input.Runtime == nil {
		return input, nil, nil
	}
	opts.OnConflict = render.Last // the rendering reports conflicts
	opts.Release = cmp.Or(opts.Release, j.Release())
	input.TrainJob = input.TrainJob.DeepCopy()
	for i := range input.TrainJob.Spec.RuntimePatches {
		p := &input.TrainJob.Spec.RuntimePatches[i]
		if spec := p.TrainingRuntimeSpec; p.Manager == render.KueueManager && spec != nil &&
			spec.Template != nil && spec.Template.Spec != nil {
			spec.Template.Spec.ReplicatedJobs = nil
		}
	}
	sets, err := render.PodSets(input, opts)
	return input, sets, in.Locate(j, noPodSets(err))
}

// noPodSets returns the findings on Kueue's Workload. The rendering reports the other ones.
func noPodSets(err error) finding.List {
	var found finding.List
	errors.As(err, &found)
	return found.Of(codes.NoPodSets)
}

// Unused warns of Workloads whose TrainJob the inputs lack.
func (q *Queue) Unused() (found finding.List) {
	if q.assigned != nil {
		return nil
	}
	for _, w := range q.workloads {
		if !w.used.Load() {
			found = append(found, finding.Finding{
				Code: codes.NotAdmitted, Severity: finding.Warning,
				Object:   fieldpath.Object{Kind: "Workload", Namespace: w.Namespace, Name: w.Name},
				Path:     fieldpath.Fields("metadata", "ownerReferences"),
				Position: w.document.Position(fieldpath.Fields("metadata")),
				Message:  "the inputs lack the TrainJob of the admitted Workload",
				Remedy: finding.Remedy{
					Text: "add the TrainJob to the inputs"},
			})
		}
	}
	return found
}

// FlavorResult is what Kueue makes of a TrainJob whose Pod sets all go to one flavor.
type FlavorResult struct {
	Flavor string `json:"flavor"`
	// Result is one of Admitted, Conflicts and Impossible.
	Result    string           `json:"result" doc:"admitted, conflicts or impossible."`
	Reason    string           `json:"reason,omitempty" doc:"Why the flavor is impossible."`
	Conflicts []FlavorConflict `json:"conflicts,omitempty" doc:"The errors and warnings that the patch of the admission adds."`
}

// FlavorConflict is a finding that an admission adds.
type FlavorConflict struct {
	Code    finding.Code `json:"code"`
	Path    string       `json:"path"`
	Message string       `json:"message"`
}

// The results of a flavor.
const (
	Admitted   = "admitted"
	Conflicts  = "conflicts"
	Impossible = "impossible"
)

// Try admits the TrainJob to each flavor in turn. It returns the findings instead if the cluster
// rejects the TrainJob itself. It ignores conflicts among the TrainJob's own managers.
func (q *Queue) Try(in *workspace.Input, j workspace.Job,
	opts render.Options) ([]FlavorResult, finding.List) {
	input, sets, found := q.sets(in, j, opts)
	opts.Release = cmp.Or(opts.Release, j.Release())
	opts.OnConflict = render.Last
	if sets == nil {
		reported, _ := TrainJob(in, j, opts)
		return nil, append(found, reported...)
	}
	var before codes.Report
	out, _ := render.JobSet(input, opts)
	before.Add(out.Findings...)
	results := make([]FlavorResult, len(q.Flavors))
	for i := range q.Flavors {
		r := &results[i]
		*r = FlavorResult{Flavor: q.Flavors[i].Name, Result: Admitted}
		of := map[string]string{}
		for _, set := range sets {
			if len(set.Requests) > 0 {
				of[set.Name] = r.Flavor
			}
		}
		w, err := render.Assign(j.TrainJob, sets, of, q.Flavors)
		var admitted render.Input
		if err == nil {
			admitted, err = render.Admit(input, sets, w, q.Flavors)
		}
		if list := (finding.List)(nil); errors.As(err, &list) {
			r.Result, r.Reason = Impossible, list[0].Message
			continue
		}
		out, _ := render.JobSet(admitted, opts)
		for _, f := range out.Findings {
			if f.Severity != finding.Note && !before.Has(codes.KeyOf(f)) {
				r.Result, r.Conflicts = Conflicts,
					append(r.Conflicts, FlavorConflict{f.Code, f.Path.String(), f.Message})
			}
		}
	}
	return results, nil
}
