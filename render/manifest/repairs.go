package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/quantity"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// This file decides which errors of the decoder have one right repair.

// repairType makes the remedy for a wrong type certain, if the value has one meaning as the right type.
func (d *diagnosis) repairType(r *finding.Remedy, n *yaml.Node, t reflect.Type) {
	if n.Kind != yaml.ScalarNode || strings.Contains(n.Value, "{{") {
		return
	}
	bare := source.KindOf(n, d.Reading) != "string"
	switch {
	case bare && t.Kind() == reflect.String:
		if _, err := d.Scalar(n); err == nil {
			r.Do, r.IsCertain = finding.Quote, true
		}
		return
	case bare && !isInteger(t):
		return
	case slices.Equal(d.path, fieldpath.Fields("spec", "trainer", "numProcPerNode")) && n.Value == "auto":
		// It is the default. An empty trainer would go as well, without which the torch policy does nothing.
		r.Do, r.IsCertain = finding.Remove, len(source.Target(d.around[len(d.around)-1].node).Content) > 2
		return
	}
	text, ok := d.Text(n)
	if !ok {
		return
	}
	if option := onlyMeaning(text, t); option != "" && unmarshalSafe([]byte(option), reflect.New(t).Interface()) == nil {
		r.Do, r.Options, r.IsCertain = finding.SetValue, []string{option}, true
	}
}

// onlyMeaning returns the JSON of the only value of a type that a scalar can mean, or "".
func onlyMeaning(text string, t reflect.Type) string {
	trimmed := strings.TrimSpace(text)
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		if q := meantQuantity(trimmed); q != "" {
			return strconv.Quote(q)
		}
	case isInteger(t):
		if i, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
			return strconv.FormatInt(i, 10)
		}
		const exact = 1 << 53
		if f, err := strconv.ParseFloat(trimmed, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < exact {
			return strconv.FormatInt(int64(f), 10)
		}
	case t.Kind() == reflect.Bool:
		if word := strings.ToLower(trimmed); word == "true" || word == "false" {
			return word
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		// A string with spaces may mean several items.
		if j, err := json.Marshal([]string{text}); err == nil && text != "" && !strings.ContainsAny(text, " \t\n,;") {
			return string(j)
		}
	}
	return ""
}

// meantQuantity returns a quantity without the spaces and the B of bytes, in the case of its suffix, or "".
func meantQuantity(text string) string {
	m := regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([KkMmGgTtPpEe])[iI][bB]?$`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	q := m[1] + strings.ToUpper(m[2]) + "i"
	if _, err := quantity.Parse(q); err != nil {
		return ""
	}
	return q
}

// rename returns the remedy to rename a field. It is certain if the meaning is clear, no field has the name, and the value fits.
func (d *diagnosis) rename(e source.Entry, meant string, t reflect.Type, isClear bool) finding.Remedy {
	r := finding.Remedy{Do: finding.Rename, Options: []string{meant}, Text: fmt.Sprintf("did you mean %q?", meant)}
	f, ok := d.structs.Field(t, meant)
	r.IsCertain = ok && isClear && !e.Merged && d.isFree(len(d.around)-1, meant) && d.decodesAs(e.Value, f.Type)
	return r
}

// moveTo returns the remedy to move a field to a place nearby. It is certain if no other place has such a field, the place is
// not set, and the value fits.
func (d *diagnosis) moveTo(e source.Entry, h candidate) finding.Remedy {
	r := finding.Remedy{Text: fmt.Sprintf("did you mean %s?", h.text)}
	if h.isOnly && !e.Merged && !d.isSet(h.path) && d.decodesAs(e.Value, h.typ) {
		r.Do, r.Options, r.IsCertain = finding.Move, []string{h.path.String()}, true
	}
	return r
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

// decodesAs reports whether a value decodes as a type.
func (d *diagnosis) decodesAs(n *yaml.Node, t reflect.Type) bool {
	if d.isDryRun || d.IsNull(source.Target(n)) {
		return false
	}
	dryRun := newDiagnosis(d.source, d.object, 1)
	dryRun.isDryRun = true
	dryRun.value(n, t, "")
	return dryRun.findings == nil
}

// mostClashes is the number of duplicate keys up to which their values are compared.
const mostClashes = 16

// isRepeated reports whether a duplicate key has the value of the first one.
func (d *diagnosis) isRepeated(n *yaml.Node, c source.Clash) bool {
	if d.isDryRun {
		return false
	}
	var values []any
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name, err := d.Name(n.Content[i]); err == nil && name == c.Name && !d.IsMerge(n.Content[i]) {
			values = append(values, genericNode(d.Reading, n.Content[i+1]))
		}
	}
	return len(values) > 1 && !slices.ContainsFunc(values, func(v any) bool { return !reflect.DeepEqual(v, values[0]) })
}
