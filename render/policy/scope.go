package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// Scope is where the API server enforces a policy.
type Scope struct {
	// Name is the name of the ValidatingAdmissionPolicy and of its binding.
	Name string
	// Namespaces and TrainJobs select them by labels. Nil selects all.
	Namespaces, TrainJobs *metav1.LabelSelector
}

// Scope returns the scope that the field cluster sets. Without the field, the policy is in force
// everywhere, and its name is trainweld.
func (p *Policy) Scope() Scope {
	if p == nil {
		return Scope{Name: defaultName}
	}
	return p.scope
}

const defaultName = "trainweld"

// scope reads the field cluster.
func (r *reader) scope(e *clusterEntry) {
	r.policy.scope.Name = defaultName
	if e == nil {
		return
	}
	at := fieldpath.Fields("cluster")
	r.policy.scopeAt = r.document.Position(at)
	if name := at.Append(fieldpath.Field("name")); e.Name == "" {
		r.empty(name, "name the objects, or remove the field")
	} else if problems := validation.IsDNS1123Subdomain(e.Name); problems != nil {
		r.report(codes.BadValue, name, "name the objects of the cluster, such as team-a",
			"Invalid value: %q: %s", e.Name, problems[0])
	} else {
		r.policy.scope.Name = e.Name
	}
	for _, s := range []struct {
		field, text string
		of          **metav1.LabelSelector
	}{{"namespaceSelector", e.NamespaceSelector, &r.policy.scope.Namespaces},
		{"objectSelector", e.ObjectSelector, &r.policy.scope.TrainJobs}} {
		in := at.Append(fieldpath.Field(s.field))
		if strings.TrimSpace(s.text) == "" {
			r.empty(in, "set a label selector, or remove the field to select all")
			continue
		}
		var err error
		if *s.of, err = ParseSelector(s.text); err != nil {
			r.report(codes.BadValue, in,
				"set a label selector that matches some objects, such as team=a",
				"Invalid value: %s", err)
		} else if r.patterns += len((*s.of).MatchExpressions); s.of == &r.policy.scope.Namespaces &&
			!matchesNamespace(*s.of) {
			r.report(codes.BadValue, in, "set labels that a namespace can have",
				"no namespace matches %q", s.text)
		}
	}
}

// matchesNamespace reports whether a namespace can match a selector. Each has its name as a label.
func matchesNamespace(s *metav1.LabelSelector) bool {
	for _, r := range s.MatchExpressions {
		isNamed := r.Key == corev1.LabelMetadataName && r.Operator == metav1.LabelSelectorOpIn
		if isNamed && !slices.ContainsFunc(r.Values, func(name string) bool {
			return validation.IsDNS1123Label(name) == nil
		}) {
			return false
		}
	}
	return selectorsOverlap(s, &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpExists}},
	})
}

// ParseSelector reads a selector as kubectl writes it, such as team=a,tier!=x, for the API server:
// without > and <. A selector that matches nothing is an error.
func ParseSelector(text string) (*metav1.LabelSelector, error) {
	parsed, err := labels.ParseToRequirements(text)
	if err != nil {
		return nil, err
	}
	s := &metav1.LabelSelector{}
	for _, r := range parsed {
		operator := map[selection.Operator]metav1.LabelSelectorOperator{
			selection.Equals:       metav1.LabelSelectorOpIn,
			selection.DoubleEquals: metav1.LabelSelectorOpIn,
			selection.In:           metav1.LabelSelectorOpIn,
			selection.NotEquals:    metav1.LabelSelectorOpNotIn,
			selection.NotIn:        metav1.LabelSelectorOpNotIn,
			selection.Exists:       metav1.LabelSelectorOpExists,
			selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
		}[r.Operator()]
		if operator == "" {
			return nil, fmt.Errorf("the API server has no operator %s", r.Operator())
		}
		s.MatchExpressions = append(s.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: r.Key(), Operator: operator,
				Values: r.Values().List()})
	}
	switch {
	case len(parsed) > mostPatterns:
		return nil, fmt.Errorf("%d requirements: must have at most %d", len(parsed), mostPatterns)
	case !selectorsOverlap(s, s):
		return nil, fmt.Errorf("no labels match %q", text)
	}
	return s, nil
}

// selectorsOverlap reports whether some labels match both selectors. Requirements of different keys
// never exclude each other, and all values that no requirement names are alike.
func selectorsOverlap(a, b *metav1.LabelSelector) bool {
	return canMatch(append(requirementsOf(a), requirementsOf(b)...))
}

