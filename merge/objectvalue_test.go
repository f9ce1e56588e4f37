package merge_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/merge"
)

// TestObject_GoNumbers checks that every number type of Go becomes an int64, or else a float64.
func TestObject_GoNumbers(t *testing.T) {
	base := merge.Object{"values": []any{
		1, int8(-2), int16(3), int32(4), int64(5), uint(6), uint8(7), uint16(8), uint32(9),
		uint64(math.MaxInt64), uint64(math.MaxUint64),
		float32(1.5), 2.5, json.Number("12"), json.Number("1.5"),
	}}
	want := []any{
		int64(1), int64(-2), int64(3), int64(4), int64(5), int64(6), int64(7), int64(8), int64(9),
		int64(math.MaxInt64), float64(math.MaxUint64),
		1.5, 2.5, int64(12), 1.5,
	}
	result, err := objectPlan(shapesSchema).Apply(&base, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, result.Value["values"]); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// TestObject_Errors holds the message for each value that a field cannot hold, in a patch and in
// the base.
func TestObject_Errors(t *testing.T) {
	list := func(items ...any) []any { return items }
	for _, tc := range []struct {
		object merge.Object
		want   string
	}{
		{merge.Object{"time": merge.Object{}}, `.time: must be a string, and is an object`},
		{merge.Object{"time": list()}, `.time: must be a string, and is a list`},
		{merge.Object{"on": "x"}, `.on: must be a boolean, and is a string`},
		{merge.Object{"values": list(math.NaN())}, `.values[0]: must be a number, and is NaN`},
		{merge.Object{"values": math.Inf(-1)}, `.values: must be a number, and is -Inf`},
		{merge.Object{"values": json.Number("1e999")}, `.values: must be a number, and is +Inf`},
		{merge.Object{"values": []string{}}, `.values: must be JSON, and is []string`},
		{merge.Object{"boxes": list("x")}, `.boxes[0]: must be an object, and is a string`},
		{merge.Object{"boxes": list(nil)}, `.boxes[0]: must be an object, and is null`},
		{merge.Object{"boxes": list(list())}, `.boxes[0]: must be an object, and is a list`},
		{merge.Object{"boxes": list(map[string]string{})},
			`.boxes[0]: must be an object, and is map[string]string`},
		{merge.Object{"boxes": list(merge.Object{})},
			`.boxes[0]: an item without its merge key cannot be merged; give it a "name"`},
		{merge.Object{"hosts": list(merge.Object{})},
			`.hosts[0]: an item without its merge key cannot be merged; give it a "name, zone"`},
		{merge.Object{"ports": list(merge.Object{"port": merge.Object{}})},
			`.ports[0].port: must be a scalar, as a merge key, and is an object`},
		{merge.Object{"ports": list(merge.Object{"port": list()})},
			`.ports[0].port: must be a scalar, as a merge key, and is a list`},
		{merge.Object{"ports": list(merge.Object{"port": []string{}})},
			`.ports[0].port: must be a scalar, as a merge key, and is []string`},
		{merge.Object{"ports": list(merge.Object{"port": math.NaN()})},
			`.ports[0].port: must be a number, and is NaN`},
		{merge.Object{"boxes": list(merge.Object{"name": true})},
			`.boxes[name=true].name: must be a string, and is a boolean`},
		{merge.Object{"tags": list(merge.Object{})},
			`.tags[0]: must be a scalar, as an element of a set, and is an object`},
		{merge.Object{"tags": list(list())},
			`.tags[0]: must be a scalar, as an element of a set, and is a list`},
		{merge.Object{"tags": list(nil)},
			`.tags[0]: must be a scalar, as an element of a set, and is null`},
		{merge.Object{"tags": list([]string{})},
			`.tags[0]: must be a scalar, as an element of a set, and is []string`},
		{merge.Object{"tags": list(1)}, `.tags[=1]: must be a string, and is a number`},
		{merge.Object{"numbers": list(math.NaN())}, `.numbers[0]: must be a number, and is NaN`},
	} {
		_, err := objectPlan(shapesSchema).Apply(&merge.Object{},
			[]merge.Patch{{Manager: "a", Value: &tc.object}})
		if want := "patch of manager/a: " + tc.want; err == nil || err.Error() != want {
			t.Errorf("Apply() of a patch %v: %v, want %s", tc.object, err, want)
		}
		_, err = objectPlan(shapesSchema).Apply(&tc.object, nil)
		if want := "base: " + tc.want; err == nil || err.Error() != want {
			t.Errorf("Apply() of a base %v: %v, want %s", tc.object, err, want)
		}
	}
}
