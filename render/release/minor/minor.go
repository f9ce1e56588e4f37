// Package minor, which is not promised, says what the minor versions of Kubernetes store of Pods,
// Jobs and volume claims, as data. The table comes from the types and the feature gates of each
// version.
//
//	minor.Each("1.33", &pod.Spec, func(f *minor.Field, at fieldpath.Path) bool {
//		fmt.Println(at, f.Why("1.33"))
//		return true // drop it, as the API server does
//	})
//
// An API server drops a field in silence that its types lack, or whose gate is off.
package minor

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/tree"
)

// Linked is the version whose Go types trainweld links.
const Linked = "1.36"

//go:embed fields.txt
var table string

// State is what a version does with a field.
type State string

const (
	Kept    State = "on"
	Gated   State = "off" // dropped, as its feature gate is off by default
	Unknown State = "-"   // dropped, as the types lack it
)

// Field is a field that not all versions store.
type Field struct {
	// Kind is the kind of the object, such as Pod. Path is the path of the field below it, with []
	// for the items of a list. Gate is the feature gate, or "-".
	Kind, Path, Gate string
	states           []State // by the version
}

// Names returns the known minor versions, the oldest first.
func Names() []string { return []string{"1.32", "1.33", "1.34", "1.35", "1.36", "1.37"} }

// early returns the versions before the known ones on which a release of the Trainer runs. They
// count as the oldest known one.
func early() []string { return []string{"1.29", "1.30", "1.31"} }

// Parse returns the minor version of a text such as 1.36, v1.36 or 1.36.3. The error names the
// known ones.
func Parse(text string) (string, error) {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	if name := strings.Join(parts[:min(2, len(parts))], "."); slices.Contains(Names(), name) ||
		slices.Contains(early(), name) {
		return name, nil
	}
	return "", fmt.Errorf("%q is not a known minor version of Kubernetes: %s", text,
		strings.Join(Names(), ", "))
}

// IsEarly reports whether a version is judged as the oldest known one.
func IsEarly(name string) bool { return slices.Contains(early(), name) }

// Compare orders two versions by their age.
func Compare(a, b string) int {
	all := slices.Concat(early(), Names())
	return slices.Index(all, a) - slices.Index(all, b)
}

// AtLeast reports whether a version has what came with another one.
func AtLeast(name, since string) bool { return Compare(name, since) >= 0 }

// Turn is a step from one version to the next one, or back.
type Turn struct {
	// To is the version after the step. Later is the later one of the two.
	To, Later string
}

// Between returns the steps from one version to another.
func Between(from, to string) (turns []Turn) {
	all := slices.Concat(early(), Names())
	low, high := slices.Index(all, from), slices.Index(all, to)
	for low < high {
		low++
		turns = append(turns, Turn{all[low], all[low]})
	}
	for low > high {
		turns = append(turns, Turn{all[low-1], all[low]})
		low--
	}
	return turns
}

// column returns the index of a version in the table.
func column(name string) int {
	if IsEarly(name) {
		return 0
	}
	return slices.Index(Names(), name)
}

// In returns what a version does with the field.
func (f *Field) In(name string) State {
	if at := column(name); at >= 0 {
		return f.states[at]
	}
	return Kept
}

// Versions returns the versions that have the field, as "1.34 and later".
func (f *Field) Versions() string {
	names := Names()
	first := slices.IndexFunc(f.states, func(s State) bool { return s != Unknown })
	last := len(names) - 1
	for f.states[last] == Unknown {
		last--
	}
	switch {
	case first == last:
		return names[first]
	case last < len(names)-1:
		return names[first] + " to " + names[last]
	}
	return names[first] + " and later"
}

// Why says why a version drops the field.
func (f *Field) Why(name string) string {
	if f.In(name) == Gated {
		return fmt.Sprintf("Kubernetes %s drops it: its feature gate %s is off by default", name,
			f.Gate)
	}
	return fmt.Sprintf("Kubernetes %s drops it: it is a field of Kubernetes %s", name, f.Versions())
}

// node is a field of the table, or one around such fields.
type node struct {
	name  string
	index []int  // of the field in the Go type; nil if that lacks it
	field *Field // nil if only fields within are in the table
	below []*node
}

