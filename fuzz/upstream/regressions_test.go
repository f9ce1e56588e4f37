package upstream_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fuzz/upstream"
)

// regressions holds pairs of a runtime and a TrainJob in one file each that once rendered otherwise
// than upstream. A generated pair that fails is written there when it has been made small: mend what
// is wrong, give the file a name that says what it was, and commit it.
const regressions = "../../testdata/regressions"

// TestRegressions compares the pairs that once failed.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(regressions, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no pairs in %s: %v", regressions, err)
	}
	for _, file := range files {
		in := input{name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
		for _, o := range read(t, file) {
			if o["kind"] == "TrainJob" {
				in.trainJob = o
			} else {
				in.runtime = o
			}
		}
		t.Run(in.name, func(t *testing.T) { compareCase(t, in, nil, map[upstream.Difference]bool{}) })
	}
}

// keep writes a pair that fails, as small as it got, and says where.
func keep(t *testing.T, name, pair string) string {
	t.Helper()
	file := filepath.Join(regressions, name+".yaml")
	if err := os.WriteFile(file, []byte(pair), 0o666); err != nil {
		return "it could not be kept: " + err.Error()
	}
	return "it is kept in " + file
}
