package explain

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/schema"
)

// token is a field of a path as somebody wrote it, with what stood in brackets behind it.
type token struct {
	name     string
	brackets []string
}

// tokenize takes a text apart at its dots and brackets, but for those in quotes.
func tokenize(text string) ([]token, error) {
	var tokens []token
	rest := strings.TrimPrefix(strings.TrimSpace(text), ".")
	for rest != "" {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		t := token{name: rest[:end]}
		if t.name == "" {
			return nil, fmt.Errorf("path %q: expected the name of a field before %q", text, rest)
		}
		rest = rest[end:]
		for strings.HasPrefix(rest, "[") {
			inside, after, ok := cutBracket(rest)
			if !ok {
				return nil, fmt.Errorf("path %q: expected %q to end with %q", text, rest, "]")
			}
			t.brackets, rest = append(t.brackets, inside), after
		}
		tokens = append(tokens, t)
		if rest == "" {
			break
		}
		if rest[0] != '.' || len(rest) == 1 {
			return nil, fmt.Errorf("path %q: expected a field instead of %q", text, rest)
		}
		rest = rest[1:]
	}
	return tokens, nil
}

// cutBracket cuts what stands between the bracket that the text begins with and its end.
func cutBracket(text string) (inside, after string, ok bool) {
	quoted := false
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			return text[1:i], text[i+1:], true
		}
	}
	return "", "", false
}

// resolved is a field with the types on the way to it.
type resolved struct {
	path schema.Path
	typ  *schema.Type
	// field is the last field of a struct on the way, and parent the struct it is of.
	field  *schema.StructField
	parent *schema.Type
	// patchable says whether a patch reaches the field.
	patchable bool
	// atomic is the list or value around the field that merges as a whole, nil where there is none.
	atomic schema.Path
}

func resolve(root *schema.Type, tokens []token) (*resolved, error) {
	r := &resolved{typ: root, patchable: true}
	for _, t := range tokens {
		if err := r.into(t.name); err != nil {
			return nil, err
		}
		for _, inside := range t.brackets {
			if err := r.item(inside); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// into goes into a field; of a list or map whose item was not named, into that of any item.
func (r *resolved) into(name string) error {
	switch r.typ.Kind {
	case schema.ListMap, schema.Atomic:
		if r.typ.Elem == nil || r.typ.Elem.Kind != schema.Struct {
			return fmt.Errorf("%s has no fields", Format(r.path))
		}
		if err := r.item(""); err != nil {
			return err
		}
	case schema.Map:
		return r.item(strconv.Quote(name))
	case schema.Scalar, schema.Set:
		return fmt.Errorf("%s has no fields", Format(r.path))
	}
	f := r.typ.Field(name)
	if f == nil {
		var names []string
		for _, f := range r.typ.Fields {
			names = append(names, f.Name)
		}
		where := Format(r.path)
		if where == "" {
			where = "a JobSet"
		}
		if near := schema.Nearest(name, names); near != "" {
			return fmt.Errorf("%s has no field %s; did you mean %s?", where, name, near)
		}
		return fmt.Errorf("%s has no field %s; its fields are %s", where, name, strings.Join(names, ", "))
	}
	if r.typ.Kind == schema.Struct {
		r.parent = r.typ
	}
	r.path = r.path.Append(schema.Field(name))
	r.field, r.typ = f, f.Type
	r.patchable = r.patchable && f.Patch != nil
	if r.typ.Kind == schema.Atomic && r.atomic == nil {
		r.atomic = r.path
	}
	return nil
}

// item goes into an item of a list or a key of a map.
func (r *resolved) item(inside string) error {
	key, value, hasValue := strings.Cut(inside, "=")
	value, err := unquoted(value)
	if err != nil {
		return err
	}
	switch r.typ.Kind {
	case schema.ListMap:
		if !hasValue && key != "*" && key != r.typ.Key {
			if value, err = unquoted(key); err != nil {
				return err
			}
			key = r.typ.Key
		}
		if key != "*" && key != r.typ.Key {
			return fmt.Errorf("the items of %s are told apart by %s, not by %s", Format(r.path), r.typ.Key, key)
		}
		r.path = r.path.Append(schema.Item(r.typ.Key, value))
	case schema.Map:
		if hasValue {
			return fmt.Errorf("%s is a map: name a key of it, as in [\"key\"]", Format(r.path))
		}
		if key, err = unquoted(key); err != nil {
			return err
		}
		r.path = r.path.Append(schema.Key(strings.TrimPrefix(key, "*")))
	case schema.Set:
		r.path = r.path.Append(schema.Element(value))
	case schema.Atomic:
		r.path = r.path.Append(schema.Index(0))
	default:
		return fmt.Errorf("%s is no list and no map", Format(r.path))
	}
	r.typ = r.typ.Elem
	if r.typ == nil {
		return errors.New("it has no items that could be named")
	}
	return nil
}

func unquoted(text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	value, err := strconv.Unquote(text)
	if err != nil {
		return "", fmt.Errorf("%s is no text in double quotes", text)
	}
	return value, nil
}
