package cli

import (
	_ "embed"
	"math/rand/v2"
	"strings"

	"go.yaml.in/yaml/v3"
)

const mutatedSecret = "hunter2SECRET"

//go:embed testdata/inputs/job.yaml
var mutatedJob string

//go:embed testdata/inputs/runtime.yaml
var mutatedRuntime string

// mutate changes a text in a few places.
func mutate(r *rand.Rand, text string) string {
	tokens := []string{
		"{", "}", "[", "]", ":", ": ", "- ", "'", "\"", "|", ">", "&a ", "*a", "*e", "*s", "<<: *s",
		"!!binary ", "!x ", "#", " #", "%", "@", "`", "\t", "\r\n", "\n", "\n\n", "---\n", "...\n",
		"{{ .x }}", "{{- if }}",
		"\x00", "\xff", "\x1b[31m", "\u202e", "\u2028", "\ufeff", "\u0085", "\x7f", "null", "~",
		"yes", "1e99999999", "99999999999999999999", "-1", "0x1F", "1_000", ".inf", "2001-01-01",
		"::error ::x", "\n::error ::x", "? ", "!!str ", "\\", "\"\\x00\"", "\"\\u202e\"",
		"\"\\n---\\nkind: Injected\\n\"",
	}
	lines := strings.SplitAfter(text, "\n")
	for range 1 + r.IntN(3) {
		i := r.IntN(len(lines))
		line := lines[i]
		at := 0
		if len(line) > 0 {
			at = r.IntN(len(line))
		}
		token := tokens[r.IntN(len(tokens))]
		switch r.IntN(12) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] = line + line
		case 2:
			lines[i] = " " + line
		case 3:
			lines[i] = strings.TrimPrefix(line, " ")
		case 4:
			lines[i] = strings.TrimPrefix(line, "  ")
		case 5:
			j := r.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		case 6:
			lines[i] = line[:at]
		case 7:
			if k := strings.Index(line, ": "); k >= 0 {
				lines[i] = line[:k+2] + token + "\n"
			}
		case 8:
			if k := strings.Index(line, ": "); k >= 0 {
				lines[i] = line[:k] + ":" + line[k+2:]
			}
		case 9:
			if k := strings.Index(line, ":"); k > 0 {
				b := []byte(line)
				j := r.IntN(k)
				if b[j] >= 'a' && b[j] <= 'z' {
					b[j] -= 32
				}
				lines[i] = string(b)
			}
		default:
			lines[i] = line[:at] + token + line[at:]
		}
	}
	return strings.Join(lines, "")
}

// namesSecret reports whether a name of the manifests holds the secret. A line of a longer scalar
// may move behind a name, and reports show names.
func namesSecret(text string) bool {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return false
		}
		var within func(n *yaml.Node) bool
		within = func(n *yaml.Node) bool {
			for i, child := range n.Content {
				named := n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "name"
				if named && strings.Contains(child.Value, mutatedSecret) || within(child) {
					return true
				}
			}
			return false
		}
		if within(&document) {
			return true
		}
	}
}
