// Package outputname answers: what is the file called that a TrainJob is rendered to?
//
//	if found := outputname.Unsafe(id, document); len(found) > 0 {
//		return found // the names may lead out of the directory
//	}
//	name := outputname.Of(id, manifest.YAML) // team-a_llm.yaml
package outputname

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/manifest"
)

// Of is the name of a TrainJob's file: no namespace and no name holds an underscore, so two TrainJobs
// never share one.
func Of(trainJob fieldpath.Object, format manifest.Format) string {
	return trainJob.Namespace + "_" + trainJob.Name + "." + format.String()
}

// Unsafe refuses a TrainJob whose names would make a path of the file's name; the document is the one it comes from.
// A cluster takes no such names either, but they come from a file, and the file may come from anywhere.
func Unsafe(trainJob fieldpath.Object, document *manifest.Document) finding.List {
	var found finding.List
	for _, part := range []struct{ field, value string }{{"name", trainJob.Name}, {"namespace", trainJob.Namespace}} {
		if len(validation.IsDNS1123Subdomain(part.value)) > 0 {
			path := fieldpath.Fields("metadata", part.field)
			found = append(found, finding.Finding{
				Code: finding.CodeUnsafeOutputName, Severity: finding.Error,
				Object: trainJob, Path: path, Position: document.Position(path),
				Message: fmt.Sprintf("no file is written for the %s %q: it is no name that a cluster takes, and may lead out of the directory", part.field, part.value),
				Remedy:  finding.Remedy{Text: "use lower-case letters, digits, dashes and dots, 253 at most, and begin and end with a letter or digit"},
			})
		}
	}
	return found
}
