package comparison

import (
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/diff"
)

// Version is one of the two compared renderings.
type Version struct {
	Name      string // its name in the report
	Jobs      []Job
	TrainJobs int // the number of TrainJobs in the input
}

// Job is a TrainJob, or a JobSet of the input, with its rendered objects.
type Job struct {
	ID      fieldpath.Object
	Runtime fieldpath.Object // the TrainJob's runtime; zero for a JobSet
	Objects []Object
}

// Object is one rendered object.
type Object struct {
	Key    Key
	Object any
	// Owners returns the owners of its fields. It is a function because most objects do not differ.
	Owners func() (*diff.Owners, error)
	Locate func(engine.Claim) fieldpath.Position
}

// Key identifies an object of a TrainJob. Pods of a Job may share the prefix of their names, and have different numbers then.
type Key struct {
	Group, Kind, Name string
	Number            int
}
