// Package fuzz generates templates, patches and whole (runtime, TrainJob) pairs from a seed.
//
// The same seed and options always give the same values, on every machine:
//
//	c := fuzz.Merge(42, fuzz.Options{Checked: true})
//	result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
//
// Merge returns a template and patches as Go values. Document returns files: a runtime and a
// TrainJob with any fields of their types. They are valid, or have changes that a cluster may
// reject. Render reads valid ones into Go values:
//
//	d := fuzz.Document(42, fuzz.DocumentOptions{Changes: 1})
//	os.Stdout.Write(d.YAML())
//
// Reflection over the API's Go types finds the fields. So a field of a new version is generated
// without a change here. The alphabets are deliberately small. Names collide between the template
// and the patches and between the managers. Equal values are as likely as different ones.
//
// What the types do not say of a field is in fields.yaml: its values, and whether its object needs
// it. What a comparison draws besides is a template: see [Expand].
//
// The package's tests hold the laws of the packages merge and conflict against upstream's own
// strategic merge. A failure names the seed and the broken law. It prints the smallest case that
// still breaks the law, and the command to repeat it:
//
//	TRAINWELD_CASE=42 GOWORK=off go test -C fuzz . -run TestLaws    one case, every law
//	TRAINWELD_SEED=7 GOWORK=off go test -C fuzz .                   another series of cases
//	TRAINWELD_LONG=1 GOWORK=off go test -C fuzz .                   twenty times the cases, as make test-long
//	TRAINWELD_CASES=1000000 GOWORK=off go test -C fuzz .            a longer one
//
// Half of the cases of a run never change, and the other half are new in each run.
//
// Package fuzz/upstream compares whole renderings with the own code of each release of the Trainer.
// The modules fuzz/oracle and fuzz/releases run that code. fuzz/strategic and fuzz/crds compare the
// merge with the API machinery. What only the program has is compared in cmd/internal/fuzz, whose
// package cluster runs a whole control plane. Its first build takes 15 minutes of two processors
// and 6 GiB of cache. Its start takes 10 seconds and 1 GiB of memory.
package fuzz
