package policy

import "github.com/trainweld/trainweld/schema"

// Writer is who writes a value, and where in the input it comes from.
type Writer struct {
	Layer schema.Layer
	From  schema.Origin
}

// Copied is a section of the TrainJob that has the value in the named field. Of a list of variables
// each one comes from its own item.
func Copied(names ...string) Writer {
	return Writer{schema.TrainJob, schema.Origin{Path: schema.Fields(names...)}}
}

// Computed is a section of the TrainJob from whose named field the value is made.
func Computed(names ...string) Writer {
	return Writer{schema.TrainJob, schema.Origin{Path: schema.Fields(names...), Computed: true}}
}

// policyWriter is a policy that writes a value of its own, which its section in the runtime asks for.
func policyWriter(name string) Writer {
	return Writer{schema.Policy(name), schema.Origin{Path: schema.Fields("spec", "mlPolicy", name), Computed: true}}
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
	w.From = schema.Origin{Path: schema.Fields(names...), Computed: true}
	return w
}

// counting is the writer of a value that is made from the count of a job.
func (w Writer) counting(s *PodSet) Writer {
	if s != nil && s.CountFrom.From.Path != nil {
		w.From = schema.Origin{Path: s.CountFrom.From.Path, Computed: true}
	}
	return w
}

// item is the writer of an item of the list.
func (w Writer) item(key, value string) Writer {
	if w.From.Path != nil && !w.From.Computed {
		w.From.Path = w.From.Path.Append(schema.Item(key, value))
	}
	return w
}

// scheduler is a gang scheduler, which its section in the runtime asks for.
func scheduler(name string) Writer {
	return Writer{schema.Scheduler(name), schema.Origin{Path: schema.Fields("spec", "podGroupPolicy", name), Computed: true}}
}
