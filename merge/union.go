package merge

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file finds managers that claim different members of one union.

// unionsAt returns a dispute for each union of an object of which managers claim different members.
func (l *log) unionsAt(at *node) (found []Dispute) {
	for _, u := range at.typ.Unions {
		var reached []*node
		for _, child := range at.children {
			if f := child.field; f != nil && (u.Has(f.Name) || f.Name == u.Discriminator) {
				reached = append(reached, child)
			}
		}
		if len(reached) < 2 {
			continue // as in nearly all objects
		}
		one := Dispute{IsUnion: true}
		if u.Discriminator != "" {
			l.chosen(&one, reached, u)
		} else {
			l.members(&one, reached)
		}
		if one.Path = at.path(); len(one.Claims) > 0 {
			found = append(found, one)
		}
	}
	return found
}

// members adds the claims on the members of a union, if two managers claim different ones.
func (l *log) members(d *Dispute, reached []*node) {
	isBroken := false
	for _, member := range reached {
		claims := l.firstSaid(member)
		isBroken = isBroken || slices.ContainsFunc(claims, func(own Claim) bool {
			return slices.ContainsFunc(d.Claims, func(of Claim) bool { return of.Owner != own.Owner })
		})
		d.Claims = append(d.Claims, claims...)
		d.Fields = append(d.Fields,
			slices.Repeat([]fieldpath.Path{member.path()}, len(claims))...)
	}
	if !isBroken {
		d.Claims = nil
	}
}

// chosen adds the claims of a union whose discriminator names the member in use. Two managers that
// choose differently are an overlap on the discriminator, since the merge keeps only one choice.
// The union is broken if a manager sets a member that another manager's choice forbids. The first
// manager must make the same choice, or none.
func (l *log) chosen(d *Dispute, reached []*node, u schema.Union) {
	var choices, set []Claim
	var chosenAt fieldpath.Path
	var setAt []fieldpath.Path
	for _, child := range reached {
		claims := setting(l.said(child))
		if child.field.Name == u.Discriminator {
			choices, chosenAt = claims, child.path()
			continue
		}
		set = append(set, claims...)
		setAt = append(setAt, slices.Repeat([]fieldpath.Path{child.path()}, len(claims))...)
	}
	for i, member := range set {
		own := slices.IndexFunc(choices, func(c Claim) bool { return c.Owner == member.Owner })
		forbids := func(c Claim) bool {
			return c.Value != u.When && (own < 0 || c.Value == choices[own].Value)
		}
		if !slices.ContainsFunc(choices, func(c Claim) bool {
			return c.Owner != member.Owner && forbids(c)
		}) {
			continue
		}
		for _, choice := range choices {
			if forbids(choice) {
				d.Claims, d.Fields = append(d.Claims, choice), append(d.Fields, chosenAt)
			}
		}
		d.Claims, d.Fields = append(d.Claims, member), append(d.Fields, setAt[i])
	}
}

// firstSaid returns the first claim of each manager that sets a field or a part of it. A null of a
// struct's field sets the struct, which the merge then leaves empty, unless the manager empties
// the struct too.
func (l *log) firstSaid(at *node) []Claim {
	own := l.said(at)
	firsts, nulls := setting(slices.Clone(own)), []Claim(nil)
	for _, child := range at.children {
		firsts = append(firsts, l.firstSaid(child)...)
		if at.typ.Kind != schema.Struct {
			continue
		}
		for _, c := range l.said(child) {
			if c.Value == nil && !slices.ContainsFunc(own, func(of Claim) bool {
				return of.Owner == c.Owner && of.Value == nil
			}) {
				nulls = append(nulls, c)
			}
		}
	}
	seen := map[Owner]bool{}
	return slices.DeleteFunc(append(firsts, nulls...), func(c Claim) bool {
		again := seen[c.Owner]
		seen[c.Owner] = true
		return again
	})
}

// said returns the claims of managers on a field, in the given order of their patches.
func (l *log) said(at *node) []Claim {
	claims := slices.DeleteFunc(l.claimsOf(at, at.path()), func(c Claim) bool {
		_, isManager := c.Owner.Manager()
		return !isManager
	})
	if l.reordered {
		slices.SortStableFunc(claims, func(a, b Claim) int {
			return l.rankOf(a.Owner) - l.rankOf(b.Owner)
		})
	}
	return claims
}

// setting removes nulls: they set no member of a union.
func setting(claims []Claim) []Claim {
	return slices.DeleteFunc(claims, func(c Claim) bool { return c.Value == nil })
}
