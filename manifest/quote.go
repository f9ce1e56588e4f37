package manifest

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/manifest/internal/source"
)

// Quotes returns a function that gives the lines of a file as far as a report may repeat them, and whether it may. Reports
// end up in logs, and the file may be a key or a password file that was named by mistake. So
//
//   - only lines of documents that are Kubernetes objects or patches are given,
//   - of the key of a value that may be secret, the line ends behind the key: env, data, stringData, value, names near to
//     these, and the annotation with the last applied configuration,
//   - no further line of such a value is given, and none of a value that an alias in it stands for,
//   - of a document that cannot be parsed, lines are given only if it is written in block style and names a kind that this
//     package reads, and only lines with a key or an item.
//
// With values, the second and the third do not hold. The function is safe to call from several goroutines.
func Quotes(data []byte) func(line int, values bool) (string, bool) {
	f := &source.File{Data: data}
	find := sync.OnceValue(func() *quotes { return quotesOf(f) })
	return func(line int, values bool) (string, bool) {
		text := f.Line(line)
		if text == "" {
			return "", false
		}
		q := find()
		if !q.objects.has(line) {
			return "", false
		}
		if values {
			return text, true
		}
		if q.hidden.has(line) {
			return "", false
		}
		if at, ok := q.cut[line]; ok {
			return string([]rune(text)[:min(at, utf8.RuneCountInString(text))]) + " ***", true
		}
		return text, true
	}
}

// quotes says which lines of a file may be repeated.
type quotes struct {
	objects, hidden ranges
	cut             map[int]int // the number of characters of a line that may be
	seen            map[*yaml.Node]bool
}

// ranges are ranges of lines, both ends included.
type ranges []struct{ first, last int }

func (r *ranges) add(first, last int) {
	if first <= last {
		*r = append(*r, struct{ first, last int }{first, last})
	}
}

func (r ranges) has(line int) bool {
	i, found := slices.BinarySearchFunc(r, line, func(a struct{ first, last int }, line int) int { return cmp.Compare(a.first, line) })
	return found || i > 0 && r[i-1].last >= line
}

// merged returns the ranges in order, without overlaps.
func (r ranges) merged() ranges {
	slices.SortFunc(r, func(a, b struct{ first, last int }) int { return cmp.Compare(a.first, b.first) })
	out := r[:0]
	for _, a := range r {
		if n := len(out); n > 0 && a.first <= out[n-1].last {
			out[n-1].last = max(out[n-1].last, a.last)
		} else {
			out = append(out, a)
		}
	}
	return out
}

func quotesOf(f *source.File) *quotes {
	q := &quotes{cut: map[int]int{}}
	if refuse(f) != nil {
		return q
	}
	for c := range source.Split(f.Data) {
		s := &source.Source{File: f, Text: c.Text, Offset: c.Offset, Line: c.Line, Column: 1}
		if start := bytes.TrimLeft(c.Text, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') && source.CheckJSON(c.Text) == nil {
			for v := range source.JSONValues(s) {
				q.document(v)
			}
			continue
		}
		q.document(s)
	}
	q.objects, q.hidden = q.objects.merged(), q.hidden.merged()
	return q
}

// document notes what may be repeated of one document.
func (q *quotes) document(s *source.Source) {
	root, err := s.Nodes()
	s.Release()
	last := s.Line + source.CountLines(s.Text) - 1
	switch {
	case err != nil:
		if source.IsBlockAtMargin(s.Text) && namesKind().Match(s.Text) && namesVersion().Match(s.Text) {
			q.objects.add(s.Line, last)
			q.broken(s)
		}
	case root != nil:
		q.seen = map[*yaml.Node]bool{}
		end := yaml.Node{Line: last - s.Line + 2}
		w := quoteWalk{quotes: q, source: s, reading: source.NewReading(s)}
		if w.isObject(root) {
			q.objects.add(s.Line, last)
		}
		w.value(root, &end)
		q.seen = nil
	}
}

func namesVersion() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^apiVersion:[ \t]*["']?[\w.-]+(/\w+)?["']?[ \t]*(#.*)?\r?$`)
}

func namesKind() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^kind:[ \t]*["']?(TrainJob|TrainingRuntime|ClusterTrainingRuntime|JobSet)["']?[ \t]*(#.*)?\r?$`)
}

// quoteWalk goes over the nodes of a document.
type quoteWalk struct {
	*quotes
	source  *source.Source
	reading *source.Reading
}

// isObject reports whether a value is an object, a patch, or a list of such.
func (w quoteWalk) isObject(n *yaml.Node) bool {
	n = source.Target(n)
	if n.Kind == yaml.SequenceNode {
		return len(n.Content) > 0 && !slices.ContainsFunc(n.Content, func(item *yaml.Node) bool {
			return source.Target(item).Kind != yaml.MappingNode || !w.isObject(item)
		})
	}
	if n.Kind != yaml.MappingNode {
		return false
	}
	if id := identityOf(w.reading, n); id.apiVersion != "" && id.kind != "" {
		return true
	}
	_, patch := w.reading.Lookup(n, "trainingRuntimeSpec")
	return patch != nil
}

