package schema

import "reflect"

// TypeOf compiles the merge schema of any API type from its struct tags, by the rules of JobSetTemplate. It serves comparisons
// and merges of whole objects, such as Jobs and Pods. None of its fields is patchable. A pointer stands for its target. A type
// may contain itself, as does then its Type. The Type of a nil type is nil. Every call compiles again: keep the result.
func TypeOf(t reflect.Type) *Type {
	compiled, _ := Compile(t, nil, Rules{}) // only rules can fail
	return compiled
}
