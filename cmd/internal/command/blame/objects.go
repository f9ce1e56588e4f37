package blame

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/cmd/internal/blameview"
	"github.com/trainweld/trainweld/cmd/internal/build"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// blameAll returns the blamed objects of all TrainJobs of the inputs.
func blameAll(p *host.Program, flags blameFlags) ([]blameview.Blamed, finding.List, error) {
	shared := flags.Render
	shared.Format, shared.Advisory = "yaml", true
	if flags.Empty() {
		return nil, nil,
			exit.Usage(errors.New("nothing to blame: name files with -f, or - for standard input"))
	}
	_, opts, err := shared.Parse()
	if err != nil {
		return nil, nil, exit.Usage(err)
	}
	if err := flags.Children.Check(flags.To, "jobs", "pods"); err != nil {
		return nil, nil, exit.Usage(err)
	}
	shared.Spelled = flags.To != "jobset"
	podOpts := flags.Pods()
	p, merges := objectmerge.Applies(p, flags.Flags, flags.Schema)
	if merges {
		return blameOther(p, flags)
	}
	live, findings, err := flags.readLive(p)
	if err != nil || findings.Err() != nil {
		return nil, findings, err
	}
	var objects []blameview.Blamed
	var held []string
	jobs := 0
	forced := option.NewForced(flags.Force)
	err = build.Parts(p, shared.Flags, func(part workspace.Flags) error {
		in := workspace.Read(p, part)
		forced.Take(in)
		if part.Built != nil {
			for id := range part.Built.Objects() {
				held = append(held, id.Kind+"/"+id.Name)
			}
		}
		if part.Built != nil && part.Built.Text != nil && flags.isBuiltOnly(in) {
			made, err := flags.blameBuilt(part.Built, live)
			objects, findings = append(objects, made...), append(findings, in.Findings...)
			jobs += len(made)
			return err
		}
		if part.Built != nil && flags.object != "" {
			asked, err := part.Built.Asked(flags.object)
			if err != nil {
				return err
			}
			in.Jobs = slices.DeleteFunc(in.Jobs, func(j workspace.Job) bool {
				return !slices.ContainsFunc(asked, func(o workspace.BuiltObject) bool {
					return o.ID.Name == j.TrainJob.Name
				})
			})
		}
		made, found, managed, err := flags.blamePart(in, opts, podOpts)
		for i := range made {
			made[i].Build = in.Build()
		}
		in.Label(found)
		objects, findings = append(objects, made...), append(findings, found...)
		if jobs += len(in.Jobs); managed {
			jobs++
		}
		return err
	})
	if err := cmp.Or(err, forced.Err()); err != nil {
		return nil, nil, err
	}
	if jobs > 0 && findings.Err() == nil {
		if err := flags.Children.NoPods(int64(len(objects))); err != nil {
			return nil, nil, err
		}
	}
	if live != nil && findings.Err() == nil &&
		!slices.ContainsFunc(objects, func(o blameview.Blamed) bool { return o.IsLive }) {
		return nil, nil, exit.Usage(fmt.Errorf("--old: %s holds none of the objects", flags.live))
	}
	if flags.For == option.ForRuntime && jobs > 0 && objects == nil && findings.Err() == nil {
		return nil, nil, exit.Usage(option.NoExtended())
	}
	if jobs == 0 && findings.Err() == nil && flags.object != "" {
		return nil, nil, exit.Usage(origins.NotHeld(flags.object, held))
	}
	if jobs == 0 && findings.Err() == nil {
		findings = append(
			findings, flags.Flags.NoTrainJob("no TrainJob in the inputs",
				"name files with TrainJobs with -f; -r is for runtimes only, and -R descends "+
					"into directories"))
	}
	return objects, findings, nil
}

