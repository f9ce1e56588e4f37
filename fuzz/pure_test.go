package fuzz_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// inputsAreLeftAlone: Apply and Find change nothing, also when two goroutines share the inputs, and
// the result shares no memory with them. The race detector watches this one.
func inputsAreLeftAlone(c *fuzz.Case) string {
	kept := c.Clone()
	var results [2]*runtimepatch.Result
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
			if err != nil {
				return
			}
			if i == 0 {
				conflict.Find(result.History)
				for range result.History.All() {
				}
				runtimepatch.ManagedFields(result.History)
			}
			results[i] = result
		})
	}
	group.Wait()
	if !unchanged(c, kept) {
		return "Apply changed its inputs"
	}
	if results[0] == nil || results[1] == nil {
		return ""
	}
	before, owners := encode(&results[1].Template), ownersText(results[0])
	scribble(reflect.ValueOf(c.Template).Elem())
	scribble(reflect.ValueOf(&c.Patches).Elem())
	*c = *kept.Clone() // for the report
	if string(encode(&results[1].Template)) != string(before) {
		return "a change of the inputs after Apply changed the result's template"
	}
	if ownersText(results[0]) != owners {
		return "a change of the inputs after Apply changed the result's claims"
	}
	result, err := runtimepatch.Apply(c.Template, c.Patches, runtimepatch.Options{})
	if err != nil {
		return fmt.Sprintf("Apply took it, and refuses it now: %v", err)
	}
	scribble(reflect.ValueOf(&result.Template).Elem())
	if !unchanged(c, kept) {
		return "a change of the result changed the inputs"
	}
	return ""
}

func unchanged(c, kept *fuzz.Case) bool {
	return reflect.DeepEqual(c.Template, kept.Template) &&
		reflect.DeepEqual(c.Patches, kept.Patches)
}

func ownersText(r *runtimepatch.Result) string {
	var text strings.Builder
	for path, claims := range r.History.All() {
		text.WriteString(path.String())
		for _, claim := range claims {
			fmt.Fprintf(&text, " %s=", claim.Owner)
			text.Write(encode(claim.Value))
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// scribble changes everything that can be reached through v, in place.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
		// Values behind the end of a list are shared as well, if anything is.
		for spare := v.Slice(0, v.Cap()); spare.Len() > v.Len(); spare = spare.Slice(
			0, spare.Len()-1) {
			spare.Index(spare.Len() - 1).SetZero()
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			scribble(value)
			v.SetMapIndex(key, value)
		}
		if v.Len() > 0 {
			key := reflect.New(v.Type().Key()).Elem()
			key.SetString("scribbled")
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	case reflect.Struct:
		switch p := v.Addr().Interface().(type) {
		case *resource.Quantity:
			p.Add(resource.MustParse("7"))
			return
		case *metav1.Time:
			p.Time = p.AddDate(1, 0, 0)
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				scribble(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString(v.String() + "~")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8:
		v.SetUint(v.Uint() ^ 1)
	}
}