// value notes what is hidden within a value, behind which the next node begins.
func (w quoteWalk) value(n, next *yaml.Node) {
	behind := func(i int) *yaml.Node {
		if i+1 < len(n.Content) {
			return n.Content[i+1]
		}
		return next
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if isLastApplied(n.Value) {
			w.hideLines(n, next) // a key without a blank behind its colon is text
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			w.value(item, behind(i))
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch {
			case isSecretKey(source.Target(key).Value):
				w.hide(key, value, behind(i+1))
			case source.Target(key).Value == "items" && value.Kind == yaml.SequenceNode:
				w.items(value, behind(i+1))
			default:
				w.value(value, behind(i+1))
			}
		}
	}
}

// items hides what is no object among the items of a List.
func (w quoteWalk) items(n, next *yaml.Node) {
	for i, item := range n.Content {
		behind := next
		if i+1 < len(n.Content) {
			behind = n.Content[i+1]
		}
		if t := source.Target(item); t.Kind != yaml.MappingNode {
			w.hideLines(item, behind)
		}
		w.value(item, behind)
	}
}

// hide hides a value and what its aliases stand for. The line of its key ends behind the key.
func (w quoteWalk) hide(key, value, next *yaml.Node) {
	line := w.source.Position(key)
	text := []rune(w.source.File.Line(line.Line))
	at := line.Column - 1
	if from := min(at+utf8.RuneCountInString(key.Value), len(text)); key.Kind == yaml.ScalarNode {
		if colon := slices.Index(text[from:], ':'); colon >= 0 {
			at = from + colon + 1
		}
	}
	if value.Line > key.Line || value.Kind != yaml.ScalarNode || value.Value != "" {
		if before, ok := w.cut[line.Line]; value.Line == key.Line && (!ok || at < before) {
			w.cut[line.Line] = at
		}
		w.hidden.add(line.Line+1, w.lastLine(value, next))
	}
	w.aliases(value)
}

func (w quoteWalk) hideLines(n, next *yaml.Node) {
	w.hidden.add(w.source.Position(n).Line, w.lastLine(n, next))
}

// lastLine returns the last line of a value: of that on which the next node begins, there may be the end of it.
func (w quoteWalk) lastLine(n, next *yaml.Node) int {
	last := w.source.Line + next.Line - 1
	text := []rune(w.source.File.Line(last))
	if before := text[:min(max(next.Column-1, 0), len(text))]; strings.Trim(string(before), " \t-?") == "" || next.Line == n.Line {
		last--
	}
	return last
}

// aliases hides what the aliases in a value stand for.
func (w quoteWalk) aliases(n *yaml.Node) {
	if n.Kind == yaml.AliasNode && !w.seen[n.Alias] {
		w.seen[n.Alias] = true
		first, last := extentOf(n.Alias)
		first, last = w.source.Line+first-1, w.source.Line+last-1
		w.hidden.add(first, last)
		w.aliases(n.Alias)
	}
	for _, c := range n.Content {
		w.aliases(c)
	}
}

// extentOf returns the lines of a value: of a scalar at least those that it has.
func extentOf(n *yaml.Node) (first, last int) {
	first, last = n.Line, n.Line+strings.Count(n.Value, "\n")+strings.Count(n.Value, " ")
	for _, c := range n.Content {
		if _, l := extentOf(c); c.Kind != yaml.AliasNode {
			last = max(last, l)
		}
	}
	return first, last
}

// isSecretKey reports whether what is written behind a key may be secret.
func isSecretKey(name string) bool {
	lower := strings.ToLower(name)
	return lower == "value" || strings.HasPrefix(lower, "env") || isLastApplied(name) ||
		len(lower) <= len("binaryData")+2 && finding.Nearest(lower, []string{"env", "data", "stringdata", "binarydata"}) != ""
}

// isLastApplied reports whether a text names the annotation with the configuration that was applied last.
func isLastApplied(text string) bool { return strings.Contains(strings.ToLower(text), "last-applied") }

// broken hides, in a document that cannot be parsed, what is indented below a key of a secret or follows it.
func (q *quotes) broken(s *source.Source) {
	const none = -1
	below := none
	line := s.Line
	for i := 0; i < len(s.Text); line++ {
		end, next := source.LineEnd(s.Text, i)
		text := string(s.Text[i:end])
		i = next
		indent := len(text) - len(strings.TrimLeft(text, " "))
		content := text[indent:]
		if below != none && (indent > below || !plainKey().MatchString(content)) {
			q.hidden.add(line, line)
			continue
		}
		below = none
		if !keyInLine().MatchString(text) && !strings.HasPrefix(content, "- ") && !strings.HasPrefix(content, "#") && strings.ContainsFunc(content, unicode.IsLetter) {
			q.hidden.add(line, line) // the rest of a value whose key is lost
			continue
		}
		for _, m := range keyInLine().FindAllStringSubmatchIndex(text, -1) {
			if isSecretKey(text[m[2]:m[3]]) {
				if strings.TrimSpace(text[m[1]:]) != "" {
					q.cut[line] = utf8.RuneCountInString(text[:m[1]])
				}
				below = indent
				if strings.HasPrefix(content, "- ") {
					below = m[2]
				}
				break
			}
		}
	}
}

// plainKey matches a line that begins with a key, as the one behind a block does.
func plainKey() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][\w./-]*:(\s|$)`) }

func keyInLine() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[\s{\[,?-])["']?([A-Za-z][\w./-]*)["']?\s*:`)
}
