package admission

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// The rules that recur in Jobs and Pods.

// reporter takes what is wrong with a JobSet or a Job: the field, and what to do.
type reporter func(code finding.Code, path fieldpath.Path, message, help string)

// nonNegative refuses a number below zero.
func nonNegative[T int32 | int64](report reporter, code finding.Code, path fieldpath.Path, n *T) {
	if n != nil && *n < 0 {
		report(code, path, fmt.Sprintf("must not be negative, and is %d", *n), "write 0 or more")
	}
}

// between refuses a number outside of a range.
func between[T int32 | int64 | int](report reporter, code finding.Code, path fieldpath.Path, n, least, most T) {
	if n < least || n > most {
		report(code, path, fmt.Sprintf("is %d, and must be from %d to %d", n, least, most), "write a number in that range")
	}
}

// oneOf refuses a word that is not among those allowed. It reports whether the word is.
func oneOf[T ~string](report reporter, code finding.Code, path fieldpath.Path, value T, allowed ...T) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	words := make([]string, len(allowed))
	for i := range allowed {
		words[i] = string(allowed[i])
		if words[i] == "" {
			words[i] = `""`
		}
	}
	report(code, path, fmt.Sprintf("%q is not among the values that the field takes", string(value)), "write one of "+strings.Join(words, ", "))
	return false
}

// required refuses an empty text.
func required(report reporter, code finding.Code, path fieldpath.Path, value string) bool {
	if value == "" {
		report(code, path, "is required, and empty", "set it")
	}
	return value != ""
}

const (
	labelHelp     = "use lower-case letters, digits and dashes, beginning and ending with a letter or digit, 63 at most"
	subdomainHelp = "use lower-case letters, digits, dashes and dots, beginning and ending with a letter or digit"
	qualifiedHelp = `write a name such as "app" or "example.com/app"`
)

// dnsLabel, dnsSubdomain and qualified refuse texts that are no names of these kinds.
func dnsLabel(report reporter, code finding.Code, path fieldpath.Path, what, name string) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		report(code, path, fmt.Sprintf("%q is no name for %s: %s", name, what, brief(problems...)), labelHelp)
	}
}

func dnsSubdomain(report reporter, code finding.Code, path fieldpath.Path, what, name string) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		report(code, path, fmt.Sprintf("%q is no name for %s: %s", name, what, brief(problems...)), subdomainHelp)
	}
}

func qualified(report reporter, code finding.Code, path fieldpath.Path, what, name string) {
	if problems := validation.IsQualifiedName(name); len(problems) > 0 {
		report(code, path, fmt.Sprintf("%q is no name for %s: %s", name, what, brief(problems...)), qualifiedHelp)
	}
}

// checkLabelSelector checks a selector of Pods or Nodes by their labels.
func checkLabelSelector(selector *metav1.LabelSelector, path fieldpath.Path, code finding.Code, report reporter) {
	for _, err := range metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, nil) {
		report(code, path, fmt.Sprintf("selects nothing that there can be: %s: %s", err.Field, brief(err.ErrorBody())), "mend the selector")
	}
}

// selects tells whether the selector finds an object with the labels.
func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || s.Matches(labels.Set(set))
}

// relative refuses paths that lead out of a volume.
func relative(report reporter, code finding.Code, path fieldpath.Path, value string) {
	switch {
	case strings.HasPrefix(value, "/"):
		report(code, path, fmt.Sprintf("%q must be a relative path", value), "drop the leading slash")
	default:
		noWayUp(report, code, path, value)
	}
}

func noWayUp(report reporter, code finding.Code, path fieldpath.Path, value string) {
	if slices.Contains(strings.Split(value, "/"), "..") {
		report(code, path, fmt.Sprintf("%q must not lead upwards", value), `write the path without ".."`)
	}
}

// longestManagedBy is the limit of both JobSet and Job.
const longestManagedBy = 63

func checkManagedBy(name string, path fieldpath.Path, code finding.Code, report reporter) {
	const help = `write a domain and a path, such as "acme.example.com/controller"`
	for _, err := range validation.IsDomainPrefixedPath(nil, name) {
		report(code, path, fmt.Sprintf("%q names no controller: %s", name, brief(err.Detail)), help)
	}
	if len(name) > longestManagedBy {
		report(code, path, fmt.Sprintf("%q has %d characters, and may have %d", name, len(name), longestManagedBy), help)
	}
}

// brief leaves out the examples and the regular expressions of Kubernetes' messages.
func brief(problems ...string) string {
	short := make([]string, len(problems))
	for i, problem := range problems {
		short[i], _, _ = strings.Cut(problem, " (e.g. ")
		short[i], _, _ = strings.Cut(short[i], " (regex used")
	}
	return strings.Join(short, "; ")
}
