package fieldpath

import (
	"fmt"
	"strconv"
	"strings"
)

// ParsePath reads a path as Path prints it. A person may leave out the first dot, as in
// spec.replicatedJobs[name="node"].
//
// The quotes are optional as well, because a shell removes them: [name=node] and [node]. A value
// without quotes ends at the next "]", a number alone is a position, and * alone is any item. As
// the value of a key, a JSON number, boolean or null keeps its type.
//
// The error gives the character at which reading stopped, and the expected input.
func ParsePath(text string) (Path, error) {
	var p Path
	r := pathReader{text, text}
	for r.rest != "" {
		step, err := r.step()
		if err != nil {
			return nil, err
		}
		p = append(p, step)
	}
	return p, nil
}

// pathReader reads the rest of a path.
type pathReader struct{ text, rest string }

func (r *pathReader) fail(want string) (Step, error) {
	at := len(r.text) - len(r.rest) + 1
	return Step{}, fmt.Errorf("path %q, character %d: expected %s", r.text, at, want)
}

// skip reports whether the rest begins with a prefix, which it takes away.
func (r *pathReader) skip(prefix string) (ok bool) {
	r.rest, ok = strings.CutPrefix(r.rest, prefix)
	return ok
}

// take returns the first bytes of the rest, which it takes away.
func (r *pathReader) take(length int) string {
	taken := r.rest[:length]
	r.rest = r.rest[length:]
	return taken
}

func (r *pathReader) step() (Step, error) {
	isFirst := r.rest == r.text
	if r.skip("[") {
		return r.bracket()
	}
	if !r.skip(".") && !isFirst {
		return r.fail(`"." or "["`)
	}
	end := strings.IndexAny(r.rest, ".[")
	if end < 0 {
		end = len(r.rest)
	}
	if end == 0 {
		return r.fail("the name of a field")
	}
	return Field(r.take(end)), nil
}

const (
	wantStep  = `a position, *, "key" or key="value" within the brackets`
	wantValue = "a value in double quotes"
)

// bracket reads a step behind its "[".
func (r *pathReader) bracket() (Step, error) {
	if r.skip("*]") {
		return Any(), nil
	}
	name, isQuoted := r.quoted()
	if !isQuoted {
		name = r.take(max(0, strings.IndexAny(r.rest, `="]`)))
	}
	switch {
	case strings.HasPrefix(r.rest, "]") && !isQuoted && strings.Trim(name, "-0123456789") == "":
		i, err := strconv.ParseUint(name, 10, 31)
		if err != nil {
			return r.fail(wantStep)
		}
		r.skip("]")
		return Index(int(i)), nil
	case r.skip("]"):
		return Key(name), nil
	case r.skip("="):
	case isQuoted:
		return r.fail(`"]"`)
	case name != "":
		return r.fail(`"="`)
	default:
		return r.fail(wantValue)
	}
	isElement := name == "" && !isQuoted
	var keys []ItemKey
	for {
		value, ok := r.value(isElement)
		if !ok {
			return r.fail(wantValue)
		}
		keys = append(keys, ItemKey{name, value})
		if r.skip("]") {
			break
		}
		if !r.skip(",") || isElement {
			return r.fail(`"]"`)
		}
		if name, isQuoted = r.quoted(); !isQuoted {
			name = r.take(max(0, strings.IndexAny(r.rest, `=,]"`)))
		}
		if !r.skip("=") {
			return r.fail(`"="`)
		}
	}
	if isElement {
		return ElementOf(keys[0].Value), nil
	}
	return ItemBy(keys...), nil
}

// quoted reads a string in double quotes, and reports whether the rest begins with one.
func (r *pathReader) quoted() (value string, ok bool) {
	quoted, err := strconv.QuotedPrefix(r.rest)
	if err != nil || quoted[0] != '"' {
		return "", false
	}
	value, err = strconv.Unquote(quoted)
	r.skip(quoted)
	return value, err == nil
}

// value reads the value of a key or an element. Without quotes it ends before the "]", or before
// another key.
func (r *pathReader) value(isElement bool) (value any, ok bool) {
	if text, ok := r.quoted(); ok {
		return text, true
	}
	end := strings.IndexByte(r.rest, ']')
	for i := 0; i < end && !isElement; i++ {
		if r.rest[i] == ',' && startsKey(r.rest[i+1:]) {
			end = i
		}
	}
	if end <= 0 || strings.ContainsAny(r.rest[:end], `"'`) {
		return nil, false
	}
	text := r.take(end)
	if strings.ContainsAny(text[:1], "-0123456789ntf") {
		if value := fromJSON(text); encoded(value) == text {
			return value, true // JSON's own form of a number, a boolean or null
		}
	}
	return text, true
}

// startsKey reports whether a text begins with the name of a key and its "=".
func startsKey(text string) bool {
	r := pathReader{text, text}
	if _, isQuoted := r.quoted(); isQuoted {
		return strings.HasPrefix(r.rest, "=")
	}
	end := strings.IndexAny(text, `=,]"`)
	return end > 0 && text[end] == '='
}
