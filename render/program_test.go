package render_test

import (
	"path/filepath"
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
)

// stockRuntimes is the folder of the runtimes that the trainer module ships, which some of the
// recorded TrainJobs name.
func stockRuntimes(t *testing.T) string {
	t.Helper()
	return filepath.Join(testenv.ModuleDir(t, "github.com/kubeflow/trainer/v2"),
		"manifests/base/runtimes")
}
