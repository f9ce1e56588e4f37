package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Admission is a policy for the API server.
type Admission struct {
	// Policies are ValidatingAdmissionPolicies, as decoded JSON. Several together have the rules of
	// a large policy.
	Policies []map[string]any
	// Lowered are the rules that the severities of the policy leave out, and Left what no
	// expression states, in sentences.
	Lowered, Left []string

	rules map[string]string // by the names of variables
}

// Rule returns the rule that a variable belongs to, such as the paths of a manager.
func (a Admission) Rule(variable string) string { return cmp.Or(a.rules[variable], variable) }

// AdmissionPolicies returns the objects that enforce the policy when a TrainJob is created or
// updated. name is the first object's name. The expressions need Kubernetes 1.35.
//
// They reject what [Policy.Check] reports as an error, and two managers that set different values
// of one field. Beyond that, only the users of a manager may add, change or remove its patch, where
// the policy names users. If a rule is about fields, no patch may have a directive such as $patch.
// A rule whose severity the policy lowers is left to the check of files. An update counts if it
// changes patches or labels: controllers must be able to resume or delete a TrainJob that is older
// than the policy.
func AdmissionPolicies(p *Policy, name string) Admission {
	w := &vapWriter{policy: p.or(), name: name, named: map[string]string{}}
	w.managers()
	w.users()
	w.overlaps()
	w.directives()
	w.close()
	for _, code := range slices.Sorted(maps.Keys(w.policy.severities)) {
		page, _ := codes.Of(code)
		if w.policy.severities[code] == finding.Error &&
			!strings.HasPrefix(page.Meaning, "Error. ") {
			w.left = append(w.left, fmt.Sprintf("%s: check alone makes it an error", code))
		}
	}
	return Admission{Policies: w.objects, Lowered: w.lowered, Left: w.left, rules: w.named}
}

// IsBeyondCheck reports whether an expression of [AdmissionPolicies] rejects what the check of
// files may accept: it knows no users, and follows directives.
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

// AdmissionBinding returns the binding that puts a ValidatingAdmissionPolicy into force in the
// scope, both as decoded JSON.
func AdmissionBinding(s Scope, policy map[string]any) map[string]any {
	name, _, _ := unstructured.NestedString(policy, "metadata", "name")
	spec := map[string]any{"policyName": name, "validationActions": []any{"Deny"}}
	for field, selector := range map[string]*metav1.LabelSelector{"namespaceSelector": s.Namespaces,
		"objectSelector": s.TrainJobs} {
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
	return map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
		"metadata": map[string]any{"name": name}, "spec": spec}
}

// The API server compiles no expression of more than 100,000 letters, and stores no object above
// 1.5 MiB. The time to compile an expression grows with the square of its lists.
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

// addRule adds a rule to a validation: an expression that must be true, and one for the message
// otherwise.
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

// close ends an object. Each validation has one message with all its broken rules. The API server
// checks the types of each validation again, with all variables.
func (w *vapWriter) close() {
	var validations []any
	for _, v := range [][2]string{
		{checkRule, "the patches break the policy"},
		{usersRule, "the policy does not let this user change the patches"},
		{overlapsRule, "managers set different values of one field"},
		{directivesRule, "the policy allows no directive in a patch"},
	} {
		name := v[0]
		if w.rules[name] == nil {
			continue
		}
		w.unitName = "the messages"
		var parts []string
		for i, part := range chunks(w.rules[name], mostLetters) {
			parts = append(
				parts, w.variable(fmt.Sprintf("%s%d", name, i),
					"["+strings.Join(part, ", ")+"].filter(m, m != '')"))
		}
		w.variable(name, sum(parts))
		validations = append(validations, map[string]any{
			"expression":        "variables." + name + ".size() == 0",
			"messageExpression": "variables." + name + ".join('; ')",
			"message":           v[1], // a message of more than 5 KiB does not count
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
		"matchConditions": []any{
			map[string]any{"name": "changes-patches-or-labels",
				"expression": "oldObject == null || " +
					"object.spec.?runtimePatches != oldObject.spec.?runtimePatches || " +
					"object.metadata.?labels != oldObject.metadata.?labels"}},
		"matchConstraints": map[string]any{
			"matchPolicy": "Equivalent", "resourceRules": []any{map[string]any{
				"apiGroups":   []any{trainer.GroupVersion.Group},
				"apiVersions": []any{trainer.GroupVersion.Version}, "resources": []any{"trainjobs"},
				"operations": []any{"CREATE", "UPDATE"},
			}}},
		"variables": w.variables, "validations": validations,
	}))
	w.variables, w.rules, w.shared, w.size = nil, nil, nil, 0
}

