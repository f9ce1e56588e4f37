package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// AdmissionPolicy returns the ValidatingAdmissionPolicy that enforces the policy when a TrainJob is created or updated, as decoded JSON,
// and the rules that it does not enforce, in sentences. It is nil if no rule is left. name is the object's name. The expressions need
// Kubernetes 1.33.
//
// It rejects what [Policy.Check] reports as an error, and two managers that set different values of one field. Beyond that, only the
// users of a manager may add, change or remove its patch, where the policy names users. A rule whose severity the policy lowers is left
// to the check of files. An update counts if it changes patches or labels: controllers must be able to resume or delete a TrainJob that is
// older than the policy.
func AdmissionPolicy(p *Policy, name string) (object map[string]any, left []string) {
	if p == nil {
		p = &Policy{}
	}
	w := &vapWriter{policy: p}
	w.variable("patches", "object.spec.?runtimePatches.orValue([])")
	w.managers()
	w.validate("violations", "the patches break the policy")
	w.users()
	w.validate(usersRule, "the policy does not let this user change the patches")
	w.overlaps()
	w.validate("overlaps", "managers set different values of one field")
	if w.validations == nil {
		return nil, w.left
	}
	return admissionObject("ValidatingAdmissionPolicy", name, map[string]any{
		"failurePolicy": "Fail",
		"matchConditions": []any{map[string]any{"name": "changes-patches-or-labels", "expression": "oldObject == null || " +
			"object.spec.?runtimePatches != oldObject.spec.?runtimePatches || object.metadata.?labels != oldObject.metadata.?labels"}},
		"matchConstraints": map[string]any{"matchPolicy": "Equivalent", "resourceRules": []any{map[string]any{
			"apiGroups": []any{trainer.GroupVersion.Group}, "apiVersions": []any{trainer.GroupVersion.Version}, "resources": []any{"trainjobs"},
			"operations": []any{"CREATE", "UPDATE"},
		}}},
		"variables": w.variables, "validations": w.validations,
	}), w.left
}

// IsOfUsers reports whether an expression of [AdmissionPolicy] is about who sends the request. The check of files knows no users.
func IsOfUsers(expression string) bool {
	return strings.HasPrefix(expression, "variables."+usersRule+".")
}

const usersRule = "users"

// AdmissionBinding returns the binding that puts a ValidatingAdmissionPolicy with the name of the scope into force, as decoded JSON.
func AdmissionBinding(s Scope) map[string]any {
	spec := map[string]any{"policyName": s.Name, "validationActions": []any{"Deny"}}
	for field, selector := range map[string]*metav1.LabelSelector{"namespaceSelector": s.Namespaces, "objectSelector": s.TrainJobs} {
		of, err := runtime.DefaultUnstructuredConverter.ToUnstructured(selector)
		if selector == nil || err != nil {
			continue // a selector has texts alone
		}
		if spec["matchResources"] == nil {
			spec["matchResources"] = map[string]any{}
		}
		spec["matchResources"].(map[string]any)[field] = of
	}
	return admissionObject("ValidatingAdmissionPolicyBinding", s.Name, spec)
}

func admissionObject(kind, name string, spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
}

// vapWriter collects the expressions of a ValidatingAdmissionPolicy.
type vapWriter struct {
	policy      *Policy
	variables   []any
	validations []any
	left        []string
	rules       []string // of the next validation
}

func (w *vapWriter) variable(name, expression string) {
	w.variables = append(w.variables, map[string]any{"name": name, "expression": expression})
}

// demand adds a rule: an expression that must be true, and one for the message otherwise.
func (w *vapWriter) demand(holds, message string) {
	w.rules = append(w.rules, holds+" ? '' : "+message)
}

// empty demands that a list of words is empty. The message ends with them.
func (w *vapWriter) empty(name, words, before, after string) {
	w.variable(name, words)
	message := text(before) + " + variables." + name + ".join(', ')"
	if after != "" {
		message += " + " + text(after)
	}
	w.demand("variables."+name+".size() == 0", message)
}

