package kubeapi

import (
	"slices"
	"strings"

	apimachinery "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Reporter receives one problem of a JobSet, Job or Pod: its code, the field, a message and the
// help.
type Reporter func(code finding.Code, path fieldpath.Path, message, help string)

// At is a field of an object, and the code of the problems there. Its methods are rules, which
// report what is wrong with a value of the field. They do not see the object around it. The path is
// made for a problem only. The limits come from Kubernetes v1.36.3 (k8s.io/apimachinery
// pkg/util/validation and pkg/api/validation).
type At struct {
	parent *At // nil for an object
	step   fieldpath.Step
	code   finding.Code
	report Reporter
}

// Root returns the field at a path of an object.
func Root(report Reporter, code finding.Code, path ...fieldpath.Step) *At {
	at := &At{code: code, report: report}
	for _, step := range path {
		at = at.Step(step)
	}
	return at
}

// Step returns the field within this one.
func (a *At) Step(step fieldpath.Step) *At {
	return &At{parent: a, step: step, code: a.code, report: a.report}
}

// Field returns the field of a name within this one, or within the fields of further names.
func (a *At) Field(names ...string) *At {
	for _, name := range names {
		a = a.Step(fieldpath.Field(name))
	}
	return a
}

// Index and Key return an item of a list and an entry of a map.
func (a *At) Index(i int) *At { return a.Step(fieldpath.Index(i)) }

func (a *At) Key(key string) *At { return a.Step(fieldpath.Key(key)) }

// As returns the same field for problems of another code.
func (a *At) As(code finding.Code) *At {
	other := *a
	other.code = code
	return &other
}

func (a *At) path() fieldpath.Path {
	depth := 0
	for at := a; at.parent != nil; at = at.parent {
		depth++
	}
	path := make(fieldpath.Path, depth)
	for at := a; at.parent != nil; at = at.parent {
		depth--
		path[depth] = at.step
	}
	return path
}

// Reject reports a problem.
func (a *At) Reject(message, help string) { a.report(a.code, a.path(), message, help) }

// The methods below report a problem in the API server's words.

func (a *At) Missing(detail, help string) { a.Reject(Missing(detail), help) }

func (a *At) Invalid(value any, detail, help string) { a.Reject(Invalid(value, detail), help) }

func (a *At) InvalidObject(detail, help string) { a.Reject(InvalidObject(detail), help) }

func (a *At) Forbid(detail, help string) { a.Reject(Forbidden(detail), help) }

func (a *At) Duplicate(value any, help string) { a.Reject(Duplicate(value), help) }

// Both reports the second of two fields that exclude each other.
func (a *At) Both(detail string) { a.Forbid(detail, "remove one of the two") }

// The methods below are rules.

// TooMany reports a list above its limit of items.
func (a *At) TooMany(n, most int) {
	if n > most {
		a.Reject(TooMany(n, most), "remove some of them")
	}
}

// TooLong reports a string above its limit of bytes. It returns whether it is.
func (a *At) TooLong(n, most int, help string) bool {
	if n > most {
		a.Reject(TooLong(most), help)
	}
	return n > most
}

// Between reports a number outside of a range.
func (a *At) Between(n, least, most int64) {
	if n < least || n > most {
		a.Invalid(n, validation.InclusiveRangeError(int(least), int(most)),
			"set a number in that range")
	}
}

// Port reports a number that is not one of a port.
func (a *At) Port(n int32) {
	const highest = 65535
	a.Between(int64(n), 1, highest)
}

const portHelp = "use lower-case letters, digits and dashes, at least one letter, 15 at most"

// NumberOrName reports an invalid port, which is a number or a name.
func (a *At) NumberOrName(port intstr.IntOrString, help string) {
	if port.Type == intstr.Int {
		a.Port(port.IntVal)
		return
	}
	a.Valid(port.StrVal, validation.IsValidPortName(port.StrVal), help)
}

// NonNegative reports a negative number.
func NonNegative[T int32 | int64](a *At, n *T) {
	if n != nil && *n < 0 {
		a.Invalid(*n, apimachinery.IsNegativeErrorMsg, "set 0 or more")
	}
}

// OneOf reports a value that is not in allowed. It returns whether it is.
func OneOf[T ~string](a *At, value T, allowed ...T) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	a.Reject(Unsupported(value, allowed...), "use a supported value")
	return false
}

