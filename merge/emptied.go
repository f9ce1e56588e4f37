package merge

import (
	"cmp"
	"math"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
)

// A null on a struct empties the fields within it. The log records the null on the struct only; this file adds it to the
// history of each field within.

// emptiable yields the claims on a struct: its presence without fields, and the nulls that emptied it. A later write to one of
// its fields makes it again.
func (w *walk) emptiable(named bool, at node, path fieldpath.Path) bool {
	nulls := w.log.nulls(at)
	if len(nulls) == 0 {
		return w.presence(named, at, path)
	}
	events := slices.Clone(w.nulls)
	for i := w.log.nodes[at].first; i >= 0; i = w.log.claims[i].next {
		events = append(events, null{i, at})
	}
	slices.SortFunc(events, func(a, b null) int { return cmp.Compare(a.claim, b.claim) })
	var claims []Claim
	for k, event := range events {
		i := event.claim
		if event.at != at {
			claims = w.emptied(claims, event)
		} else {
			claims = append(claims, w.log.exportAt(i, path))
		}
		if w.log.claims[i].kind() != nullValue || claims == nil {
			continue
		}
		next := int32(math.MaxInt32)
		if k+1 < len(events) {
			next = events[k+1].claim
		}
		if made := w.log.firstWithin(at, i, next); made < next {
			c := w.log.exportAt(made, path)
			c.Value = Presence{}
			claims = append(claims, c)
		}
	}
	claims = w.log.decided(at, claims, path)
	w.noteOverruling(at)
	return w.yield(path, claims)
}

// claims returns the claims on a field, or nil if the log has none. A null on a struct around the field also empties the
// field, if an earlier claim on the field exists.
func (w *walk) claims(at node, path fieldpath.Path) []Claim {
	if len(w.nulls) == 0 || at == noNode {
		claims := w.log.decided(at, w.log.claimsOf(at, path), path)
		w.noteOverruling(at)
		return claims
	}
	var claims []Claim
	next := 0
	for i := w.log.nodes[at].first; i >= 0; i = w.log.claims[i].next {
		for ; next < len(w.nulls) && w.nulls[next].claim < i; next++ {
			claims = w.emptied(claims, w.nulls[next])
		}
		claims = append(claims, w.log.exportAt(i, path))
	}
	if v, ok := w.log.overrulings[at]; ok {
		for ; next < len(w.nulls) && w.nulls[next].claim < v.after; next++ {
			claims = w.emptied(claims, w.nulls[next])
		}
		claims = w.log.decided(at, claims, path)
	}
	own := len(claims)
	for ; next < len(w.nulls); next++ {
		claims = w.emptied(claims, w.nulls[next])
	}
	w.noteOverruling(at)
	w.emptiedAround = w.emptiedAround || len(claims) > own
	return claims
}

// noteOverruling notes a policy's decision on a field. No layer owns a field that a policy removed.
func (w *walk) noteOverruling(at node) {
	v, ok := w.log.overrulings[at]
	w.decided, w.emptiedAround = ok, ok && v.claim < 0
}

// emptied appends a null on a struct around a field to the claims on the field, if there are any.
func (w *walk) emptied(claims []Claim, n null) []Claim {
	if claims == nil || claims[len(claims)-1].Value == nil {
		return claims
	}
	return append(claims, w.log.exportAt(n.claim, w.log.path(n.at)))
}

// null records a claim that emptied a field.
type null struct {
	claim int32
	at    node
}

// nulls returns the claims that emptied a field.
func (l *log) nulls(at node) []null {
	var nulls []null
	if at != noNode {
		for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
			if l.claims[i].kind() == nullValue {
				nulls = append(nulls, null{i, at})
			}
		}
	}
	return nulls
}

// firstWithin returns the first value written within a field after one claim and before another. Without such a value it
// returns the latter.
func (l *log) firstWithin(at node, after, before int32) int32 {
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		for i := l.nodes[child].first; i >= 0; i = l.claims[i].next {
			if i > after && l.claims[i].kind() != nullValue {
				before = min(before, i)
			}
		}
		before = l.firstWithin(child, after, before)
	}
	return before
}
