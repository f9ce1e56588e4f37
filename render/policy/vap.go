package policy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// Admission is a policy for the API server.
type Admission struct {
	// Policies are ValidatingAdmissionPolicies, as decoded JSON. Several together have the rules of a large policy.
	Policies []map[string]any
	// Lowered are the rules that the severities of the policy leave out, and Left what no expression
	// states, in sentences.
	Lowered, Left []string

	rules map[string]string // by the names of variables
}

// Rule returns the rule that a variable belongs to, such as the paths of a manager.
func (a Admission) Rule(variable string) string { return cmp.Or(a.rules[variable], variable) }

// AdmissionPolicies returns the objects that enforce the policy when a TrainJob is created or updated.
// name is the first object's name. The expressions need Kubernetes 1.35.
//
// They reject what [Policy.Check] reports as an error, and two managers that set different values of one
// field. Beyond that, only the users of a manager may add, change or remove its patch, where the policy
// names users. If a rule is about fields, no patch may have a directive such as $patch. A rule whose
// severity the policy lowers is left to the check of files. An update counts if it changes patches or
// labels: controllers must be able to resume or delete a TrainJob that is older than the policy.
func AdmissionPolicies(p *Policy, name string) Admission {
	w := &vapWriter{policy: p.or(), name: name, named: map[string]string{}}
	w.managers()
	w.users()
	w.overlaps()
	w.directives()
	w.close()
	for _, code := range slices.Sorted(maps.Keys(w.policy.severities)) {
		page, _ := codes.Of(code)
		if w.policy.severities[code] == finding.Error && !strings.HasPrefix(page.Meaning, "Error. ") {
			w.left = append(w.left, fmt.Sprintf("%s: check alone makes it an error", code))
		}
	}
	return Admission{Policies: w.objects, Lowered: w.lowered, Left: w.left, rules: w.named}
}

// IsBeyondCheck reports whether an expression of [AdmissionPolicies] rejects what the check of files may
// accept: it knows no users, and follows directives.
func IsBeyondCheck(expression string) bool {
	return strings.HasPrefix(expression, "variables."+usersRule+".") ||
		strings.HasPrefix(expression, "variables."+directivesRule+".")
}

// The validations, by the variables with their messages. IsBeyondCheck finds the last two.
const (
	checkRule      = "violations"
	overlapsRule   = "overlaps"
	usersRule      = "users"
	directivesRule = "directives"
)

// AdmissionBinding returns the binding that puts a ValidatingAdmissionPolicy into force in the scope, both as decoded JSON.
func AdmissionBinding(s Scope, policy map[string]any) map[string]any {
	name, _, _ := unstructured.NestedString(policy, "metadata", "name")
	spec := map[string]any{"policyName": name, "validationActions": []any{"Deny"}}
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
	return admissionObject("ValidatingAdmissionPolicyBinding", name, spec)
}

func admissionObject(kind, name string, spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
}

// The API server compiles no expression of more than 100,000 letters, and stores no object above 1.5 MiB. The time
// to compile an expression grows with the square of its lists.
const (
	mostWords   = 40_000
	mostLetters = 4_000
	mostObject  = 400_000
)

// vapWriter collects the expressions of ValidatingAdmissionPolicies.
type vapWriter struct {
	policy        *Policy
	name          string
	objects       []map[string]any
	lowered, left []string
	named         map[string]string // the rules of variables

	// The next object: its variables, the rules of each validation, and the size of both.
	variables []any
	rules     map[string][]string
	shared    map[string]bool // the variables of several rules
	size      int
	unitName  string
	ofFields  bool // whether a rule is about fields
}

// unit begins a rule with its own variables. A new object begins if the present one is large.
func (w *vapWriter) unit(rule string) {
	if w.size > mostObject {
		w.close()
	}
	w.unitName = rule
}

// variable adds a variable, and returns the expression for it.
func (w *vapWriter) variable(name, expression string) string {
	w.variables = append(w.variables, map[string]any{"name": name, "expression": expression})
	w.size += len(expression)
	w.named[name] = w.unitName
	return "variables." + name
}

// share adds a variable for several rules, unless the object has it.
func (w *vapWriter) share(name, expression string) string {
	if !w.shared[name] {
		if w.shared == nil {
			w.shared = map[string]bool{}
		}
		w.shared[name] = true
		w.variable(name, expression)
	}
	return "variables." + name
}

// patches are those of the object. Their fields are read by name.
func (w *vapWriter) patches() string {
	return w.share("patches", "dyn(object.spec.?runtimePatches.orValue([]))")
}

