// Package live reads the objects of a cluster from the output of kubectl get -o yaml. It removes
// the fields that every cluster fills in.
//
//	dump := live.Read(program, flags, "dump.yaml")
//	for _, family := range dump.Families {
//		if js := family.JobSet; js != nil {
//			fmt.Println(js.ID, js.Writers(fieldpath.Fields("spec", "suspend")))
//		}
//	}
//
// A family has a TrainJob, its JobSet and its Jobs. Any of them may be missing.
//
// Its first file to read is live.go.
package live

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/blameview"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// The kind of a JobSet's children, and that of Kueue that a dump may hold.
const (
	jobKind      = "Job"
	kueueGroup   = "kueue.x-k8s.io"
	workloadKind = "Workload"
)

// Object is one object of a dump.
type Object struct {
	ID       fieldpath.Object
	Document *manifest.Document
	// Value is a *trainer.TrainJob, a *jobset.JobSet or a *batchv1.Job, as the dump has it.
	Value metav1.Object
	// Broken reports that the object cannot be decoded, which is a finding.
	Broken bool

	managed   *blameview.Managed // nil until asked for
	remaining *int
	read      bool
}

// Family is a TrainJob of a dump, with the objects that controllers make from it.
type Family struct {
	ID       fieldpath.Object
	TrainJob *Object
	JobSet   *Object
	Jobs     []*Object
	// Duplicates has the first replaced object of each kind. Without one, it has a second JobSet of
	// the TrainJob.
	Duplicates []*Object

	byName map[string]*Object // the Jobs
}

// Dump holds the objects of a cluster.
type Dump struct {
	Families []*Family // in the order of the first object of each
	// Input has the runtimes of the dump and their snapshots. Add adds TrainJobs.
	Input *workspace.Input
	// Findings report files that cannot be read, and objects that cannot be decoded.
	Findings finding.List
	// Kinds are the kinds of the dump's objects. A kind that the dump lacks was not asked for.
	Kinds map[string]bool
	// Live is set if the objects come from a cluster: one of them has a status or a uid, or is the
	// snapshot of a runtime. Only then does the dump say which Jobs and Pods run.
	Live bool
	// First is the first object, or nil.
	First *manifest.Document
	// Prefix precedes names of files in findings, as that of a revision.
	Prefix string

	// Workloads are Kueue's objects of that kind.
	Workloads []*manifest.Document

	families  map[fieldpath.Object]*Family
	snapshots []*manifest.Document
	file      string
	remaining int
}

// Read reads files, directories or standard input. Flags give the namespace, the release, the
// policy and the patches that a new state has as well; the new state reports their findings.
func Read(s workspace.Source, flags workspace.Flags, paths ...string) *Dump {
	flags.Files, flags.Runtimes, flags.Selector = paths, nil, nil // a label may be new
	flags.Kinds = slices.Clip(flags.Kinds)
	for _, k := range []manifest.Kind{
		{Group: jobset.SchemeGroupVersion.Group, Version: jobset.SchemeGroupVersion.Version,
			Kind: workspace.JobSetKind},
		{Group: batchv1.GroupName, Version: "v1", Kind: jobKind},
		{Group: kueueGroup, Version: "v1beta2", Kind: workloadKind},
		{Group: kueueGroup, Version: "v1beta1", Kind: workloadKind},
	} {
		k.New = func() any { return new(blameview.AnyObject) }
		flags.Kinds = append(flags.Kinds, k)
	}
	d := &Dump{Input: workspace.New(flags), Kinds: map[string]bool{},
		families: map[fieldpath.Object]*Family{}, file: strings.Join(paths, ", "),
		remaining: blameview.MaxManaged}
	var found, duplicates []*Object
	documents := d.Input.ReadDocuments(s, flags.Files)
	d.Findings = unreadable(d.Input.Findings)
	d.Input.ReadPatches(s)
	d.Input.DefaultPatches()
	at := map[fieldpath.Object]int{} // of two objects of one name the last one counts
	for _, document := range documents {
		if document.Object != nil && d.First == nil {
			d.First = document
		}
		d.Live = d.Live || document.Sets(fieldpath.Fields("status")) ||
			document.Sets(fieldpath.Fields("metadata", "uid"))
		o := d.object(document, flags)
		switch i, known := 0, false; {
		case o == nil:
			if _, ok := document.Object.(*corev1.ConfigMap); ok {
				d.snapshots, d.Live = append(d.snapshots, document), true
			}
			if document.ID.Kind == workloadKind &&
				strings.HasPrefix(document.APIVersion, kueueGroup+"/") {
				d.Workloads = append(d.Workloads, document)
				continue
			}
			if document.Object != nil {
				d.Input.AddRuntime(document, true)
			} else {
				d.Input.Add(document, false)
			}
			continue
		case o.ID.Name != "":
			if i, known = at[o.ID]; known {
				duplicates, found[i] = append(duplicates, o), o
				continue
			}
			at[o.ID] = len(found)
		}
		found = append(found, o)
	}
	d.group(found)
	for _, o := range duplicates {
		if f := d.families[fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: o.ID.Namespace,
			Name: o.ID.Name}]; f != nil {
			f.addDuplicate(o)
		}
	}
	return d
}

