package build

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// safeMessages returns an expression for what kustomize says of files, fields and names. Other messages of it may quote values: literals,
// patches and Secrets.
var safeMessages = sync.OnceValue(func() *regexp.Regexp {
	const path, name, id = `[-\w./@+]+`, `[-\w./]+`, `[-\w./~|\[\]]+`
	return regexp.MustCompile(strings.Join([]string{
		`external plugins disabled; unable to load external plugin '` + name + `'`,
		`(?:file sources|env source files): \[` + path + `\]`,
		`security; file '` + path + `' is not in or below '` + path + `'`,
		`accumulating resources from '` + path + `'`,
		`cycle detected: candidate root '` + path + `' contains visited root '` + path + `'`,
		`new root '` + path + `' cannot be absolute`,
		`unable to find one of 'kustomization\.yaml', 'kustomization\.yml' or 'Kustomization' in directory '` + path + `'`,
		`Found multiple kustomization files under: ` + path,
		`kustomization\.yaml is empty`,
		`may not add resource with an already registered id: ` + id,
		`no resource matches strategic merge patch "` + id + `"`,
		`unable to find patch target "` + name + "\" in `resources`",
		`no matches for (?:Id|OriginalId|CurrentId) ` + id,
		`multiple matches for (?:Id|OriginalId|CurrentId) ` + id,
		"fieldPath `[-\\w./\\[\\]=]+` is missing for replacement source " + id,
		`unable to find field "[-\w./\[\]=]+" in replacement target`,
		`nothing selected by ` + id,
		`unable to find field in (?:structured data|replacement target)`,
		`replacements must specify a source and at least one target`,
		`must specify (?:at least one target|a target for (?:JSON )?patch|one of patch and path|resources to select)`,
		`patch and path can't be set at the same time`,
		`unable to parse SM or JSON patch`,
		`invalid literal source`,
		`(?:missing key name for file path|missing file path for key name|key name or file path contains '=')`,
		`trouble configuring builtin \w+`,
		`missing metadata\.name in object`,
		`missing Resource metadata`,
		`unable to parse open API definition from '` + path + `'`,
		`(?:a configmap|a secret) must have a name`,
		`chart name cannot be empty`,
		`line \d+ has invalid utf8 bytes`,
		`invalid Kustomization`,
		`json: unknown field "\w+"`,
		`(?:yaml: )?line \d+: (?:mapping values are not allowed in this context|could not find expected '[-:]'|did not find expected [-\w' ,]+|found character that cannot start any token|mapping key)`,
		`document contains excessive aliasing`, `exceeded max depth`,
		`no such file or directory`, `file does not exist`, `is outside of the repository`, `is a [a-z ]+: must be a regular file`, `must be at most \d+ MiB`,
		`permission denied`, `operation not permitted`,
		`no 'git' program on path`, `a build fetches nothing`, `must specify --enable-helm`,
		`prints more than \d+ MiB`,
	}, "|"))
})

// needsMore reports whether a build fails because it needs the network, a program or a chart: the guards of SECURITY.md refuse that.
func needsMore(text string) bool {
	return slices.ContainsFunc([]string{"a build fetches nothing", "no 'git' program on path", "must specify --enable-helm"}, func(words string) bool {
		return strings.Contains(text, words)
	})
}

// mostReasons is the number of distinct parts of a message that a finding shows.
const mostReasons = 5

// safeReason returns the parts of a message of kustomize that hold no values.
func safeReason(text string) string {
	parts := safeMessages().FindAllString(text, -1)
	var distinct []string
	for _, part := range parts {
		if !slices.Contains(distinct, part) && len(distinct) < mostReasons {
			distinct = append(distinct, part)
		}
	}
	if distinct == nil {
		return "its message may hold values of the files, and is not shown"
	}
	return strings.Join(distinct, ": ")
}
