package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/report"
	"github.com/trainweld/trainweld/render"
)

func didYouMean(name string, names []string) string {
	if near := finding.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// noArguments refuses words after a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exit.Usage(fmt.Errorf("%s takes no arguments, and was given %q", cmd.Name(), args[0]))
}

// knownFormat refuses formats that reports do not have.
func knownFormat(format string) error {
	formats := report.Formats()
	if slices.Contains(formats, format) {
		return nil
	}
	return fmt.Errorf("-o: %q is none of %s%s", format, strings.Join(formats, ", "), didYouMean(format, formats))
}

// parseOnConflict reads the value of --on-conflict.
func parseOnConflict(word string) (render.OnConflict, error) {
	switch word {
	case "fail":
		return render.Fail, nil
	case "last":
		return render.Last, nil
	default:
		return 0, fmt.Errorf("--on-conflict: %q is neither fail nor last", word)
	}
}
