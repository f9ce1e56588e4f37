package merge

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/schema"
)

// Lists are what patches are mostly about, so they are merged as the Go types that they are: the schema
// says how, and the kinds below say of what.

// itemKind is what the merge has to know of the Go types of a list's items, in the template and in
// patches, besides the schema.
type itemKind[T, P any] struct {
	key      func(*T) *string
	patchKey func(*P) *string
	// whole sets an empty item to a copy of the patch's, where a plain copy is what merging it field
	// by field gives, and reports whether it did; nil where it never is.
	whole func(*T, *P) bool
	// fronts are those of the lists of such items.
	fronts func(*frontsByKind) *fronts[T]
}

// frontsByKind are what the merge knows of the lists that patches reach.
type frontsByKind struct {
	jobs       fronts[jobset.ReplicatedJob]
	containers fronts[corev1.Container]
	volumes    fronts[corev1.Volume]
	variables  fronts[corev1.EnvVar]
	mounts     fronts[corev1.VolumeMount]
	references fronts[corev1.LocalObjectReference]
	gates      fronts[corev1.PodSchedulingGate]
	owners     fronts[metav1.OwnerReference]
}

// listMap merges the lists that patches and the template can hold. A test finds them all here.
func (m *merger) listMap(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	switch from := src.Addr().Interface().(type) {
	case *[]trainer.ReplicatedJobPatch:
		return mergeList(m, &jobItems, t, dst.Addr().Interface().(*[]jobset.ReplicatedJob), present, *from, at)
	case *[]trainer.ContainerPatch:
		return mergeList(m, &containerItems, t, dst.Addr().Interface().(*[]corev1.Container), present, *from, at)
	case *[]corev1.Volume:
		return mergeList(m, &volumeItems, t, dst.Addr().Interface().(*[]corev1.Volume), present, *from, at)
	case *[]corev1.EnvVar:
		return mergeList(m, &variableItems, t, dst.Addr().Interface().(*[]corev1.EnvVar), present, *from, at)
	case *[]corev1.VolumeMount:
		return mergeList(m, &mountItems, t, dst.Addr().Interface().(*[]corev1.VolumeMount), present, *from, at)
	case *[]corev1.LocalObjectReference:
		return mergeList(m, &referenceItems, t, dst.Addr().Interface().(*[]corev1.LocalObjectReference), present, *from, at)
	case *[]corev1.PodSchedulingGate:
		return mergeList(m, &gateItems, t, dst.Addr().Interface().(*[]corev1.PodSchedulingGate), present, *from, at)
	case *[]metav1.OwnerReference:
		return mergeList(m, &ownerItems, t, dst.Addr().Interface().(*[]metav1.OwnerReference), present, *from, at)
	default:
		panic(fmt.Sprintf("merge: a list-map of %T is new to it", from))
	}
}

var (
	jobItems = itemKind[jobset.ReplicatedJob, trainer.ReplicatedJobPatch]{
		key:      func(j *jobset.ReplicatedJob) *string { return &j.Name },
		patchKey: func(j *trainer.ReplicatedJobPatch) *string { return &j.Name },
		fronts:   func(f *frontsByKind) *fronts[jobset.ReplicatedJob] { return &f.jobs },
	}
	containerItems = itemKind[corev1.Container, trainer.ContainerPatch]{
		key:      func(c *corev1.Container) *string { return &c.Name },
		patchKey: func(c *trainer.ContainerPatch) *string { return &c.Name },
		fronts:   func(f *frontsByKind) *fronts[corev1.Container] { return &f.containers },
	}
	volumeItems = sameKind(func(v *corev1.Volume) *string { return &v.Name }, copyVolume,
		func(f *frontsByKind) *fronts[corev1.Volume] { return &f.volumes })
	variableItems = sameKind(func(e *corev1.EnvVar) *string { return &e.Name }, copyVariable,
		func(f *frontsByKind) *fronts[corev1.EnvVar] { return &f.variables })
	mountItems = sameKind(func(m *corev1.VolumeMount) *string { return &m.MountPath }, copyMount,
		func(f *frontsByKind) *fronts[corev1.VolumeMount] { return &f.mounts })
	referenceItems = sameKind(func(r *corev1.LocalObjectReference) *string { return &r.Name }, assign,
		func(f *frontsByKind) *fronts[corev1.LocalObjectReference] { return &f.references })
	gateItems = sameKind(func(g *corev1.PodSchedulingGate) *string { return &g.Name }, assign,
		func(f *frontsByKind) *fronts[corev1.PodSchedulingGate] { return &f.gates })
	ownerItems = sameKind(func(o *metav1.OwnerReference) *string { return (*string)(&o.UID) }, nil,
		func(f *frontsByKind) *fronts[metav1.OwnerReference] { return &f.owners })
)

