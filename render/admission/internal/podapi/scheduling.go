package podapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// checkScheduling checks the fields that decide where the Pod runs.
func (p *podChecker) checkScheduling() {
	spec := &p.Spec
	selector := p.field("nodeSelector")
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		path := selector.Append(fieldpath.Key(key))
		apirule.QualifiedName(p.report, codes.Scheduling, path, key)
		p.checkLabelValue(path, spec.NodeSelector[key])
	}
	for i := range spec.Tolerations {
		p.checkToleration(&spec.Tolerations[i], p.field("tolerations").Append(fieldpath.Index(i)))
	}
	gates := p.field("schedulingGates")
	for i, gate := range spec.SchedulingGates {
		at := gates.Append(fieldpath.Item("name", gate.Name))
		if gate.Name == "" || slices.Contains(spec.SchedulingGates[:i], gate) {
			at = gates.Append(fieldpath.Index(i))
		}
		apirule.QualifiedName(p.report, codes.Scheduling, at, gate.Name)
		if slices.Contains(spec.SchedulingGates[:i], gate) {
			p.report(codes.Scheduling, at, apirule.Duplicate(gate.Name), "remove one of the two")
		}
	}
	if a := spec.Affinity; a != nil {
		p.checkAffinity(a, p.field("affinity"))
	}
	for i := range spec.TopologySpreadConstraints {
		p.checkSpread(i)
	}
}

func (p *podChecker) checkLabelValue(path fieldpath.Path, value string) {
	apirule.Valid(p.report, codes.Scheduling, path, value, validation.IsValidLabelValue(value),
		"use a valid label value")
}

func (p *podChecker) checkToleration(t *corev1.Toleration, at fieldpath.Path) {
	reject := func(field, message, help string) {
		p.report(codes.Scheduling, at.Append(fieldpath.Field(field)), message, help)
	}
	if t.Key != "" {
		apirule.QualifiedName(p.report, codes.Scheduling, at.Append(fieldpath.Field("key")), t.Key)
	} else if t.Operator != corev1.TolerationOpExists {
		reject("operator",
			apirule.Invalid(string(t.Operator),
				"operator must be Exists when `key` is empty, which means \"match all values and "+
					"all keys\""), "set the key, or use Exists to tolerate every taint")
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		reject("effect",
			apirule.Invalid(string(t.Effect),
				"effect must be 'NoExecute' when `tolerationSeconds` is set"),
			"use NoExecute, or remove tolerationSeconds")
	}
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if problems := validation.IsValidLabelValue(t.Value); len(problems) > 0 {
			reject("operator", apirule.Invalid(t.Value, strings.Join(problems, ";")),
				"use a valid value of a taint")
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			reject("operator",
				apirule.Invalid(t.Value, "value must be empty when `operator` is 'Exists'"),
				"remove the value, or use Equal")
		}
	default:
		apirule.OneOf(p.report, codes.Scheduling, at.Append(fieldpath.Field("operator")),
			t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
	}
	if t.Effect != "" {
		apirule.OneOf(p.report, codes.Scheduling, at.Append(fieldpath.Field("effect")), t.Effect,
			corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
			corev1.TaintEffectNoExecute)
	}
}

const (
	mustMatch   = "requiredDuringSchedulingIgnoredDuringExecution"
	shouldMatch = "preferredDuringSchedulingIgnoredDuringExecution"
)

func (p *podChecker) checkAffinity(a *corev1.Affinity, at fieldpath.Path) {
	if n := a.NodeAffinity; n != nil {
		p.checkNodeAffinity(n, at.Append(fieldpath.Field("nodeAffinity")))
	}
	p.checkPodAffinity(a.PodAffinity, at.Append(fieldpath.Field("podAffinity")))
	p.checkPodAffinity((*corev1.PodAffinity)(a.PodAntiAffinity),
		at.Append(fieldpath.Field("podAntiAffinity")))
}

func (p *podChecker) checkWeight(weight int32, at fieldpath.Path) {
	if weight < 1 || weight > 100 {
		p.report(codes.Scheduling, at.Append(fieldpath.Field("weight")),
			apirule.Invalid(weight, "must be in the range 1-100"), "set a number in that range")
	}
}

