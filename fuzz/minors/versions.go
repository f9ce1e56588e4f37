// Package minors compares trainweld with each minor version of Kubernetes.
//
// The program below generate writes the table of fields that the versions do not share, from their
// types and their feature gates. The program below record draws objects, and records how the own
// code of each version takes them. The test replays the record.
package minors

import (
	"encoding/json"
	"fmt"
	"os/exec"
)

// Version is a minor version of Kubernetes with the release of its modules.
type Version struct{ Name, Patch string }

// Versions returns the minor versions, the oldest first, each with the latest release whose modules
// could be read.
func Versions() []Version {
	return []Version{{"1.32", "13"}, {"1.33", "13"}, {"1.34", "4"}, {"1.35", "4"}, {"1.36", "3"},
		{"1.37", "2"}}
}

// Module returns the version of a module in the release. The module k8s.io/kubernetes has major
// version 1, and all others 0.
func (v Version) Module(path string) string {
	if path == "k8s.io/kubernetes" {
		return "v" + v.Name + "." + v.Patch
	}
	return "v0" + v.Name[1:] + "." + v.Patch
}

// Dir downloads a module of the release, and returns its folder.
func (v Version) Dir(path string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", path+"@"+v.Module(path)).Output()
	if err != nil {
		return "", fmt.Errorf("%s of Kubernetes %s: %w", path, v.Name, err)
	}
	var module struct{ Dir string }
	return module.Dir, json.Unmarshal(out, &module)
}