// requirementsOf returns the requirements of a selector, none if it selects all.
func requirementsOf(s *metav1.LabelSelector) labels.Requirements {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if s == nil || err != nil {
		return nil
	}
	requirements, _ := selector.Requirements()
	return requirements
}

// canMatch reports whether some labels match all requirements.
func canMatch(all labels.Requirements) bool {
	of := map[string]labels.Requirements{}
	for _, r := range all {
		of[r.Key()] = append(of[r.Key()], r)
	}
	for key, requirements := range of {
		candidates := []labels.Set{{}, {key: "*"}} // no label has this value
		for _, r := range requirements {
			for value := range r.Values() {
				candidates = append(candidates, labels.Set{key: value})
				n, err := strconv.ParseInt(value, 10, 64)
				// written in two ways, as a selector may exclude one
				for _, next := range []int64{n - 1, n + 1} {
					if err == nil && next >= 0 {
						candidates = append(candidates, labels.Set{key: fmt.Sprint(next)},
							labels.Set{key: fmt.Sprintf("%0*d", validation.LabelValueMaxLength,
								next)})
					}
				}
			}
		}
		if !slices.ContainsFunc(candidates, func(has labels.Set) bool {
			return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
				return !r.Matches(has)
			})
		}) {
			return false
		}
	}
	return true
}

// Overlaps compares policies that the cluster may enforce for the same TrainJobs. A note names the
// other policies for the same TrainJobs. A warning names a manager that another policy lacks, or
// lists in another order or with other users. The time grows with the square of the number of
// policies.
func Overlaps(policies []*Policy) finding.List {
	var found finding.List
	policies = slices.DeleteFunc(slices.Clone(policies), func(p *Policy) bool { return p == nil })
	for i, p := range policies {
		var beside []string
		for _, q := range policies[:i] {
			if selectorsOverlap(p.scope.Namespaces, q.scope.Namespaces) &&
				selectorsOverlap(p.scope.TrainJobs, q.scope.TrainJobs) {
				beside = append(beside, q.file)
				found = append(found, p.rejectedBy(q)...)
				found = append(found, q.rejectedBy(p)...)
				found = append(found, p.differsFrom(q)...)
			}
		}
		if beside != nil {
			found = append(
				found, p.overlap(finding.Note, p.scopeAt,
					"the cluster may enforce %s for the same TrainJobs",
					strings.Join(beside, ", ")))
		}
	}
	found.Sort()
	return found
}

func (p *Policy) overlap(severity finding.Severity, at fieldpath.Position, message string,
	args ...any) finding.Finding {
	if at == (fieldpath.Position{}) {
		at.File = p.file
	}
	return finding.Finding{Code: codes.PolicyOverlap, Severity: severity, Position: at,
		Message: fmt.Sprintf(message, args...),
		Remedy: finding.Remedy{
			Text: "in cluster, set selectors that exclude each other"}}
}

// rejectedBy returns a warning for each manager that p lists and q does not.
func (p *Policy) rejectedBy(q *Policy) (found finding.List) {
	if q.managers == nil || !q.rejects(codes.UnlistedManager) {
		return nil
	}
	for _, m := range p.managers {
		if q.indexOf(m.name) < 0 {
			found = append(
				found, p.overlap(finding.Warning, m.position,
					"the cluster rejects patches of %s, which %s does not list", m.name, q.file))
		}
	}
	return found
}

// differsFrom returns a warning for each manager that both policies list, in another order or with
// other users.
func (p *Policy) differsFrom(q *Policy) (found finding.List) {
	ordered := p.rejects(codes.PatchOrder) && q.rejects(codes.PatchOrder)
	last := -1
	for _, m := range p.managers {
		n := q.indexOf(m.name)
		if n < 0 {
			continue
		}
		if n < last && ordered {
			found = append(
				found, p.overlap(finding.Warning, m.position,
					"the cluster rejects patches of %s beside patches of %s, which %s lists in "+
						"another order", m.name, q.managers[last].name, q.file))
		}
		last = max(last, n)
		if users := sets.New(q.managers[n].users...); len(users) > 0 && m.users != nil &&
			!users.HasAny(m.users...) {
			found = append(
				found, p.overlap(finding.Warning, m.position,
					"the cluster lets nobody change patches of %s, for which %s names other users",
					m.name, q.file))
		}
	}
	return found
}
