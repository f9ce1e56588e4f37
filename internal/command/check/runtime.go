package check

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
)

// heldRuntime is a runtime that TrainJobs may name. It is admitted once, when it is first asked for.
type heldRuntime struct {
	workspace.RuntimeSource
	fields func() (map[string]any, error)
	// named says that a TrainJob has named it.
	named atomic.Bool

	once    sync.Once
	runtime *admission.Runtime // nil where it cannot be read as one
	found   finding.List
}

// runtime notes a runtime, and to judge it where it was not only given for TrainJobs to name.
func (j *judge) runtime(d *manifest.Document, all bool) {
	held := &heldRuntime{RuntimeSource: workspace.RuntimeSource{Document: d}, fields: d.Fields}
	if all {
		j.count.runtimes++
		j.verdicts = append(j.verdicts, func(ctx context.Context) finding.List { return j.judgeRuntime(ctx, held) })
	}
	id := j.idOf(d)
	if id.Name == "" {
		return // nobody can name it
	}
	j.hold(id, j.in.Runtimes.Add(id, &trainer.TrainingRuntimeSpec{}), held, all)
}

// snapshot notes the runtime as the Trainer has kept it for a TrainJob. It is judged where that job is.
func (j *judge) snapshot(d *manifest.Document) {
	if id, held := j.heldSnapshot(d); held != nil {
		j.hold(id, j.in.Runtimes.AddSnapshot(id, &trainer.TrainingRuntimeSpec{}), held, false)
	}
}

// heldSnapshot returns the runtime that a ConfigMap holds, and its TrainJob; nil if it holds none.
func (j *judge) heldSnapshot(d *manifest.Document) (fieldpath.Object, *heldRuntime) {
	cm, ok := d.Object.(*corev1.ConfigMap)
	if !ok {
		return fieldpath.Object{}, nil
	}
	id, runtime := j.in.SnapshotOf(cm, cmp.Or(cm.Namespace, j.flags.Namespace, "default"), d)
	if runtime == nil {
		return fieldpath.Object{}, nil
	}
	return id, &heldRuntime{
		RuntimeSource: workspace.RuntimeSource{Document: d, Snapshot: true},
		fields:        func() (map[string]any, error) { return admission.Encode(runtime) },
	}
}

func (j *judge) hold(id fieldpath.Object, refused *finding.Finding, held *heldRuntime, judged bool) {
	j.in.KeepRuntime(id, refused, held.RuntimeSource)
	if refused != nil {
		return
	}
	j.runtimes[id] = held
	if !judged {
		j.aside = append(j.aside, held)
	}
}

// runtimeOf is the runtime of a TrainJob: its snapshot, or else the runtime that it names. The finding
// says why there is none.
func (j *judge) runtimeOf(job *trainer.TrainJob) (*heldRuntime, *finding.Finding) {
	if _, missing := j.in.Runtimes.Find(job); missing != nil {
		return nil, missing
	}
	if held := j.runtimes[render.ObjectOf(job)]; held != nil {
		return held, nil
	}
	return j.runtimes[render.RuntimeOf(job)], nil
}

// admit sends a runtime through admission, as an update where its old state is known. A snapshot is taken
// for the runtime that its TrainJob names, as the Trainer does.
func (j *judge) admit(ctx context.Context, held *heldRuntime, named fieldpath.Object) (*admission.Runtime, finding.List) {
	held.once.Do(func() {
		fields, err := held.fields()
		if err != nil {
			return // reading it has found out why
		}
		if held.Snapshot {
			fields = renamed(fields, named)
		} else if old := j.past.runtimeFields(j.idOf(held.Document)); old != nil {
			held.runtime, held.found = admission.UpdateRuntime(ctx, old, fields, j.flags.Namespace)
			return
		}
		held.runtime, held.found = admission.AdmitRuntime(ctx, fields, j.flags.Namespace)
	})
	return held.runtime, held.found
}

// renamed gives a runtime's fields the kind and the name.
func renamed(fields map[string]any, id fieldpath.Object) map[string]any {
	meta, ok := fields["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		fields["metadata"] = meta
	}
	fields["kind"], meta["name"] = id.Kind, id.Name
	delete(meta, "namespace")
	if id.Namespace != "" {
		meta["namespace"] = id.Namespace
	}
	return fields
}

// judgeRuntime is what is found in a runtime itself.
func (j *judge) judgeRuntime(ctx context.Context, held *heldRuntime) finding.List {
	runtime, all := j.admit(ctx, held, fieldpath.Object{})
	found := make(finding.List, len(all))
	copy(found, all)
	place := func(p fieldpath.Path) fieldpath.Position {
		if held.Snapshot {
			p = fieldpath.Fields("data", "runtime")
		}
		return held.Document.Position(p)
	}
	for i := range found {
		f := &found[i]
		f.Position = place(f.Path)
		for c := range f.Claims {
			f.Claims[c].Position = place(f.Claims[c].Source)
		}
		if held.Snapshot && runtime != nil {
			f.Message = fmt.Sprintf("%s; the runtime is the one that the Trainer has kept for its TrainJob", f.Message)
		}
	}
	if held.Snapshot {
		return found
	}
	return withoutDoubles(found, held.Document)
}
