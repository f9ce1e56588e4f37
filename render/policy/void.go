package policy

import (
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
)

// This file finds rules that can have no effect: names, keys and users that no object has.

// isVoid reports whether no name matches a valid pattern. Names have lower-case letters, digits,
// dashes and dots. Those of namespaces have no dots.
func isVoid(pattern string, isNamespace bool) bool {
	letters, most := "abcdefghijklmnopqrstuvwxyz0123456789-.", validation.DNS1123SubdomainMaxLength
	if isNamespace {
		letters, most = strings.TrimSuffix(letters, "."), validation.DNS1123LabelMaxLength
	}
	// The lengths of the shortest names that end before a part, after a letter and after a dash.
	type lengths [3]int
	const begins, inside, dash, none = 0, 1, 2, math.MaxInt / 2
	step := func(at lengths, letters string) lengths {
		next := lengths{none, none, none}
		for _, c := range letters {
			switch {
			case c == '-':
				next[dash] = min(next[dash], at[inside]+1, at[dash]+1)
			case c == '.':
				next[begins] = min(next[begins], at[inside]+1)
			default:
				next[inside] = min(next[inside], at[begins]+1, at[inside]+1, at[dash]+1)
			}
		}
		return next
	}
	at := lengths{0, none, none}
	for rest := pattern; rest != ""; {
		element := rest[:elementLength(rest)]
		rest = rest[len(element):]
		if element == "*" {
			for range at { // as many letters as lead from one end to each other
				for i, length := range step(at, letters) {
					at[i] = min(at[i], length)
				}
			}
			continue
		}
		at = step(at, strings.Map(func(c rune) rune {
			if is, _ := path.Match(element, string(c)); is {
				return c
			}
			return -1
		}, letters))
	}
	return at[inside] > most
}

// elementLength returns the length of the first element of a valid pattern: a letter, a class or a
// star.
func elementLength(pattern string) int {
	n := 0
	switch pattern[0] {
	case '\\':
		n = 1
	case '[':
		for n = 1; pattern[n] != ']'; n++ {
			if pattern[n] == '\\' {
				n++
			}
		}
	}
	_, size := utf8.DecodeRuneInString(pattern[n:])
	return n + size
}

// voidKey returns the first key or name of a path that no object has.
func voidKey(of fieldpath.Path) (key string, isVoid bool) {
	in := ""
	for _, step := range of {
		name, isField := step.Field()
		key, isKey := step.Key()
		_, item, isItem := step.Item()
		switch {
		case isField:
			in = name
			continue
		case isKey && (in == "labels" || in == "annotations" || in == "nodeSelector"):
			if validation.IsQualifiedName(strings.ToLower(key)) != nil {
				return key, true
			}
		case isItem && slices.Contains(labelled, in):
			if validation.IsDNS1123Label(item) != nil {
				return item, true
			}
		}
		in = ""
	}
	return "", false
}

// labelled are the lists whose items have a DNS label as their name.
var labelled = []string{"replicatedJobs", "containers", "initContainers", "ephemeralContainers",
	"volumes"}

// isUser reports whether the API server can know a user by a name.
func isUser(name string) bool {
	account, is := strings.CutPrefix(name, "system:serviceaccount:")
	return name != "" && (!is || isAccount(account, ":"))
}

// isAccount reports whether a name is the one of a service account, after its namespace.
func isAccount(name, separator string) bool {
	namespace, account, ok := strings.Cut(name, separator)
	return ok && validation.IsDNS1123Label(namespace) == nil &&
		validation.IsDNS1123Subdomain(account) == nil
}

// distinct reports values that a list has twice.
func (r *reader) distinct(values []string, at fieldpath.Path) {
	has := map[string]bool{}
	for i, value := range values {
		if value != "" && has[value] {
			r.report(codes.BadValue, at.Append(fieldpath.Index(i)), "keep one of the two",
				"duplicate value %q", value)
		}
		has[value] = true
	}
}