// addRule adds a rule to a validation: an expression that must be true, and one for the message otherwise.
func (w *vapWriter) addRule(to, holds, message string) {
	if w.rules == nil {
		w.rules = map[string][]string{}
	}
	if len(holds) > mostLetters {
		holds = w.variable(fmt.Sprintf("holds%d", len(w.named)), holds)
	}
	rule := fmt.Sprintf("(%s ? '' : %s)", holds, message)
	w.rules[to] = append(w.rules[to], rule)
	w.size += len(rule)
}

// empty demands that a variable, a list of words, is empty. The message ends with them.
func (w *vapWriter) empty(to, words, before string) {
	w.addRule(to, words+" == []", celString(before)+" + "+words+".join(', ')")
}

// close ends an object. Each validation has one message with all its broken rules. The API server checks the
// types of each validation again, with all variables.
func (w *vapWriter) close() {
	var validations []any
	for _, v := range [][2]string{
		{checkRule, "the patches break the policy"}, {usersRule, "the policy does not let this user change the patches"},
		{overlapsRule, "managers set different values of one field"}, {directivesRule, "the policy allows no directive in a patch"},
	} {
		name := v[0]
		if w.rules[name] == nil {
			continue
		}
		w.unitName = "the messages"
		var parts []string
		for i, part := range chunks(w.rules[name], mostLetters) {
			parts = append(parts, w.variable(fmt.Sprintf("%s%d", name, i), "["+strings.Join(part, ", ")+"].filter(m, m != '')"))
		}
		w.variable(name, sum(parts))
		validations = append(validations, map[string]any{
			"expression": "variables." + name + ".size() == 0", "messageExpression": "variables." + name + ".join('; ')",
			"message": v[1], // a message of more than 5 KiB does not count
		})
	}
	if validations == nil {
		return
	}
	name := w.name
	if n := len(w.objects) + 1; n > 1 {
		name += fmt.Sprintf("-%d", n)
	}
	w.objects = append(w.objects, admissionObject("ValidatingAdmissionPolicy", name, map[string]any{
		"failurePolicy": "Fail",
		"matchConditions": []any{map[string]any{"name": "changes-patches-or-labels", "expression": "oldObject == null || " +
			"object.spec.?runtimePatches != oldObject.spec.?runtimePatches || object.metadata.?labels != oldObject.metadata.?labels"}},
		"matchConstraints": map[string]any{"matchPolicy": "Equivalent", "resourceRules": []any{map[string]any{
			"apiGroups": []any{trainer.GroupVersion.Group}, "apiVersions": []any{trainer.GroupVersion.Version}, "resources": []any{"trainjobs"},
			"operations": []any{"CREATE", "UPDATE"},
		}}},
		"variables": w.variables, "validations": validations,
	}))
	w.variables, w.rules, w.shared, w.size = nil, nil, nil, 0
}

// chunks splits a list of expressions, so that each part is short enough for one expression.
func chunks(list []string, most int) (parts [][]string) {
	from, size := 0, 0
	for i, one := range list {
		if i > from && size+len(one) > most {
			parts = append(parts, list[from:i])
			from, size = i, 0
		}
		size += len(one) + len(" || ")
	}
	return append(parts, list[from:])
}

// anyOf returns an expression that tells whether one of some others is true.
func (w *vapWriter) anyOf(all []string) string {
	for len(all) > 1 {
		parts := chunks(all, mostWords)
		if all = nil; len(parts) == 1 {
			return "(" + strings.Join(parts[0], " || ") + ")"
		}
		for _, part := range parts {
			all = append(all, w.variable(fmt.Sprintf("any%d", len(w.named)), strings.Join(part, " || ")))
		}
	}
	return all[0]
}

// isIn returns an expression that tells whether a value is one of some words.
func (w *vapWriter) isIn(value string, words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = celString(word)
	}
	var any []string
	for _, part := range chunks(quoted, mostWords) {
		any = append(any, value+" in ["+strings.Join(part, ", ")+"]")
	}
	return w.anyOf(any)
}