// isError reports whether the policy rejects a TrainJob for a code. If not, it notes what the
// cluster admits.
func (w *vapWriter) isError(code finding.Code, admits string) bool {
	if w.policy.rejects(code) {
		return true
	}
	if why := fmt.Sprintf("the cluster admits %s: the policy lowers %s", admits,
		code); !slices.Contains(w.lowered, why) {
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
		w.empty(checkRule,
			w.variable("unlisted", w.patches()+".map(p, p.manager).filter(m, !(m in "+
				w.share("managers", names)+"))"), p.file+" lists no manager ")
	}
	if w.isError(codes.PatchOrder, "patches in another order") {
		names := w.share("managers", names)
		w.addRule(checkRule, w.patches()+".map(p, p.manager).filter(m, m in "+names+").map(m, "+
			names+".indexOf(m)).isSorted()",
			"'the patches must have the order ' + "+names+".join(', ')")
	}
	for i, m := range p.managers {
		own := func() string {
			return w.share(
				"entries", w.patches()+
					".transformMapEntry(i, p, {p.manager: "+
					"p.?trainingRuntimeSpec.?template.orValue({})})") + "[?" +
				celString(m.name) + "]"
		}
		if m.required &&
			w.isError(codes.MissingManager, "TrainJobs without a patch of a required manager") {
			w.unit("required and for of " + m.name)
			w.addRule(checkRule, "!("+w.matches(m.of)+") || "+own()+".hasValue()",
				celString("Required value: a patch of "+m.name))
			if m.of.labels != nil {
				requirements, _ := m.of.labels.Requirements()
				if !canMatch(append(requirements, requirementsOf(p.scope.TrainJobs)...)) {
					w.lowered = append(
						w.lowered, fmt.Sprintf(
							"the cluster requires no patch of %s: no labels match both its "+
								"selector and cluster.objectSelector", m.name))
				}
			}
		}
		if m.paths != nil &&
			w.isError(codes.ForbiddenField, "fields outside the paths of a manager") {
			w.ofFields = true
			for n, part := range chunks(
				m.forbiddenFields(runtimepatch.JobSetTemplate(),
					place{at: "variables.entries[?" + celString(m.name) + "]",
						patterns: m.paths}), mostLetters) {
				w.unit("the paths of " + m.name)
				own()
				w.empty(checkRule,
					w.variable(fmt.Sprintf("outside%d_%d", i, n),
						"("+sum(part)+").distinct().sort()"),
					"the policy does not let "+m.name+" set ")
			}
		}
	}
}

// users demands that only the users of a manager change its patch.
func (w *vapWriter) users() {
	entriesOf := func(name, list string) string {
		return w.share(
			name, list+".transformMapEntry(i, p, {p.manager: p.?trainingRuntimeSpec.orValue({})})")
	}
	for _, m := range w.policy.managers {
		if m.users == nil {
			continue
		}
		w.unit("the users of " + m.name)
		before, after := entriesOf(
			"before", "(oldObject == null ? [] : oldObject.spec.?runtimePatches.orValue([]))"),
			entriesOf("after", w.patches())
		w.addRule(usersRule,
			fmt.Sprintf("%s || %s[?%s] == %s[?%[3]s]", w.isIn("request.userInfo.username", m.users),
				before, celString(m.name), after),
			fmt.Sprintf(`"the policy does not let " + request.userInfo.username + %s`,
				celString(" change the patch of "+m.name)))
	}
}