// sameKind is the kind of items that have one Go type in the template and in patches.
func sameKind[T any](key func(*T) *string, whole func(*T, *T) bool, fronts func(*frontsByKind) *fronts[T]) itemKind[T, T] {
	return itemKind[T, T]{key: key, patchKey: key, whole: whole, fronts: fronts}
}

// mergeList merges a list item by item, by merge key, and orders the result as upstream does
// (apimachinery v0.36.3 pkg/util/strategicpatch, mergeSlice and normalizeElementOrder). A list that
// the template's encoding lacks is taken from the patch as it stands.
func mergeList[T, P any](m *merger, kind *itemKind[T, P], t *schema.Type, dst *[]T, present bool, src []P, at node) error {
	if !present || *dst == nil {
		return takeList(m, kind, t, dst, src, at)
	}
	if len(m.raw) > 0 && m.isRaw(reflect.ValueOf(*dst)) {
		return errNoKey(0, t.Key)
	}
	f, twins, err := frontOf(kind, t, kind.fronts(&m.fronts), *dst)
	if err != nil {
		return err
	}
	first := len(m.targets)
	added, inOrder, err := findTargets(m, kind, t, f, *dst, src)
	if err != nil {
		return err
	}
	if twins || !inOrder {
		f.reorder(dst, m.targets[first:], kind.key, twins)
	} else {
		f.prepend(dst, m.targets[first:], added, m.left)
	}
	for i := range src {
		target := m.targets[first+i]
		isNew := target < 0
		if isNew {
			target = ^target
		}
		if err := mergeItem(m, kind, t, &(*dst)[target], at, &src[i], isNew); err != nil {
			return within(schema.Item(t.Key, *kind.patchKey(&src[i])), err)
		}
	}
	m.targets = m.targets[:first]
	return nil
}

// findTargets finds the item that each of the patch's goes to, and pushes it to m.targets: its position
// in the list, or one from the list's length on for an item that is new there, complemented where the
// patch names that for the first time. It returns how many are new, and whether the order of the list
// is the merged one, with the new ones in front.
func findTargets[T, P any](m *merger, kind *itemKind[T, P], t *schema.Type, f *front[T], list []T, src []P) (added int, inOrder bool, err error) {
	if f.index == nil && len(list)+len(src) > smallList {
		f.makeIndex(kind.key, list, len(src))
	}
	first, last := len(m.targets), -1
	inOrder = true
	for i := range src {
		name := *kind.patchKey(&src[i])
		if !isKey(*t.KeyField().Patch, name) {
			return 0, false, errNoKey(i, t.Key)
		}
		named := m.targets[first:]
		target := f.find(kind.key, list, name)
		if target < 0 && f.index == nil {
			if twin := position(kind.patchKey, src[:i], name); twin >= 0 {
				target = int(max(named[twin], ^named[twin]))
			}
		}
		switch {
		case target < 0:
			target = ^(len(list) + added)
			if f.index != nil {
				f.index[name] = int32(-added) // until all are known
			}
			added++
			inOrder = inOrder && last < 0
		case target >= len(list):
		case target > last:
			last = target
		case target < last:
			inOrder = inOrder && slices.Contains(named, int32(target))
		}
		m.targets = append(m.targets, int32(target))
	}
	if f.index != nil && added > 0 {
		for i, target := range m.targets[first:] {
			if target < 0 {
				f.index[*kind.patchKey(&src[i])] = int32(len(list)+added) - (^target - int32(len(list)))
			}
		}
	}
	return added, inOrder, nil
}

