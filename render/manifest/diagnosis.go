package manifest

import (
	"encoding/json"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
	"github.com/trainweld/trainweld/render/release"
)

// maxFindings limits the findings of a file, so that a hostile file cannot cause millions.
const maxFindings = 20_000

// diagnosis walks an object that fails to decode or has doubtful keys. It reports every error of
// the decoder with its position.
type diagnosis struct {
	*source.Reading
	source    *source.Source
	object    fieldpath.Object
	structs   tree.Structs
	findings  finding.List
	remaining int            // the number of findings that may still be added
	path      fieldpath.Path // the path of the current value; findings clone it
	around    []frame        // the structs around the current value, outermost first

	// api and shape are the release's, or nil. The definition is the current value's in the shape,
	// or nil if the release does not define the value. The findings of lacking concern fields that
	// the release lacks.
	api        *API
	shape      *shape
	definition *release.Field
	lacking    finding.List

	isDryRun bool // only whether there is a finding counts
	// the file may be any, such as one of passwords: no finding repeats a key of its top level
	isAny bool
}

// frame is a struct around the current value.
type frame struct {
	typ        reflect.Type
	node       *yaml.Node
	pathLength int
}

func newDiagnosis(s *source.Source, object fieldpath.Object, remaining int) *diagnosis {
	return &diagnosis{Reading: source.NewReading(s), source: s, object: object,
		structs: tree.Structs{}, remaining: remaining}
}

// add reports a finding about the current value and the steps below it.
func (d *diagnosis) add(f finding.Finding, at *yaml.Node, below ...fieldpath.Step) {
	d.addTo(&d.findings, f, at, below...)
}

func (d *diagnosis) addTo(found *finding.List, f finding.Finding, at *yaml.Node,
	below ...fieldpath.Step) {
	if d.remaining == 0 {
		return
	}
	d.remaining--
	f.Path = d.path.Append(below...)
	f.Object = d.object
	f.Position = d.source.Position(at)
	*found = append(*found, f)
}

// below calls check with the path extended by step, to a value with a definition.
func (d *diagnosis) below(step fieldpath.Step, definition *release.Field, check func()) {
	around := d.definition
	d.path = append(d.path, step)
	d.define(definition)
	check()
	d.path, d.definition = d.path[:len(d.path)-1], around
}

// define sets the definition of the current value.
func (d *diagnosis) define(f *release.Field) {
	if d.definition = f; f != nil && f.Open {
		d.definition = nil
	}
}

// itemDefinition and valueDefinition return the definitions of a list's items and of a map's
// values.
func (d *diagnosis) itemDefinition() *release.Field {
	if d.definition == nil {
		return nil
	}
	return d.definition.Items
}

func (d *diagnosis) valueDefinition() *release.Field {
	if d.definition == nil {
		return nil
	}
	return d.definition.Values
}

// isSet reports whether the object has a field.
func (d *diagnosis) isSet(path fieldpath.Path) bool {
	n := d.around[0].node
	for _, step := range path {
		if _, n = d.Step(n, step); n == nil {
			return false
		}
	}
	return true
}

// isFree reports whether a struct around the current value has no field of the name.
func (d *diagnosis) isFree(around int, name string) bool {
	key, _ := d.Lookup(d.around[around].node, name)
	return key == nil
}

func firstLine(s string) string {
	end, _ := source.LineEnd([]byte(s), 0)
	return s[:end]
}

// longestQuote is the largest number of input characters in a message.
const longestQuote = 60

// clip shortens a string of the input for a message.
func clip(s string) string {
	if r := []rune(firstLine(s)); len(r) > longestQuote {
		return string(r[:longestQuote]) + "…"
	}
	return firstLine(s)
}

// quote returns a shortened string of the input in double quotes.
func quote(s string) string {
	j, err := json.Marshal(clip(s))
	if err != nil {
		return `"…"`
	}
	return string(j)
}

func notAnObject(message string) *finding.Finding {
	return &finding.Finding{
		Code: codes.NotAnObject, Severity: finding.Error, Message: message,
		Remedy: finding.Remedy{Text: "set apiVersion and kind"},
	}
}
