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
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// AdmissionPolicy returns the ValidatingAdmissionPolicy that enforces the policy when a TrainJob is created or updated, as decoded JSON,
// and the rules that it does not enforce, in sentences. It is nil if no rule is left. name is the object's name. The expressions need
// Kubernetes 1.35.
//
// It rejects what [Policy.Check] reports as an error, and two managers that set different values of one field. Beyond that, only the
// users of a manager may add, change or remove its patch, where the policy names users. A rule whose severity the policy lowers is left
// to the check of files. An update counts if it changes patches or labels: controllers must be able to resume or delete a TrainJob that is
// older than the policy.
func AdmissionPolicy(p *Policy, name string) (object map[string]any, left []string) {
	w := &vapWriter{policy: p.or()}
	w.variable("patches", "dyn(object.spec.?runtimePatches.orValue([]))") // to read the names of fields
	w.managers()
	w.validate("violations", "the patches break the policy")
	w.users()
	w.validate(usersRule, "the policy does not let this user change the patches")
	w.overlaps()
	w.validate("overlaps", "managers set different values of one field")
	if w.validations == nil {
		return nil, w.omitted
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
	}), w.omitted
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
	omitted     []string
	rules       []string // of the next validation
}

// variable adds a variable, and returns the expression for it.
func (w *vapWriter) variable(name, expression string) string {
	w.variables = append(w.variables, map[string]any{"name": name, "expression": expression})
	return "variables." + name
}

// addRule adds a rule: an expression that must be true, and one for the message otherwise.
func (w *vapWriter) addRule(holds, message string) {
	w.rules = append(w.rules, fmt.Sprintf("(%s ? [] : [%s])", holds, message))
}

// empty demands that a list of words is empty. The message ends with them.
func (w *vapWriter) empty(name, words, before string) {
	words = w.variable(name, words)
	w.addRule(words+" == []", celString(before)+" + "+words+".join(', ')")
}

// validate makes one validation of the rules so far, whose message has all broken ones. The API server checks the types of each
// validation again, with all variables.
func (w *vapWriter) validate(name, otherwise string) {
	if w.rules == nil {
		return
	}
	w.variable(name, sum(w.rules))
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
	if why := fmt.Sprintf("%s: the policy lowers %s", rule, code); !slices.Contains(w.omitted, why) {
		w.omitted = append(w.omitted, why)
	}
	return false
}

// managers are the rules of [Policy.Check].
func (w *vapWriter) managers() {
	p := w.policy
	if p.managers == nil {
		return
	}
	names, entries := w.variable("managers", literal(p.Managers()...)), w.variable("entries", "variables.patches.transformMapEntry(i, p, {p.manager: p.?trainingRuntimeSpec.?template.orValue({})})")
	if w.isError(codes.UnlistedManager, "unlisted managers") {
		w.empty("unlisted", "variables.patches.map(p, p.manager).filter(m, !(m in "+names+"))", p.file+" lists no manager ")
	}
	if w.isError(codes.PatchOrder, "the order of patches") {
		w.addRule("variables.patches.map(p, p.manager).filter(m, m in "+names+").map(m, "+names+".indexOf(m)).isSorted()",
			celString("the patches must have the order "+strings.Join(p.Managers(), ", ")))
	}
	for i, m := range p.managers {
		own := entries + "[?" + celString(m.name) + "]"
		if m.required && w.isError(codes.MissingManager, "required managers") {
			w.addRule("!("+m.of.expression()+") || "+own+".hasValue()", celString("required: a patch of "+m.name))
		}
		if m.paths != nil && w.isError(codes.ForbiddenField, "the paths of managers") {
			w.empty(fmt.Sprintf("outside%d", i), "("+sum(m.forbiddenFields(runtimepatch.JobSetTemplate(), nil, own))+").distinct().sort()",
				"the policy does not let "+m.name+" set ")
		}
	}
}

// users demands that only the users of a manager change its patch.
func (w *vapWriter) users() {
	entriesOf := func(name, list string) string {
		return w.variable(name, list+".transformMapEntry(i, p, {p.manager: p.?trainingRuntimeSpec.orValue({})})")
	}
	before, after := "", ""
	for _, m := range w.policy.managers {
		if m.users == nil {
			continue
		}
		if before == "" {
			before, after = entriesOf("before", "(oldObject == null ? [] : oldObject.spec.?runtimePatches.orValue([]))"), entriesOf("after", "variables.patches")
		}
		w.addRule(fmt.Sprintf("request.userInfo.username in %s || %s[?%s] == %s[?%[3]s]", literal(m.users...), before, celString(m.name), after),
			fmt.Sprintf(`"the policy does not let " + request.userInfo.username + %s`, celString(" change the patch of "+m.name)))
	}
}

