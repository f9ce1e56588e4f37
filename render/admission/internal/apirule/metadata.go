package apirule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apimachinery "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// longestAnnotations is the maximum size of all annotations of an object.
const longestAnnotations = apimachinery.TotalAnnotationSizeLimitB

// Metadata checks labels and annotations.
func Metadata(labels, annotations map[string]string, at fieldpath.Path, report Reporter) {
	const help = "use letters, digits, dashes, underscores and dots, beginning and ending with a letter or digit, 63 at most"
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			report(finding.CodeBadLabel, at.Append(fieldpath.Field("labels"), fieldpath.Key(key)), fmt.Sprintf("%q is not a name for a label: %s", key, Brief(problems...)), help)
		}
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			report(finding.CodeBadLabel, at.Append(fieldpath.Field("labels"), fieldpath.Key(key)), fmt.Sprintf("%q is not a value for a label: %s", labels[key], Brief(problems...)), help)
		}
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		size += len(key) + len(annotations[key])
		if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
			report(finding.CodeBadLabel, at.Append(fieldpath.Field("annotations"), fieldpath.Key(key)),
				fmt.Sprintf("%q is not a name for an annotation: %s", key, Brief(problems...)), help)
		}
	}
	if size > longestAnnotations {
		report(finding.CodeBadLabel, at.Append(fieldpath.Field("annotations")),
			fmt.Sprintf("the annotations have %d bytes together, and may have %d", size, longestAnnotations), "shorten them, or put the text into a ConfigMap")
	}
}
