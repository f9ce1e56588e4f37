package fuzz

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// change sets the field to a value at or beyond its bounds, a null, an empty form, or another type.
func (g *generator) change(d *Documents, n *node) {
	places := g.places(d, n, true)
	if len(places) == 0 {
		return
	}
	at := pickOf(g.rng, places...)
	value, drop := g.odd(n, at)
	if drop {
		delete(at, n.name)
		d.Changes = append(d.Changes, n.path+" removed")
		return
	}
	at[n.name] = value
	text := fmt.Sprintf("%v", value)
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	d.Changes = append(d.Changes, fmt.Sprintf("%s = %s", n.path, text))
}

// odd makes a value that the field may reject.
func (g *generator) odd(n *node, at object) (value any, drop bool) {
	was, there := at[n.name]
	if !there || g.chance(0.15) {
		was = g.value(n)
	}
	switch g.rng.IntN(8) {
	case 0:
		return nil, false
	case 1:
		if there && n.rejected == "" {
			return nil, true
		}
		return was, false
	case 2:
		return was, false // a field that a valid case may lack for a good reason
	}
	switch {
	case isScalar(n.typ):
		return g.oddScalar(n), false
	case n.typ.Kind().String() == "slice" && n.item != nil:
		return g.oddList(n, was), false
	case n.item != nil:
		return g.oddMap(n, was), false
	}
	// Add another member, or remove all members.
	o, ok := Copy(was).(object)
	if !ok || g.chance(0.4) || len(n.fields) == 0 {
		return object{}, false
	}
	f := pickOf(g.rng, n.fields...)
	o[f.name] = g.value(f)
	return o, false
}

func (g *generator) oddList(n *node, was any) any {
	list, _ := was.([]any)
	list = slices.Clone(list)
	switch g.rng.IntN(6) {
	case 0:
		return []any{}
	case 1:
		return []any{nil}
	case 2:
		if len(list) > 0 {
			return append(list, Copy(list[0]))
		}
	case 3:
		if n.item.fields != nil {
			return append(list, object{})
		}
		return append(list, g.odd1(n.item))
	case 4:
		if isScalar(n.item.typ) {
			return append(list, g.odd1(n.item))
		}
	case 5:
		for range pickOf(g.rng, 5, 17, 65, 129) {
			list = append(list, g.value(n.item))
		}
		return list
	}
	return append(list, g.value(n.item))
}

func (g *generator) oddMap(n *node, was any) any {
	o, _ := Copy(was).(object)
	if o == nil {
		o = object{}
	}
	key := pickOf(g.rng, "app", "a b", "", "UPPER", "example.com/", "/x", strings.Repeat("k", 63),
		strings.Repeat("k", 64), strings.Repeat("e", 253)+"/k", "cpu", "example.com/gpu",
		"hugepages-2Mi", "requests.cpu", "storage", "pods")
	switch g.rng.IntN(4) {
	case 0:
		return object{}
	case 1:
		for k := range sortedKeys(o) {
			key = k
			break
		}
		o[key] = nil
	case 2:
		o[key] = g.odd1(n.item)
	default:
		o[key] = g.value(n.item)
	}
	return o
}

func (g *generator) odd1(n *node) any {
	if isScalar(n.typ) {
		return g.oddScalar(n)
	}
	return g.value(n)
}

var oddNumbers = []any{
	int64(0), int64(-1), int64(1), int64(100), int64(101), int64(255), int64(256), int64(65535),
	int64(65536), int64(math.MaxInt32), int64(math.MaxInt32) + 1,
	int64(math.MinInt32), int64(math.MinInt32) - 1, int64(math.MaxInt64), int64(math.MinInt64),
	int64(9223372036), int64(9223372037), 1.5, "1", true,
}

var oddQuantities = []any{"0", "-1", "1", "100u", "1500u", "1n", "1e3", "1E", "0.1", ".5", "1.",
	"+1", "1Gi", "1.5Gi", "9223372036854775807", "9223372036854775808", "1e20", "1 Gi", "1gi", "x",
	"", int64(2), 1.5, int64(-3)}

func (g *generator) oddScalar(n *node) any {
	kind := n.typ.Kind().String()
	switch typeName(n.typ) {
	case "Time":
		return pickOf[any](g.rng, "2026-01-02T03:04:05Z", "2026-01-02", "", "0001-01-01T00:00:00Z",
			"2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05+02:00", int64(7))
	case "resource.Quantity":
		return pickOf(g.rng, oddQuantities...)
	case "intstr.IntOrString":
		return pickOf[any](g.rng, int64(0), int64(65535), int64(65536), int64(-1), "http", "80",
			"a-very-long-port", "UPPER", "", "1-2", 1.5)
	case "FieldsV1":
		return pickOf[any](g.rng, object{}, "x", object{"x": "y"})
	}
	switch {
	case kind == "bool":
		return pickOf[any](g.rng, true, false, "true", int64(1))
	case strings.HasPrefix(kind, "int"):
		return pickOf(g.rng, oddNumbers...)
	}
	if members := known().Enums[typeName(n.typ)]; members != nil && g.chance(0.6) {
		member := pickOf(g.rng, members...)
		return pickOf(g.rng, member, member, strings.ToLower(member), member+" ", "Other", "")
	}
	switch g.rng.IntN(4) {
	case 0:
		return strings.Repeat(pickOf(g.rng, "x", "x", "é"),
			pickOf(g.rng, 15, 16, 63, 64, 128, 129, 253, 254, 500, 501, 1025, 2049, 4097))
	case 1:
		return g.scalar(n)
	}
	return pickOf[any](g.rng, "", " ", "x", "Upper", "a b", "a.b", "-a", "a-", "a_b", "1", "a/b",
		"/a", "../a", "a/../b", "..", "a:b", "a,b", "$(X)", "$(X", "$$", "é", "a\nb", "\u0001",
		"010.0.0.1", "::ffff:10.0.0.1",
		"10.0.0.256", "fe80::1", "example.com", "example.com/", "example.com/a/b",
		"kubernetes.io/x", "*", "[", "s3://b", "nil", int64(1), true)
}

func sortedKeys(o object) func(func(string) bool) {
	return func(yield func(string) bool) {
		keys := make([]string, 0, len(o))
		for k := range o {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if !yield(k) {
				return
			}
		}
	}
}
