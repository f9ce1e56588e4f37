package schema

import "reflect"

// TypeOf compiles the merge schema of any API type from its struct tags, by the rules by which that of
// JobSetTemplate is: for those who compare or merge whole objects, such as Jobs and Pods. None of its
// fields is patchable. A pointer stands for what it points to. A type may contain itself; its Type then does so as
// well. The Type of a nil type is nil. It compiles anew on every call: keep the result.
func TypeOf(t reflect.Type) *Type {
	compiled, _ := Compile(t, nil, Rules{}) // fails for rules only
	return compiled
}
