package engine

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// Layer names who set a field: Base, a manager's patch, or a later writer that a program names.
// Layers have no order; a field's history lists its writers in the order in which they wrote.
type Layer string

const managerPrefix = "manager/"

// Manager is the layer of one manager's patch.
func Manager(name string) Layer { return Layer(managerPrefix + name) }

// Manager returns the manager's name, and whether the layer is a manager's patch.
func (l Layer) Manager() (string, bool) { return strings.CutPrefix(string(l), managerPrefix) }

// Claim says that a layer wrote a value, and where it stands in the input.
type Claim struct {
	// Layer is who wrote it.
	Layer Layer
	// Value is what was written: nil for a null, Presence for an item or an empty struct that the
	// layer only named. It may share memory with a result: it is to be read, never changed.
	Value any
	// Source is the field of the input object that holds the value, or that it was computed from. Nil where
	// it comes from no field, as what the API server fills in.
	Source fieldpath.Path
	// Position is where Source stands in a file. The library leaves it empty; a reader of files
	// fills it in.
	Position fieldpath.Position
}

// Origin says where in the input a value comes from that a layer after the patches writes. The zero
// Origin is nowhere.
type Origin struct {
	// Path is the field of the input object.
	Path fieldpath.Path
	// Computed says that the value was computed from the field, or that the field is the section
	// which asks for it. Else the field holds the value, and what stands below the one stands below
	// the other.
	Computed bool
}

// Presence is the value of a claim on the presence of a list item or of an empty struct.
type Presence struct{}

// String is "present".
func (Presence) String() string { return "present" }

// SameValue reports whether two values of claims are equal: by their encoding, as the cluster sees them,
// so that 1Gi is 1024Mi.
func SameValue(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
