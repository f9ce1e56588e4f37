package comparison

import (
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/diff"
)

// Version is one of two renderings that are compared.
type Version struct {
	Name      string // what the report calls it
	Jobs      []Job
	TrainJobs int // how many TrainJobs were read
}

// Job is what a TrainJob, or a JobSet that was given itself, becomes.
type Job struct {
	ID      fieldpath.Object
	Runtime fieldpath.Object // that of the TrainJob; zero for a JobSet
	Objects []Object
}

// Object is one rendered object.
type Object struct {
	Key    Key
	Object any
	// Owners says who set its fields. It is a function because most objects never differ.
	Owners func() (*diff.Owners, error)
	Locate func(engine.Claim) fieldpath.Position
}

// Key tells the objects of one TrainJob apart. Pods of a Job may share the prefix of their names, and
// are then told apart by their number.
type Key struct {
	Group, Kind, Name string
	Number            int
}
