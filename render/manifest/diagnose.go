package manifest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/schema"
)

// diagnose walks a node as a value of the type t. It returns at most remaining findings.
func diagnose(s *source.Source, object fieldpath.Object, n *yaml.Node, t reflect.Type,
	remaining int) finding.List {
	d := newDiagnosis(s, object, remaining)
	d.value(n, t, "")
	return d.findings
}

// value checks a value against its type. For an untyped value it checks only the keys. mergeKey is
// the merge key of a list-map.
func (d *diagnosis) value(n *yaml.Node, t reflect.Type, mergeKey string) {
	if d.remaining == 0 {
		return
	}
	// Report the value of an alias at its definition.
	n = source.Target(n)
	if t != nil {
		t = tree.Concrete(t)
	}
	switch {
	case t == reflect.TypeFor[deferredValue]():
	case t == nil || t.Kind() == reflect.Interface:
		d.untyped(n)
	case tree.DecodesItself(t):
		if !d.JSON && n.Kind != yaml.ScalarNode {
			d.untyped(n)
		}
		d.decode(n, t)
	case d.IsNull(n):
		// null is the absent value of every type.
	case t.Kind() == reflect.Struct:
		if n.Kind != yaml.MappingNode {
			d.wrongType(n, t)
			return
		}
		d.fields(n, t)
	case t.Kind() == reflect.Map:
		if n.Kind != yaml.MappingNode {
			d.wrongType(n, t)
			return
		}
		step := fieldpath.Key
		if t.Elem().Kind() == reflect.Interface {
			step = untypedStep
		}
		for _, e := range d.keys(n, step) {
			d.ambiguousKey(e, step)
			d.below(step(e.Name), d.valueDefinition(), func() { d.value(e.Value, t.Elem(), "") })
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		if n.Kind != yaml.SequenceNode {
			d.wrongType(n, t)
			return
		}
		steps := d.items(n, mergeKey)
		for i, item := range n.Content {
			d.below(steps[i], d.itemDefinition(), func() { d.value(item, t.Elem(), "") })
		}
	case n.Kind != yaml.ScalarNode:
		d.wrongType(n, t)
	default:
		d.decode(n, t)
	}
}

// decode decodes the value with the real decoder, so that both agree.
func (d *diagnosis) decode(n *yaml.Node, t reflect.Type) {
	if text, ok := d.Text(n); ok && t == reflect.TypeFor[resource.Quantity]() {
		if err := tree.CheckQuantity(text); err != nil {
			d.add(finding.Finding{Code: codes.WrongType, Severity: finding.Error,
				Message: err.Error(), Remedy: finding.Remedy{Text: "write " + expected(t)}}, n)
			return
		}
	}
	var b bytes.Buffer
	if err := d.Convert(&b, n); err != nil {
		d.wrongType(n, t)
		return
	}
	strict, err := kjson.UnmarshalStrict(b.Bytes(), reflect.New(t).Interface())
	if err != nil || len(strict) > 0 {
		d.wrongType(n, t)
	}
}

// fields checks the fields of a struct.
func (d *diagnosis) fields(n *yaml.Node, t reflect.Type) {
	d.around = append(d.around, frame{t, n, len(d.path)})
	for _, e := range d.keys(n, fieldpath.Field) {
		if d.remaining == 0 {
			break
		}
		f, ok := d.structs.Field(t, e.Name)
		var definition *release.Field
		if d.definition != nil {
			definition = d.definition.Fields[e.Name]
			switch {
			case definition == nil && d.lacks(e, ok):
				ok = false
			case definition == nil:
				d.unknownField(e, t)
				ok = false
			case d.shape.beside[definition] != nil:
				of := d.shape.beside[definition]
				d.below(fieldpath.Field(e.Name), definition, func() {
					d.value(e.Value, of, "name")
				})
				continue
			case d.shape.ignored[definition]:
				ok = false
			}
		} else if !ok {
			d.unknownField(e, t)
		}
		if !ok {
			d.below(fieldpath.Field(e.Name), nil, func() { d.untyped(e.Value) })
			continue
		}
		d.below(fieldpath.Field(e.Name), definition, func() {
			d.value(e.Value, f.Type, mergeKeyOf(f))
		})
	}
	d.around = d.around[:len(d.around)-1]
}

// mergeKeyOf returns the merge key of a list-map, or "" for another field. The Go types of the
// Trainer's own list-maps lack the tag (Trainer v2.3.0 pkg/apis/trainer/v1alpha1, +listMapKey), and
// they merge like the lists that they mirror.
func mergeKeyOf(f tree.Field) string {
	if !f.IsOf(reflect.Slice) {
		return ""
	}
	if key := f.Tag.Get("patchMergeKey"); key != "" {
		return key
	}
	switch f.Type.Elem() {
	case reflect.TypeFor[trainer.RuntimePatch]():
		return "manager"
	case reflect.TypeFor[corev1.VolumeMount]():
		return "mountPath"
	case reflect.TypeFor[metav1.Condition]():
		return "type"
	case reflect.TypeFor[trainer.ReplicatedJobPatch](), reflect.TypeFor[trainer.ContainerPatch](),
		reflect.TypeFor[trainer.JobStatus](), reflect.TypeFor[legacy.ContainerOverride](),
		reflect.TypeFor[corev1.EnvVar](), reflect.TypeFor[corev1.Volume](),
		reflect.TypeFor[corev1.PodSchedulingGate](),
		reflect.TypeFor[corev1.LocalObjectReference]():
		return "name"
	}
	return ""
}

// untypedStep returns the step to a name in an untyped object.
func untypedStep(name string) fieldpath.Step { return (*schema.Type)(nil).Step(name) }

// untyped checks that the keys of an untyped value are valid and that its scalars have a JSON form.
func (d *diagnosis) untyped(n *yaml.Node) {
	if d.remaining == 0 {
		return
	}
	n = source.Target(n)
	switch n.Kind {
	case yaml.MappingNode:
		for _, e := range d.keys(n, untypedStep) {
			d.ambiguousKey(e, untypedStep)
			d.below(untypedStep(e.Name), nil, func() { d.untyped(e.Value) })
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			d.below(fieldpath.Index(i), nil, func() { d.untyped(item) })
		}
	default:
		if _, err := d.Scalar(n); err != nil {
			d.add(finding.Finding{
				Code: codes.WrongType, Severity: finding.Error,
				Message: "has a value without a JSON form",
				Remedy: finding.Remedy{
					Text: "use a number, true, false, null or a string in double quotes"},
			}, n)
		}
	}
}

func hasName(clashes []source.Clash, name string) bool {
	return slices.ContainsFunc(clashes, func(c source.Clash) bool { return c.Name == name })
}

// keys returns the entries of a mapping with a valid key. It reports invalid keys.
func (d *diagnosis) keys(n *yaml.Node, step func(string) fieldpath.Step) []source.Entry {
	entries, clashes := d.Entries(n)
	// no repair removes another object
	isSecond := len(d.path) == 0 && hasName(clashes, "apiVersion") && hasName(clashes, "kind")
	for i, c := range clashes {
		f := finding.Finding{Code: codes.DuplicateKey, Severity: finding.Error}
		line, written := d.source.Position(c.First).Line, source.Target(c.Key).Value
		below := []fieldpath.Step{step(c.Name)}
		switch {
		case isSecond && source.Target(c.Key).Column == 1:
			if i > 0 {
				continue // the first one tells of the object
			}
			f.Message, below = fmt.Sprintf(
				"another object begins here, and %s is already set in line %d", quote(c.Name),
				line), nil
			f.Remedy.Text = `put "---" on a line of its own before it`
		case d.isAny && len(d.path) == 0:
			f.Message, f.Remedy.Text, below = fmt.Sprintf("the key is already set in line %d",
				line), "keep one of the two", nil
		case c.Merge:
			f.Message = fmt.Sprintf(
				"%s is set in line %d and by the merge key after it: YAML readers differ on the "+
					"winner", quote(c.Name), line)
			f.Remedy.Text = `move "<<" before the keys that override it`
		case c.Name != written:
			f.Message = fmt.Sprintf(
				"the bare key %s is read as %s, which is already set in line %d", clip(written),
				quote(c.Name), line)
			f.Remedy.Text = "quote it: " + quote(written)
		default:
			f.Message = fmt.Sprintf("%s is already set in line %d", quote(c.Name), line)
			f.Remedy.Text = "keep one of the two"
			if !isSecond && len(clashes) <= mostClashes && d.isRepeated(n, c) {
				f.Remedy.Do, f.Remedy.IsCertain = finding.Remove, true
			}
		}
		d.add(f, c.Key, below...)
	}
	named := make([]source.Entry, 0, len(entries))
	for _, e := range entries {
		if e.Err != nil {
			help := "put the key in double quotes"
			if d.IsMerge(e.Key) {
				help = `use "<<: *name" with an anchor &name of an object`
			}
			d.add(finding.Finding{
				Code: codes.WrongType, Severity: finding.Error,
				Message: firstLine(e.Err.Error()), Remedy: finding.Remedy{Text: help},
			}, e.Key)
			continue
		}
		named = append(named, e)
	}
	return named
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
		if name, err := d.Name(n.Content[i]); err == nil && name == c.Name &&
			!d.IsMerge(n.Content[i]) {
			value, _, err := d.Tree(n.Content[i+1])
			if err != nil {
				return false
			}
			values = append(values, value)
		}
	}
	return len(values) > 1 && !slices.ContainsFunc(values, func(v any) bool {
		return !reflect.DeepEqual(v, values[0])
	})
}

