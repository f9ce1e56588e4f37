// Package outputname returns the name of the file that a TrainJob is rendered to.
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
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// Of returns the name of a TrainJob's file. Names and namespaces hold no underscore, so two
// TrainJobs never share a file.
func Of(trainJob fieldpath.Object, format manifest.Format) string {
	return trainJob.Namespace + "_" + trainJob.Name + "." + format.String()
}

// Unsafe returns an error finding for a name that is not a valid DNS subdomain. The cluster rejects
// such names, but a file from any source may hold one. It could lead out of the directory.
func Unsafe(trainJob fieldpath.Object, document *manifest.Document) finding.List {
	var found finding.List
	for _, part := range []struct{ field, value string }{
		{"name", trainJob.Name}, {"namespace", trainJob.Namespace}} {
		if len(validation.IsDNS1123Subdomain(part.value)) > 0 {
			path := fieldpath.Fields("metadata", part.field)
			found = append(found, finding.Finding{
				Code: codes.UnsafeOutputName, Severity: finding.Error,
				Object: trainJob, Path: path, Position: document.Position(path),
				Message: fmt.Sprintf(
					"no file is written for the %s %q: it is not a name that a cluster takes, "+
						"and may lead out of the directory", part.field, part.value),
				Remedy: finding.Remedy{
					Text: "use lower-case letters, digits, dashes and dots, 253 at most, and " +
						"begin and end with a letter or digit"},
			})
		}
	}
	return found
}
