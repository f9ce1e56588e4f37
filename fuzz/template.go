package fuzz

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Expand draws a value of a template. A template is a value with choices in it:
//
//	{$any: [a, b, $none]}      one of the values; $none leaves the field or the item out
//	{$maybe: [4, x]}           x once in four times, and none otherwise
//	{$times: [0, 2], of: x}    a list, or a part of one, of so many values of x
//	{$long: [a, 64, /b]}       a text repeated, and what follows it or nothing
//
// All other values stand for themselves.
func Expand(r *rand.Rand, template any) any {
	switch t := template.(type) {
	case object:
		if all, ok := t["$any"].([]any); ok {
			return Expand(r, pickOf(r, all...))
		}
		if maybe, ok := t["$maybe"].([]any); ok {
			if r.Int64N(maybe[0].(int64)) > 0 {
				return none
			}
			return Expand(r, maybe[1])
		}
		if long, ok := t["$long"].([]any); ok {
			return strings.Repeat(long[0].(string), int(long[1].(int64))) +
				fmt.Sprint(append(long, "")[2])
		}
		if counts, ok := t["$times"].([]any); ok {
			list := []any{}
			for range pickOf(r, counts...).(int64) {
				list = append(list, Expand(r, t["of"]))
			}
			return list
		}
		out := object{}
		for _, name := range slices.Sorted(maps.Keys(t)) {
			if v := Expand(r, t[name]); v != none {
				out[name] = v
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range t {
			v := Expand(r, item)
			if fields, ok := item.(object); ok && fields["$times"] != nil {
				out = append(out, v.([]any)...)
			} else if v != none {
				out = append(out, v)
			}
		}
		return out
	}
	return template
}

// none is the choice of no value.
const none = "$none"

// Overlay sets the fields of an expanded template in an object, and makes the objects around them.
// A null takes a field out. {$new: x} replaces a field that is an object. It reports whether each
// field has a place.
func Overlay(o, fields map[string]any) bool {
	placed := true
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		next, isObject := fields[name].(object)
		made, isNew := next["$new"]
		switch {
		case fields[name] == nil:
			delete(o, name)
		case isNew:
			o[name] = made
		case !isObject:
			o[name] = fields[name]
		case o[name] == nil:
			o[name] = object{}
			fallthrough
		default:
			within, ok := o[name].(object)
			placed = placed && ok && Overlay(within, next)
		}
	}
	return placed
}