// isError reports whether the policy rejects a TrainJob for a code. If not, it notes what the cluster admits.
func (w *vapWriter) isError(code finding.Code, admits string) bool {
	if w.policy.rejects(code) {
		return true
	}
	if why := fmt.Sprintf("the cluster admits %s: the policy lowers %s", admits, code); !slices.Contains(w.lowered, why) {
		w.lowered = append(w.lowered, why)
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
	w.unit("the names of the managers")
	if w.isError(codes.UnlistedManager, "patches of unlisted managers") {
		w.empty(checkRule, w.variable("unlisted", w.patches()+".map(p, p.manager).filter(m, !(m in "+w.share("managers", names)+"))"), p.file+" lists no manager ")
	}
	if w.isError(codes.PatchOrder, "patches in another order") {
		names := w.share("managers", names)
		w.addRule(checkRule, w.patches()+".map(p, p.manager).filter(m, m in "+names+").map(m, "+names+".indexOf(m)).isSorted()",
			"'the patches must have the order ' + "+names+".join(', ')")
	}
	for i, m := range p.managers {
		own := func() string {
			return w.share("entries", w.patches()+".transformMapEntry(i, p, {p.manager: p.?trainingRuntimeSpec.?template.orValue({})})") + "[?" + celString(m.name) + "]"
		}
		if m.required && w.isError(codes.MissingManager, "TrainJobs without a patch of a required manager") {
			w.unit("required and for of " + m.name)
			w.addRule(checkRule, "!("+w.matches(m.of)+") || "+own()+".hasValue()", celString("required: a patch of "+m.name))
			if m.of.labels != nil {
				requirements, _ := m.of.labels.Requirements()
				if !canMatch(append(requirements, requirementsOf(p.scope.TrainJobs)...)) {
					w.lowered = append(w.lowered, fmt.Sprintf("the cluster requires no patch of %s: no labels match both its selector and cluster.objectSelector", m.name))
				}
			}
		}
		if m.paths != nil && w.isError(codes.ForbiddenField, "fields outside the paths of a manager") {
			w.ofFields = true
			for n, part := range chunks(m.forbiddenFields(runtimepatch.JobSetTemplate(), place{at: "variables.entries[?" + celString(m.name) + "]", patterns: m.patterns}), mostLetters) {
				w.unit("the paths of " + m.name)
				own()
				w.empty(checkRule, w.variable(fmt.Sprintf("outside%d_%d", i, n), "("+sum(part)+").distinct().sort()"), "the policy does not let "+m.name+" set ")
			}
		}
	}
}

// users demands that only the users of a manager change its patch.
func (w *vapWriter) users() {
	entriesOf := func(name, list string) string {
		return w.share(name, list+".transformMapEntry(i, p, {p.manager: p.?trainingRuntimeSpec.orValue({})})")
	}
	for _, m := range w.policy.managers {
		if m.users == nil {
			continue
		}
		w.unit("the users of " + m.name)
		before, after := entriesOf("before", "(oldObject == null ? [] : oldObject.spec.?runtimePatches.orValue([]))"), entriesOf("after", w.patches())
		w.addRule(usersRule, fmt.Sprintf("%s || %s[?%s] == %s[?%[3]s]", w.isIn("request.userInfo.username", m.users), before, celString(m.name), after),
			fmt.Sprintf(`"the policy does not let " + request.userInfo.username + %s`, celString(" change the patch of "+m.name)))
	}
}

// directives demands that no map of a patch has a directive: $patch drops what other managers set.
func (w *vapWriter) directives() {
	if !w.ofFields {
		return
	}
	w.unit("directives")
	w.empty(directivesRule, w.variable("directing", w.patches()+".filter(p, "+hasDirective(runtimepatch.JobSetTemplate(), "p.?trainingRuntimeSpec.?template", 0)+").map(p, p.manager)"),
		"the policy allows no directive such as $patch, as in the patch of ")
}

// hasDirective returns an expression that tells whether a map at a place, or below it, has a directive.
func hasDirective(t *schema.Type, at string, depth int) string {
	x := "d" + strconv.Itoa(depth)
	switch {
	case t.Kind == schema.Map:
		return fmt.Sprintf("%s.orValue({}).exists(%s, string(%[2]s).startsWith('$'))", at, x)
	case t.KeyField() != nil:
		if below := hasDirective(t.Elem, x, depth+1); below != "false" {
			return fmt.Sprintf("%s.orValue([]).exists(%s, %s)", at, x, below)
		}
	case t.Kind == schema.Struct:
		var any []string
		for _, f := range t.Patchable() {
			if below := hasDirective(f.Type, at+".?"+f.Name, depth); below != "false" {
				any = append(any, below)
			}
		}
		if any != nil {
			return "(" + strings.Join(any, " || ") + ")"
		}
	}
	return "false"
}

// place is a place in the patch of a manager: its path, the expression for it, and the manager's patterns
// for the items around it.
type place struct {
	path     fieldpath.Path
	at       string
	patterns []fieldpath.Path
}

func (p place) field(name string) place {
	return place{p.path.Append(fieldpath.Field(name)), p.at + ".?" + name, p.patterns}
}

// forbiddenFields returns expressions for the fields of a struct that the manager may not set. Empty maps and lists set nothing.
func (m manager) forbiddenFields(t *schema.Type, p place) (fields []string) {
	var set, lists []string
	for _, f := range t.Patchable() {
		below := p.field(f.Name)
		switch within := m.paths.HasWithin(below.path); {
		case !isStored(p.path, f) || m.maySet(below.path):
		case f.Type.Kind == schema.Struct && (within || isFrame(below.path)):
			fields = append(fields, m.forbiddenFields(f.Type, below)...)
		case within && f.Type.Kind != schema.Scalar:
			fields = append(fields, m.forbiddenItems(f.Type, below)...)
		case f.Type.Kind == schema.Struct || f.Type.Kind == schema.Scalar:
			set = append(set, f.Name)
		default:
			lists = append(lists, f.Name)
		}
	}
	if set != nil || lists != nil {
		fields = append(fields, fmt.Sprintf("%s.transformList(k, v, %s || %s && v != {} && v != [], %s + k)", orEmptyStruct(p.at), isOne(set), isOne(lists), celString(pattern(p.path)+".")))
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
func (m manager) forbiddenItems(t *schema.Type, p place) (fields []string) {
	var names []string
	within := map[string][]fieldpath.Path{} // by names, "" for all
	for _, pattern := range p.patterns {
		if len(pattern) <= len(p.path) || !p.path.Matches(pattern[:len(p.path)]) {
			continue
		}
		name, _ := pattern[len(p.path)].Key() // or an element
		if _, value, isItem := pattern[len(p.path)].Item(); isItem {
			name = value
		}
		if name != "" && within[name] == nil {
			names = append(names, name)
		}
		within[name] = append(within[name], pattern)
	}
	y := "x" + strconv.Itoa(len(p.path))
	key, none := y, "[]"
	if t.Kind == schema.Map {
		none = "{}"
	} else if t.KeyField() != nil {
		key += "." + t.Key
	}
	for _, name := range append(slices.Clone(names), "") {
		among, patterns := key+" == "+celString(name), slices.Concat(within[""], within[name])
		if name == "" {
			among, patterns = "!("+key+" in "+literal(names...)+")", within[""]
		}
		step, _ := t.Named(name)
		switch below := p.path.Append(step); {
		case m.maySet(below):
		case t.KeyField() == nil || !m.paths.HasWithin(below):
			fields = append(fields, fmt.Sprintf("(%s.orValue(%s).exists(%s, %s) ? [%s] : [])", p.at, none, y, among, celString(pattern(below))))
		default:
			for _, part := range chunks(m.forbiddenFields(t.Elem, place{below, y, patterns}), mostLetters) {
				fields = append(fields, fmt.Sprintf("%s.orValue([]).filter(%s, %s).map(%[2]s, %[4]s).flatten()", p.at, y, among, sum(part)))
			}
		}
	}
	return fields
}

// overlaps demands that managers agree on each field. A field is compared by value: lists by their order, quantities as text.
func (w *vapWriter) overlaps() {
	if !w.isError(codes.Overlap, "managers that set different values of one field") {
		return
	}
	w.left = append(w.left, "two managers that set different members of a union, or whose orders of list items differ: check reports them",
		"equal quantities that are written differently, such as 1Gi and 1024Mi, and atomic lists in another order count as different values")
	w.unit("the overlaps of managers")
	w.ofFields = true
	messages := w.compareItems(runtimepatch.JobSetTemplate(), nil, "["+w.patches()+".map(p, {'m': p.manager, 's': p.?trainingRuntimeSpec.?template.orValue({})})]")
	w.addRule(overlapsRule, messages+" == []", messages+".join('; ')")
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

// matches tells whether a selector matches the object.
func (w *vapWriter) matches(s selector) string {
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
			all = append(all, w.anyOf(any))
		}
	}
	if s.labels != nil {
		requirements, _ := s.labels.Requirements()
		for _, r := range requirements {
			all = append(all, w.requirement(r))
		}
	}
	if all == nil {
		return "true"
	}
	return strings.Join(all, " && ")
}

// requirement tells whether the object's labels have what a selector requires.
func (w *vapWriter) requirement(r labels.Requirement) string {
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
		return "!(" + has + " && " + w.isIn(at, values) + ")"
	case selection.GreaterThan, selection.LessThan:
		sign := map[selection.Operator]string{selection.GreaterThan: ">", selection.LessThan: "<"}[r.Operator()]
		// As Requirement.Matches, which reads an int64. The label's value has no sign.
		return fmt.Sprintf("%s && (%s.matches('^0*[0-9]{1,18}$') || %[2]s.matches('^0*[0-9]{19}$') && %[2]s.find('[0-9]{19}$') <= '%d') && int(%[2]s) %[4]s %[5]s",
			has, at, math.MaxInt64, sign, values[0])
	}
	return has + " && " + w.isIn(at, values)
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
	const most = 8 // the parser ends at 250 levels, and a + b + c has two
	switch half := len(lists) / 2; {
	case lists == nil:
		return "[]"
	case len(lists) > most:
		return "(" + sum(lists[:half]) + ") + (" + sum(lists[half:]) + ")"
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
