package fn

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

// target selects items as kustomize does: by their present and their former names.
type target struct {
	*types.SelectorRegex
	name                string // the only name that it selects, or "" for others
	labels, annotations labels.Selector
}

// newTarget returns the target of a selector, or else of the name in a patch. An error belongs to
// the field at the path.
func newTarget(s *types.Selector, patch string) (t target, path string, err error) {
	if s == nil {
		item, err := resourcelist.NewItem([]byte(patch))
		if err != nil || item.ID().Kind == "" || item.ID().Name == "" {
			return t, ".target", fmt.Errorf("%v: the patch has no kind and metadata.name",
				field.ErrorTypeRequired)
		}
		id := item.ID()
		group, version := resid.ParseGroupVersion(id.APIVersion)
		gvk := resid.Gvk{Group: regexp.QuoteMeta(group), Version: regexp.QuoteMeta(version),
			Kind: regexp.QuoteMeta(id.Kind)}
		t.name = id.Name
		s = &types.Selector{
			ResId: resid.ResId{Gvk: gvk, Name: regexp.QuoteMeta(id.Name),
				Namespace: regexp.QuoteMeta(id.Namespace)}}
	}
	if regexp.QuoteMeta(s.Name) == s.Name {
		t.name = s.Name
	}
	if t.SelectorRegex, err = types.NewSelectorRegex(s); err != nil {
		return t, ".target", err
	}
	if t.labels, err = labels.Parse(s.LabelSelector); err != nil {
		return t, ".target.labelSelector", err
	}
	if t.annotations, err = labels.Parse(s.AnnotationSelector); err != nil {
		return t, ".target.annotationSelector", err
	}
	return t, "", nil
}

// formerNamespaces is the annotation in which kustomize lists the former namespaces of an object,
// between commas.
const formerNamespaces = "internal.config.kubernetes.io/previousNamespaces"

// selectable holds what targets select an item by. Former names count as well.
type selectable struct {
	gvk                 resid.Gvk
	names, namespaces   []string
	labels, annotations labels.Set
}

func selectableOf(item *resourcelist.Item) selectable {
	id := item.ID()
	group, version := resid.ParseGroupVersion(id.APIVersion)
	annotations := item.Strings("annotations")
	return selectable{
		gvk:   resid.Gvk{Group: group, Version: version, Kind: id.Kind},
		names: append(strings.Split(annotations[formerNames], ","), id.Name),
		namespaces: append(strings.Split(annotations[formerNamespaces], ","),
			cmp.Or(id.Namespace, "default")),
		labels: item.Strings("labels"), annotations: annotations,
	}
}

// selects reports whether the target of a patch selects an item.
func (t target) selects(s selectable) bool {
	return t.MatchGvk(s.gvk) && slices.ContainsFunc(s.names, t.MatchName) &&
		slices.ContainsFunc(s.namespaces, t.MatchNamespace) &&
		t.labels.Matches(s.labels) && t.annotations.Matches(s.annotations)
}

// targets finds the targets that select an item. Most have one name, by which an item finds them
// without a look at all others.
type targets struct {
	all    []target
	named  map[string][]int
	others []int
}

func newTargets(all []target) targets {
	ts := targets{all: all, named: map[string][]int{}}
	for n, t := range all {
		if t.name == "" {
			ts.others = append(ts.others, n)
		} else {
			ts.named[t.name] = append(ts.named[t.name], n)
		}
	}
	return ts
}

// of returns the indexes of the targets that select an item, in order.
func (ts targets) of(item *resourcelist.Item) (by []int) {
	s := selectableOf(item)
	by = slices.Clone(ts.others)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(s.names))) {
		by = append(by, ts.named[name]...)
	}
	slices.Sort(by)
	return slices.DeleteFunc(slices.Compact(by), func(n int) bool { return !ts.all[n].selects(s) })
}

// formerNames is the annotation in which kustomize lists the former names of an object, between
// commas.
const formerNames = "internal.config.kubernetes.io/previousNames"

// former are runtimes by their former names.
type former map[fieldpath.Object][]fieldpath.Object

// add records the former names of a runtime.
func (known former) add(id fieldpath.Object, item *resourcelist.Item) {
	for name := range strings.SplitSeq(item.Annotation(formerNames), ",") {
		was := id
		if was.Name = name; name != "" && name != id.Name && !slices.Contains(known[was], id) {
			known[was] = append(known[was], id)
		}
	}
}

// updateReference gives a TrainJob the present name of its runtime if the TrainJob refers to a
// former name that no runtime has now. This is needed because kustomize changes a reference only
// after all functions have run.
func (known former) updateReference(j workspace.Job, in *workspace.Input) {
	if len(known) == 0 || in.SourceOf(j) != nil {
		return
	}
	if now := known[render.RuntimeOf(j.TrainJob)]; len(now) == 1 {
		j.Spec.RuntimeRef.Name = now[0].Name
	}
}

// formerOf returns the former names of the runtimes among the items.
func formerOf(in *workspace.Input, items map[*manifest.Document]*resourcelist.Item) former {
	known := former{}
	for d, item := range items {
		if id := in.ID(d); workspace.IsRuntime(id) {
			known.add(id, item)
		}
	}
	return known
}