// forbiddenFields returns expressions for the fields of a struct that the manager may not set. Empty maps and lists set nothing.
func (m manager) forbiddenFields(t *schema.Type, path fieldpath.Path, at string) (fields []string) {
	var set, lists []string
	for _, f := range t.Patchable() {
		below, field := path.Append(fieldpath.Field(f.Name)), at+".?"+f.Name
		switch within := m.paths.HasWithin(below); {
		case !isStored(path, f) || m.maySet(below):
		case f.Type.Kind == schema.Struct && (within || isFrame(below)):
			fields = append(fields, m.forbiddenFields(f.Type, below, field)...)
		case within && f.Type.Kind != schema.Scalar:
			fields = append(fields, m.forbiddenItems(f.Type, below, field)...)
		case f.Type.Kind == schema.Struct || f.Type.Kind == schema.Scalar:
			set = append(set, f.Name)
		default:
			lists = append(lists, f.Name)
		}
	}
	if set != nil || lists != nil {
		fields = append(fields, fmt.Sprintf("%s.transformList(k, v, %s || %s && v != {} && v != [], %s + k)", orEmptyStruct(at), isOne(set), isOne(lists), celString(pattern(path)+".")))
	}
	return fields
}

// isOne returns an expression that tells whether k is one of some names of fields. CEL builds a list again for each k, but a string once.
func isOne(names []string) string {
	if names == nil {
		return "false"
	}
	return fmt.Sprintf("' %s '.contains(' ' + k + ' ')", strings.Join(names, " "))
}

// isFrame reports whether a path leads to the metadata, the spec or the template of an object. Policies name the fields within them.
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