// ambiguousKey warns of a map's key that Kubernetes reads as a different string.
func (d *diagnosis) ambiguousKey(e source.Entry, step func(string) fieldpath.Step) {
	key := source.Target(e.Key)
	if e.Name == key.Value || e.Merged || e.Clashes {
		return
	}
	d.add(finding.Finding{
		Code: codes.AmbiguousWord, Severity: finding.Warning,
		Message: fmt.Sprintf("the bare key %s is read as %s", clip(key.Value), quote(e.Name)),
		Remedy: finding.Remedy{Do: finding.Rename, Options: []string{key.Value}, IsCertain: true,
			Text: fmt.Sprintf("quote it: %s", quote(key.Value))},
	}, e.Key, step(e.Name))
}

// items returns the steps from a list to its items. A step uses the merge key if the item has a
// unique value of it, else the index.
func (d *diagnosis) items(n *yaml.Node, mergeKey string) []fieldpath.Step {
	steps := make([]fieldpath.Step, len(n.Content))
	values := make([]string, len(n.Content))
	count := map[string]int{}
	if mergeKey != "" {
		for i, item := range n.Content {
			if _, v := d.Lookup(source.Target(item), mergeKey); v != nil {
				if kind := source.KindOf(v, d.Reading); kind == "string" || kind == "number" {
					values[i], _ = d.Text(v)
				}
				count[values[i]]++
			}
		}
	}
	for i := range steps {
		if count[values[i]] == 1 && values[i] != "" {
			steps[i] = fieldpath.Item(mergeKey, values[i])
		} else {
			steps[i] = fieldpath.Index(i)
		}
	}
	return steps
}