// rules are the fields of the table, and the same as trees by kind.
type rules struct {
	fields []*Field
	roots  map[string]*node
}

var read = sync.OnceValue(func() rules {
	r := rules{roots: map[string]*node{}}
	types := map[string]reflect.Type{
		"Pod": reflect.TypeFor[corev1.PodSpec](), "Job": reflect.TypeFor[batchv1.JobSpec](),
		"PersistentVolumeClaim": reflect.TypeFor[corev1.PersistentVolumeClaimSpec]()}
	structs := tree.Structs{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		f := &Field{Kind: words[0], Path: words[1], Gate: words[2]}
		for _, state := range words[3:] {
			f.states = append(f.states, State(state))
		}
		r.fields = append(r.fields, f)
		if r.roots[f.Kind] == nil {
			r.roots[f.Kind] = &node{}
		}
		path := strings.ReplaceAll(strings.TrimPrefix(f.Path, "spec."), "[]", "")
		r.roots[f.Kind].add(f, strings.Split(path, "."), types[f.Kind], structs)
	}
	return r
})

// add adds a field at the names below a node of a type, which is nil if the Go types lack it.
func (n *node) add(f *Field, names []string, t reflect.Type, structs tree.Structs) {
	if len(names) == 0 {
		n.field = f
		return
	}
	at := slices.IndexFunc(n.below, func(b *node) bool { return b.name == names[0] })
	if at < 0 {
		at, n.below = len(n.below), append(n.below, &node{name: names[0]})
	}
	var inner reflect.Type
	if t != nil {
		if field, ok := structs.Field(t, names[0]); ok {
			n.below[at].index = field.Index
			inner = tree.Concrete(field.Type)
			if inner.Kind() == reflect.Slice {
				inner = tree.Concrete(inner.Elem())
			}
		}
	}
	n.below[at].add(f, names[1:], inner, structs)
}

// visitor visits the fields of one object that a version drops.
type visitor struct {
	name string
	do   func(f *Field, at fieldpath.Path) bool
}

// drops reports whether a field with a value goes, with all within it, and whether to remove it.
// The restart policy of a sidecar is older than those of other containers, and the usual mount of
// /proc than the choice of another one.
func (v visitor) drops(n *node, value string, at fieldpath.Path) (goes, remove bool) {
	sidecar := n.name == "restartPolicy" && value == string(corev1.ContainerRestartPolicyAlways) &&
		at[0] == fieldpath.Field("initContainers")
	usual := n.name == procMount && value == string(corev1.DefaultProcMount)
	if n.field == nil || n.field.In(v.name) == Kept || sidecar || usual {
		return false, false
	}
	return true, v.do(n.field, slices.Clone(at))
}

const procMount = "procMount"

// Each calls a function for each field of a spec that a version of Kubernetes drops, and removes
// the field if that returns true. The spec is a pointer to one of a Pod, a Job or a claim. Of a
// Job, it does not visit the Pods. The path is that below the spec.
func Each(name string, spec any, do func(f *Field, at fieldpath.Path) bool) {
	kind := ""
	switch spec.(type) {
	case *corev1.PodSpec:
		kind = "Pod"
	case *batchv1.JobSpec:
		kind = "Job"
	case *corev1.PersistentVolumeClaimSpec:
		kind = "PersistentVolumeClaim"
	default:
		return
	}
	visitor{name, do}.visit(read().roots[kind], reflect.ValueOf(spec).Elem(), nil)
}

// Drop removes the fields of a Pod's spec that a version of Kubernetes drops. A volume without the
// image that it was goes as a whole, with its mounts, and so does a lifecycle that had nothing but
// the stop signal that a gate drops. One that was written empty stays.
func Drop(name string, spec *corev1.PodSpec) {
	gone := map[string]bool{}
	Each(name, spec, func(f *Field, at fieldpath.Path) bool {
		if strings.HasSuffix(f.Path, ".lifecycle.stopSignal") && f.In(name) == Gated {
			i, _ := at[1].Index()
			switch at[0] {
			case fieldpath.Field("containers"):
				dropSignal(&spec.Containers[i])
			case fieldpath.Field("initContainers"):
				dropSignal(&spec.InitContainers[i])
			}
		}
		if f.Path == "spec.volumes[].image" {
			i, _ := at[1].Index()
			gone[spec.Volumes[i].Name] = true
		}
		return true
	})
	if len(gone) == 0 {
		return
	}
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool {
		return gone[v.Name] && v.VolumeSource == corev1.VolumeSource{}
	})
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].VolumeMounts = slices.DeleteFunc(containers[i].VolumeMounts,
				func(m corev1.VolumeMount) bool { return gone[m.Name] })
		}
	}
}

