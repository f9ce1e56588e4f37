package merge

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/merge/tree"
)

// CopyPatch returns a copy of a patch that shares no memory with it. It returns nil for nil, and for a patch that contains itself.
func (p *Plan[T, P]) CopyPatch(patch *P) *P {
	if p == nil || p.plan == nil || patch == nil {
		return nil
	}
	copied := new(P)
	if p.plan.clone(reflect.ValueOf(copied).Elem(), reflect.ValueOf(patch).Elem()) != nil {
		return nil
	}
	return copied
}

// clone sets dst to a copy of src that shares no memory with it. Both have the same type. If src is nil, dst must be so already. It
// returns an error for a value that contains itself, or whose type cannot be copied.
func (p *plan) clone(dst, src reflect.Value) error {
	c := cloner{plan: p}
	c.copy(dst, src)
	return c.err
}

// cloner copies one value.
type cloner struct {
	*plan
	nesting tree.Nesting
	err     error
}

func (c *cloner) copy(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if src.IsNil() {
			return
		}
		if c.nesting.Enter(src) {
			c.err = errCycle
			return
		}
		c.reference(dst, src)
		c.nesting.Leave(src)
	case reflect.Interface:
		if src.IsNil() {
			return
		}
		copied := reflect.New(src.Elem().Type()).Elem()
		c.copy(copied, src.Elem())
		dst.Set(copied)
	case reflect.Array:
		for i := range src.Len() {
			c.copy(dst.Index(i), src.Index(i))
		}
	case reflect.Struct:
		c.object(dst, src)
	default:
		dst.Set(src)
	}
}

// reference copies a pointer with its value, or a list or a map with its items.
func (c *cloner) reference(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Pointer:
		copied := reflect.New(src.Type().Elem())
		c.copy(copied.Elem(), src.Elem())
		dst.Set(copied)
	case reflect.Slice:
		makeList(dst, src.Len())
		if !c.isDeep(src.Type().Elem()) {
			reflect.Copy(dst, src)
			return
		}
		for i := range src.Len() {
			c.copy(dst.Index(i), src.Index(i))
		}
	case reflect.Map:
		m := reflect.MakeMapWithSize(src.Type(), src.Len())
		for entries := src.MapRange(); entries.Next(); {
			value := reflect.New(src.Type().Elem()).Elem()
			c.copy(value, entries.Value())
			m.SetMapIndex(entries.Key(), value)
		}
		dst.Set(m)
	}
}

// object copies a struct.
func (c *cloner) object(dst, src reflect.Value) {
	s, isKnown := c.shapes[src.Type()]
	switch {
	case !isKnown: // the value of an interface
		known := c.plan
		c.plan = &plan{shapes: map[reflect.Type]cloneShape{}}
		c.shapeOf(src.Type())
		if c.err = c.problem; c.err == nil {
			c.object(dst, src)
		}
		c.plan = known
	case s.sharesUnexported || !dst.CanSet(): // not settable: an embedded struct that is not exported
		for i := range src.NumField() {
			if f := src.Type().Field(i); f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct {
				c.copy(dst.Field(i), src.Field(i))
			}
		}
	case s.json:
		cloneByJSON(dst, src)
	default:
		dst.Set(src)
		for _, i := range s.deep {
			c.copy(dst.Field(i), src.Field(i))
		}
	}
}

// makeList sets an addressable list to n empty items in new memory.
func makeList(dst reflect.Value, n int) {
	if n == 0 {
		dst.Set(reflect.MakeSlice(dst.Type(), 0, 0)) // not nil
		return
	}
	dst.SetZero()
	dst.Grow(n)
	dst.SetLen(n)
}

// cloneByJSON copies a value whose fields do not hold the whole value.
func cloneByJSON(dst, src reflect.Value) {
	if q, ok := src.Interface().(resource.Quantity); ok {
		dst.Set(reflect.ValueOf(q.DeepCopy()))
		return
	}
	dst.Set(src) // the result if the value has no JSON
	copied := reflect.New(dst.Type()).Elem()
	if decode(copied, src.Interface()) == nil {
		dst.Set(copied)
	}
}
