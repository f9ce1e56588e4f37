package resourcelist

// Severity is how bad a result is.
type Severity string

// The severities of the specification.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Result is one thing that a function has to say. Only the message is always there.
type Result struct {
	Message     string            `yaml:"message"`
	Severity    Severity          `yaml:"severity,omitempty"`
	ResourceRef *ResourceRef      `yaml:"resourceRef,omitempty"`
	Field       *Field            `yaml:"field,omitempty"`
	File        *File             `yaml:"file,omitempty"`
	Tags        map[string]string `yaml:"tags,omitempty"`
}

// ResourceRef names the object of a result.
type ResourceRef struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Namespace  string `yaml:"namespace,omitempty"`
	Name       string `yaml:"name"`
}

// Field is the field of a result, whose object must be named, too. Values that are nil are left out.
type Field struct {
	Path          string `yaml:"path"`
	CurrentValue  any    `yaml:"currentValue,omitempty"`
	ProposedValue any    `yaml:"proposedValue,omitempty"`
}