// validate makes one validation of the rules so far, whose message has all broken ones. The API server checks the types of each
// validation again, with all variables.
func (w *vapWriter) validate(name, otherwise string) {
	if w.rules == nil {
		return
	}
	w.variable(name, "["+strings.Join(w.rules, ", ")+"].filter(m, m != '')")
	w.validations = append(w.validations, map[string]any{
		"expression": "variables." + name + ".size() == 0", "messageExpression": "variables." + name + ".join('; ')",
		"message": otherwise, // a message of more than 5 KiB does not count
	})
	w.rules = nil
}

// isError reports whether the policy rejects a TrainJob for a code. If not, it notes what is left.
func (w *vapWriter) isError(code finding.Code, rule string) bool {
	if w.policy.rejects(code) {
		return true
	}
	if why := fmt.Sprintf("%s: the policy lowers %s", rule, code); !slices.Contains(w.left, why) {
		w.left = append(w.left, why)
	}
	return false
}

// managers are the rules of [Policy.Check].
func (w *vapWriter) managers() {
	p := w.policy
	if p.managers == nil {
		return
	}
	names := literal(p.Managers()...)
	if w.isError(finding.CodeUnlistedManager, "unlisted managers") {
		w.empty("unlisted", "variables.patches.map(p, p.manager).filter(m, !(m in "+names+"))", p.file+" lists no manager ", "")
	}
	if w.isError(finding.CodePatchOrder, "the order of patches") {
		w.demand("variables.patches.map(p, p.manager).filter(m, m in "+names+").map(m, "+names+".indexOf(m)).isSorted()",
			text("the patches must have the order "+strings.Join(p.Managers(), ", ")))
	}
	for i, m := range p.managers {
		own := "variables.patches.filter(p, p.manager == " + text(m.name) + ")"
		if m.required && w.isError(finding.CodeMissingManager, "required managers") {
			w.demand("!("+m.of.expression()+") || "+own+".size() > 0", text("required: a patch of "+m.name))
		}
		if m.paths != nil && w.isError(finding.CodeForbiddenField, "the paths of managers") {
			var set []string
			m.outside(runtimepatch.JobSetTemplate(), nil, "p.?trainingRuntimeSpec.?template", func(path fieldpath.Path, isSet string) {
				set = append(set, fmt.Sprintf("%s ? [%s] : []", isSet, text(pattern(path))))
			})
			w.empty(fmt.Sprintf("outside%d", i), own+".map(p, ["+strings.Join(set, ", ")+"].filter(l, l.size() > 0).map(l, l[0])).filter(l, l.size() > 0).map(l, l.join(', '))",
				"the policy does not let "+m.name+" set ", "")
		}
	}
}

// users demands that only the users of a manager change its patch.
func (w *vapWriter) users() {
	first := true
	for i, m := range w.policy.managers {
		if m.users == nil {
			continue
		}
		if first {
			first = false
			w.variable("before", "oldObject == null ? [] : oldObject.spec.?runtimePatches.orValue([])")
		}
		of := func(list string) string {
			return fmt.Sprintf("variables.%s.filter(p, p.manager == %s).map(p, p.?trainingRuntimeSpec.orValue({}))", list, text(m.name))
		}
		w.empty(fmt.Sprintf("writer%d", i), fmt.Sprintf("request.userInfo.username in %s || %s == %s ? [] : [request.userInfo.username]", literal(m.users...), of("patches"), of("before")),
			"the policy does not let ", " change the patch of "+m.name)
	}
}

