package manifest

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/render/manifest/internal/source"
	"github.com/trainweld/trainweld/render/nearest"
)

// Quotes returns a function that returns the part of a line that a report may show, and whether it
// may. Reports may end up in logs, and the file may be a key or a password file by mistake. These
// are the rules:
//
//   - Only lines of Kubernetes objects and patches are shown, and none of a Secret.
//   - A key of a possibly secret value ends its line. Such keys are env, data, stringData, value,
//     similar names, and the annotation with the last applied configuration.
//   - Further lines of such a value are hidden, also in the values of its aliases.
//   - Of a document that fails to parse, no line is shown: its findings have the position and the
//     parser's message.
//
// With values, the second and the third rule do not apply. The function is safe for concurrent use.
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

// quotes holds the lines of a file that a report may show.
type quotes struct {
	objects, hidden ranges
	cut             map[int]int // the number of visible characters of a line
	seen            map[*yaml.Node]bool
}

// ranges holds ranges of lines, including both ends.
type ranges []struct{ first, last int }

func (r *ranges) add(first, last int) {
	if first <= last {
		*r = append(*r, struct{ first, last int }{first, last})
	}
}

func (r ranges) has(line int) bool {
	i, found := slices.BinarySearchFunc(r, line, func(a struct{ first, last int }, line int) int {
		return cmp.Compare(a.first, line)
	})
	return found || i > 0 && r[i-1].last >= line
}

// merged returns the sorted ranges without overlaps.
func (r ranges) merged() ranges {
	slices.SortFunc(r, func(a, b struct{ first, last int }) int {
		return cmp.Compare(a.first, b.first)
	})
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
	if notText(f) != nil {
		return q
	}
	for c := range source.Split(f.Data) {
		s := c.Source(f)
		if c.CheckJSON() == nil {
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

// document records the visible lines of a document.
func (q *quotes) document(s *source.Source) {
	root, err := s.Nodes()
	s.Release()
	last := s.Line + source.CountLines(s.Text) - 1
	if err != nil || root == nil {
		return
	}
	q.seen = map[*yaml.Node]bool{}
	end := yaml.Node{Line: last - s.Line + 2}
	w := quoteWalk{quotes: q, source: s, reading: source.NewReading(s)}
	if w.isObject(root) {
		q.objects.add(s.Line, last)
	}
	w.value(root, &end)
	q.seen = nil
}

// quoteWalk walks the nodes of a document.
type quoteWalk struct {
	*quotes
	source  *source.Source
	reading *source.Reading
}

// isObject reports whether a value is an object, a patch, or a list of them.
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

// value records the hidden lines of a value. The node next follows the value.
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
			w.hideLines(n, next) // a key without a space after its colon is text
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			w.value(item, behind(i))
		}
	case yaml.MappingNode:
		if _, kind := w.reading.Lookup(n, "kind"); strings.EqualFold(w.reading.Word(kind),
			"Secret") {
			w.hideLines(n, next)
			w.aliases(n)
			return
		}
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

// items hides the items of a List that are not objects.
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

// hide hides a value and the values of its aliases. The line of its key ends behind the key.
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

// lastLine returns the last line of a value. This may be the line on which the next node starts.
func (w quoteWalk) lastLine(n, next *yaml.Node) int {
	last := w.source.Line + next.Line - 1
	text := []rune(w.source.File.Line(last))
	if before := text[:min(max(next.Column-1, 0), len(text))]; strings.Trim(string(before),
		" \t-?") == "" || next.Line == n.Line {
		last--
	}
	return last
}

// aliases hides the values of aliases.
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

// extentOf returns the lines of a value. For a scalar it counts at least its line breaks.
func extentOf(n *yaml.Node) (first, last int) {
	first, last = n.Line, n.Line+strings.Count(n.Value, "\n")+strings.Count(n.Value, " ")
	for _, c := range n.Content {
		if _, l := extentOf(c); c.Kind != yaml.AliasNode {
			last = max(last, l)
		}
	}
	return first, last
}

// isSecretKey reports whether the value of a key may be secret.
func isSecretKey(name string) bool {
	lower := strings.ToLower(name)
	return lower == "value" || strings.HasPrefix(lower, "env") || isLastApplied(name) ||
		len(lower) <= len("binaryData")+2 &&
			nearest.To(lower, []string{"env", "data", "stringdata", "binarydata"}) != ""
}

// isLastApplied reports whether a string names the annotation with the last applied configuration.
func isLastApplied(text string) bool {
	return strings.Contains(strings.ToLower(text), "last-applied")
}