// EmptyOr and NilOr report a value that is set and not in allowed.
func EmptyOr[T ~string](a *At, value T, allowed ...T) {
	if value != "" {
		OneOf(a, value, allowed...)
	}
}

func NilOr[T ~string](a *At, value *T, allowed ...T) {
	if value != nil {
		OneOf(a, *value, allowed...)
	}
}

// Required reports an empty string. It returns whether the string has a value.
func (a *At) Required(value string) bool {
	if value == "" {
		a.Missing("", "set it")
	}
	return value != ""
}

// Valid reports the problems that Kubernetes finds in a value, if any.
func (a *At) Valid(value any, problems []string, help string) {
	if len(problems) > 0 {
		a.Invalid(value, strings.Join(problems, "; "), help)
	}
}

const (
	labelHelp = "use lower-case letters, digits and dashes, beginning and ending with a " +
		"letter or digit, 63 at most"
	SubdomainHelp = "use lower-case letters, digits, dashes and dots, beginning and ending with " +
		"a letter or digit"
	qualifiedHelp = `use a name such as "app" or "example.com/app"`
)

// Label, Subdomain and Qualified report invalid names of these kinds.
func (a *At) Label(name string) { a.Valid(name, validation.IsDNS1123Label(name), labelHelp) }

func (a *At) Subdomain(name string) {
	a.Valid(name, validation.IsDNS1123Subdomain(name), SubdomainHelp)
}

func (a *At) Qualified(name string) { a.Valid(name, validation.IsQualifiedName(name), qualifiedHelp) }

// NamedBy reports a missing or an invalid DNS label.
func (a *At) NamedBy(name string) {
	if a.Required(name) {
		a.Label(name)
	}
}

// Selector reports errors in a label selector.
func (a *At) Selector(selector *metav1.LabelSelector) {
	for _, err := range metav1validation.ValidateLabelSelector(
		selector, metav1validation.LabelSelectorValidationOptions{}, nil) {
		a.Reject(err.Error(), "fix the selector")
	}
}

// Relative reports paths that lead out of a volume.
func (a *At) Relative(value string) {
	if strings.HasPrefix(value, "/") {
		a.Invalid(value, "must be a relative path", "remove the leading slash")
		return
	}
	a.NoWayUp(value)
}

func (a *At) NoWayUp(value string) {
	if slices.Contains(strings.Split(value, "/"), "..") {
		a.Invalid(value, "must not contain '..'", `remove ".."`)
	}
}

// ManagedBy reports an invalid name of a controller, of a JobSet or a Job.
func (a *At) ManagedBy(name string) {
	const longest, help = 63, `use a domain and a path, such as "acme.example.com/controller"`
	for _, err := range validation.IsDomainPrefixedPath(nil, name) {
		a.Reject(err.ErrorBody(), help)
	}
	a.TooLong(len(name), longest, help)
}

// repeats reports whether an earlier item of a list has the key of item i.
func repeats[T any, K comparable](list []T, i int, key func(*T) K) bool {
	own := key(&list[i])
	for j := range i {
		if key(&list[j]) == own {
			return true
		}
	}
	return false
}

// nameSteps returns the steps to the items of a list. A step is the name, or the position if an
// earlier item has the same name.
func nameSteps(n int, name func(i int) string) []fieldpath.Step {
	steps := make([]fieldpath.Step, n)
	seen := map[string]bool{"": true}
	for i := range steps {
		if seen[name(i)] {
			steps[i] = fieldpath.Index(i)
		} else {
			steps[i] = fieldpath.Item("name", name(i))
		}
		seen[name(i)] = true
	}
	return steps
}
