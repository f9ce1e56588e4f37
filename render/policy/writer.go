package policy

import (
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// Writer is who writes a value, and where in the input it comes from.
type Writer struct {
	Layer engine.Layer
	From  engine.Origin
}

// Copied is a section of the TrainJob that has the value in the named field. Of a list of variables
// each one comes from its own item.
func Copied(names ...string) Writer {
	return Writer{merge.TrainJobLayer, engine.Origin{Path: fieldpath.Fields(names...)}}
}

// Computed is a section of the TrainJob from whose named field the value is made.
func Computed(names ...string) Writer {
	return Writer{merge.TrainJobLayer, engine.Origin{Path: fieldpath.Fields(names...), Computed: true}}
}

// policyWriter is a policy that writes a value of its own, which its section in the runtime asks for.
func policyWriter(name string) Writer {
	return Writer{merge.PolicyLayer(name), engine.Origin{Path: fieldpath.Fields("spec", "mlPolicy", name), Computed: true}}
}

// writer is the runtime's policy.
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

// from is the writer of a value that is made from the named field of the TrainJob or of the runtime.
func (w Writer) from(names ...string) Writer {
	w.From = engine.Origin{Path: fieldpath.Fields(names...), Computed: true}
	return w
}

// counting is the writer of a value that is made from the count of a job.
func (w Writer) counting(s *PodSet) Writer {
	if s != nil && s.CountFrom.From.Path != nil {
		w.From = engine.Origin{Path: s.CountFrom.From.Path, Computed: true}
	}
	return w
}

// item is the writer of an item of the list.
func (w Writer) item(key, value string) Writer {
	if w.From.Path != nil && !w.From.Computed {
		w.From.Path = w.From.Path.Append(fieldpath.Item(key, value))
	}
	return w
}

// scheduler is a gang scheduler, which its section in the runtime asks for.
func scheduler(name string) Writer {
	return Writer{merge.SchedulerLayer(name), engine.Origin{Path: fieldpath.Fields("spec", "podGroupPolicy", name), Computed: true}}
}
