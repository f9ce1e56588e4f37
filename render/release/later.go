package release

import "slices"

// later are the fields that a release of the Trainer adds whose definitions this package lacks. The paths omit the items of lists.
var later = []struct {
	release, kind string
	path          []string
}{
	// Trainer 2.4: docs/operator-guides/dynamic-resource-allocation.md and KEP-2782.
	{"2.4", "TrainJob", []string{"spec", "trainer", "resourceClaimsPerNode"}},
	{"2.4", "TrainJob", patchedPod("resourceClaims")},
	{"2.4", "TrainJob", patchedPod("containers", "resources")},
	{"2.4", "TrainJob", patchedPod("initContainers", "resources")},
}

// patchedPod returns the path of a field of the Pod's spec in a runtime patch.
func patchedPod(names ...string) []string {
	return append([]string{
		"spec", "runtimePatches", "trainingRuntimeSpec", "template", "spec", "replicatedJobs", "template", "spec", "template", "spec",
	}, names...)
}

// Later returns the name of the release that adds a field to a kind, if it is later than the known ones, or "". The names form a path
// as in Field.Find.
func Later(kind string, names ...string) string {
	for _, f := range later {
		if f.kind == kind && slices.Equal(f.path, names) {
			return f.release
		}
	}
	return ""
}
