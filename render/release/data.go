package release

import (
	"archive/zip"
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
)

//go:generate go run ./generate

// Each archive holds the definitions of a release as JSON without descriptions, and its stock
// runtimes as a List. One more archive holds the definitions of PodGroup.
//
//go:embed data/*.zip
var data embed.FS

// The kinds with a definition, by the plural that names the file.
var plurals = map[string]string{
	"TrainJob": "trainjobs", "TrainingRuntime": "trainingruntimes",
	"ClusterTrainingRuntime": "clustertrainingruntimes", "JobSet": "jobsets",
}

// Definition returns the CustomResourceDefinition of a kind as JSON: of TrainJob, TrainingRuntime,
// ClusterTrainingRuntime or JobSet. It returns an error for another kind, and for a release whose
// Schema or JobSetSchema names no known version.
func (r *Release) Definition(kind string) ([]byte, error) {
	r = r.Or()
	version := r.Schema
	if kind == "JobSet" {
		at := slices.IndexFunc(releases(), func(known Release) bool {
			return known.JobSetVersion == r.JobSetSchema
		})
		if at < 0 {
			return nil, fmt.Errorf("there is no definition of JobSet %s", r.JobSetSchema)
		}
		version = releases()[at].Version
	}
	plural, ok := plurals[kind]
	if !ok {
		return nil, fmt.Errorf("the Trainer's releases define no kind %q", kind)
	}
	return readArchived(version, plural+".json")
}

// Runtimes returns the stock runtimes of the release: a List of ClusterTrainingRuntimes, as JSON.
func (r *Release) Runtimes() ([]byte, error) { return readArchived(r.Or().Stock, "runtimes.json") }

// The versions whose definitions of PodGroup are embedded.
const (
	VolcanoVersion          = "1.15.0"
	SchedulerPluginsVersion = "0.35.4-devel"
)

// PodGroup returns the CustomResourceDefinition of a gang scheduler's PodGroup as JSON, by its API
// group. It returns an error for any group except Volcano's and scheduler-plugins' groups.
func PodGroup(group string) ([]byte, error) { return readArchived("podgroups", group+".json") }

func readArchived(version, file string) ([]byte, error) {
	packed, err := data.ReadFile("data/" + version + ".zip")
	if err != nil {
		return nil, fmt.Errorf("there are no definitions of Trainer %s", version)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, fmt.Errorf("the definitions of Trainer %s: %w", version, err)
	}
	return fs.ReadFile(archive, file)
}
