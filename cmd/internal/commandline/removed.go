package commandline

import (
	_ "embed"
	"fmt"
	"iter"
	"strings"
)

// removed has a line for each verb or flag that the last release had, sorted: its name, and what to
// use now. A line goes with the release after the one that removes its flag.
//
//go:embed removed.txt
var removed string

// Removals yields the verbs and flags that are gone, such as "diff --live", and what to use
// instead.
func Removals() iter.Seq2[string, string] {
	return func(yield func(name, instead string) bool) {
		for line := range strings.Lines(removed) {
			name, instead, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if !yield(name, instead) {
				return
			}
		}
	}
}

// Removed returns an error that says what to use instead of a verb, or of one of its flags, that is
// gone. It returns nil for others. A verb below another one has both names: "policy test".
func Removed(verb, flag string) error {
	switch len(flag) {
	case 0:
	case 1:
		verb += " -" + flag
	default:
		verb += " --" + flag
	}
	for name, instead := range Removals() {
		if name == verb {
			return fmt.Errorf("%s is gone: %s", name, instead)
		}
	}
	return nil
}

// Elsewhere returns an error for a verb of another program: it names the command that does its
// work. It returns nil for other words.
func Elsewhere(verb string) error {
	instead := map[string]string{
		"build": "use trainweld render, with -k for kustomizations",
		"fix": "use trainweld check: the help of each finding says what to change; migrate " +
			"rewrites old versions",
		"lint":     "use trainweld check",
		"template": "use trainweld render",
		"validate": "use trainweld check",
	}[verb]
	if instead == "" {
		return nil
	}
	return fmt.Errorf("there is no command %q: %s", verb, instead)
}
