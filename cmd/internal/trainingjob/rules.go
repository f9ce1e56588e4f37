package trainingjob

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

//go:embed rules.yaml
var rulesText string

// rule says what a conversion reports: the outcome for a field, the message and the help.
type rule struct{ Is, Message, Help string }

// outcome returns the code and the severity of a rule's finding.
func (r rule) outcome() (finding.Code, finding.Severity) {
	switch r.Is {
	case "invalid": // in the old API as well
		return codes.OldInvalid, finding.Error
	case "changed": // converted with another meaning
		return codes.MappedOtherwise, finding.Warning
	case "changed silently":
		return codes.MappedOtherwise, finding.Note
	case "dropped": // without effect, or written by the cluster
		return codes.DroppedField, finding.Warning
	case "dropped silently":
		return codes.DroppedField, finding.Note
	case "readdressed":
		return codes.Readdressed, finding.Note
	case "replaced":
		return codes.EnvReplaced, finding.Warning
	case "needs SSH":
		return codes.NeedsSSH, finding.Warning
	}
	return codes.NotCarried, finding.Error // rejected
}

// rules returns the rules of rules.yaml by their names.
var rules = sync.OnceValue(func() map[string]rule {
	var all map[string]rule
	if err := yaml.UnmarshalStrict([]byte(rulesText), &all); err != nil {
		panic(fmt.Sprintf("trainingjob: rules.yaml: %v", err)) // the text is part of the program
	}
	return all
})

// report reports a field by a rule. Its texts refer to the arguments by their numbers.
func (c *conversion) report(name string, path fieldpath.Path, args ...any) {
	r := rules()[name]
	code, severity := r.outcome()
	c.findings = append(c.findings, finding.Finding{
		Code: code, Severity: severity, Object: c.object, Path: path,
		Message: formatted(r.Message, args), Remedy: finding.Remedy{Text: formatted(r.Help, args)},
	})
}

// reportIf reports a field by a rule if the condition holds, and returns the condition.
func (c *conversion) reportIf(condition bool, name string, path fieldpath.Path, args ...any) bool {
	if condition {
		c.report(name, path, args...)
	}
	return condition
}

func formatted(text string, args []any) string {
	if !strings.Contains(text, "%") {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// within returns the path of a field within another one.
func within(path fieldpath.Path, names ...string) fieldpath.Path {
	return path.Append(fieldpath.Fields(names...)...)
}