// unreadable returns the errors for which an object cannot be read. Others were reported when the
// state was new.
func unreadable(found finding.List) finding.List {
	return found.Of(codes.Syntax, codes.Unreadable, codes.WrongType, codes.AmbiguousWord,
		codes.NotAnObject).Where(
		func(f finding.Finding) bool { return f.Severity >= finding.Error })
}

// incomplete reports a TrainJob that no cluster has, since it lacks its name or its runtime. No
// state can be made of it.
func incomplete(o *Object) (found finding.List) {
	job, ok := o.Value.(*trainer.TrainJob)
	if !ok || o.Broken {
		return nil
	}
	for _, required := range []struct{ value, field string }{
		{job.Name + job.GenerateName, "metadata"}, {job.Spec.RuntimeRef.Name, "spec.runtimeRef"},
	} {
		if required.value != "" {
			continue
		}
		at := fieldpath.Fields(append(strings.Split(required.field, "."), "name")...)
		found = append(found, finding.Finding{
			Code: codes.MissingField, Severity: finding.Error, Object: o.ID, Path: at,
			Position: o.Position(at),
			Message:  "Required value: the old state lacks it",
			Remedy:   finding.Remedy{Text: "read the object with kubectl get -o yaml"},
		})
	}
	return found
}

// object decodes an object of a family, or returns nil for another kind. It ignores unknown fields,
// which a newer cluster may have.
func (d *Dump) object(document *manifest.Document, flags workspace.Flags) *Object {
	o := &Object{ID: document.ID, Document: document, remaining: &d.remaining}
	switch kind := document.ID.Kind; {
	case kind == trainer.TrainJobKind && workspace.IsTrainer(document):
		o.Value = &trainer.TrainJob{}
	case kind == workspace.JobSetKind && document.APIVersion == jobset.SchemeGroupVersion.String():
		o.Value = &jobset.JobSet{}
	case kind == jobKind && document.APIVersion == batchv1.SchemeGroupVersion.String():
		o.Value = &batchv1.Job{}
	default:
		return nil
	}
	if job, ok := document.Object.(*trainer.TrainJob); ok {
		o.Value = job
	} else if err := o.decode(); err != nil {
		o.Broken = true
		if document.Broken {
			return o // a finding says why
		}
		message := "the object cannot be decoded"
		if errors.Is(err, errMany) {
			message = fmt.Sprintf(
				"Too many: a map or a list of the object must have at most %d items", mostItems)
		}
		d.Findings = append(d.Findings, finding.Finding{
			Code: codes.WrongType, Severity: finding.Error, Object: o.ID,
			Position: document.Position(nil),
			Message:  message,
			Remedy:   finding.Remedy{Text: "read the object with kubectl get -o yaml"},
		})
	}
	if o.Broken {
		o.Value.SetNamespace(document.ID.Namespace)
		o.Value.SetName(document.ID.Name)
	}
	o.Value.SetNamespace(flags.NamespaceOf(o.Value.GetNamespace()))
	o.ID.Namespace, o.ID.Name = o.Value.GetNamespace(), o.Value.GetName()
	if job, ok := o.Value.(*trainer.TrainJob); ok {
		render.DefaultTrainJob(job, document.Sets)
	}
	d.Findings = append(d.Findings, incomplete(o)...)
	d.Kinds[o.ID.Kind] = true
	return o
}

