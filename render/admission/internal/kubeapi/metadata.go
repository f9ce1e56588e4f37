package kubeapi

import (
	"maps"
	"slices"
	"strings"

	apimachinery "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/render/codes"
)

// longestAnnotations is the maximum size of all annotations of an object.
const longestAnnotations = apimachinery.TotalAnnotationSizeLimitB

// Metadata checks labels and annotations.
func (a *At) Metadata(labels, annotations map[string]string) {
	const help = "use letters, digits, dashes, underscores and dots, beginning and ending with a " +
		"letter or digit, 63 at most"
	a = a.As(codes.BadLabel)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if isPlainKey(key) && (labels[key] == "" || isPlainWord(labels[key])) {
			continue
		}
		label := a.Field("labels").Key(key)
		label.Valid(key, validation.IsQualifiedName(key), help)
		label.Valid(labels[key], validation.IsValidLabelValue(labels[key]), help)
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		size += len(key) + len(annotations[key])
		if !isPlainKey(key) {
			a.Field("annotations").Key(key).Valid(key,
				validation.IsQualifiedName(strings.ToLower(key)), help)
		}
	}
	a.Field("annotations").TooLong(size, longestAnnotations,
		"shorten them, or move the text to a ConfigMap")
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
