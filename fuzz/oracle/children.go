package oracle

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// Children are a JobSet as it is stored, and the objects that its controller creates.
type Children struct {
	JobSet Object `json:"jobSet"`
	// Created are the Jobs, the Service and the claims as they are sent, with their kinds, sorted
	// by name.
	Created []Object `json:"created,omitempty"`
}

// Children returns the JobSet with the defaults of its definition and of its mutating webhook. It
// also returns the objects that the release's JobSet controller creates for it.
func (o *Oracle) Children(object Object) (*Children, error) {
	if o.jobSet == nil {
		return nil, errNoJobSet
	}
	stored, err := o.DefaultJobSet(object)
	if err != nil {
		return nil, err
	}
	sent, err := o.jobSet.Create(o.scheme, stored)
	if err != nil {
		return nil, err
	}
	children := &Children{JobSet: stored}
	for _, created := range sent {
		asJSON := Object{}
		if err := Convert(created, &asJSON); err != nil {
			return nil, err
		}
		asJSON["kind"] = reflect.TypeOf(created).Elem().Name()
		children.Created = append(children.Created, asJSON)
	}
	slices.SortFunc(children.Created, func(a, b Object) int {
		return cmp.Compare(nameOf(a), nameOf(b))
	})
	return children, nil
}

func nameOf(o Object) string {
	metadata, _ := o["metadata"].(Object)
	return fmt.Sprint(o["kind"], " ", metadata["name"])
}

// DefaultJobSet returns a JobSet as the API server stores a new one. It sets the definition's
// defaults, then the defaults of the mutating webhook.
func (o *Oracle) DefaultJobSet(object Object) (Object, error) {
	defaulted, err := o.Default(object)
	if err != nil {
		return nil, err
	}
	return o.Mutate("/mutate"+hooksOf("JobSet"), defaulted)
}

// Mutate sends a new object to one of JobSet's mutating webhooks.
func (o *Oracle) Mutate(path string, object Object) (Object, error) {
	mutated, rejected, err := o.admit(o.jobSetHooks, path, object, nil)
	if rejected != "" {
		return nil, fmt.Errorf("refused: %s", rejected)
	}
	return mutated, err
}
