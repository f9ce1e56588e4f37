// Package oracle answers with the code of one release of the Trainer and of its JobSet.
//
// Two versions of one module cannot be in one program. So this package compiles against each
// release, and a small program links it with a release. These programs are in fuzz/releases. The
// package fuzz/upstream links it with the latest one. The packages training and jobs adapt the Go
// signatures that differ.
//
//	o, err := oracle.New(training.Code{…}, jobs.Code{…}, oracle.Modules{Trainer: trainerDir, JobSet: jobSetDir})
//	if err != nil {
//		return err
//	}
//	answer, err := o.Ask(oracle.Question{Render: &oracle.Pair{TrainJob: trainJob, Runtime: runtime}})
//
// A program serves the same questions as JSON, one a line, and Start runs such a program:
//
//	{"render": {"trainJob": {…}, "runtime": {…}}}    the objects that the controller applies
//	{"children": {…}}                                a JobSet as it is stored, and what its controller creates
//	{"hold": [{…}]}                                  the objects of the cluster, for the next questions
//	{"apply": {"object": {…}, "old": {…}}}           the object as it is stored, or why the API server rejects it
//	{"form": {…}}                                    the same without webhooks
//	{"pod": {…}}                                     a new Pod as JobSet's webhook leaves it
//	{"prune": {…}}                                   the object without the fields that its definition lacks
package oracle
