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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// wrongType reports a value of the wrong type.
func (d *diagnosis) wrongType(n *yaml.Node, t reflect.Type) {
	want, got := expected(t), source.KindOf(n, d.Reading)
	f := finding.Finding{
		Code: codes.WrongType, Severity: finding.Error,
		Message: fmt.Sprintf("must be %s, not %s", want, source.Article(got)),
		Remedy:  finding.Remedy{Text: fmt.Sprintf("write %s", want)},
	}
	bare := n.Kind == yaml.ScalarNode && !source.IsString(n)
	switch {
	case bare && t.Kind() == reflect.String && finding.IsSecret(d.path):
		// Do not show the value, which may be a password.
		f.Remedy.Text = "put it in double quotes"
		if !d.JSON && source.IsAmbiguous(n.Value) {
			f.Code = codes.AmbiguousWord
			f.Message = "must be a string; Kubernetes reads this bare word as a boolean"
		}
	case bare && !d.JSON && source.IsAmbiguous(n.Value):
		f.Code = codes.AmbiguousWord
		f.Message = fmt.Sprintf("must be %s; Kubernetes reads the bare word %s as the boolean %t",
			want, n.Value, isYes(n.Value))
		if acceptsText(t) {
			f.Remedy.Text = fmt.Sprintf("quote it: %s", quote(n.Value))
		}
	case bare && t.Kind() == reflect.String && got == "boolean":
		f.Remedy.Text = fmt.Sprintf("quote it: %s", quote(n.Value))
	case bare && t.Kind() == reflect.String:
		f.Remedy.Text = "put it in double quotes"
	case got == "number" && isInteger(t) && d.IsFraction(n):
		f.Message = "must be an integer, not a fraction"
	case got == "string" && acceptsText(t),
		got == "number" && (isInteger(t) || tree.DecodesItself(t)):
		// The kind is right, but the value is not.
		f.Message = "must be " + precise(t)
		f.Remedy.Text = "write " + precise(t)
	case got == "string" && n.Kind == yaml.ScalarNode && n.Style != 0 && !acceptsText(t) &&
		!isCollection(t):
		f.Remedy.Text = fmt.Sprintf("write %s, without quotes", want)
	case n.Kind != yaml.SequenceNode && t.Kind() == reflect.Slice && isCollection(t):
		f.Remedy.Text = `begin each item with "- ", or put the items in [ ]`
	case n.Kind == yaml.SequenceNode && isCollection(t):
		f.Remedy.Text = "use one object, not a list"
	}
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "{{") {
		f.Remedy.Text = "render the template first"
	} else if got == "string" &&
		slices.Equal(d.path, fieldpath.Fields("spec", "trainer", "numProcPerNode")) {
		// Trainer 2.1 took auto, cpu and gpu.
		f.Remedy.Text = "set an integer"
		if n.Value == "cpu" || n.Value == "gpu" {
			f.Remedy.Text = fmt.Sprintf("set the number of the node's %ss, as %s until Trainer 2.1",
				strings.ToUpper(n.Value), n.Value)
		}
	}
	d.repairType(&f.Remedy, n, t)
	d.add(f, n)
}

// expected returns the name of a type's values with an article.
func expected(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return "a quantity such as 500m or 8Gi"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "a time such as 2026-01-31T09:00:00Z"
	case reflect.TypeFor[metav1.Duration]():
		return "a duration such as 90s"
	case reflect.TypeFor[intstr.IntOrString]():
		return "an integer or a string"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string in base64"
		}
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	if isInteger(t) {
		return "an integer"
	}
	return "another value"
}

// precise returns a more exact name than expected, for a value of the right kind.
func precise(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int32:
		return fmt.Sprintf("an integer from %d to %d", math.MinInt32, math.MaxInt32)
	case reflect.Int64, reflect.Int:
		return fmt.Sprintf("an integer from %d to %d", math.MinInt64, math.MaxInt64)
	}
	return expected(t)
}

func isInteger(t reflect.Type) bool {
	return reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64
}

// isCollection reports whether values of the type are lists or objects.
func isCollection(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return !tree.DecodesItself(t)
	case reflect.Slice:
		return t.Elem().Kind() != reflect.Uint8
	}
	return false
}

// acceptsText reports whether a quoted string can be a value of the type.
func acceptsText(t reflect.Type) bool {
	return t.Kind() == reflect.String || tree.DecodesItself(t) ||
		t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func isYes(word string) bool {
	switch word {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true
	}
	return false
}

// repairType makes the remedy for a wrong type certain, if the value has one meaning as the right
// type.
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
	case slices.Equal(d.path, fieldpath.Fields("spec", "trainer", "numProcPerNode")) &&
		n.Value == "auto":
		// It is the default. An empty trainer would go as well, without which the torch policy does
		// nothing.
		r.Do, r.IsCertain = finding.Remove,
			len(source.Target(d.around[len(d.around)-1].node).Content) > 2
		return
	}
	text, ok := d.Text(n)
	if !ok {
		return
	}
	if option := onlyMeaning(text, t); option != "" &&
		unmarshalSafe([]byte(option), reflect.New(t).Interface()) == nil {
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
		if f, err := strconv.ParseFloat(trimmed, 64); err == nil && f == math.Trunc(f) &&
			math.Abs(f) < exact {
			return strconv.FormatInt(int64(f), 10)
		}
	case t.Kind() == reflect.Bool:
		if word := strings.ToLower(trimmed); word == "true" || word == "false" {
			return word
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		// A string with spaces may mean several items.
		if j, err := json.Marshal([]string{text}); err == nil && text != "" &&
			!strings.ContainsAny(text, " \t\n,;") {
			return string(j)
		}
	}
	return ""
}

// meantQuantity returns a quantity without the spaces and the B of bytes, in the case of its
// suffix, or "".
func meantQuantity(text string) string {
	m := regexp.MustCompile(
		`^([0-9]+(?:\.[0-9]+)?) *([KkMmGgTtPpEe])[iI][bB]?$`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	q := m[1] + strings.ToUpper(m[2]) + "i"
	if _, err := tree.ParseQuantity(q); err != nil {
		return ""
	}
	return q
}
