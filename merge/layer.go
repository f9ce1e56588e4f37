package merge

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// Layer names a writer of fields: Base, a manager's patch, or a later writer that a program names. Layers have no order. The
// history of a field lists its writers in the order of writing.
type Layer string

const managerPrefix = "manager/"

// Manager returns the layer of one manager's patch.
func Manager(name string) Layer { return Layer(managerPrefix + name) }

// Manager returns the manager's name and reports whether the layer is a manager's patch.
func (l Layer) Manager() (string, bool) { return strings.CutPrefix(string(l), managerPrefix) }

// Claim records that a layer wrote a value, and the place of the value in the input.
type Claim struct {
	// Layer wrote the value.
	Layer Layer
	// Value is the written value. It is nil for a null, and Presence for an item or an empty struct that the layer only named.
	// It may share memory with a result: read it, never change it.
	Value any
	// Source is the input field that holds the value, or from which the value was computed. It is nil for a value without a
	// field, such as a default of the API server.
	Source fieldpath.Path
	// Position locates Source in a file. The library leaves it empty; a reader of files sets it.
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

// SameValue reports whether two claimed values are equal. It compares their encodings, as the cluster does: 1Gi equals 1024Mi.
func SameValue(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, err := json.Marshal(a)
	y, _ := json.Marshal(b) // empty after an error
	return err == nil && bytes.Equal(x, y)
}
