package option

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
)

// Schema holds the flags for merging patches into an object that is not a TrainJob.
type Schema struct {
	Definitions []string
	Documents   []string // of OpenAPI
	MergeType   string
}

// Add adds the flags to a command.
func (flags *Schema) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	AddDefinitions(f, &flags.Definitions,
		"read CustomResourceDefinitions from a file, directory or glob (repeatable)")
	f.Var((*Paths)(&flags.Documents), "openapi",
		"read an OpenAPI v3 document; kubectl get --raw /openapi/v3/apis/apps/v1 prints one "+
			"(repeatable)")
	f.StringVar(&flags.MergeType, "type", "",
		"how patches merge: strategic, apply or merge (default by the kind)")
	commandline.Words(cmd, "type", StrategicType, ApplyType, JSONType)
}

// AddDefinitions adds the flag --crd.
func AddDefinitions(f *pflag.FlagSet, paths *[]string, help string) {
	f.Var((*Paths)(paths), "crd", help)
}

// CheckDefinitions returns an error for an empty path of --crd.
func CheckDefinitions(paths []string) error {
	if slices.Contains(paths, "") {
		return errors.New("--crd: an empty path; name a file, a directory or a glob")
	}
	return nil
}

// Check returns an error for an unknown type or an empty path.
func (flags Schema) Check() error {
	if flags.MergeType != "" {
		if flags.MergeType == "json" {
			return fmt.Errorf("--type: a JSON patch has --type=%s, or --type=%s with a schema",
				JSONType, ApplyType)
		}
		if err := OneOf("--type", flags.MergeType, StrategicType, ApplyType, JSONType); err != nil {
			return err
		}
	}
	if slices.Contains(flags.Documents, "") {
		return errors.New("--openapi: an empty path; name a file")
	}
	return CheckDefinitions(flags.Definitions)
}

// Names returns the flag that names schemas, or "" if none does.
func (flags Schema) Names() string {
	switch {
	case len(flags.Definitions) > 0:
		return "--crd"
	case len(flags.Documents) > 0:
		return "--openapi"
	}
	return ""
}

// The values of --type.
const (
	StrategicType = "strategic"
	ApplyType     = "apply"
	JSONType      = "merge"
)
