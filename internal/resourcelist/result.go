package resourcelist

// Severity is the severity of a result.
type Severity string

// The severities of the specification.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Result is one message of a function. Only Message is required.
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

// Field is the field of a result. The result must also name the object. Nil values are omitted.
type Field struct {
	Path          string `yaml:"path"`
	CurrentValue  any    `yaml:"currentValue,omitempty"`
	ProposedValue any    `yaml:"proposedValue,omitempty"`
}
