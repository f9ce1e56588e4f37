package testenv

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
)

// WriteTrainJobs writes a runtime and as many TrainJobs, a file each, to a new directory. The
// TrainJobs differ in their names and a label, and have no findings.
func WriteTrainJobs(t testing.TB, jobs int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	WriteIn(t, dir, "runtime.yaml", Runtime())
	for i := range jobs {
		WriteIn(t, dir, fmt.Sprintf("job-%05d.yaml", i), TrainJob(i))
	}
	return dir
}

// TrainJob returns a TrainJob with patches of two managers. Its name and its labels have the
// number. It references Runtime.
func TrainJob(number int) string {
	return strings.ReplaceAll(trainJob, "NNN", fmt.Sprintf("%05d", number))
}

//go:embed trainjob.yaml
var trainJob string

// Runtime returns a ClusterTrainingRuntime of torch with two containers.
func Runtime() string { return runtimeOfTorch }

//go:embed runtime.yaml
var runtimeOfTorch string
