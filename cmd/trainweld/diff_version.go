package main

import (
	"io/fs"
	"iter"
	"maps"
	"reflect"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/diff"
)

// version is one version of the inputs, and what they render to.
type version struct {
	name   string // what the report calls it
	files  fs.FS
	flags  inputFlags
	prefix string       // what goes before the names of files in the report: that of a revision
	done   func() error // gives back what reading took; nil where there is nothing

	in       *input
	jobs     []versionJob
	findings finding.List
	misused  error // flags that do not go with the object
}

// versionJob is what a TrainJob, or a JobSet that was given itself, becomes.
type versionJob struct {
	id      fieldpath.Object
	runtime fieldpath.Object // that of the TrainJob; zero for a JobSet
	objects []versionObject
}

// versionObject is one rendered object.
type versionObject struct {
	key    objectKey
	object any
	// owners says who set its fields. It is a function because most objects never differ.
	owners func() (*diff.Owners, error)
	locate func(engine.Claim) fieldpath.Position
}

// objectKey tells the objects of one TrainJob apart. Pods of a Job may share the prefix of their names, and
// are then told apart by their number.
type objectKey struct {
	group, kind, name string
	number            int
}

func (v *version) close() {
	if v.done != nil {
		_ = v.done() // everything has been read
	}
}

// render reads and renders the version. What is wrong is among its findings.
func (v *version) render(p *program, flags diffFlags, opts render.Options) {
	podOpts := render.PodsOptions{JobsOptions: render.JobsOptions{Stored: opts.As == render.Stored}}
	if flags.to != "jobset" {
		v.flags.spelled, opts.As = true, render.Applied
	}
	reader := *p
	reader.files = v.files
	source, merges := reader.mergesObject(v.flags, flags.schemaFlags)
	if merges && len(v.flags.files) > 0 {
		v.merge(source, flags.schemaFlags, opts.OnConflict)
		v.label()
		return
	}
	v.in = source.read(v.flags)
	v.findings = v.in.findings
	further := v.in.furtherPatches()
	for _, j := range v.in.jobs {
		found, out := v.in.renderJob(j, render.Input{TrainJob: j.TrainJob, Patches: further}, opts)
		v.findings = append(v.findings, found...)
		if out.jobSet == nil || found.Err() != nil {
			continue
		}
		job := versionJob{id: render.ObjectOf(j.TrainJob), runtime: render.RuntimeOf(j.TrainJob)}
		if flags.to == "jobset" {
			job.objects = v.jobSetOf(j, out)
		} else {
			job.objects = v.childrenOf(j, out, flags.to, podOpts)
		}
		v.jobs = append(v.jobs, job)
	}
	if flags.to != "jobset" {
		for _, js := range v.in.jobSets {
			j := job{TrainJob: js.asTrainJob(), document: js.document}
			v.jobs = append(v.jobs, versionJob{
				id:      fieldpath.Object{Kind: jobSetKind, Namespace: js.Namespace, Name: js.Name},
				objects: v.childrenOf(j, made{jobSet: js.JobSet}, flags.to, podOpts),
			})
		}
	}
	v.label()
}

// merge merges the object of a version that is not a TrainJob.
func (v *version) merge(p *program, how schemaFlags, rule render.OnConflict) {
	v.in = newInput(v.flags, &progress{})
	m, found, err := p.readMerging(v.in, v.flags, how)
	if err != nil {
		v.misused = err
		return
	}
	merged, more := m.apply(found)
	if v.findings = append(found, more...); merged == nil {
		return
	}
	v.findings = append(v.findings, m.conflicts(merged.owners, rule)...)
	object := versionObject{
		key: objectKey{kind: m.id.Kind, name: m.id.Name}, object: withoutStatus(merged.value),
		owners: func() (*diff.Owners, error) { return diff.OwnersOf(merged.owners), nil },
		locate: func(c engine.Claim) fieldpath.Position { return v.at(m.position(c.Layer, c.Source)) },
	}
	v.jobs = append(v.jobs, versionJob{id: m.id, objects: []versionObject{object}})
}

// withoutStatus is an object but for its status, which no manifest decides.
func withoutStatus(object any) any {
	if fields, ok := object.(engine.Object); ok {
		fields = maps.Clone(fields)
		delete(fields, "status")
		return fields
	}
	of := reflect.ValueOf(object).Elem()
	copied := reflect.New(of.Type())
	copied.Elem().Set(of)
	if status := copied.Elem().FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	return copied.Interface()
}

// label puts the revision before the names of the files in findings.
func (v *version) label() {
	for i := range v.findings {
		f := &v.findings[i]
		f.Position = v.at(f.Position)
		for c := range f.Claims {
			f.Claims[c].Position = v.at(f.Claims[c].Position)
		}
	}
}

func (v *version) at(p fieldpath.Position) fieldpath.Position {
	if p.File != "" {
		p.File = v.prefix + p.File
	}
	return p
}

// locator says where the claims of a TrainJob stand.
func (v *version) locator(j job) func(engine.Claim) fieldpath.Position {
	return func(c engine.Claim) fieldpath.Position {
		if c.Position == (fieldpath.Position{}) {
			c.Position = v.in.claimPosition(j, c)
		}
		return v.at(c.Position)
	}
}