// dropSignal drops the stop signal of a container, and a lifecycle that has nothing else.
func dropSignal(c *corev1.Container) {
	if c.Lifecycle.StopSignal = nil; *c.Lifecycle == (corev1.Lifecycle{}) {
		c.Lifecycle = nil
	}
}

func (v visitor) visit(n *node, of reflect.Value, at fieldpath.Path) {
	for _, b := range n.below {
		if b.index == nil {
			continue
		}
		value := of.FieldByIndex(b.index)
		if value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0 {
			continue
		}
		here := append(at, fieldpath.Field(b.name))
		if goes, remove := v.drops(b, reflect.Indirect(value).String(), here); goes {
			if remove {
				value.SetZero()
			}
			if remove && b.name == procMount { // it was never stored empty
				value.Set(reflect.ValueOf(new(corev1.DefaultProcMount)))
			}
			continue
		}
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		switch {
		case len(b.below) == 0:
		case value.Kind() == reflect.Slice:
			for i := range value.Len() {
				v.visit(b, value.Index(i), append(here, fieldpath.Index(i)))
			}
		case value.Kind() == reflect.Struct:
			v.visit(b, value, here)
		}
	}
}

// EachOf does the same for the fields of a spec as decoded from JSON, of one of these kinds. It
// knows also the fields that the Go types lack.
func EachOf(name, kind string, spec map[string]any, do func(f *Field, at fieldpath.Path) bool) {
	if root := read().roots[kind]; root != nil {
		visitor{name, do}.visitTree(root, spec, nil)
	}
}

func (v visitor) visitTree(n *node, of map[string]any, at fieldpath.Path) {
	for _, b := range n.below {
		value := of[b.name]
		if list, isList := value.([]any); value == nil || isList && len(list) == 0 {
			continue
		}
		here := append(at, fieldpath.Field(b.name))
		text, _ := value.(string)
		if goes, remove := v.drops(b, text, here); goes {
			if remove {
				delete(of, b.name)
			}
			continue
		}
		switch value := value.(type) {
		case []any:
			for i := range value {
				if item, ok := value[i].(map[string]any); ok {
					v.visitTree(b, item, append(here, fieldpath.Index(i)))
				}
			}
		case map[string]any:
			v.visitTree(b, value, here)
		}
	}
}

// Beyond says of a result of Later why trainweld refuses it.
func (f *Field) Beyond() string {
	return fmt.Sprintf("%s is a field of Kubernetes %s, where its feature gate %s is off; "+
		"the types of %s, which are linked, can neither merge nor render it",
		f.Path[strings.LastIndexByte(f.Path, '.')+1:], f.Versions(), f.Gate, Linked)
}

// LaterAt does the same as Later for the fields of a path.
func LaterAt(path fieldpath.Path) *Field {
	var names []string
	for _, step := range path {
		if name, ok := step.Field(); ok {
			names = append(names, name)
		}
	}
	return Later(names...)
}

// Later returns the field that the names lead to, if the Go types lack it and a later version has
// it. The names lead through any kind whose parts are those of Pods, Jobs and claims, without the
// items of lists.
func Later(names ...string) *Field {
	at := slices.Index(Names(), Linked)
	path := "." + strings.Join(names, ".")
	for _, f := range read().fields {
		if later := !slices.ContainsFunc(f.states[:at+1], func(s State) bool {
			return s != Unknown
		}); later && strings.HasSuffix(path, "."+strings.ReplaceAll(f.Path, "[]", "")) {
			return f
		}
	}
	return nil
}
