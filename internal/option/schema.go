package option

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Schema holds the flags for merging patches into an object that is not a TrainJob.
type Schema struct {
	Definitions []string
	MergeType   string
}

// Add adds the flags to a command.
func (flags *Schema) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var((*Repeated)(&flags.Definitions), "crd", "read CustomResourceDefinitions from a file, directory or glob (repeatable)")
	f.StringVar(&flags.MergeType, "type", "", "how patches merge: strategic, apply or merge (default by the kind)")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions([]string{StrategicType, ApplyType, JSONType}, cobra.ShellCompDirectiveNoFileComp))
}

// Check returns an error for an unknown type or an empty path.
func (flags Schema) Check() error {
	types := []string{StrategicType, ApplyType, JSONType}
	if flags.MergeType != "" && !slices.Contains(types, flags.MergeType) {
		return fmt.Errorf("--type: %q is none of %s%s", flags.MergeType, strings.Join(types, ", "), DidYouMean(flags.MergeType, types))
	}
	if slices.Contains(flags.Definitions, "") {
		return errors.New("--crd: an empty path; name a file, a directory or a glob")
	}
	return nil
}

// The values of --type.
const (
	StrategicType = "strategic"
	ApplyType     = "apply"
	JSONType      = "merge"
)
