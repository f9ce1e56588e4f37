package kubeapi

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The functions below return the API server's own text of a field error, without the field: a
// finding has it. So a search for the cluster's message finds ours.

// Missing returns the text of a required value.
func Missing(detail string) string { return field.Required(nil, detail).ErrorBody() }

// Invalid returns the text of an invalid value.
func Invalid(value any, detail string) string {
	return field.Invalid(nil, value, detail).ErrorBody()
}

// InvalidObject returns the text of an invalid object, without its value.
func InvalidObject(detail string) string { return Invalid(field.OmitValueType{}, detail) }

// Forbidden returns the text of a forbidden value.
func Forbidden(detail string) string { return field.Forbidden(nil, detail).ErrorBody() }

// Unsupported returns the text of a value that is not among the allowed ones.
func Unsupported[T ~string](value T, allowed ...T) string {
	return field.NotSupported(nil, value, slices.Sorted(slices.Values(allowed))).ErrorBody()
}

// Duplicate returns the text of a duplicate value.
func Duplicate(value any) string { return field.Duplicate(nil, value).ErrorBody() }

// TooLong returns the text of a string above its limit of bytes.
func TooLong(limit int) string { return field.TooLong(nil, "", limit).ErrorBody() }

// TooMany returns the text of a list above its limit of items.
func TooMany(n, limit int) string { return field.TooMany(nil, n, limit).ErrorBody() }

// Brief removes the examples and the regular expressions from Kubernetes' messages.
func Brief(problem string) string {
	problem, _, _ = strings.Cut(problem, " (e.g. ")
	problem, _, _ = strings.Cut(problem, " (regex used")
	return problem
}

// notFound returns the text of a reference to a missing value.
func notFound(value any) string { return field.NotFound(nil, value).ErrorBody() }
