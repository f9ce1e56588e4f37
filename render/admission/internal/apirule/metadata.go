package apirule

import (
	"maps"
	"slices"
	"strings"

	apimachinery "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
)

// longestAnnotations is the maximum size of all annotations of an object.
const longestAnnotations = apimachinery.TotalAnnotationSizeLimitB

// Metadata checks labels and annotations.
func Metadata(labels, annotations map[string]string, at fieldpath.Path, report Reporter) {
	const help = "use letters, digits, dashes, underscores and dots, beginning and ending with a " +
		"letter or digit, 63 at most"
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if isPlainKey(key) && (labels[key] == "" || isPlainWord(labels[key])) {
			continue
		}
		label := at.Append(fieldpath.Field("labels"), fieldpath.Key(key))
		Valid(report, codes.BadLabel, label, key, validation.IsQualifiedName(key), help)
		Valid(report, codes.BadLabel, label, labels[key], validation.IsValidLabelValue(labels[key]),
			help)
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		size += len(key) + len(annotations[key])
		if isPlainKey(key) {
			continue
		}
		Valid(report, codes.BadLabel, at.Append(fieldpath.Field("annotations"), fieldpath.Key(key)),
			key, validation.IsQualifiedName(strings.ToLower(key)), help)
	}
	if size > longestAnnotations {
		report(codes.BadLabel, at.Append(fieldpath.Field("annotations")),
			TooLong(longestAnnotations), "shorten them, or move the text to a ConfigMap")
	}
}

// isPlainKey reports whether a key is plainly valid. The functions of Kubernetes, which run regular
// expressions, judge all other keys.
func isPlainKey(key string) bool {
	prefix, name, ok := strings.Cut(key, "/")
	if !ok {
		return isPlainWord(key)
	}
	if !isPlainWord(name) || len(prefix) > validation.DNS1123SubdomainMaxLength {
		return false
	}
	for label := range strings.SplitSeq(prefix, ".") {
		if !isPlainWord(label) || strings.ContainsFunc(label, func(r rune) bool {
			return r == '_' || 'A' <= r && r <= 'Z'
		}) {
			return false
		}
	}
	return true
}

// isPlainWord reports whether a string is plainly the value of a label, and not empty.
func isPlainWord(word string) bool {
	if len(word) == 0 || len(word) > validation.LabelValueMaxLength {
		return false
	}
	for i := range len(word) {
		isInner := 0 < i && i < len(word)-1
		switch c := word[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case isInner && (c == '-' || c == '_' || c == '.'):
		default:
			return false
		}
	}
	return true
}
