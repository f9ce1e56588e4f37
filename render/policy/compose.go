package policy

import (
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/render/explain"
)

// secondsKinds are the ways in which the seconds of tolerations compose.
var secondsKinds = [...]compose.Kind{compose.KindAgree, compose.KindMaximum}

// compositions reads the rules that compose values.
func (r *reader) compositions(entries []composeEntry) {
	list := fieldpath.Fields("compose")
	if len(entries) == 0 {
		r.empty(list, "add a rule with a path, or remove the field")
	}
	seen := map[string]bool{} // the paths
	for i, e := range entries {
		at := list.Append(fieldpath.Index(i))
		rule := compose.Rule{Kind: compose.Kind(e.Rule), Owner: e.Owner, Seconds: compose.Kind(e.TolerationSeconds), Position: r.document.Position(at)}
		if !r.composeKind(e, at) {
			continue
		}
		r.composeOwner(e, at)
		if e.Path == "" {
			r.report(codes.MissingField, at, "name a field of a JobSet that patches may set", "path: required")
			continue
		}
		field := r.field(e.Path, at.Append(fieldpath.Field("path")))
		if field.Path == nil || !r.checkKind(rule.Kind, field, at) {
			continue
		}
		rule.Path = field.Path
		r.composeSeconds(e, rule, at)
		if path := rule.Path.String(); !seen[path] {
			seen[path] = true
		} else {
			r.report(codes.BadValue, at.Append(fieldpath.Field("path")), "keep one of the two rules", "duplicate path %s", explain.Format(rule.Path))
			continue
		}
		r.policy.rules = append(r.policy.rules, rule)
	}
}

// composeKind checks the kind of a rule.
func (r *reader) composeKind(e composeEntry, at fieldpath.Path) bool {
	kinds := namesOf(compose.Kinds())
	switch {
	case e.Rule == "":
		r.report(codes.MissingField, at, "set one of them: "+strings.Join(kinds, ", "), "rule: required")
	case !slices.Contains(kinds, string(e.Rule)):
		r.report(codes.BadValue, at.Append(fieldpath.Field("rule")), suggestionFor(string(e.Rule), kinds, "set one of them"), "unsupported value %q: must be %s", e.Rule, strings.Join(kinds, ", "))
	default:
		return true
	}
	return false
}

// composeOwner checks the owner of a rule.
func (r *reader) composeOwner(e composeEntry, at fieldpath.Path) {
	field := at.Append(fieldpath.Field("owner"))
	switch isOwner := compose.Kind(e.Rule) == compose.KindOwner; {
	case isOwner && e.Owner == "":
		r.report(codes.MissingField, at, "name the manager whose value counts", "owner: required")
	case !isOwner && e.Owner != "":
		r.report(codes.BrokenRule, field, "set rule: owner, or remove the field", "forbidden without rule: owner")
	case isOwner:
		for _, f := range check.Patches(nil, []trainer.RuntimePatch{{Manager: e.Owner}}) {
			r.report(codes.BadValue, field, f.Remedy.Text, "%s", f.Message)
		}
		if r.policy.managers != nil && r.policy.indexOf(e.Owner) < 0 {
			r.report(codes.BadValue, field, r.policy.unlisted(e.Owner, nil).Text, "managers lists no manager %q", e.Owner)
		}
	}
}

// composeSeconds checks how a rule composes the seconds of tolerations.
func (r *reader) composeSeconds(e composeEntry, rule compose.Rule, at fieldpath.Path) {
	field := at.Append(fieldpath.Field("tolerationSeconds"))
	names := namesOf(secondsKinds[:])
	isOfTolerations := rule.Kind == compose.KindUnion && rule.Path[len(rule.Path)-1] == fieldpath.Field("tolerations")
	switch {
	case e.TolerationSeconds == "":
		r.empty(field, "set one of them: "+strings.Join(names, ", "))
	case !slices.Contains(names, string(e.TolerationSeconds)):
		r.report(codes.BadValue, field, suggestionFor(string(e.TolerationSeconds), names, "set one of them"), "unsupported value %q: must be %s", e.TolerationSeconds, strings.Join(names, ", "))
	case !isOfTolerations:
		r.report(codes.BrokenRule, field, "remove the field", "forbidden: only the union of tolerations has it")
	}
}

// checkKind reports a rule that its field cannot have.
func (r *reader) checkKind(kind compose.Kind, field explain.Rule, at fieldpath.Path) bool {
	if slices.Contains(field.Compositions, kind) {
		return true
	}
	needs := map[compose.Kind]string{
		compose.KindUnion:   "a union needs a list whose order has no meaning: tolerations, capabilities, supplementalGroups or the terms of an affinity",
		compose.KindMinimum: "a minimum needs a period in seconds or an amount of a resource",
		compose.KindMaximum: "a maximum needs a period in seconds or an amount of a resource",
	}
	r.report(codes.UnfitRule, at.Append(fieldpath.Field("rule")), "set "+strings.Join(namesOf(field.Compositions), " or ")+"; "+needs[kind],
		"%s does not fit %s, a field of the kind %s", kind, explain.Format(field.Path), field.Kind)
	return false
}

func namesOf[T ~string](all []T) []string {
	names := make([]string, len(all))
	for i, name := range all {
		names[i] = string(name)
	}
	return names
}
