// Package fuzz answers: does it hold for inputs nobody thought of?
//
// It generates templates, patches and whole (runtime, TrainJob) pairs from a seed. The same seed
// and options always give the same values, on every machine:
//
//	c := fuzz.Merge(42, fuzz.Options{Checked: true})
//	result, err := merge.Apply(c.Template, c.Patches, merge.Options{Owners: true})
//
// A case of Merge has the template and the patches alone, as Go values. Document makes files: a runtime and a TrainJob with any
// field of their types, valid or with changes that a cluster may reject, and Render reads valid ones into Go values:
//
//	d := fuzz.Document(42, fuzz.DocumentOptions{Changes: 1})
//	os.Stdout.Write(d.YAML())
//
// The fields are found by reflection over the API's Go types, so that a field that a new version
// brings is generated without a change here. The alphabets are small on purpose: names collide
// between the template and the patches and between the managers, and equal values are as likely as
// different ones.
//
// The tests beside it hold the laws that the packages merge and conflict document against upstream's own
// strategic merge. They say in a failure which seed broke which law, print the smallest case that
// still breaks it, and how to run it again:
//
//	TRAINWELD_CASE=42 go test ./fuzz/ -run TestLaws    one case, every law
//	TRAINWELD_SEED=7 go test ./fuzz/                   another series of cases
//	TRAINWELD_CASES=1000000 go test ./fuzz/            a longer one
//
// Half of the cases of a run are always the same, the other half are new in each run.
//
// The nested module fuzz/upstream compares whole renderings with the Trainer's own code, and fuzz/upstream21
// those of old TrainJobs with that of Trainer 2.1. The nested module fuzz/cluster runs a whole control plane: its first build
// takes 15 minutes of two processors and 6 GiB of cache, its start 10 seconds and 1 GiB of memory.
package fuzz
