package merge

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges patches into an object of a definition one after the other, and applies the
// policies that decide.

// mergeObjects merges patches into an object of a definition, and returns the history of the result
// with its notes.
func (p *plan) mergeObjects(base Object, patches []layered, o *options) (*History, []Note, error) {
	m := objects{removes: p.removes, follows: o.keepsOrder}
	var owners []Owner
	given := base
	trees := make([]Object, len(patches))
	if o.live {
		var err error
		if m.live, base, err = liveOf(base); err != nil {
			return nil, nil, failed(o.base, -1, err)
		}
		owners = m.live.layers
	}
	order := mergeOrder(patches, o)
	m.log = logOf(p.root, patches, o, owners...)
	m.log.live = m.live != nil
	m.log.again = &again{p, given, patches, trees, m.log.ids, o}
	m.log.reordered = !slices.IsSorted(order)
	live, before := Object{}, Object{}
	if base != nil {
		m.allowDuplicates = true
		copied, err := m.copy(p.root, base)
		if err != nil {
			return nil, nil, failed(o.base, -1, err)
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
			return nil, nil, failed(o.base, -1, err)
		}
	}
	was := identityOf(live)
	for _, i := range order {
		m.layer = m.log.ids[i]
		var err error
		if operations, isUpdate := patches[i].Value.(JSONPatch); isUpdate {
			if o.decides() {
				err = errors.New("a JSON patch permits no option but KeepOrder")
			} else {
				live, err = m.operations(p.root, live, operations)
			}
		} else {
			var patch Object
			patch, err = objectOf(patches[i].Value)
			if trees[i] = patch; patch != nil && m.live != nil {
				err = m.apply(p.root, live, patch)
			} else if patch != nil {
				err = m.patch(p.root, live, patch)
			}
		}
		if err == nil {
			err = was.keptBy(live)
		}
		if err != nil {
			return nil, nil, failed(patches[i].Owner, i, err)
		}
	}
	live, notes, err := m.log.restore(o, live, before)
	if err != nil {
		return nil, nil, err
	}
	owned := &History{log: m.log, value: live}
	if err := m.refuseNulls(base, owned, patches); err != nil {
		return nil, nil, err
	}
	if m.live != nil {
		version, _ := live["apiVersion"].(string)
		if version == "" {
			return nil, nil,
				failed(o.base, -1,
					inside(fieldpath.Field("apiVersion"),
						errors.New("required in an object with owners")))
		}
		entries, err := m.managedFields(owned, patches, version)
		if err != nil {
			return nil, nil, err
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
	return owned, append(notes, m.log.decisions...), nil
}

// objectOf returns the JSON of a patch, nil for one that sets nothing.
func objectOf(patch any) (Object, error) {
	object, ok := patch.(Object)
	if ok || patch == nil {
		return object, nil
	}
	if structOf(patch) == nil {
		return nil, fmt.Errorf("is %T, and must be an object, a struct or a JSONPatch", patch)
	}
	made, err := encoded(addressed(patch))
	if object, ok = made.(Object); err == nil && !ok {
		err = wrongType(made, "an object")
	}
	return object, err
}

// apply merges a manager's patch, which replaces its earlier one.
func (m *objects) apply(t *schema.Type, live, patch Object) error {
	if metadata, _ := patch["metadata"].(Object); metadata["managedFields"] != nil {
		return &PatchError{Path: fieldpath.Fields("managedFields", "metadata"), Err: errManaged}
	}
	if layer := m.layer; !m.live.owned {
		m.layer, m.live.owned = baseLayer, true
		m.update(t, missing{}, live, m.log.top, false)
		m.layer = layer
	}
	last := m.lastOf()
	m.live.applies, m.live.before = true, m.log.claims
	err := m.patch(t, live, patch)
	if m.live.applies = false; err != nil {
		return err
	}
	m.replaceLast(t, live, last)
	return nil
}
