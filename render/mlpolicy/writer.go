package mlpolicy

import (
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Writer is the layer that writes a value, and the origin of the value in the input.
type Writer struct {
	Layer merge.Owner
	From  merge.Origin
}

// Copied returns the TrainJob as the writer of a value copied from the named field. In a list of
// variables, the origin of each one is its own item.
func Copied(names ...string) Writer {
	return Writer{runtimepatch.TrainJobLayer, merge.Origin{Path: fieldpath.Fields(names...)}}
}

// Computed returns the TrainJob as the writer of a value computed from the named field.
func Computed(names ...string) Writer {
	return Writer{
		runtimepatch.TrainJobLayer, merge.Origin{Path: fieldpath.Fields(names...), Computed: true}}
}

// policyWriter returns the writer of a policy's own values. Their origin is its section in the
// runtime.
func policyWriter(name string) Writer {
	return Writer{
		runtimepatch.PolicyLayer(name),
		merge.Origin{Path: fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("mlPolicy"),
			fieldpath.Field(name)}, Computed: true}}
}

// writer returns the writer of the runtime's policy.
func (j *Job) writer() Writer {
	switch name := j.policyName(); {
	case name != "plain":
		return policyWriter(name)
	case j.Runtime.MLPolicy != nil:
		return Writer{Layer: j.Layer()}.from("spec", "mlPolicy")
	default:
		return Writer{Layer: j.Layer()}
	}
}

// from returns the writer for a value computed from the named field of the TrainJob or the runtime.
func (w Writer) from(names ...string) Writer {
	w.From = merge.Origin{Path: fieldpath.Fields(names...), Computed: true}
	return w
}

// counting returns the writer for a value computed from the count of a job.
func (w Writer) counting(s *PodSet) Writer {
	if s != nil && s.CountFrom.From.Path != nil {
		w.From = merge.Origin{Path: s.CountFrom.From.Path, Computed: true}
	}
	return w
}

// item returns the writer for an item of the list.
func (w Writer) item(key, value string) Writer {
	if w.From.Path != nil && !w.From.Computed {
		w.From.Path = w.From.Path.Append(fieldpath.Item(key, value))
	}
	return w
}

// scheduler returns the writer of a gang scheduler's values. Their origin is its section in the
// runtime.
func scheduler(name string) Writer {
	return Writer{runtimepatch.SchedulerLayer(name),
		merge.Origin{Path: fieldpath.Fields("spec", "podGroupPolicy", name), Computed: true}}
}