// blamePart returns the blamed objects of one part. managed reports that these are objects with
// managed fields.
func (flags blameFlags) blamePart(in *workspace.Input, opts render.Options,
	podOpts render.PodsOptions) (objects []blameview.Blamed, findings finding.List, managed bool,
	err error) {
	if documents, live := managedDocuments(in, flags.Selector != nil); documents != nil &&
		in.Build() == "" {
		err := flags.withoutManaged()
		switch {
		case err != nil && live:
			return nil, nil, false, exit.Usage(err)
		case live, err == nil && in.Findings.Err() == nil:
			objects, findings, err := blameManaged(documents)
			return objects, append(in.Findings, findings...), true, err
		}
	}
	findings = in.Findings
	for _, j := range in.Jobs {
		found, out := pipeline.TrainJob(in, j, opts)
		findings = append(findings, found...)
		if out.JobSet == nil || flags.OnConflict == "fail" && found.Err() != nil {
			continue
		}
		b := blamer{flags: flags, in: in, j: j, out: out, pods: podOpts}
		b.pods.Release = j.Release()
		b.opts = blame.Options{
			ShowValues: flags.ShowValues, Locate: func(c merge.Claim) []merge.Claim {
				return in.History(j, c)
			}}
		if flags.To == "jobset" {
			for _, f := range found {
				if codes.IsDispute(f.Code) &&
					workspace.IsRuntime(f.Object) == (flags.For == option.ForRuntime) {
					b.opts.Disputed = append(b.opts.Disputed, f.Path)
				}
			}
		}
		b.found = func(more finding.List) {
			findings = append(findings, in.Locate(j, more)...)
		}
		made, err := b.objects()
		if err != nil {
			return nil, nil, false, err
		}
		for i := range made {
			made[i].Way = diagramOf(in, j, made[i].ID.Kind, out)
		}
		objects = append(objects, made...)
	}
	return objects, findings, false, nil
}

// blameOther returns the blamed result of patches to an object that is not a TrainJob.
func blameOther(p *host.Program, flags blameFlags) ([]blameview.Blamed, finding.List, error) {
	m, found, err := objectmerge.Read(p, workspace.New(flags.Flags), flags.Flags, flags.Schema, nil)
	if err != nil {
		return nil, nil, err
	}
	if m != nil && m.ID.Kind == "Secret" && !flags.ShowValues {
		return nil, nil,
			exit.Usage(errors.New(
				"the lines of a Secret are its values: add --show-values to see them"))
	}
	merged, more := m.Apply(found)
	if found = append(found, more...); merged == nil {
		return nil, found, nil
	}
	conflicts := m.Conflicts(merged, render.Fail)
	if found = append(found, conflicts...); flags.OnConflict == "fail" && conflicts != nil {
		return nil, found, nil
	}
	opts := blame.Options{ShowValues: flags.ShowValues, Locate: func(c merge.Claim) []merge.Claim {
		c.Position = m.Position(c.Owner, c.At)
		return []merge.Claim{c}
	}}
	for _, f := range conflicts {
		opts.Disputed = append(opts.Disputed, f.Path)
	}
	o, err := blame.New(merged.Fields, merged.Type, m.All(merged), opts)
	return []blameview.Blamed{{ID: m.ID, Object: o}}, found, err
}

// maxBlamed limits the Jobs or Pods of one TrainJob. Each takes the memory of its whole history,
// and readers need few.
const maxBlamed = 1000

// blamer blames the objects of one TrainJob.
type blamer struct {
	flags blameFlags
	in    *workspace.Input
	j     workspace.Job
	out   pipeline.Made
	pods  render.PodsOptions
	opts  blame.Options
	found func(finding.List) // receives the findings on Jobs and Pods
}

