package option

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
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
		"fail where managers disagree, or who wins: last, first or base; with a warning")
	f.Var((*Repeated)(&m.ForceManagers), "force-manager",
		"let a manager win every conflict; of several, the one that is named first (repeatable)")
	f.Var((*Repeated)(&m.Protected), "protected",
		"keep the base's value of this field; for example spec.template.spec.containers[*].image "+
			"(repeatable)")
	f.Var((*Repeated)(&m.Option), "option",
		strings.Join(mergeWords(), ", ")+"; each merges unlike the cluster (repeatable)")
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

// FieldOf returns the field of Merge that sets an option of package merge.
func FieldOf(name string) string {
	switch name {
	case "First", "BaseWins":
		return "onConflict"
	case "Prefer":
		return "forceManagers"
	case "Protect":
		return "protected"
	case "Unions", "KeepOrder", "Defaults", "ProtectError":
		return "option"
	}
	return strings.ToLower(name)
}

// Policies are the options of a merge.
type Policies struct {
	Options []merge.Option
	// Decides tells that an option names who wins, and LastMember that the last member of a union
	// does.
	Decides, LastMember bool
}

// mostProtected is the number of protected fields: each is compared with the fields of each patch.
const mostProtected = 256

// Parse returns the library's options, and all errors in the fields.
func (m *Merge) Parse() (o Policies, rule render.OnConflict, wrong []*MergeError) {
	reject := func(field, format string, args ...any) {
		wrong = append(wrong, &MergeError{field, fmt.Errorf(format, args...)})
	}
	add := func(option merge.Option) { o.Options = append(o.Options, option) }
	rule = render.Last
	word := cmp.Or(m.OnConflict, "fail")
	if err := OneOf("", word, conflictWords()...); err != nil {
		reject("onConflict", "%s", strings.TrimPrefix(err.Error(), ": "))
	}
	switch word {
	case "fail":
		rule = render.Fail
	case "first":
		add(merge.First())
	case "base":
		add(merge.BaseWins())
	}
	o.Decides = len(o.Options)+len(m.ForceManagers) > 0
	switch {
	case len(m.ForceManagers) == 0:
	case len(o.Options) > 0:
		reject("forceManagers", "Forbidden: may not be set when onConflict is %s", word)
	default:
		add(merge.Prefer(m.ForceManagers...))
	}
	for _, word := range m.Option {
		switch word {
		case "keep-order":
			add(merge.KeepOrder())
		case "unions=last":
			o.LastMember = true
			add(merge.Unions(merge.Last))
		case "unions=error":
			add(merge.Unions(merge.Error))
		case "defaults":
			add(merge.Defaults())
		case "protect-error":
			if add(merge.ProtectError()); len(m.Protected) == 0 {
				reject("option", "Forbidden: protect-error may not be set without protected")
			}
		default:
			reject("option", "%s",
				strings.TrimPrefix(OneOf("", word, mergeWords()...).Error(), ": "))
		}
	}
	if len(m.Protected) > mostProtected {
		reject("protected", "must have at most %d items", mostProtected)
		return o, rule, wrong
	}
	var protected []fieldpath.Path
	for i, text := range m.Protected {
		path, err := fieldpath.ParsePath(text)
		if err != nil {
			reject(fmt.Sprintf("protected[%d]", i), "%w", err)
		}
		protected = append(protected, path)
	}
	if len(protected) > 0 {
		add(merge.Protect(protected...))
	}
	return o, rule, wrong
}