// mostItems limits a map or a list of an object: the work of an apply grows with its square.
const mostItems = 1 << 15

var errMany = errors.New("a map or a list of the object has too many items")

// hasMany reports whether a map or a list within a value has too many items.
func hasMany(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			if hasMany(item) {
				return true
			}
		}
		return len(v) > mostItems
	case []any:
		return len(v) > mostItems || slices.ContainsFunc(v, hasMany)
	}
	return false
}

func (o *Object) decode() error {
	fields, err := o.Document.Fields()
	if err != nil {
		return err
	}
	if hasMany(fields) {
		return errMany
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return tree.UnmarshalBounded(data, o.Value, json.Unmarshal)
}

// group puts each object into its family.
func (d *Dump) group(found []*Object) {
	for _, o := range found {
		switch o.ID.Kind {
		case trainer.TrainJobKind:
			d.family(o.ID.Namespace, o.ID.Name).TrainJob = o
		case workspace.JobSetKind:
			d.family(o.ID.Namespace, o.ID.Name).JobSet = o
			if name := ownerName(o, trainer.TrainJobKind); name != "" && name != o.ID.Name {
				d.family(o.ID.Namespace, name).addDuplicate(o)
			}
		}
	}
	for _, o := range found {
		if o.ID.Kind == jobKind {
			if name := jobSetOf(o); name != "" {
				f := d.family(o.ID.Namespace, name)
				f.Jobs, f.byName[o.ID.Name] = append(f.Jobs, o), o
			}
		}
	}
}

func (d *Dump) family(namespace, name string) *Family {
	id := fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: namespace, Name: name}
	f := d.families[id]
	if f == nil {
		f = &Family{ID: id, byName: map[string]*Object{}}
		d.families[id] = f
		d.Families = append(d.Families, f)
	}
	return f
}

// addDuplicate keeps the first object of each kind: a dump may have any number of equal objects.
func (f *Family) addDuplicate(o *Object) {
	if !slices.ContainsFunc(f.Duplicates, func(other *Object) bool {
		return other.ID.Kind == o.ID.Kind
	}) {
		f.Duplicates = append(f.Duplicates, o)
	}
}

// Family returns the family of a TrainJob, or nil.
func (d *Dump) Family(id fieldpath.Object) *Family { return d.families[id] }

// Release frees the memory of a family's objects that can be read again.
func (f *Family) Release() {
	if f == nil {
		return
	}
	for _, o := range slices.Concat([]*Object{f.TrainJob, f.JobSet}, f.Jobs) {
		if o != nil {
			o.Document.Release()
		}
	}
}

// jobSetOf returns the name of the JobSet that owns a Job, or else of that in its labels.
func jobSetOf(job *Object) string {
	return cmp.Or(ownerName(job, workspace.JobSetKind), job.Value.GetLabels()[jobset.JobSetNameKey])
}

// ownerName returns the name of the owner of a kind, or "".
func ownerName(o *Object, kind string) string {
	for _, ref := range o.Value.GetOwnerReferences() {
		if ref.Kind == kind {
			return ref.Name
		}
	}
	return ""
}

// Position returns the position of a field in the dump.
func (o *Object) Position(path fieldpath.Path) fieldpath.Position {
	return o.Document.Position(path)
}

// Managed returns the managed fields of the object, or nil if the dump lacks them.
func (o *Object) Managed() *blameview.Managed {
	if !o.read {
		o.read = true
		if m, ok := blameview.ReadManaged(o.Document, o.remaining); ok {
			o.managed = m
		}
	}
	return o.managed
}