// forbiddenItems is forbiddenFields for the items of a list, the elements of a set or the keys of a map. First come the ones that a
// pattern names.
func (m manager) forbiddenItems(t *schema.Type, path fieldpath.Path, at string) (fields []string) {
	var names []string
	for _, pattern := range m.patterns {
		if len(pattern) <= len(path) || !path.Matches(pattern[:len(path)]) {
			continue
		}
		name, _ := pattern[len(path)].Key() // or an element
		if _, value, isItem := pattern[len(path)].Item(); isItem {
			name = value
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	y := "x" + strconv.Itoa(len(path))
	key, none := y, "[]"
	if t.Kind == schema.Map {
		none = "{}"
	} else if t.KeyField() != nil {
		key += "." + t.Key
	}
	for _, name := range append(names, "") {
		among := key + " == " + celString(name)
		if name == "" {
			among = "!(" + key + " in " + literal(names...) + ")"
		}
		step, _ := t.Named(name)
		switch below := path.Append(step); {
		case m.maySet(below):
		case t.KeyField() == nil || !m.paths.HasWithin(below):
			fields = append(fields, fmt.Sprintf("(%s.orValue(%s).exists(%s, %s) ? [%s] : [])", at, none, y, among, celString(pattern(below))))
		default:
			fields = append(fields, fmt.Sprintf("%s.orValue([]).filter(%s, %s).map(%[2]s, %[4]s).flatten()", at, y, among, sum(m.forbiddenFields(t.Elem, below, y))))
		}
	}
	return fields
}

// overlaps demands that managers agree on each field. A field is compared by value: lists by their order, quantities as text.
func (w *vapWriter) overlaps() {
	if !w.isError(codes.Overlap, "overlaps of managers") {
		return
	}
	if w.policy.Compositions() != nil {
		w.omitted = append(w.omitted, "overlaps of managers: the policy composes values of fields, which no expression can")
		return
	}
	w.omitted = append(w.omitted, "two managers that set different members of a union, or whose orders of list items differ: check reports them",
		"equal quantities that are written differently, such as 1Gi and 1024Mi, and atomic lists in another order count as different values")
	w.rules = append(w.rules, w.compareItems(runtimepatch.JobSetTemplate(), nil, "[variables.patches.map(p, {'m': p.manager, 's': p.?trainingRuntimeSpec.?template.orValue({})})]"))
}

// compareItems returns an expression for the messages about structs on which managers disagree. groups is a list of lists. Each list has
// the structs of one object, in the order of the patches. A struct s has its manager m. A list of one struct has no disagreement.
func (w *vapWriter) compareItems(t *schema.Type, path fieldpath.Path, groups string) string {
	return w.compare(t, path, w.variable("groups"+strconv.Itoa(len(w.variables)), groups+".filter(g, g.size() > 1)"), "")
}

// fewest is the number of fields for which it pays to look first whether any patch sets them.
const fewest = 4

// compare is compareItems for the structs at a place within the structs of the groups.
func (w *vapWriter) compare(t *schema.Type, path fieldpath.Path, groups, at string) string {
	set := ""
	if len(t.Patchable()) >= fewest {
		set = w.variable("set"+strconv.Itoa(len(w.variables)), fmt.Sprintf("' ' + %s.map(g, g.map(e, e.s%s.map(k, k).join(' ')).join(' ')).join(' ') + ' '", groups, orEmptyStruct(at)))
	}
	var messages []string
	for _, f := range t.Patchable() {
		below, field, of := path.Append(fieldpath.Field(f.Name)), at+".?"+f.Name, ""
		switch {
		case !isStored(path, f):
			continue
		case f.Type.KeyField() != nil:
			of = w.compareItems(f.Type.Elem, below.Append(fieldpath.Item(f.Type.Key, "")), groupsOf(groups, field, f.Type.Key))
		case f.Type.Kind == schema.Struct && isFrame(below):
			of = w.compare(f.Type, below, groups, field)
		default:
			each := disagreements(f.Type, field)
			if each == nil {
				continue
			}
			names := w.variable("overlap"+strconv.Itoa(len(w.variables)), groups+".map(g, "+strings.Join(each, " + ")+").flatten().distinct()")
			of = fmt.Sprintf("(%s == [] ? [] : [%s + %[1]s.join(', ')])", names, celString("managers set different values of "+pattern(below)+": "))
		}
		if set != "" {
			of = fmt.Sprintf("(%s.contains(' %s ') ? %s : [])", set, f.Name, of)
		}
		messages = append(messages, of)
	}
	return w.variable("messages"+strconv.Itoa(len(w.variables)), sum(messages))
}

// groupsOf returns an expression for the groups of a list's items: in each group, the items with one key. It takes the keys of the first
// patch, and adds the distinct others: distinct costs the square of their number. It returns none if all keys differ.
func groupsOf(groups, list, key string) string {
	return fmt.Sprintf("%s.map(g, [g.map(e, e.s%s.orValue([]).map(x, {'m': e.m, 's': x})).flatten()].map(all, "+
		"[all.filter(x, x.m == all[0].m).map(x, x.s.%s)].map(first, [first + all.map(x, x.s.%[3]s).filter(k, !(k in first)).distinct()].map(keys, "+
		"keys.size() == all.size() ? [] : keys.map(k, all.filter(x, x.s.%[3]s == k))).flatten()).flatten()).flatten()).flatten()", groups, list, key)
}

// orEmptyStruct returns the expression for a struct at a place, which may be missing.
func orEmptyStruct(at string) string {
	if strings.Contains(at, "?") {
		at += ".orValue({})"
	}
	return at
}

// disagreements returns expressions for the managers in group g that set a field, or fields within it, to different values.
func disagreements(t *schema.Type, at string) (each []string) {
	switch t.Kind {
	case schema.Set: // the merge keeps the items of both
	case schema.Struct:
		for _, f := range t.Patchable() {
			each = append(each, disagreements(f.Type, at+".?"+f.Name)...)
		}
	case schema.Map:
		each = []string{fmt.Sprintf("[g.map(e, [?e.s%s]).flatten().map(f, f.transformList(k, v, [dyn(k), v])).flatten()].map(l, l.distinct().size() == l.map(x, x[0]).distinct().size() ? [] : "+
			"g.filter(e, e.s%[1]s.orValue({}).exists(k, l.filter(x, x[0] == k).distinct().size() > 1)).map(e, e.m)).flatten()", at)}
	default:
		each = []string{fmt.Sprintf("(g.map(e, [?e.s%s]).flatten().distinct().size() > 1 ? g.filter(e, e.s%[1]s.hasValue()).map(e, e.m) : [])", at)}
	}
	return each
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
			any = append(any, fmt.Sprintf("%s.matches(%s)", list.at, celString(expressionOf(pattern))))
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
	key, values := celString(r.Key()), r.Values().UnsortedList()
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
		all[i] = celString(word)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// sum returns the concatenation of lists.
func sum(lists []string) string {
	if lists == nil {
		return "[]"
	}
	return strings.Join(lists, " + ")
}

func celString(word string) string { return strconv.Quote(word) }

// pattern returns a path as a policy writes it: [*] is any item or key.
func pattern(path fieldpath.Path) string {
	return strings.ReplaceAll(anyKey.ReplaceAllString(path.String(), `[*]`), `[""]`, "[*]")
}

var anyKey = regexp.MustCompile(`\[\w*=""\]`)

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
