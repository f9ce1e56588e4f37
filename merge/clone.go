package merge

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/merge/tree"
)

// cloneShape describes how to copy a struct type.
type cloneShape struct {
	deep []int // the fields that share memory on assignment
	json bool  // whether to copy through JSON, because the fields do not hold the whole value
	// sharesUnexported is set if an unexported field shares memory. Only the fields in JSON are copied then, as upstream copies a value.
	sharesUnexported bool
}

// isDeep reports whether values of the type share memory on assignment.
func (s cloneShape) isDeep() bool { return s.json || s.sharesUnexported || len(s.deep) > 0 }

// shapeOf reports whether values of the type share memory on assignment. It records every struct type that it visits, and a problem
// that makes a copy impossible.
func (p *plan) shapeOf(t reflect.Type) (deep bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		p.shapeOf(t.Elem())
		return true
	case reflect.Array:
		return p.shapeOf(t.Elem())
	case reflect.Interface:
		return true
	case reflect.Struct:
		if s, ok := p.shapes[t]; ok {
			return s.isDeep()
		}
		var s cloneShape
		switch {
		case t == reflect.TypeFor[time.Time](): // nothing writes to its location
		case hidesFields(t):
			s.json = true
		default:
			p.shapes[t] = cloneShape{deep: []int{0}} // a placeholder, for a type that contains itself
			for i := range t.NumField() {
				f := t.Field(i)
				if isFixed(f) {
					p.problem = fmt.Errorf("%s embeds %s, which is not exported, so that no patch can set it: export it", t, f.Type)
				}
				if p.shapeOf(f.Type) {
					s.deep = append(s.deep, i)
					s.sharesUnexported = s.sharesUnexported || !f.IsExported()
				}
			}
		}
		p.shapes[t] = s
		return s.isDeep()
	}
	return false
}

// isFixed reports whether JSON has the value of a field that Go code cannot set. Such a field embeds a struct of an unexported type, with
// a name or by a pointer.
func isFixed(f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	isPointer := f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct
	return f.Anonymous && !f.IsExported() && name != "-" && (isPointer || name != "" && f.Type.Kind() == reflect.Struct)
}

// hidesFields reports whether a struct with its own JSON encoder holds memory that only the encoder can copy.
func hidesFields(t reflect.Type) bool {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return false
	}
	for i := range t.NumField() {
		switch f := t.Field(i); f.Type.Kind() {
		case reflect.Interface:
			return true
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
			if !f.IsExported() {
				return true
			}
		}
	}
	return false
}

// isDeep reports whether values of the type share memory on assignment.
func (p *plan) isDeep(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	case reflect.Array:
		return p.isDeep(t.Elem())
	case reflect.Struct:
		s, isKnown := p.shapes[t]
		return s.isDeep() || !isKnown
	default:
		return false
	}
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
