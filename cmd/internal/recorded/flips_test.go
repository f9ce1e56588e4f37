package recorded

import (
	"io"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/release"
)

// equivalent are the flips that no input shows, with their proofs. The function checks the proof
// against the release.
var equivalent = map[string]struct {
	why   string
	holds func(r *release.Release, d *release.Definitions) bool
}{
	"status-gate 2.1 as 2.2": {"the feature gate is off, and the suite turns none on", always},
	"status-gate 2.2 as 2.1": {"the feature gate is off, and the suite turns none on", always},

	"merge-root 2.0 as 2.1": {
		"an override of 2.0 has no metadata, and PodSpec merges alike in a template",
		lacks("TrainJob", "spec", "podSpecOverrides", "metadata")},
	"merge-root 2.1 as 2.0": {
		"the field of an override says what it changes, and both merge by the tags of PodSpec",
		has("TrainJob", "spec", "podTemplateOverrides", "metadata")},
	"merge-root 2.1 as 2.2": {"an override changes templates of Pods only",
		lacks("TrainJob", "spec", "runtimePatches")},
	"merge-root 2.2 as 2.1": {
		"the webhook refuses jobs that the runtime lacks, and the fields of a patch say what it " +
			"changes", rejectsUnknownJobs},
	"merge-root 2.2 as 2.3": {
		"the webhook refuses jobs that the runtime lacks, and the others merge by name",
		rejectsUnknownJobs},

	"jobset-definition 2.0 as 2.1": {"the next JobSet has all fields of the runtime's template",
		nextHasTemplate},
	"jobset-definition 2.1 as 2.2": {"the next JobSet has all fields of the runtime's template",
		nextHasTemplate},

	"claims 2.1 as 2.2": {"a runtime of 2.1 has no volumeClaimPolicies",
		lacks("ClusterTrainingRuntime", "spec", "template", "spec", "volumeClaimPolicies")},
	"jobset-coordinator 2.1 as 2.2": {
		"the API server refuses Jobs with that label, so there are none either way", always},
	"jobset-coordinator 2.2 as 2.1": {
		"the API server refuses Jobs with that label, so there are none either way", always},
	"jobset-dependency 2.0 as 2.1": {"the controller leaves an empty dependsOn out of the JobSet",
		always},
	"jobset-dependency 2.1 as 2.0": {"the controller leaves an empty dependsOn out of the JobSet",
		always},
	"name-on-create 2.0 as 2.1": {"JobSet refuses the same names", always},
	"name-on-create 2.1 as 2.0": {"a rule of the definition refuses the same names", always},
	"patched-once 2.1 as 2.0": {"the rule is about spec.podSpecOverrides",
		lacks("TrainJob", "spec", "podSpecOverrides")},
	"torchtune-qlora 2.0 as 2.1": {"no recipe of that release has QLoRA",
		func(r *release.Release, _ *release.Definitions) bool {
			return r.TorchTune == release.TorchTune20
		}},
	"torch-processes 2.2 as 2.1": {"the definition allows integers only", integersOnly},
	"mpi-processes 2.2 as 2.1":   {"the definition allows integers only", integersOnly},
}

func always(*release.Release, *release.Definitions) bool { return true }

func has(kind string, path ...string) func(*release.Release, *release.Definitions) bool {
	return func(r *release.Release, d *release.Definitions) bool {
		root, err := d.Fields(r, kind)
		return err == nil && root.Find(path...) != nil
	}
}

func lacks(kind string, path ...string) func(*release.Release, *release.Definitions) bool {
	return func(r *release.Release, d *release.Definitions) bool {
		return !has(kind, path...)(r, d)
	}
}

func rejectsUnknownJobs(r *release.Release, _ *release.Definitions) bool {
	return r.Rules.Has(release.PatchedJobsExist)
}

func integersOnly(r *release.Release, d *release.Definitions) bool {
	root, err := d.Fields(r, "TrainJob")
	return err == nil && root.Find("spec", "trainer", "numProcPerNode").Type == "integer"
}

func nextHasTemplate(r *release.Release, d *release.Definitions) bool {
	next := release.Known()[r.Index()+1]
	runtime, err := d.Fields(r, "ClusterTrainingRuntime")
	if err != nil {
		return false
	}
	jobSet, err := d.Fields(&next, "JobSet")
	return err == nil && contains(jobSet.Find("spec"), runtime.Find("spec", "template", "spec"))
}

// contains reports whether a field has all fields of another one.
func contains(all, some *release.Field) bool {
	if some == nil {
		return true
	}
	if all == nil || !contains(all.Items, some.Items) || !contains(all.Values, some.Values) {
		return false
	}
	for name, field := range some.Fields {
		if !contains(all.Fields[name], field) || all.Fields[name] == nil {
			return false
		}
	}
	return true
}

// TestFlips gives each release each behaviour of its neighbors, one at a time. It wants a case to
// fail, or a proof that none can.
func TestFlips(t *testing.T) {
	archives, err := readArchives("testdata")
	if err != nil {
		t.Fatal(err)
	}
	known := release.Compared()
	var definitions release.Definitions
	flips, proved := 0, 0
	for i := range known {
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(known) {
				continue
			}
			for _, s := range release.Switches() {
				flipped := known[i]
				if !s.Set(&flipped, &known[j]) {
					continue
				}
				flips++
				name := s.ID + " " + known[i].Name + " as " + known[j].Name
				proof, listed := equivalent[name]
				if listed {
					proved++
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					switch by := notices(archives, s.ID, &flipped, !listed || testenv.Long()); {
					case by == "" && !listed:
						t.Error("no case notices it, and no proof says why")
					case by != "" && listed:
						t.Errorf("%s notices it; the proof says that none can: %s", by, proof.why)
					case listed && !proof.holds(&known[i], &definitions):
						t.Errorf("the proof does not hold: %s", proof.why)
					}
				})
			}
		}
	}
	if proved != len(equivalent) {
		t.Errorf("%d of %d proofs are about a flip", proved, len(equivalent))
	}
	t.Logf("%d flips, of which %d have a proof", flips, proved)
}

// notices returns a case that a release fails, or "" for none. It asks the cases of the behaviour
// first, and then all others if it may.
func notices(archives []*archive, behaviour string, r *release.Release, all bool) string {
	run := caseRunner{program: func(_ string, in io.Reader, out, problems io.Writer) (int, error) {
		rejected, err := answer(r, in, out, problems)
		if rejected != nil {
			return 1, nil
		}
		return 0, err
	}}
	var first, later []*recordedCase
	for _, a := range archives {
		for _, c := range a.cases {
			if c.behaviour == behaviour {
				first = append(first, c)
			} else if all {
				later = append(later, c)
			}
		}
	}
	for _, c := range slices.Concat(first, later) {
		got, err := run.ask(c, r.Name)
		if run.difference(c.want[r.Name], got, err) != "" {
			return c.String()
		}
	}
	return ""
}