// outside calls report for each field that the manager may not set, with an expression that tells whether the value that at is an
// optional of sets it.
func (m manager) outside(t *schema.Type, path fieldpath.Path, at string, report func(path fieldpath.Path, isSet string)) {
	switch within := m.paths.HasWithin(path); {
	case len(path) > 0 && m.maySet(path):
	case !within && t.Kind == schema.Map:
		report(path, at+".orValue({}) != {}") // an empty map or list sets nothing, and an empty object is set
	case !within && (t.Kind == schema.Scalar || t.Kind == schema.Struct && !isFrame(path)):
		report(path, at+".hasValue()")
	case !within && t.Kind != schema.Struct:
		report(path, at+".orValue([]) != []")
	case t.Kind == schema.Struct:
		for _, f := range t.Patchable() {
			if isStored(path, f) {
				m.outside(f.Type, path.Append(fieldpath.Field(f.Name)), at+".?"+f.Name, report)
			}
		}
	case t.Kind == schema.Map, t.Kind == schema.ListMap:
		m.outsideItems(t, path, at, report)
	}
}

// isFrame reports whether a path leads to the metadata, the spec or the template of an object. Those hold the fields that matter.
func isFrame(path fieldpath.Path) bool {
	if len(path) == 0 {
		return true
	}
	name, is := path[len(path)-1].Field()
	return is && (name == "metadata" || name == "spec" || name == "template")
}

// isStored reports whether the API server stores a field of a patch. The definition prunes most fields of metadata. The name of an item
// sets nothing.
func isStored(path fieldpath.Path, f *schema.StructField) bool {
	if len(path) == 0 {
		return true
	}
	key, _, isItem := path[len(path)-1].Item()
	in, isField := path[len(path)-1].Field()
	return !(isItem && key == f.Name) && !(isField && in == "metadata" && !slices.Contains([]string{"annotations", "finalizers", "labels", "name", "namespace"}, f.Name))
}

