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

// A Patch is what one manager wants.
type Patch struct {
	// Manager names the owner of the fields that the patch sets. Two patches of one manager never
	// disagree.
	Manager string
	// Value is a Go value or a pointer to one, an Object, or a JSONPatch. A nil value sets nothing.
	// All Go values of one merge have one type: that of the base, or one that mirrors it with fewer
	// fields.
	Value any
	// At is the place of the patch in its document: places of claims begin with it.
	At fieldpath.Path
}

// layered is a patch with its owner. Its value is no pointer to an Object, and no nil pointer.
type layered struct {
	Owner Owner
	Value any
	At    fieldpath.Path
}

// isUpdate reports whether the patch is a JSON patch: an update by its manager.
func (p layered) isUpdate() bool {
	_, is := p.Value.(JSONPatch)
	return is
}

func layersOf(patches []Patch) ([]layered, error) {
	layers := make([]layered, len(patches))
	for i, p := range patches {
		if p.Manager == "" {
			return nil, fmt.Errorf("merge: patch %d names no manager", i)
		}
		layers[i] = layered{Manager(p.Manager), p.Value, p.At}
		switch value := p.Value.(type) {
		case *Object:
			if value != nil {
				layers[i].Value = *value
			}
		case []Operation:
			layers[i].Value = JSONPatch(value)
		}
		switch v := reflect.ValueOf(layers[i].Value); v.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice:
			if v.IsNil() {
				layers[i].Value = nil
			}
		}
	}
	return layers, nil
}

// A JSONPatch is a patch to an object: an update by its manager, who owns what it adds and changes.
type JSONPatch []Operation

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

// Owner names a writer of fields: a manager, or a layer, which is the base or a later writer that a
// program names. Owners have no order. The history of a field lists its writers in the order of
// writing.
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
	// Value is the written value. It is nil for a null, and Presence for an item or an empty struct
	// that the owner only named. It may share memory with a result: read it, never change it.
	Value any
	// At is the input field that holds the value, or from which the value was computed. It is nil
	// for a value without a field, such as a default of the API server.
	At fieldpath.Path
	// Position locates At in a file. The library leaves it empty; a reader of files sets it.
	Position fieldpath.Position
}

// Origin locates the input of a value that a layer after the patches writes. The zero Origin
// locates nothing.
type Origin struct {
	// Path leads to the field of the input object.
	Path fieldpath.Path
	// Computed is true if the value was computed from the field. It is also true if the field is
	// the section that requests the value. Otherwise the field holds the value, and the same paths
	// lead into both.
	Computed bool
	// Always is true if the layer wrote the value even where that changes nothing. History.Record
	// then keeps the claim, as a merge keeps every claim of a patch.
	Always bool
}

// Within returns the origin of a field in a value that o locates.
func (o Origin) Within(path fieldpath.Path) Origin {
	if len(path) > 0 && o.Path != nil && !o.Computed {
		o.Path = o.Path.Append(path...)
	}
	return o
}

// Presence is the value of a claim on the presence of a list item or of an empty struct.
type Presence struct{}

// String returns "present".
func (Presence) String() string { return "present" }

// SameValue reports whether two claimed values are equal. It compares their encodings, as the
// cluster does: 1Gi equals 1024Mi. A Presence equals no value.
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

// A Note tells what a merge made of a field that a patch, or the base, may not have meant. It is no
// error.
type Note struct {
	Kind NoteKind
	Path fieldpath.Path
	// Owner set the field. Of a decision, it is the owner whose value stays.
	Owner Owner
	// Option names the option that decided, and Losers are the owners whose claims gave way. The
	// claims stay in the history, so conflict.Find reports them.
	Option string
	Losers []Owner
}

// NoteKind is the kind of a Note. The zero value is invalid.
type NoteKind uint8

const (
	// Ignored is a field of an object that its Go type lacks. It has no effect, as in a strategic
	// merge patch. A field that a definition lacks is an error instead, as in a server-side apply.
	Ignored NoteKind = iota + 1
	// Nulled is a field that a Go value removes though it does not set it: see SkipZero. Its type
	// encodes it as null, because it has no omitempty.
	Nulled
	// Duplicate is an item that shares its merge key with an earlier one, in a list of the base
	// that patches reached. A patch changes the first item of a key only.
	Duplicate
	// Protected is a protected field that a patch set, or emptied with a field around it.
	Protected
	// Decided is a field of which an option decided whose value stays.
	Decided
)

// A Dispute is a field about which managers disagree. Package conflict reports it.
type Dispute struct {
	// IsUnion states that managers claim different members of one union of the object at Path, in
	// any order of their patches. Otherwise the order decides of the field.
	IsUnion bool
	Path    fieldpath.Path
	// Claims are what the patches say of the field and within it, in their given order. Fields are
	// the places of the claims in the value.
	Claims []Claim
	Fields []fieldpath.Path
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

// Error names the owner and the field.
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

// inside adds a step to an error's path. Until failed, the path is in reverse order.
func inside(step fieldpath.Step, err error) error {
	e := asPatchError(err)
	e.Path = append(e.Path, step)
	return e
}

// failed completes an error with its owner and index, and reverses its path into order.
func failed(layer Owner, index int, err error) error {
	e := asPatchError(err)
	e.Owner, e.Index = layer, index
	slices.Reverse(e.Path)
	return e
}

// apiError returns an error in a form of the API server.
func apiError(form, format string, args ...any) error {
	return fmt.Errorf(form+": "+format, args...)
}
