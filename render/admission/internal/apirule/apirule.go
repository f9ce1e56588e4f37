// Package apirule holds the common rules of the APIs of Jobs, Pods and JobSets. They check required
// values, sets of values, ranges, names, selectors and metadata.
//
// A rule gets the field and its code, and calls a Reporter for each mistake. It does not see the
// object around the field. The limits come from Kubernetes v1.36.3 (k8s.io/apimachinery
// pkg/util/validation and pkg/api/validation).
package apirule

import (
	"slices"
	"strings"

	apimachinery "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Reporter receives one problem of a JobSet, Job or Pod: its code, the field, a message and the
// help.
type Reporter func(code finding.Code, path fieldpath.Path, message, help string)

// Within returns a reporter for the fields within the one at a path. So the checks of valid fields
// make short paths only.
func Within(at fieldpath.Path, report Reporter) Reporter {
	return func(code finding.Code, path fieldpath.Path, message, help string) {
		report(code, at.Append(path...), message, help)
	}
}

// PortNumber reports a number that is not one of a port.
func PortNumber(report Reporter, code finding.Code, path fieldpath.Path, port int32) {
	const highest = 65535
	Between(report, code, path, port, 1, highest)
}

// NonNegative reports a negative number.
func NonNegative[T int32 | int64](report Reporter, code finding.Code, path fieldpath.Path, n *T) {
	if n != nil && *n < 0 {
		report(code, path, Invalid(*n, apimachinery.IsNegativeErrorMsg), "set 0 or more")
	}
}

// Between reports a number outside of a range.
func Between[T int32 | int64 | int](report Reporter, code finding.Code, path fieldpath.Path, n,
	least, most T) {
	if n < least || n > most {
		report(code, path, Invalid(n, validation.InclusiveRangeError(int(least), int(most))),
			"set a number in that range")
	}
}

// OneOf reports a value that is not in allowed. It returns whether it is.
func OneOf[T ~string](report Reporter, code finding.Code, path fieldpath.Path, value T,
	allowed ...T) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	report(code, path, Unsupported(value, allowed...), "use a supported value")
	return false
}

// Required reports an empty string. It returns whether the string has a value.
func Required(report Reporter, code finding.Code, path fieldpath.Path, value string) bool {
	if value == "" {
		report(code, path, Missing(""), "set it")
	}
	return value != ""
}

// Valid reports the problems that Kubernetes finds in a value, if any.
func Valid(report Reporter, code finding.Code, path fieldpath.Path, value any, problems []string,
	help string) {
	if len(problems) > 0 {
		report(code, path, Invalid(value, strings.Join(problems, "; ")), help)
	}
}

const (
	labelHelp = "use lower-case letters, digits and dashes, beginning and ending with a " +
		"letter or digit, 63 at most"
	SubdomainHelp = "use lower-case letters, digits, dashes and dots, beginning and ending with " +
		"a letter or digit"
	qualifiedHelp = `use a name such as "app" or "example.com/app"`
)

// DNSLabel, DNSSubdomain and QualifiedName report invalid names of these kinds.
func DNSLabel(report Reporter, code finding.Code, path fieldpath.Path, name string) {
	Valid(report, code, path, name, validation.IsDNS1123Label(name), labelHelp)
}

func DNSSubdomain(report Reporter, code finding.Code, path fieldpath.Path, name string) {
	Valid(report, code, path, name, validation.IsDNS1123Subdomain(name), SubdomainHelp)
}

func QualifiedName(report Reporter, code finding.Code, path fieldpath.Path, name string) {
	Valid(report, code, path, name, validation.IsQualifiedName(name), qualifiedHelp)
}

// LabelSelector reports errors in a label selector.
func LabelSelector(selector *metav1.LabelSelector, path fieldpath.Path, code finding.Code,
	report Reporter) {
	for _, err := range metav1validation.ValidateLabelSelector(
		selector, metav1validation.LabelSelectorValidationOptions{}, nil) {
		report(code, path, err.Error(), "fix the selector")
	}
}

// RelativePath reports paths that lead out of a volume.
func RelativePath(report Reporter, code finding.Code, path fieldpath.Path, value string) {
	switch {
	case strings.HasPrefix(value, "/"):
		report(code, path, Invalid(value, "must be a relative path"), "remove the leading slash")
	default:
		NoWayUp(report, code, path, value)
	}
}

func NoWayUp(report Reporter, code finding.Code, path fieldpath.Path, value string) {
	if slices.Contains(strings.Split(value, "/"), "..") {
		report(code, path, Invalid(value, "must not contain '..'"), `remove ".."`)
	}
}

// longestManagedBy is the limit of both JobSet and Job.
const longestManagedBy = 63

func ManagedBy(name string, path fieldpath.Path, code finding.Code, report Reporter) {
	const help = `use a domain and a path, such as "acme.example.com/controller"`
	for _, err := range validation.IsDomainPrefixedPath(nil, name) {
		report(code, path, err.ErrorBody(), help)
	}
	if len(name) > longestManagedBy {
		report(code, path, TooLong(longestManagedBy), help)
	}
}

// Brief removes the examples and the regular expressions from Kubernetes' messages.
func Brief(problems ...string) string {
	short := make([]string, len(problems))
	for i, problem := range problems {
		short[i], _, _ = strings.Cut(problem, " (e.g. ")
		short[i], _, _ = strings.Cut(short[i], " (regex used")
	}
	return strings.Join(short, "; ")
}
