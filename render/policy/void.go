package policy

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
)

// This file finds rules that can have no effect: names, keys and users that no object has.

// isVoid reports whether no name matches a valid pattern. It does not judge one with a class of
// letters. Names of namespaces have no dots, and are shorter.
func isVoid(pattern string, isNamespace bool) bool {
	if strings.ContainsAny(pattern, `[\`) {
		return false
	}
	// What stands for any letter can stand for this one, and a name stays one with it.
	name := strings.NewReplacer("*", "a", "?", "a").Replace(pattern)
	return validation.IsDNS1123Subdomain(name) != nil || isNamespace &&
		(strings.Contains(name, ".") ||
			len(name)-strings.Count(pattern, "*") > validation.DNS1123LabelMaxLength)
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
				"Duplicate value: %q", value)
		}
		has[value] = true
	}
}