func (b blamer) objects() (objects []blameview.Blamed, err error) {
	js := b.out.JobSet
	switch {
	case b.flags.For == option.ForRuntime:
		made, _, err := b.in.Derived(b.j)
		if made == nil || err != nil {
			return nil, err
		}
		t, history, locate := b.in.SourceOf(b.j).History()
		b.opts.Locate = func(c merge.Claim) []merge.Claim { return []merge.Claim{locate(c)} }
		err = b.add(&objects, made, made.GetKind(), t, history)
		return objects, err
	case b.flags.To == "jobset":
		err := b.add(&objects, js, workspace.JobSetKind, runtimepatch.JobSetTemplate(),
			b.out.History.All())
		return objects, err
	}
	made, err := render.Jobs(js, b.pods.JobsOptions)
	switch {
	case made == nil:
		return nil, err
	case err != nil:
		b.found(made.Findings)
		return nil, nil
	}
	owners, err := render.OwnersOfChildren(js, b.out.History, b.pods.JobsOptions)
	if err != nil {
		return nil, err
	}
	if b.flags.To == "jobs" {
		return b.jobs(made, owners)
	}
	for pod, err := range render.Pods(js, b.pods) {
		if err != nil {
			return nil, exit.Usage(err)
		}
		if len(objects) == maxBlamed {
			return nil, exit.Usage(
				fmt.Errorf("more than %d Pods: select some with --job=JOB/INDEX", maxBlamed))
		}
		history, err := owners.Pod(pod)
		if err == nil {
			err = b.add(&objects, pod, "Pod", blame.PodType(), history)
		}
		if err != nil {
			return nil, err
		}
		objects[len(objects)-1].ID.Name = cmp.Or(pod.Spec.Hostname, pod.GenerateName)
	}
	return objects, nil
}

// add blames one object.
func (b blamer) add(to *[]blameview.Blamed, object metav1.Object, kind string, t *schema.Type,
	history iter.Seq2[fieldpath.Path, []merge.Claim]) error {
	o, err := blame.New(object, t, history, b.opts)
	if err != nil {
		return err
	}
	id := fieldpath.Object{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	*to = append(*to, blameview.Blamed{ID: id, Object: o})
	return nil
}

func (b blamer) jobs(out *render.JobsOutput,
	owners *render.ChildOwners) (objects []blameview.Blamed, err error) {
	var names []string
	for _, child := range slices.Concat(out.Jobs, out.Later) {
		names = append(names, child.Job.Name)
		if only := b.pods.Job; only != "" && only != child.ReplicatedJob && only != child.Job.Name {
			continue
		}
		if len(objects) == maxBlamed {
			return nil, exit.Usage(
				fmt.Errorf("more than %d Jobs: select one with --job", maxBlamed))
		}
		history, err := owners.Job(child.Job)
		if err == nil {
			err = b.add(&objects, child.Job, "Job", blame.JobType(), history)
		}
		if err != nil {
			return nil, err
		}
	}
	if objects == nil && b.pods.Job != "" {
		return nil, exit.Usage(
			fmt.Errorf("--job: there is no Job %q%s", b.pods.Job,
				option.DidYouMean(b.pods.Job, names)))
	}
	return objects, nil
}

// diagramOf returns how a TrainJob became an object of a kind, and a JobSet its Pods.
func diagramOf(in *workspace.Input, j workspace.Job, kind string,
	out pipeline.Made) *blameview.Diagram {
	diagram := &blameview.Diagram{Runtime: render.RuntimeOf(j.TrainJob)}
	if source := in.SourceOf(j); source.Base() != nil {
		diagram.Managers = source.Managers()
	}
	for _, patch := range j.TrainJob.Spec.RuntimePatches {
		diagram.Managers = append(diagram.Managers, patch.Manager)
	}
	for _, patch := range in.PatchesFor(j) {
		diagram.Managers = append(diagram.Managers, patch.Manager)
	}
	if kind != workspace.JobSetKind {
		return diagram
	}
	for i := range out.JobSet.Spec.ReplicatedJobs {
		replicated := &out.JobSet.Spec.ReplicatedJobs[i]
		diagram.Jobs = append(diagram.Jobs, blameview.Jobs{
			Name: replicated.Name, Replicas: int(replicated.Replicas),
			Pods: int(ptr.Deref(replicated.Template.Spec.Parallelism, 1)),
		})
	}
	return diagram
}