// position returns the position of the first item that has a key, -1 where none has.
func position[T any](key func(*T) *string, list []T, name string) int {
	for i := range list {
		if *key(&list[i]) == name {
			return i
		}
	}
	return -1
}

// mergeItem merges one item of a patch into its place in the list at a node.
func mergeItem[T, P any](m *merger, kind *itemKind[T, P], t *schema.Type, item *T, list node, from *P, isNew bool) error {
	name := *kind.patchKey(from)
	if !isNew {
		at := m.keyed(list, name)
		if at != noNode && m.log.nodes[at].whole {
			if err := m.split(t, item, at); err != nil {
				return err
			}
		}
		m.presence(at, true)
		return m.fields(t, item, from, at)
	}
	verbatim, fresh := m.verbatim, m.fresh
	m.verbatim, m.fresh = true, true
	err := newItem(m, kind, t, item, list, from, !m.unseen) // what is not in the list was never claimed
	m.verbatim, m.fresh = verbatim, fresh
	return err
}

// newItem merges one item of a patch into an empty one. unknown says that the log has not met its key.
func newItem[T, P any](m *merger, kind *itemKind[T, P], t *schema.Type, item *T, list node, from *P, unknown bool) error {
	name := *kind.patchKey(from)
	whole := kind.whole != nil && kind.whole(item, from)
	if whole && m.byField {
		*item = *new(T)
	}
	at := noNode
	if unknown && m.owners {
		at = m.log.grow(list, nil, name)
	} else {
		at = m.keyed(list, name)
		m.unseen = m.unseen || m.owners && !m.untouched(at)
	}
	m.make(at)
	m.presence(at, false)
	if !whole {
		*kind.key(item) = name
		return m.fields(t, item, from, at)
	}
	if m.byField {
		*kind.key(item) = name
		owners := m.owners
		m.owners = false
		err := m.fields(t, item, from, noNode)
		if m.owners = owners; err != nil {
			return err
		}
	}
	if !m.owners {
		return nil
	}
	n := &m.log.nodes[at]
	if n.first == n.last {
		n.whole = true
	} else if !n.whole || m.log.keeper(at) != m.layer { // else it is a twin in a list that is taken as it stands
		n.whole = false
		return m.claimItem(t, item, at, m.layer)
	}
	return nil
}

// split gives the fields of an item that a patch added nodes and claims of their own, since another patch
// is about to touch it.
func (m *merger) split(t *schema.Type, item any, at node) error {
	layer := m.log.keeper(at)
	m.log.nodes[at].whole = false
	return m.claimItem(t, item, at, layer)
}

// claimItem claims every field of an item as it stands.
func (m *merger) claimItem(t *schema.Type, item any, at node, layer int32) error {
	before, fresh, copied := m.layer, m.fresh, m.copied
	m.layer, m.fresh, m.copied = layer, true, true
	err := m.fields(t, item, item, at)
	m.layer, m.fresh, m.copied = before, fresh, copied
	return err
}

// takeList sets a list that the template lacks: the patch's items as they stand, also when two of
// them share a key or one has none.
func takeList[T, P any](m *merger, kind *itemKind[T, P], t *schema.Type, dst *[]T, src []P, at node) error {
	fresh := m.fresh
	m.fresh = true
	defer func() { m.fresh = fresh }()
	list := make([]T, len(src))
	*dst = list
	for i := range src {
		if name := *kind.patchKey(&src[i]); !isKey(*t.KeyField().Patch, name) {
			m.raw = append(m.raw, reflect.ValueOf(list).Pointer())
		}
		if err := newItem(m, kind, t, &list[i], at, &src[i], false); err != nil {
			return within(schema.Item(t.Key, *kind.patchKey(&src[i])), err)
		}
	}
	return nil
}

// isKey reports whether an item's encoding holds a merge key.
func isKey(slot schema.Slot, key string) bool { return key != "" || !slot.OmitEmpty }

// errNoKey is upstream's refusal to merge a list with an item that lacks its merge key. It comes
// only where the template has the list, since a list that it lacks is taken as it stands.
func errNoKey(index int, key string) error {
	return within(schema.Index(index), fmt.Errorf("an item without its merge key cannot be merged; give it a %s", strconv.Quote(key)))
}
