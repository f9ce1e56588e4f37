package origins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/render/nearest"
)

// IsObject reports whether an argument names an object of a build, such as Deployment/web.
func IsObject(arg string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	kind, name, named := strings.Cut(arg, "/")
	return named && kind != "" && name != "" && strings.Trim(kind, letters+"0123456789") == "" &&
		!strings.ContainsAny(name, "/[]\"'")
}

// Asks reports whether an argument names an object of a kind that has or had some names, or without
// names any of the kind. The name of a generated object may lack its hash.
func Asks(arg, kind string, names ...string) bool {
	askedKind, asked, _ := strings.Cut(arg, "/")
	return strings.EqualFold(kind, askedKind) &&
		(names == nil || slices.ContainsFunc(names, func(name string) bool {
			return name == asked || withoutHash(name) == asked
		}))
}

// NotHeld is the error for an argument that names none of the objects of builds, with what may be
// meant.
func NotHeld(arg string, held []string) error {
	near := []string{nearest.To(arg, held)}
	if near[0] == "" {
		near = slices.DeleteFunc(slices.Clone(held), func(name string) bool {
			kind, _, _ := strings.Cut(name, "/")
			return !Asks(arg, kind)
		})
	}
	if near = near[:min(len(near), 3)]; len(near) == 0 {
		return fmt.Errorf("no build holds %s", arg)
	}
	return fmt.Errorf("no build holds %s; did you mean %s?", arg, strings.Join(near, " or "))
}

// withoutHash returns the name of a generated object as its generator has it.
func withoutHash(name string) string {
	const hash = "-0123456789"
	if at := len(name) - len(hash); at > 0 && name[at] == '-' {
		return name[:at]
	}
	return name
}

// Kind returns the kind of an object, or "" for no object.
func (n *Node) Kind() string {
	if n == nil {
		return ""
	}
	kind, _ := n.Fields["kind"].Value().(string)
	return kind
}

// Names returns the names that an object had, the last one last. It returns an empty list for an
// object without a name.
func (n *Node) Names() []string { return n.Had("name") }

// Had is Names for another field of the metadata.
func (n *Node) Had(field string) []string {
	values := []string{}
	if n == nil {
		return values
	}
	if metadata := n.Fields["metadata"]; metadata != nil && metadata.Fields[field] != nil {
		for _, c := range metadata.Fields[field].Claims {
			values = append(values, fmt.Sprint(c.Value))
		}
	}
	return values
}
