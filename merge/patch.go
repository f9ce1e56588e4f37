package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// Object is a JSON value: maps by name, lists, strings, booleans, int64 or float64, and nil.
type Object = map[string]any

// Patch is one manager's patch.
type Patch[P any] struct {
	// Owner is a manager: see Manager. Two patches of one owner never disagree.
	Owner Owner
	// Value is the patch; a nil one sets nothing.
	Value *P
	// JSON is a JSON patch to an object, instead of Value: an update by the manager. It owns what it adds and changes.
	JSON []Operation
	// At is the place of the patch in its document: places of claims begin with it.
	At fieldpath.Path
}

// Operation is one operation of a JSON patch.
type Operation struct {
	// Op is add, remove, replace, move, copy or test.
	Op string `json:"op"`
	// Path and From are JSON pointers, such as /spec/containers/0.
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	// Value is JSON.
	Value any `json:"value,omitempty"`
}

// Owner names a writer of fields: a manager, or a layer, which is Base or a later writer that a program names. Owners have no
// order. The history of a field lists its writers in the order of writing.
type Owner string

const managerPrefix = "manager/"

// Manager returns the owner of a manager's patches.
func Manager(name string) Owner { return Owner(managerPrefix + name) }

// Manager returns the manager's name and reports whether the owner is a manager.
func (l Owner) Manager() (string, bool) { return strings.CutPrefix(string(l), managerPrefix) }

// Claim records that an owner wrote a value, and the place of the value in the input.
type Claim struct {
	// Owner wrote the value.
	Owner Owner
	// Value is the written value. It is nil for a null, and Presence for an item or an empty struct that the owner only named.
	// It may share memory with a result: read it, never change it.
	Value any
	// At is the input field that holds the value, or from which the value was computed. It is nil for a value without a
	// field, such as a default of the API server.
	At fieldpath.Path
	// Position locates At in a file. The library leaves it empty; a reader of files sets it.
	Position fieldpath.Position
}

// Origin locates the input of a value that a layer after the patches writes. The zero Origin locates nothing.
type Origin struct {
	// Path leads to the field of the input object.
	Path fieldpath.Path
	// Computed is true if the value was computed from the field. It is also true if the field is the section that requests the
	// value. Otherwise the field holds the value, and the same paths lead into both.
	Computed bool
}

// Presence is the value of a claim on the presence of a list item or of an empty struct.
type Presence struct{}

// String returns "present".
func (Presence) String() string { return "present" }

// SameValue reports whether two claimed values are equal. It compares their encodings, as the cluster does: 1Gi equals 1024Mi. A
// Presence equals no value.
func SameValue(a, b any) bool {
	if (a == any(Presence{})) != (b == any(Presence{})) {
		return false
	}
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, err := json.Marshal(a)
	y, _ := json.Marshal(b) // empty after an error
	return err == nil && bytes.Equal(x, y)
}

// Ignored is a field that an owner sets without effect, or removes without meaning to.
type Ignored struct {
	// Owner set the field. Path leads to it in the value.
	Owner Owner
	Path  fieldpath.Path
}

// PatchError reports that a patch cannot be merged.
type PatchError struct {
	// Owner wrote the patch, and Index is its place in the list; -1 for the base.
	Owner Owner
	Index int
	// Path is the field at which the merge fails.
	Path fieldpath.Path
	// Err states the problem.
	Err error
}

// Error names the layer and the field.
func (e *PatchError) Error() string {
	if e == nil {
		return "no error"
	}
	of := "patch of " + string(e.Owner)
	if e.Index < 0 {
		of = string(e.Owner)
	}
	if len(e.Path) == 0 {
		return fmt.Sprintf("%s: %s", of, e.Err)
	}
	return fmt.Sprintf("%s: %s: %s", of, e.Path, e.Err)
}

// Unwrap returns the problem.
func (e *PatchError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

func asPatchError(err error) *PatchError {
	if e, ok := err.(*PatchError); ok {
		return e
	}
	return &PatchError{Err: err}
}

// within prepends a step to an error's path.
func within(step fieldpath.Step, err error) error {
	e := asPatchError(err)
	e.Path = slices.Insert(e.Path, 0, step)
	return e
}

// inside adds a step to an error's path. Until failed, the path is in reverse order.
func inside(step fieldpath.Step, err error) error {
	e := asPatchError(err)
	e.Path = append(e.Path, step)
	return e
}

// failed completes an error with its layer and index, and reverses its path into order.
func failed(layer Owner, index int, err error) error {
	e := asPatchError(err)
	e.Owner, e.Index = layer, index
	slices.Reverse(e.Path)
	return e
}

// apiError returns an error in a form of the API server.
func apiError(form, format string, args ...any) error { return fmt.Errorf(form+": "+format, args...) }