// jobSetOf are the JobSet and what is beside it.
func (v *version) jobSetOf(j job, out made) []versionObject {
	locate := v.locator(j)
	objects := []versionObject{{
		key: keyOf(out.jobSet), object: out.jobSet,
		owners: func() (*diff.Owners, error) { return diff.OwnersOf(out.owners), nil }, locate: locate,
	}}
	for _, companion := range out.companions {
		objects = append(objects, versionObject{
			key: keyOf(companion), object: companion, locate: locate,
			owners: func() (*diff.Owners, error) { return diff.OwnedBy(v.companionClaim(j, companion)), nil },
		})
	}
	return objects
}

// companionClaim says which policy of the runtime made an object beside the JobSet.
func (v *version) companionClaim(j job, companion runtime.Object) engine.Claim {
	claim := engine.Claim{Layer: merge.RuntimeLayer}
	at := fieldpath.Fields("spec", "mlPolicy")
	switch gvk := companion.GetObjectKind().GroupVersionKind(); {
	case gvk.Kind != "PodGroup":
		spec, _ := v.in.runtimes.Find(j.TrainJob)
		if spec == nil || spec.MLPolicy == nil {
			break
		}
		switch {
		case spec.MLPolicy.MPI != nil:
			claim.Layer, at = merge.PolicyLayer("mpi"), fieldpath.Fields("spec", "mlPolicy", "mpi")
		case spec.MLPolicy.Flux != nil:
			claim.Layer, at = merge.PolicyLayer("flux"), fieldpath.Fields("spec", "mlPolicy", "flux")
		}
	case strings.Contains(gvk.Group, "volcano"):
		claim.Layer, at = merge.SchedulerLayer("volcano"), fieldpath.Fields("spec", "podGroupPolicy", "volcano")
	default:
		claim.Layer, at = merge.SchedulerLayer("coscheduling"), fieldpath.Fields("spec", "podGroupPolicy", "coscheduling")
	}
	claim.Position = v.in.runtimePosition(j, at)
	return claim
}

// childrenOf are the Jobs, or the Pods, that the JobSet becomes.
func (v *version) childrenOf(j job, out made, to string, opts render.PodsOptions) []versionObject {
	f := children(out.jobSet, out.companions, renderFlags{to: to}, opts)
	if out.owners == nil {
		for i := range f.findings {
			f.findings[i].Position = j.document.Position(f.findings[i].Path)
		}
	} else {
		v.in.locate(j, f.findings)
	}
	v.findings = append(v.findings, f.findings...)
	if f.objects == nil {
		return nil
	}
	locate := v.locator(j)
	owners := childOwners(out, opts.JobsOptions)
	var objects []versionObject
	seen := map[objectKey]int{}
	for object, err := range f.objects {
		if err != nil {
			v.findings = append(v.findings, finding.Finding{
				Code: finding.CodeNoName, Severity: finding.Error, Object: render.ObjectOf(j.TrainJob),
				Position: j.document.Position(nil), Message: err.Error(), Remedy: finding.Remedy{Text: "mend the JobSet"},
			})
			return nil
		}
		o := versionObject{key: keyOf(object), object: object, locate: locate}
		n := seen[o.key]
		seen[o.key]++
		o.key.number = n
		o.owners = func() (*diff.Owners, error) { return owners(object) }
		objects = append(objects, o)
	}
	return objects
}

// childOwners returns a function that says who set the fields of what a JobSet becomes. Of a JobSet that was given
// itself nobody knows, and all is the controllers'.
func childOwners(out made, opts render.JobsOptions) func(child any) (*diff.Owners, error) {
	ofChildren := sync.OnceValues(func() (*render.ChildOwners, error) {
		return render.OwnersOfChildren(out.jobSet, out.owners, opts)
	})
	var last *diff.Owners // those of a Pod are much like those of the one before it
	return func(child any) (*diff.Owners, error) {
		job, isJob := child.(*batchv1.Job)
		pod, isPod := child.(*corev1.Pod)
		switch {
		case isPod && out.owners == nil:
			return diff.OwnedBy(engine.Claim{Layer: merge.JobLayer}), nil
		case !isJob && !isPod || out.owners == nil:
			return diff.OwnedBy(engine.Claim{Layer: merge.JobSetLayer}), nil
		}
		owners, err := ofChildren()
		if err != nil {
			return nil, err
		}
		var fields iter.Seq2[fieldpath.Path, []engine.Claim]
		if isJob {
			fields, err = owners.Job(job)
		} else {
			fields, err = owners.Pod(pod)
		}
		if err != nil {
			return nil, err
		}
		last = diff.OwnersOfFields(fields, last)
		return last, nil
	}
}

// keyOf is the kind and the name of an object, or what its name begins with.
func keyOf(object any) objectKey {
	var key objectKey
	if o, ok := object.(runtime.Object); ok {
		gvk := o.GetObjectKind().GroupVersionKind()
		key.group, key.kind = gvk.Group, gvk.Kind
	}
	if m, ok := object.(metav1.Object); ok {
		if key.name = m.GetName(); key.name == "" {
			key.name = m.GetGenerateName()
		}
	}
	return key
}
