package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says how bad a Finding is. The zero value is invalid, so that a forgotten one shows.
type Severity int

const (
	// Note is worth knowing and shown on request.
	Note Severity = iota + 1
	// Warning marks what the cluster takes and what its author hardly meant.
	Warning
	// Error marks what the cluster refuses, now or when a controller creates an object, what can
	// never run, and managers that disagree.
	Error
)

// String is "note", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Error:
		return "error"
	default:
		return fmt.Sprintf("Severity(%d)", int(s))
	}
}

// MarshalText writes String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Object names the object that a Finding is about.
type Object struct {
	Kind, Namespace, Name string
}

// String is "TrainJob team-a/llm", or "ClusterTrainingRuntime torch" where there is no namespace.
func (o Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	return strings.TrimSpace(o.Kind + " " + name)
}

// MarshalText writes String.
func (o Object) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Position is a place in an input file. Lines and columns count from 1; columns count characters.
// The zero Position means that the place is not known, as for values that came from no file.
type Position struct {
	File   string
	Line   int
	Column int
}

// String is "file:line:column", as much of it as is known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Layer names who set a field: the runtime, a manager's patch, a section of the TrainJob, a policy.
// Layers have no order; a field's history lists its writers as the controller wrote them.
type Layer string

const (
	// Runtime is the runtime's JobSet template.
	Runtime Layer = "runtime"
	// TrainJob is spec.trainer, spec.initializer and spec.suspend of the TrainJob.
	TrainJob Layer = "trainjob"
	// Default is what the API server or a defaulting webhook fills in.
	Default Layer = "default"
	// JobSet is what the JobSet controller writes into Jobs and Pods.
	JobSet Layer = "jobset"
	// Job is what the Job controller writes into Pods.
	Job Layer = "job"
)

const (
	managerPrefix   = "manager/"
	overridePrefix  = "override/"
	policyPrefix    = "policy/"
	schedulerPrefix = "scheduler/"
)

// Manager is the layer of one manager's patch.
func Manager(name string) Layer { return Layer(managerPrefix + name) }

// Policy is the layer of one machine-learning policy, such as torch.
func Policy(name string) Layer { return Layer(policyPrefix + name) }

// Scheduler is the layer of one gang scheduler, such as coscheduling.
func Scheduler(name string) Layer { return Layer(schedulerPrefix + name) }

// isController reports whether a controller computes what the layer writes.
func (l Layer) isController() bool {
	return l == JobSet || l == Job || strings.HasPrefix(string(l), policyPrefix) || strings.HasPrefix(string(l), schedulerPrefix)
}

// Override is the layer of one override of a TrainJob of Trainer 2.1: its position in
// spec.podTemplateOverrides, or "metadata" for spec.labels and spec.annotations.
func Override(name string) Layer { return Layer(overridePrefix + name) }

// Override returns which override it is, and whether the layer is one.
func (l Layer) Override() (string, bool) { return strings.CutPrefix(string(l), overridePrefix) }

// Manager returns the manager's name, and whether the layer is a manager's patch.
func (l Layer) Manager() (string, bool) { return strings.CutPrefix(string(l), managerPrefix) }

// Claim says that a layer wrote a value, and where it stands in the input.
type Claim struct {
	// Layer is who wrote it.
	Layer Layer
	// Value is what was written: nil for a null, Presence for an item or an empty struct that the
	// layer only named. It may share memory with a result: it is to be read, never changed.
	Value any
	// Source is the field of the input object that holds the value, or that it was computed from: of
	// the runtime or of the TrainJob, as FromRuntime tells. Nil where it comes from no field, as what
	// the API server fills in.
	Source Path
	// Position is where Source stands in a file. The library leaves it empty; a reader of files
	// fills it in.
	Position Position
}

// FromRuntime reports whether Source is a field of the runtime; else it is one of the TrainJob.
func (c Claim) FromRuntime() bool {
	for _, section := range []string{"template", "mlPolicy", "podGroupPolicy"} {
		if c.Source.HasPrefix(Fields("spec", section)) {
			return true
		}
	}
	return false
}

// Origin says where in the input a value comes from that a layer after the patches writes. The zero
// Origin is nowhere.
type Origin struct {
	// Path is the field, of the runtime or of the TrainJob: see Claim.FromRuntime.
	Path Path
	// Computed says that the value was computed from the field, or that the field is the section
	// which asks for it. Else the field holds the value, and what stands below the one stands below
	// the other.
	Computed bool
}

// Presence is the value of a claim on the presence of a list item or of an empty struct.
type Presence struct{}

// String is "present".
func (Presence) String() string { return "present" }

// Finding is one thing found in an input. Every package reports with this type.
type Finding struct {
	// Code is stable and documented in docs/findings.md.
	Code Code
	// Severity is how bad it is.
	Severity Severity
	// Object is what it was found in, and Path the field.
	Object Object
	Path   Path
	// Position is where Path stands in a file, where the input came from one.
	Position Position
	// Claims are the values that disagree or get lost, in the order in which they were written.
	Claims []Claim
	// Message says what is wrong, in one sentence without its final stop. It never quotes the
	// value of an environment variable.
	Message string
	// Help says what to do next. It is never empty for an error.
	Help string
}

// Error is the finding on one line, for use as an error.
func (f Finding) Error() string {
	var b strings.Builder
	if f.Position != (Position{}) {
		fmt.Fprintf(&b, "%s: ", f.Position)
	}
	fmt.Fprintf(&b, "%s: ", f.Code)
	if object := f.Object.String(); object != "" {
		fmt.Fprintf(&b, "%s: ", object)
	}
	if len(f.Path) > 0 {
		fmt.Fprintf(&b, "%s: ", f.Path)
	}
	b.WriteString(f.Message)
	if f.Help != "" {
		fmt.Fprintf(&b, "; %s", f.Help)
	}
	return b.String()
}

// Findings is a list of findings. As an error it is all of them, one a line.
type Findings []Finding

// Error is every finding on a line of its own.
func (fs Findings) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As reach each Finding.
func (fs Findings) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// Err is the findings of severity Error as one error, or nil when there is none.
func (fs Findings) Err() error {
	var errs Findings
	for _, f := range fs {
		if f.Severity >= Error {
			errs = append(errs, f)
		}
	}
	if errs == nil {
		return nil
	}
	return errs
}

// Sort orders findings by position, then by object, path and code, and keeps the rest as it is.
func (fs Findings) Sort() {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Position.File, b.Position.File),
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
			cmp.Compare(a.Object.String(), b.Object.String()),
			cmp.Compare(a.Path.String(), b.Path.String()),
			cmp.Compare(a.Code, b.Code),
		)
	})
}

var (
	_ error = Finding{}
	_ error = Findings(nil)
)
