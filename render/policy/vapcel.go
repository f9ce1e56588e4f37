package policy

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// chunks splits a list of expressions, so that each part is short enough for one expression.
func chunks(list []string, most int) (parts [][]string) {
	from, size := 0, 0
	for i, one := range list {
		if i > from && size+len(one) > most {
			parts = append(parts, list[from:i])
			from, size = i, 0
		}
		size += len(one) + len(" || ")
	}
	return append(parts, list[from:])
}

// anyOf returns an expression that tells whether one of some others is true.
func (w *vapWriter) anyOf(all []string) string {
	for len(all) > 1 {
		parts := chunks(all, mostWords)
		if all = nil; len(parts) == 1 {
			return "(" + strings.Join(parts[0], " || ") + ")"
		}
		for _, part := range parts {
			all = append(
				all, w.variable(fmt.Sprintf("any%d", len(w.named)), strings.Join(part, " || ")))
		}
	}
	return all[0]
}

// isIn returns an expression that tells whether a value is one of some words.
func (w *vapWriter) isIn(value string, words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = celString(word)
	}
	var any []string
	for _, part := range chunks(quoted, mostWords) {
		any = append(any, value+" in ["+strings.Join(part, ", ")+"]")
	}
	return w.anyOf(any)
}

// isOne returns an expression that tells whether k is one of some names of fields. CEL builds a
// list again for each k, but a string once.
func isOne(names []string) string {
	if names == nil {
		return "false"
	}
	return fmt.Sprintf("' %s '.contains(' ' + k + ' ')", strings.Join(names, " "))
}

// orEmptyStruct returns the expression for a struct at a place, which may be missing.
func orEmptyStruct(at string) string {
	if strings.Contains(at, "?") {
		at += ".orValue({})"
	}
	return at
}

// matches tells whether a selector matches the object.
func (w *vapWriter) matches(s selector) string {
	var all []string
	for _, list := range []struct {
		at       string
		patterns []string
	}{{"object.metadata.namespace", s.namespaces}, {"object.metadata.name", s.names},
		{"object.spec.runtimeRef.name", s.runtimes}} {
		var any []string
		for _, pattern := range list.patterns {
			any = append(
				any, fmt.Sprintf("%s.matches(%s)", list.at, celString(expressionOf(pattern))))
		}
		if any != nil {
			all = append(all, w.anyOf(any))
		}
	}
	if s.labels != nil {
		requirements, _ := s.labels.Requirements()
		for _, r := range requirements {
			all = append(all, w.requirement(r))
		}
	}
	if all == nil {
		return "true"
	}
	return strings.Join(all, " && ")
}

// requirement tells whether the object's labels have what a selector requires.
func (w *vapWriter) requirement(r labels.Requirement) string {
	const of = "object.metadata.?labels.orValue({})"
	key, values := celString(r.Key()), r.Values().UnsortedList()
	slices.Sort(values)
	has := key + " in " + of
	at := of + "[" + key + "]"
	switch r.Operator() {
	case selection.Exists:
		return has
	case selection.DoesNotExist:
		return "!(" + has + ")"
	case selection.NotIn, selection.NotEquals:
		return "!(" + has + " && " + w.isIn(at, values) + ")"
	case selection.GreaterThan, selection.LessThan:
		sign := map[selection.Operator]string{
			selection.GreaterThan: ">", selection.LessThan: "<"}[r.Operator()]
		// As Requirement.Matches, which reads an int64. The label's value has no sign.
		return fmt.Sprintf(
			"%s && (%s.matches('^0*[0-9]{1,18}$') || %[2]s.matches('^0*[0-9]{19}$') && "+
				"%[2]s.find('[0-9]{19}$') <= '%d') && int(%[2]s) %[4]s %[5]s",
			has, at, math.MaxInt64, sign, values[0])
	}
	return has + " && " + w.isIn(at, values)
}

// literal returns the list of words in CEL, and text one of them.
func literal(words ...string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = celString(word)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// sum returns the concatenation of lists.
func sum(lists []string) string {
	const most = 8 // the parser ends at 250 levels, and a + b + c has two
	switch half := len(lists) / 2; {
	case lists == nil:
		return "[]"
	case len(lists) > most:
		return "(" + sum(lists[:half]) + ") + (" + sum(lists[half:]) + ")"
	}
	return strings.Join(lists, " + ")
}

func celString(word string) string { return strconv.Quote(word) }

// expressionOf returns the regular expression of a valid pattern of [path.Match].
func expressionOf(pattern string) string {
	var b strings.Builder
	b.WriteString("^")
	rest := []rune(pattern)
	next := func() rune {
		if rest[0] == '\\' {
			rest = rest[1:]
		}
		c := rest[0]
		rest = rest[1:]
		return c
	}
	for len(rest) > 0 {
		switch rest[0] {
		case '*':
			b.WriteString("[^/]*")
			rest = rest[1:]
		case '?':
			b.WriteString("[^/]")
			rest = rest[1:]
		case '[':
			rest = rest[1:]
			not, ranges := "", ""
			if rest[0] == '^' {
				not, rest = "^", rest[1:]
			}
			for ranges == "" || rest[0] != ']' {
				first := next()
				last := first
				if rest[0] == '-' {
					rest = rest[1:]
					last = next()
				}
				if first > last {
					first, last = 0, 0 // it holds no letter, and no name has a null
				}
				ranges += fmt.Sprintf(`\x{%X}-\x{%X}`, first, last)
			}
			rest = rest[1:]
			fmt.Fprintf(&b, "[%s%s]", not, ranges)
		default:
			b.WriteString(regexp.QuoteMeta(string(next())))
		}
	}
	return b.String() + "$"
}
