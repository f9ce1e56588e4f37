package merge

import (
	"fmt"
	"reflect"
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
	}
	containerItems = itemKind[corev1.Container, trainer.ContainerPatch]{
		key:      func(c *corev1.Container) *string { return &c.Name },
		patchKey: func(c *trainer.ContainerPatch) *string { return &c.Name },
	}
	volumeItems    = sameKind(func(v *corev1.Volume) *string { return &v.Name }, copyVolume)
	variableItems  = sameKind(func(e *corev1.EnvVar) *string { return &e.Name }, copyVariable)
	mountItems     = sameKind(func(m *corev1.VolumeMount) *string { return &m.MountPath }, copyMount)
	referenceItems = sameKind(func(r *corev1.LocalObjectReference) *string { return &r.Name }, assign)
	gateItems      = sameKind(func(g *corev1.PodSchedulingGate) *string { return &g.Name }, assign)
	ownerItems     = sameKind(func(o *metav1.OwnerReference) *string { return (*string)(&o.UID) }, nil)
)

// sameKind is the kind of items that have one Go type in the template and in patches.
func sameKind[T any](key func(*T) *string, whole func(*T, *T) bool) itemKind[T, T] {
	return itemKind[T, T]{key, key, whole}
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
	l, err := open(m, t, dst, kind.key, at)
	if err != nil {
		return err
	}
	had, first := len(l.entries), len(m.targets)
	// Which entries the patch names, new ones for keys that the list lacks: in m.targets for each item,
	// in m.named each once.
	m.visits++
	m.named = m.named[:0]
	for i := range src {
		name := *kind.patchKey(&src[i])
		if !isKey(*t.KeyField().Patch, name) {
			return errNoKey(i, t.Key)
		}
		target := l.find(name)
		if target < 0 {
			m.reserve(&l.arrangement)
			target = l.add(name)
		}
		m.targets = append(m.targets, int32(target))
		if l.entries[target].named != m.visits {
			l.entries[target].named = m.visits
			m.named = append(m.named, int32(target))
		}
	}
	l.arrange(m.named, had, m.left)
	next := had
	for i := range src {
		target := int(m.targets[first+i])
		isNew := target == next // the first item of a new key; a twin of it is laid over it
		if isNew {
			next++
		}
		if err := mergeItem(m, kind, t, l, target, &src[i], isNew); err != nil {
			return within(schema.Item(t.Key, l.entries[target].key), err)
		}
	}
	m.targets = m.targets[:first]
	return nil
}

// mergeItem merges one item of a patch into its place in the list.
func mergeItem[T, P any](m *merger, kind *itemKind[T, P], t *schema.Type, l *openList[T], target int, from *P, isNew bool) error {
	item, e := l.item(target), &l.entries[target]
	if isNew {
		verbatim, fresh, copied := m.verbatim, m.fresh, m.copied
		defer func() { m.verbatim, m.fresh, m.copied = verbatim, fresh, copied }()
		m.verbatim, m.fresh = true, true
		if m.copied = kind.whole != nil && !m.byField && kind.whole(item, from); m.copied && !m.owners {
			return nil
		}
		*kind.key(item) = e.key
	}
	if e.node == noNode {
		if isNew && l.alone {
			e.node = m.log.grow(l.at, nil, e.key)
		} else {
			e.node = m.log.child(l.at, nil, e.key)
		}
	}
	if isNew {
		m.make(e.node)
	}
	m.presence(e.node, !isNew)
	return m.fields(t, item, from, e.node)
}

// takeList sets a list that the template lacks: the patch's items as they stand, also when two of
// them share a key or one has none.
func takeList[T, P any](m *merger, kind *itemKind[T, P], t *schema.Type, dst *[]T, src []P, at node) error {
	fresh, copied := m.fresh, m.copied
	m.fresh = true
	defer func() { m.fresh, m.copied = fresh, copied }()
	list := make([]T, len(src))
	*dst = list
	for i := range src {
		from, item, name := &src[i], &list[i], *kind.patchKey(&src[i])
		if !isKey(*t.KeyField().Patch, name) {
			m.raw = append(m.raw, reflect.ValueOf(list).Pointer())
		}
		if m.copied = kind.whole != nil && !m.byField && kind.whole(item, from); m.copied && !m.owners {
			continue
		}
		*kind.key(item) = name
		child := m.log.child(at, nil, name)
		m.make(child)
		m.presence(child, false)
		if err := m.fields(t, item, from, child); err != nil {
			return within(schema.Item(t.Key, name), err)
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