func (p *podChecker) checkNodeAffinity(n *corev1.NodeAffinity, at fieldpath.Path) {
	if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		terms := at.Append(fieldpath.Fields(mustMatch, "nodeSelectorTerms")...)
		if len(r.NodeSelectorTerms) == 0 {
			p.report(codes.Scheduling, terms,
				apirule.Missing("must have at least one node selector term"), "add a term")
		}
		for i := range r.NodeSelectorTerms {
			p.checkNodeTerm(&r.NodeSelectorTerms[i], true, terms.Append(fieldpath.Index(i)))
		}
	}
	for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
		term := &n.PreferredDuringSchedulingIgnoredDuringExecution[i]
		item := at.Append(fieldpath.Field(shouldMatch), fieldpath.Index(i))
		p.checkWeight(term.Weight, item)
		p.checkNodeTerm(&term.Preference, false, item.Append(fieldpath.Field("preference")))
	}
}

// checkNodeTerm checks a term that selects nodes. A preference may have invalid values.
func (p *podChecker) checkNodeTerm(term *corev1.NodeSelectorTerm, values bool, at fieldpath.Path) {
	for i := range term.MatchExpressions {
		r, item := &term.MatchExpressions[i],
			at.Append(fieldpath.Field("matchExpressions"), fieldpath.Index(i))
		apirule.QualifiedName(p.report, codes.Scheduling, item.Append(fieldpath.Field("key")),
			r.Key)
		list := item.Append(fieldpath.Field("values"))
		switch r.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(r.Values) == 0 {
				p.report(codes.Scheduling, list,
					apirule.Missing("must be specified when `operator` is 'In' or 'NotIn'"),
					"set the values")
			}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			if len(r.Values) > 0 {
				p.report(codes.Scheduling, list,
					apirule.Forbidden(
						"may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
					"remove the values")
			}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			if len(r.Values) != 1 {
				p.report(codes.Scheduling, list,
					apirule.Missing(
						"must be specified single value when `operator` is 'Lt' or 'Gt'"),
					"set one value")
			}
		default:
			apirule.OneOf(p.report, codes.Scheduling, item.Append(fieldpath.Field("operator")),
				r.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
				corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
				corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
		}
		if values {
			for j, value := range r.Values {
				p.checkLabelValue(list.Append(fieldpath.Index(j)), value)
			}
		}
	}
	for i := range term.MatchFields {
		r, item := &term.MatchFields[i],
			at.Append(fieldpath.Field("matchFields"), fieldpath.Index(i))
		apirule.OneOf(p.report, codes.Scheduling, item.Append(fieldpath.Field("key")), r.Key,
			"metadata.name")
		apirule.OneOf(p.report, codes.Scheduling, item.Append(fieldpath.Field("operator")),
			r.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)
		list := item.Append(fieldpath.Field("values"))
		if len(r.Values) != 1 {
			p.report(codes.Scheduling, list,
				apirule.Missing(
					"must be only one value when `operator` is 'In' or 'NotIn' for node field "+
						"selector"), "name one node")
		}
		for j, value := range r.Values {
			apirule.DNSSubdomain(p.report, codes.Scheduling, list.Append(fieldpath.Index(j)), value)
		}
	}
}

func (p *podChecker) checkPodAffinity(a *corev1.PodAffinity, at fieldpath.Path) {
	if a == nil {
		return
	}
	must, better := a.RequiredDuringSchedulingIgnoredDuringExecution,
		a.PreferredDuringSchedulingIgnoredDuringExecution
	for i := range must {
		p.checkPodTerm(&must[i], at.Append(fieldpath.Field(mustMatch), fieldpath.Index(i)))
	}
	for i := range better {
		item := at.Append(fieldpath.Field(shouldMatch), fieldpath.Index(i))
		p.checkWeight(better[i].Weight, item)
		p.checkPodTerm(&better[i].PodAffinityTerm, item.Append(fieldpath.Field("podAffinityTerm")))
	}
}

func (p *podChecker) checkPodTerm(term *corev1.PodAffinityTerm, at fieldpath.Path) {
	for _, s := range []struct {
		field    string
		selector *metav1.LabelSelector
	}{{"labelSelector", term.LabelSelector}, {"namespaceSelector", term.NamespaceSelector}} {
		if s.selector != nil {
			apirule.LabelSelector(s.selector, at.Append(fieldpath.Field(s.field)), codes.Scheduling,
				p.report)
		}
	}
	for i, namespace := range term.Namespaces {
		apirule.DNSLabel(p.report, codes.Scheduling,
			at.Append(fieldpath.Field("namespaces"), fieldpath.Index(i)), namespace)
	}
	p.checkLabelKeys("matchLabelKeys", term.MatchLabelKeys, term.LabelSelector, at)
	p.checkLabelKeys("mismatchLabelKeys", term.MismatchLabelKeys, term.LabelSelector, at)
	p.checkMatched(term.MatchLabelKeys, term.LabelSelector, at)
	for i, key := range term.MatchLabelKeys {
		if slices.Contains(term.MismatchLabelKeys, key) {
			p.report(codes.Scheduling,
				at.Append(fieldpath.Field("matchLabelKeys"), fieldpath.Index(i)),
				apirule.Invalid(key, "exists in both matchLabelKeys and mismatchLabelKeys"),
				"keep one")
		}
	}
	topology := at.Append(fieldpath.Field("topologyKey"))
	if apirule.Required(p.report, codes.Scheduling, topology, term.TopologyKey) {
		apirule.QualifiedName(p.report, codes.Scheduling, topology, term.TopologyKey)
	}
}

func (p *podChecker) checkLabelKeys(field string, keys []string, selector *metav1.LabelSelector,
	at fieldpath.Path) {
	path := at.Append(fieldpath.Field(field))
	if len(keys) > 0 && selector == nil {
		p.report(codes.Scheduling, path,
			apirule.Forbidden("must not be specified when labelSelector is not set"),
			"add one, or remove the keys")
		return
	}
	for i, key := range keys {
		apirule.QualifiedName(p.report, codes.Scheduling, path.Append(fieldpath.Index(i)), key)
	}
}

// checkMatched reports a key of matchLabelKeys that the selector also names. The API server adds an
// expression to the selector for each key that is a label of the Pod. Two expressions for one key
// count as the author's and the server's, even if the Pod lacks the label.
func (p *podChecker) checkMatched(keys []string, selector *metav1.LabelSelector,
	at fieldpath.Path) {
	p.checkNamed(keys, selector, false, at)
}

// checkNamed does so, or with always, reports each key that the selector names.
func (p *podChecker) checkNamed(keys []string, selector *metav1.LabelSelector, always bool,
	at fieldpath.Path) {
	if selector == nil {
		return
	}
	for i, key := range keys {
		_, named := selector.MatchLabels[key]
		hasDuplicate := false
		for _, e := range selector.MatchExpressions {
			if e.Key == key {
				named, hasDuplicate = true, hasDuplicate || named
			}
		}
		if _, has := p.Labels[key]; (has || always) && named || hasDuplicate {
			p.report(codes.Scheduling,
				at.Append(fieldpath.Field("matchLabelKeys"), fieldpath.Index(i)),
				apirule.Invalid(key, "exists in both matchLabelKeys and labelSelector"), "keep one")
		}
	}
}

// notPositive is the API server's detail of a number that must be positive.
const notPositive = "must be greater than zero"

func (p *podChecker) checkSpread(i int) {
	all := p.Spec.TopologySpreadConstraints
	c, at := &all[i], p.field("topologySpreadConstraints").Append(fieldpath.Index(i))
	if c.MaxSkew <= 0 {
		p.report(codes.Scheduling, at.Append(fieldpath.Field("maxSkew")),
			apirule.Invalid(c.MaxSkew, notPositive), "set 1 or more")
	}
	apirule.Required(p.report, codes.Scheduling, at.Append(fieldpath.Field("topologyKey")),
		c.TopologyKey)
	apirule.OneOf(p.report, codes.Scheduling, at.Append(fieldpath.Field("whenUnsatisfiable")),
		c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
	for _, other := range all[:i] {
		if other.TopologyKey == c.TopologyKey && other.WhenUnsatisfiable == c.WhenUnsatisfiable {
			p.report(codes.Scheduling, at,
				apirule.Duplicate(fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)),
				"merge the two")
		}
	}
	if n := c.MinDomains; n != nil {
		path := at.Append(fieldpath.Field("minDomains"))
		if *n <= 0 {
			p.report(codes.Scheduling, path, apirule.Invalid(*n, notPositive), "set 1 or more")
		} else if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			p.report(codes.Scheduling, path,
				apirule.Invalid(
					*n, fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s",
						corev1.DoNotSchedule, c.WhenUnsatisfiable)), "remove it")
		}
	}
	for _, policy := range []struct {
		field string
		value *corev1.NodeInclusionPolicy
	}{{"nodeAffinityPolicy", c.NodeAffinityPolicy}, {"nodeTaintsPolicy", c.NodeTaintsPolicy}} {
		if policy.value != nil {
			apirule.OneOf(p.report, codes.Scheduling, at.Append(fieldpath.Field(policy.field)),
				*policy.value, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		}
	}
	p.checkLabelKeys("matchLabelKeys", c.MatchLabelKeys, c.LabelSelector, at)
	// since 1.34, the server adds expressions as it does for affinities
	p.checkNamed(c.MatchLabelKeys, c.LabelSelector, !p.since("1.34"), at)
	if c.LabelSelector != nil {
		apirule.LabelSelector(c.LabelSelector, at.Append(fieldpath.Field("labelSelector")),
			codes.Scheduling, p.report)
	}
}