// unknownField reports a key that is not a field of the struct, and suggests a similar field.
func (d *diagnosis) unknownField(e source.Entry, t reflect.Type) {
	written := source.Target(e.Key).Value
	f := finding.Finding{
		Code: codes.UnknownField, Severity: finding.Error,
		Message: fmt.Sprintf("unknown field %s", quote(written)),
	}
	switch {
	case formerField(t, e, &f):
	case d.unpatchable(e.Name, t, &f):
		if _, with := d.later(e.Name); with != "" {
			f.Remedy.Text += "; for patches it is a field of Trainer " + with
		}
	case d.ofLater(e.Name, &f):
	case d.ofLaterKubernetes(e.Name, &f):
	default:
		f.Remedy = d.suggest(e, t)
	}
	d.add(f, e.Key, fieldpath.Field(e.Name))
}

// suggest returns the remedy for an unknown field. It suggests a similar field of the struct, or a
// field of the same name nearby, or removal.
func (d *diagnosis) suggest(e source.Entry, t reflect.Type) finding.Remedy {
	name := e.Name
	if len(name) > longestName {
		return finding.Remedy{Do: finding.Remove, Text: "remove it"}
	}
	names := slices.DeleteFunc(d.structs.Names(t), func(name string) bool {
		return d.definition != nil && d.definition.Fields[name] == nil
	})
	near := nearest.To(name, names)
	isClear := near != "" && nearest.IsClear(name, near, names)
	if near != "" &&
		(strings.EqualFold(strings.TrimSuffix(near, "s"), strings.TrimSuffix(name, "s")) ||
			len(near) > 5) {
		return d.rename(e, near, t, isClear)
	}
	if h := d.nearby(name, t); h.text != "" {
		return d.moveTo(e, h)
	}
	if mirror := mirrored(t); mirror != nil {
		if meant := nearest.To(name, d.structs.Names(mirror)); meant != "" &&
			!slices.Contains(names, meant) {
			return finding.Remedy{
				Text: fmt.Sprintf("did you mean %q? No patch may set that: %s", meant,
					d.setter(meant, mirror))}
		}
	}
	if near != "" {
		return d.rename(e, near, t, isClear)
	}
	for _, known := range names { // such as resources for resourcesPerNode
		if len(name) > 3 && (strings.HasPrefix(known, name) || strings.HasPrefix(name, known)) {
			return d.rename(e, known, t, false)
		}
	}
	if len(names) <= mostFields {
		return finding.Remedy{
			Do: finding.Remove, Text: "remove it; the fields here are " + strings.Join(names, ", ")}
	}
	return finding.Remedy{Do: finding.Remove, Text: "remove it"}
}

// rename returns the remedy to rename a field. It is certain if the meaning is clear, no field has
// the name, and the value fits.
func (d *diagnosis) rename(e source.Entry, meant string, t reflect.Type,
	isClear bool) finding.Remedy {
	r := finding.Remedy{Do: finding.Rename, Options: []string{meant},
		Text: fmt.Sprintf("did you mean %q?", meant)}
	f, ok := d.structs.Field(t, meant)
	r.IsCertain = ok && isClear && !e.Merged && d.isFree(len(d.around)-1, meant) &&
		d.decodesAs(e.Value, f.Type)
	return r
}

// moveTo returns the remedy to move a field to a place nearby. It is certain if no other place has
// such a field, the place is not set, and the value fits.
func (d *diagnosis) moveTo(e source.Entry, h candidate) finding.Remedy {
	r := finding.Remedy{Text: fmt.Sprintf("did you mean %s?", h.text)}
	if h.isOnly && !e.Merged && !d.isSet(h.path) && d.decodesAs(e.Value, h.typ) {
		r.Do, r.Options, r.IsCertain = finding.Move, []string{h.path.String()}, true
	}
	return r
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