// outsideItems is outside for the items of a list or the keys of a map. Those that a pattern names come first, and then all others.
func (m manager) outsideItems(t *schema.Type, path fieldpath.Path, at string, report func(path fieldpath.Path, isSet string)) {
	var names []string
	for _, pattern := range m.patterns {
		if len(pattern) <= len(path) || !path.Matches(pattern[:len(path)]) {
			continue
		}
		name, isKey := pattern[len(path)].Key()
		if !isKey {
			_, name, _ = pattern[len(path)].Item()
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	x, isList := "x"+strconv.Itoa(len(path)), t.Kind == schema.ListMap
	key, none := x, "{}"
	if isList {
		key, none = x+"."+t.Key, "[]"
	}
	for _, name := range append(names, "") {
		step, among, rest := fieldpath.Key(name), key+" == "+text(name), schema.Open()
		if t.Elem != nil {
			rest = t.Elem
		}
		if isList {
			step = fieldpath.Item(t.Key, name)
		}
		below := path.Append(step)
		if name == "" {
			among = "!(" + key + " in " + literal(names...) + ")"
		}
		some := func(path fieldpath.Path, isSet string) {
			report(path, fmt.Sprintf("%s.orValue(%s).exists(%s, %s && %s)", at, none, x, among, isSet))
		}
		switch {
		case m.maySet(below):
		case !isList || !m.paths.HasWithin(below):
			some(below, "true")
		default:
			m.outside(rest, below, x, some)
		}
	}
}

// overlaps demands that managers agree on each field. A field is compared by value: lists by their order, quantities as text.
func (w *vapWriter) overlaps() {
	if !w.isError(finding.CodeOverlap, "overlaps of managers") {
		return
	}
	if w.policy.Compositions() != nil {
		w.left = append(w.left, "overlaps of managers: the policy composes values of fields, which no expression can")
		return
	}
	w.left = append(w.left, "two managers that set different members of a union, or whose orders of list items differ: check reports them",
		"equal quantities that are written differently, such as 1Gi and 1024Mi, and atomic lists in another order count as different values")
	w.variable("jobs", "variables.patches.map(p, "+jobsOf+".transformMapEntry(i, j, {j.name: j}))")
	w.compare(runtimepatch.JobSetTemplate(), nil, frame{"p.?trainingRuntimeSpec.?template", "o.?trainingRuntimeSpec.?template", "%s", "variables.patches.exists(o, %s)"})
}

// jobsOf are the jobs of patch p.
const jobsOf = "p.?trainingRuntimeSpec.?template.?spec.?replicatedJobs.orValue([])"

// frame is where the fields of a struct are in the expressions: in a patch p, and in another patch o. Two expressions enclose what is
// said of them: one quantifies what p has, the other what o has.
type frame struct{ mine, theirs, each, all string }

// compare demands that managers agree on each field of a struct.
func (w *vapWriter) compare(t *schema.Type, path fieldpath.Path, in frame) {
	for _, f := range t.Patchable() {
		below, mine, theirs := path.Append(fieldpath.Field(f.Name)), in.mine+".?"+f.Name, in.theirs+".?"+f.Name
		switch {
		case !isStored(path, f):
		case f.Name == "replicatedJobs":
			w.compare(f.Type.Elem, below.Append(fieldpath.Item(f.Type.Key, "")),
				frame{"j", "o[j.name]", jobsOf + ".exists(j, %s)", "variables.jobs.exists(o, j.name in o && (%s))"})
		case f.Type.Kind == schema.Struct && isFrame(below):
			w.compare(f.Type, below, frame{mine, theirs, in.each, in.all})
		case f.Type.Kind == schema.ListMap:
			w.compareItems(f.Type, below, items{
				list: mine, each: in.each, others: "variables.jobs.map(o, o.transformMap(n, j, %s))", other: "o[?j.name]",
			})
		default:
			w.disagree(below, in.each, mine+".hasValue() && "+in.all, differ(f.Type, mine, theirs))
		}
	}
}

// items are where the items of a list are in the expressions: those of patch p in list, within each, and those of all patches by their
// keys in others, of which other is one.
type items struct{ list, each, others, other string }

// compareItems demands that managers agree on each field of the items of a list. The other items are found by their keys, since all
// pairs cost too much. Each field has an expression of its own, since the checker of expressions takes the square of their length.
func (w *vapWriter) compareItems(t *schema.Type, path fieldpath.Path, in items) {
	x := "x" + strconv.Itoa(len(path))
	in.each = fmt.Sprintf(in.each, in.list+".orValue([]).exists("+x+", %s)")
	in.others = fmt.Sprintf(in.others, fmt.Sprintf("%s.orValue([]).transformMapEntry(i, %s, {%[2]s.%s: %%s})", in.list, x, t.Key))
	in.other += fmt.Sprintf("[?%s.%s]", x, t.Key)
	byKey := "items" + strconv.Itoa(len(w.variables))
	w.variable(byKey, fmt.Sprintf(in.others, x))
	for _, f := range t.Elem.Patchable() {
		below, one := path.Append(fieldpath.Item(t.Key, ""), fieldpath.Field(f.Name)), x+".?"+f.Name
		switch {
		case f.Name == t.Key:
		case f.Type.Kind == schema.ListMap:
			w.compareItems(f.Type, below, items{one, in.each, in.others, in.other})
		default:
			w.disagree(below, in.each, one+".hasValue() && variables."+byKey+".exists(o, %s)", differ(f.Type, one, in.other+".?"+f.Name))
		}
	}
}

// disagree rejects the patches for which an expression in its enclosing ones is true. It is "" for fields that never differ.
func (w *vapWriter) disagree(path fieldpath.Path, each, all, differs string) {
	if differs != "" {
		w.empty("overlap"+strconv.Itoa(len(w.variables)), "variables.patches.filter(p, "+fmt.Sprintf(each, fmt.Sprintf(all, differs))+").map(p, p.manager)",
			"managers set different values of "+pattern(path)+": ", "")
	}
}

// differ returns an expression that tells whether two optionals of a type set one field to different values, or "" if they never do.
func differ(t *schema.Type, a, b string) string {
	both := a + ".hasValue() && " + b + ".hasValue() && "
	switch t.Kind {
	case schema.Set:
		return "" // the merge keeps the items of both
	case schema.Map:
		return fmt.Sprintf("%s.orValue({}).exists(k, %[1]s[?k] != %[2]s[?k] && %[2]s[?k].hasValue())", a, b)
	case schema.Struct:
		var all []string
		for _, f := range t.Patchable() {
			if one := differ(f.Type, a+".?"+f.Name, b+".?"+f.Name); one != "" {
				all = append(all, one)
			}
		}
		if all == nil {
			return ""
		}
		return both + "(" + strings.Join(all, " || ") + ")"
	}
	return both + a + " != " + b
}

// expression tells whether the selector matches the object.
func (s selector) expression() string {
	var all []string
	for _, list := range []struct {
		at       string
		patterns []string
	}{{"object.metadata.namespace", s.namespaces}, {"object.metadata.name", s.names}, {"object.spec.runtimeRef.name", s.runtimes}} {
		var any []string
		for _, pattern := range list.patterns {
			any = append(any, fmt.Sprintf("%s.matches(%s)", list.at, text(expressionOf(pattern))))
		}
		if any != nil {
			all = append(all, "("+strings.Join(any, " || ")+")")
		}
	}
	if s.labels != nil {
		requirements, _ := s.labels.Requirements()
		for _, r := range requirements {
			all = append(all, requirement(r))
		}
	}
	if all == nil {
		return "true"
	}
	return strings.Join(all, " && ")
}

// requirement tells whether the object's labels have what a selector requires.
func requirement(r labels.Requirement) string {
	const of = "object.metadata.?labels.orValue({})"
	key, values := text(r.Key()), r.Values().UnsortedList()
	slices.Sort(values)
	has := key + " in " + of
	at := of + "[" + key + "]"
	switch r.Operator() {
	case selection.Exists:
		return has
	case selection.DoesNotExist:
		return "!(" + has + ")"
	case selection.NotIn, selection.NotEquals:
		return "!(" + has + " && " + at + " in " + literal(values...) + ")"
	case selection.GreaterThan, selection.LessThan:
		sign := map[selection.Operator]string{selection.GreaterThan: ">", selection.LessThan: "<"}[r.Operator()]
		return fmt.Sprintf("%s && %s.matches('^[+-]?[0-9]{1,18}$') && int(%s) %s %s", has, at, at, sign, values[0])
	}
	return has + " && " + at + " in " + literal(values...)
}

// literal returns the list of words in CEL, and text one of them.
func literal(words ...string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = text(word)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func text(word string) string { return strconv.Quote(word) }

// pattern returns a path as a policy writes it: [*] is any item or key.
func pattern(path fieldpath.Path) string {
	return strings.ReplaceAll(anyKey.ReplaceAllString(path.String(), `[*]`), `[""]`, "[*]")
}

var anyKey = regexp.MustCompile(`\[\w+=""\]`)

// expressionOf returns the regular expression of a valid pattern of [path.Match].
func expressionOf(pattern string) string {
	var b strings.Builder
	b.WriteString("^")
	rest := []rune(pattern)
	next := func() rune {
		if rest[0] == '\\' {
			rest = rest[1:]
		}
		c := rest[0]
		rest = rest[1:]
		return c
	}
	for len(rest) > 0 {
		switch rest[0] {
		case '*':
			b.WriteString("[^/]*")
			rest = rest[1:]
		case '?':
			b.WriteString("[^/]")
			rest = rest[1:]
		case '[':
			rest = rest[1:]
			not, ranges := "", ""
			if rest[0] == '^' {
				not, rest = "^", rest[1:]
			}
			for ranges == "" || rest[0] != ']' {
				first := next()
				last := first
				if rest[0] == '-' {
					rest = rest[1:]
					last = next()
				}
				if first > last {
					first, last = 0, 0 // it holds no letter, and no name has a null
				}
				ranges += fmt.Sprintf(`\x{%X}-\x{%X}`, first, last)
			}
			rest = rest[1:]
			fmt.Fprintf(&b, "[%s%s]", not, ranges)
		default:
			b.WriteString(regexp.QuoteMeta(string(next())))
		}
	}
	return b.String() + "$"
}
