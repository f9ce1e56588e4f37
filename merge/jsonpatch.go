package merge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file applies JSON patches to objects as an API server does (RFC 6902, with
// evanphx/json-patch v4.13.0). A negative index counts from the end. The operations replace and
// copy take a missing field of an object as null.

// Limits of an API server.
const (
	mostOperations = 10000
	mostCopied     = 3 << 20 // bytes
)

// parseJSONPatch reads a list of operations.
func parseJSONPatch(data []byte) (JSONPatch, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	operations := JSONPatch{}
	if err := decoder.Decode(&operations); err != nil {
		return nil, fmt.Errorf("must be a list of operations: %w", err)
	}
	if operations == nil {
		return nil, errors.New("must be a list of operations, and is null")
	}
	for i := range operations {
		operations[i].Value = convertNumbers(operations[i].Value)
	}
	return operations, nil
}

// operations applies a JSON patch to an object, and records it as an update.
func (m *objects) operations(t *schema.Type, live Object, patch JSONPatch) (Object, error) {
	if len(patch) > mostOperations {
		return nil, fmt.Errorf("must have at most %d operations, and has %d", mostOperations,
			len(patch))
	}
	copied := 0
	root, err := m.copyJSON(live)
	for i := 0; i < len(patch) && err == nil; i++ {
		if root, err = m.operate(root, patch[i], &copied); err != nil {
			path := pathOf(patch[i].Path)
			slices.Reverse(path)
			return nil, &PatchError{
				Path: path, Err: fmt.Errorf("operation %d (%s): %w", i, patch[i].Op, err)}
		}
	}
	if err != nil {
		return nil, err
	}
	m.allowDuplicates = true
	checked, err := m.copy(t, root)
	m.allowDuplicates = false
	if err != nil {
		return nil, err
	}
	now := checked.(Object)
	if metadata, _ := now["metadata"].(Object); m.live != nil && metadata["managedFields"] != nil {
		return nil, inside(fieldpath.Field("metadata"),
			inside(fieldpath.Field("managedFields"), errManaged))
	}
	if err := sameKind(live, now); err != nil {
		return nil, err
	}
	if err := sameName(live, now); err != nil {
		return nil, err
	}
	if m.live != nil {
		m.live.owned = true
	}
	m.update(t, live, now, m.log.top, false)
	return now, nil
}

// anyJSON is the type of any value.
var anyJSON = sync.OnceValue(func() *schema.Type { return schema.Open().Elem })

// copyJSON returns a deep copy of JSON.
func (m *objects) copyJSON(v any) (any, error) { return m.copy(anyJSON(), v) }

// pathOf returns the path of a JSON pointer.
func pathOf(pointer string) (path fieldpath.Path) {
	keys, _ := pointerKeys(pointer)
	for _, key := range keys {
		if i, err := strconv.ParseUint(key, 10, 31); err == nil {
			path = append(path, fieldpath.Index(int(i)))
		} else {
			path = append(path, (*schema.Type)(nil).Step(key))
		}
	}
	return path
}

// pointerKeys returns the keys of a JSON pointer.
func pointerKeys(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("invalid path %q: must be empty or start with /", shortened(pointer))
	}
	keys := strings.Split(pointer[1:], "/")
	for i := range keys {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(keys[i])
	}
	return keys, nil
}

// operate applies one operation to a value, and returns the new value.
func (m *objects) operate(root any, o Operation, copied *int) (any, error) {
	path, err := pointerKeys(o.Path)
	if err != nil {
		return nil, err
	}
	from, err := pointerKeys(o.From)
	if err != nil {
		return nil, err
	}
	switch o.Op {
	case "test":
		value, err := valueAt(root, path)
		want, wrong := m.copyJSON(o.Value)
		if err == nil && wrong == nil && !sameObject(value, want) {
			err = errors.New("the value differs")
		}
		return root, cmp.Or(err, wrong)
	case "remove":
		return change(root, path, "remove", nil)
	case "add", "replace":
		value, err := m.copyJSON(o.Value)
		if err != nil {
			return nil, err
		}
		return change(root, path, o.Op, value)
	case "move", "copy":
		if len(from) == 0 {
			return nil, errors.New("from: must lead to a field")
		}
		value, err := valueAt(root, from)
		if err == nil && o.Op == "move" {
			root, err = change(root, from, "remove", nil)
		} else if err == nil {
			text, _ := json.Marshal(value) // it is JSON
			if *copied += len(text); *copied > mostCopied {
				return nil, fmt.Errorf("copies more than %d bytes", mostCopied)
			}
			value, err = m.copyJSON(value)
		}
		if err != nil {
			return nil, fmt.Errorf("from: %w", err)
		}
		return change(root, path, "add", value)
	}
	return nil, fmt.Errorf("unknown operation: must be add, remove, replace, move, copy or test")
}

// valueAt returns the value at a path, nil for a field that the last object lacks.
func valueAt(v any, path []string) (any, error) {
	for i, key := range path {
		switch of := v.(type) {
		case Object:
			var has bool
			if v, has = of[key]; !has && i < len(path)-1 {
				return nil, fmt.Errorf("there is no field %q", shortened(key))
			}
		case []any:
			at, err := indexOf(key, len(of), len(of)-1)
			if err != nil {
				return nil, err
			}
			v = of[at]
		default:
			return nil, fmt.Errorf("there is no field %q in %s", shortened(key), jsonName(v))
		}
	}
	return v, nil
}

// indexOf returns the index of an item in a list. A negative one counts from the end.
func indexOf(key string, end, most int) (int, error) {
	at, err := strconv.Atoi(key)
	if err != nil {
		return 0, fmt.Errorf("invalid index %q", shortened(key))
	}
	if at < 0 {
		at += end
	}
	if at < 0 || at > most {
		return 0, fmt.Errorf("the list has no index %s", shortened(key))
	}
	return at, nil
}

// change adds, replaces or removes the value at a path, and returns the whole value.
func change(v any, path []string, op string, value any) (any, error) {
	if len(path) == 0 {
		if _, isObject := value.(Object); op != "replace" || !isObject {
			return nil, errors.New("the whole object can only be replaced by an object")
		}
		return value, nil
	}
	key := path[0]
	switch of := v.(type) {
	case Object:
		old, has := of[key]
		switch {
		case len(path) > 1 && !has, op == "remove" && !has:
			return nil, fmt.Errorf("there is no field %q", shortened(key))
		case len(path) > 1:
			changed, err := change(old, path[1:], op, value)
			of[key] = changed
			return of, err
		case op == "remove":
			delete(of, key)
		default:
			of[key] = value
		}
		return of, nil
	case []any:
		if len(path) == 1 && op == "add" {
			if key == "-" {
				return append(of, value), nil
			}
			at, err := indexOf(key, len(of)+1, len(of))
			if err != nil {
				return nil, err
			}
			return slices.Insert(of, at, value), nil
		}
		at, err := indexOf(key, len(of), len(of)-1)
		switch {
		case err != nil:
			return nil, err
		case len(path) > 1:
			of[at], err = change(of[at], path[1:], op, value)
			return of, err
		case op == "remove":
			return slices.Delete(of, at, at+1), nil
		}
		of[at] = value
		return of, nil
	}
	return nil, fmt.Errorf("there is no field %q in %s", shortened(key), jsonName(v))
}
