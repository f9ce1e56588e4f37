package option

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render"
)

// Merge holds how patches merge: the flags of merge, and the fields of a functionConfig.
type Merge struct {
	OnConflict    string   `json:"onConflict,omitempty"`
	ForceManagers []string `json:"forceManagers,omitempty"`
	Protected     []string `json:"protected,omitempty"`
	// Option has words such as keep-order.
	Option []string `json:"option,omitempty"`
}

func mergeWords() []string {
	return []string{"keep-order", "unions=last", "unions=error", "defaults", "protect-error"}
}

func conflictWords() []string { return []string{"fail", "last", "first", "base"} }

// Add adds the flags.
func (m *Merge) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&m.OnConflict, "on-conflict", "fail",
		"fail, an error where managers disagree; or, with a warning, who wins: the last or first "+
			"patch, or base")
	f.Var((*Repeated)(&m.ForceManagers), "force-manager",
		"let a manager win every conflict; of several, the one that is named first (repeatable)")
	f.Var((*Repeated)(&m.Protected), "protected",
		"keep the base's value of a field, such as spec.template.spec.containers[*].image "+
			"(repeatable)")
	f.Var((*Repeated)(&m.Option), "option",
		"merge unlike the cluster: "+strings.Join(mergeWords(), ", ")+" (repeatable)")
	commandline.Words(cmd, "on-conflict", conflictWords()...)
	commandline.Words(cmd, "option", mergeWords()...)
}

// A MergeError is an error of a field of Merge, by its name in the functionConfig.
type MergeError struct {
	Field string
	Err   error
}

// Error names the flag.
func (e *MergeError) Error() string { return e.Flag() + ": " + e.Err.Error() }

// Unwrap returns the problem.
func (e *MergeError) Unwrap() error { return e.Err }

// Flag returns the flag of the field.
func (e *MergeError) Flag() string {
	switch e.Field {
	case "onConflict":
		return "--on-conflict"
	case "forceManagers":
		return "--force-manager"
	}
	return "--" + e.Field
}

// FieldOf returns the field of Merge that sets a field of the library's options.
func FieldOf(name string) string {
	switch name {
	case "Precedence":
		return "onConflict"
	case "Managers":
		return "forceManagers"
	case "Unions", "Order", "Defaults", "ProtectedError":
		return "option"
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// Parse returns the library's options, and all errors in the fields.
func (m *Merge) Parse() (Policies, render.OnConflict, []*MergeError) {
	var wrong []*MergeError
	reject := func(field string, err error) { wrong = append(wrong, &MergeError{field, err}) }
	o, rule := Policies{Managers: m.ForceManagers}, render.Last
	word := cmp.Or(m.OnConflict, "fail")
	if err := OneOf("", word, conflictWords()...); err != nil {
		reject("onConflict", fmt.Errorf("%s", strings.TrimPrefix(err.Error(), ": ")))
	}
	switch word {
	case "fail":
		rule = render.Fail
	case "first", "base":
		o.Precedence = word
	}
	for _, word := range m.Option {
		switch word {
		case "keep-order":
			o.Order = "base"
		case "unions=last":
			o.Unions = "last"
		case "unions=error":
			o.Unions = "error"
		case "defaults":
			o.Defaults = "rules"
		case "protect-error":
			o.ProtectedError = true
		default:
			reject("option",
				fmt.Errorf("%s",
					strings.TrimPrefix(OneOf("", word, mergeWords()...).Error(), ": ")))
		}
	}
	for i, text := range m.Protected {
		path, err := fieldpath.ParsePath(text)
		if err != nil {
			reject(fmt.Sprintf("protected[%d]", i), err)
		}
		o.Protected = append(o.Protected, path)
	}
	return o, rule, wrong
}
