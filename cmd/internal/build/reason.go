package build

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed messages.txt
var messages string

// safeMessages returns an expression for the messages that hold no values.
var safeMessages = sync.OnceValue(func() *regexp.Regexp {
	expand := strings.NewReplacer("PATH", `[-\w./@+]+`, "NAME", `[-\w./]+`, "ID", `[-\w./~|\[\]]+`)
	var safe []string
	for line := range strings.Lines(messages) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			safe = append(safe, expand.Replace(line))
		}
	}
	return regexp.MustCompile(strings.Join(safe, "|"))
})

// needsMore reports whether a build fails because it needs the network, a program or a chart: the
// guards of SECURITY.md refuse that.
func needsMore(text string) bool {
	return strings.Contains(text, "a build fetches nothing") ||
		strings.Contains(text, "no 'git' program on path") ||
		strings.Contains(text, "must specify --enable-helm")
}

// mostReasons is the number of distinct parts of a message that a finding shows.
const mostReasons = 5

// safeReason returns the parts of a message of kustomize that hold no values.
func safeReason(text string) string {
	var distinct []string
	for _, part := range safeMessages().FindAllString(text, -1) {
		if !slices.Contains(distinct, part) && len(distinct) < mostReasons {
			distinct = append(distinct, part)
		}
	}
	if distinct == nil {
		return "its message may hold values of the files, and is not shown"
	}
	return strings.Join(distinct, ": ")
}
