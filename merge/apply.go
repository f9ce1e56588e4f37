package merge

import (
	"errors"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges patches into an object of a definition one after the other, and applies the policies that decide.

// applyObjects implements ApplyInto for a plan of objects.
func (p *plan) applyObjects(dst, base *Object, patches []Patch[Object], o Options) (*log, *History, []Ignored, error) {
	m := objects{owners: o.Owners || o.Managed || o.decides(), at: noNode, removes: p.removes, follows: o.Order == BaseOrder}
	var owners []Owner
	if o.Managed {
		var from Object
		if base != nil {
			from = *base
		}
		var err error
		if m.live, from, err = liveOf(from); err != nil {
			return nil, nil, nil, failed(baseLayerOf(o), -1, err)
		}
		base, owners = &from, m.live.layers
	}
	order := mergeOrder(patches, o)
	if m.owners {
		m.log = logOf(p.root, patches, o, owners...)
		m.log.live = m.live != nil
		m.log.reordered = !slices.IsSorted(order)
		m.at = rootNode
	}
	live, before := Object{}, Object{}
	if base != nil && *base != nil {
		m.allowDuplicates = true
		copied, err := m.copy(p.root, *base)
		if err != nil {
			return nil, nil, nil, failed(baseLayerOf(o), -1, err)
		}
		live = copied.(map[string]any)
		if o.restores() {
			copied, _ = m.copy(p.root, live)
			before = copied.(map[string]any)
		}
		m.allowDuplicates = false
	}
	if m.live != nil {
		if err := m.claimOwners(p.root, live); err != nil {
			return nil, nil, nil, failed(baseLayerOf(o), -1, err)
		}
	}
	was := identityOf(live)
	for _, i := range order {
		if m.owners {
			m.layer = m.log.ids[i]
		}
		var err error
		switch patch := patches[i]; {
		case patch.JSON != nil && o.decides():
			err = errors.New("a JSON patch permits no policy but Order")
		case patch.JSON != nil:
			live, err = m.operations(p.root, live, patch.JSON)
		case patch.Value != nil && *patch.Value != nil && m.live != nil:
			err = m.apply(p.root, live, *patch.Value)
		case patch.Value != nil && *patch.Value != nil:
			err = m.patch(p.root, live, *patch.Value)
		}
		if err != nil {
			return nil, nil, nil, failed(patches[i].Owner, i, err)
		}
		if path := was.taken(identityOf(live)); path != nil {
			return nil, nil, nil, &PatchError{Owner: patches[i].Owner, Index: i, Path: path, Err: errTaken}
		}
	}
	*dst = live
	if !m.owners && m.hasNulls { // claims name the patch that leaves a null
		o.Owners = true
		return p.applyObjects(dst, base, patches, o)
	}
	if !m.owners {
		return nil, nil, nil, nil
	}
	if o.precedes() {
		m.log.precedence(o.precedence())
	}
	live, ignored, err := m.log.restore(o, live, before)
	if err != nil {
		return nil, nil, nil, err
	}
	*dst = live
	owned := &History{log: m.log, value: live}
	if err := m.refuseNulls(base, owned, patches); err != nil {
		return nil, nil, nil, err
	}
	if m.live != nil {
		version, _ := live["apiVersion"].(string)
		if version == "" {
			return nil, nil, nil, failed(baseLayerOf(o), -1, inside(fieldpath.Field("apiVersion"), errors.New("required in an object with owners")))
		}
		entries, err := m.managedFields(owned, patches, version)
		if err != nil {
			return nil, nil, nil, err
		}
		metadata, _ := live["metadata"].(Object)
		if metadata == nil {
			metadata = Object{}
		}
		if metadata["managedFields"] = any(entries); len(entries) == 0 {
			delete(metadata, "managedFields")
		}
		live["metadata"] = metadata
	}
	return m.log, owned, ignored, err
}

// apply merges a manager's patch, which replaces its earlier one.
func (m *objects) apply(t *schema.Type, live, patch Object) error {
	if metadata, _ := patch["metadata"].(Object); metadata["managedFields"] != nil {
		return &PatchError{Path: fieldpath.Fields("managedFields", "metadata"), Err: errManaged}
	}
	if layer := m.layer; !m.live.owned {
		m.layer, m.live.owned = baseLayer, true
		m.update(t, nil, false, live, true, m.at, false)
		m.layer = layer
	}
	last := m.lastOf()
	m.live.applies, m.live.before = true, int32(len(m.log.claims))
	err := m.patch(t, live, patch)
	if m.live.applies = false; err != nil {
		return err
	}
	m.replaceLast(t, live, last)
	return nil
}
