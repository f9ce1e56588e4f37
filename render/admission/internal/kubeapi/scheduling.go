package kubeapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
)

// checkScheduling checks the fields that decide where the Pod runs.
func (p *podChecker) checkScheduling() {
	spec, of := &p.Spec, p.at.As(codes.Scheduling)
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		at := of.Field("nodeSelector").Key(key)
		at.Qualified(key)
		at.labelValue(spec.NodeSelector[key])
	}
	for i := range spec.Tolerations {
		checkToleration(&spec.Tolerations[i], of.Field("tolerations").Index(i))
	}
	for i, gate := range spec.SchedulingGates {
		isTwin, step := slices.Contains(spec.SchedulingGates[:i], gate), fieldpath.Index(i)
		if gate.Name != "" && !isTwin {
			step = fieldpath.Item("name", gate.Name)
		}
		at := of.Field("schedulingGates").Step(step)
		at.Qualified(gate.Name)
		if isTwin {
			at.Duplicate(gate.Name, "remove one of the two")
		}
	}
	if a := spec.Affinity; a != nil {
		p.checkAffinity(a)
	}
	for i := range spec.TopologySpreadConstraints {
		p.checkSpread(i)
	}
}

func (a *At) labelValue(value string) {
	a.Valid(value, validation.IsValidLabelValue(value), "use a valid label value")
}

func checkToleration(t *corev1.Toleration, at *At) {
	operator, effect := at.Field("operator"), at.Field("effect")
	if t.Key != "" {
		at.Field("key").Qualified(t.Key)
	} else if t.Operator != corev1.TolerationOpExists {
		operator.Invalid(string(t.Operator), "operator must be Exists when `key` is empty, which "+
			"means \"match all values and all keys\"",
			"set the key, or use Exists to tolerate every taint")
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		effect.Invalid(string(t.Effect),
			"effect must be 'NoExecute' when `tolerationSeconds` is set",
			"use NoExecute, or remove tolerationSeconds")
	}
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if problems := validation.IsValidLabelValue(t.Value); len(problems) > 0 {
			operator.Invalid(t.Value, strings.Join(problems, ";"), "use a valid value of a taint")
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			operator.Invalid(t.Value, "value must be empty when `operator` is 'Exists'",
				"remove the value, or use Equal")
		}
	default:
		OneOf(operator, t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
	}
	EmptyOr(effect, t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
		corev1.TaintEffectNoExecute)
}

const (
	mustMatch   = "requiredDuringSchedulingIgnoredDuringExecution"
	shouldMatch = "preferredDuringSchedulingIgnoredDuringExecution"
)

func (p *podChecker) checkAffinity(a *corev1.Affinity) {
	at := p.at.As(codes.Scheduling).Field("affinity")
	if n := a.NodeAffinity; n != nil {
		checkNodeAffinity(n, at.Field("nodeAffinity"))
	}
	p.checkPodAffinity(a.PodAffinity, at.Field("podAffinity"))
	p.checkPodAffinity((*corev1.PodAffinity)(a.PodAntiAffinity), at.Field("podAntiAffinity"))
}

func (a *At) weight(weight int32) {
	if weight < 1 || weight > 100 {
		a.Field("weight").Invalid(weight, "must be in the range 1-100",
			"set a number in that range")
	}
}

func checkNodeAffinity(n *corev1.NodeAffinity, at *At) {
	if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		terms := at.Field(mustMatch, "nodeSelectorTerms")
		if len(r.NodeSelectorTerms) == 0 {
			terms.Missing("must have at least one node selector term", "add a term")
		}
		for i := range r.NodeSelectorTerms {
			checkNodeTerm(&r.NodeSelectorTerms[i], true, terms.Index(i))
		}
	}
	for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
		term := &n.PreferredDuringSchedulingIgnoredDuringExecution[i]
		item := at.Field(shouldMatch).Index(i)
		item.weight(term.Weight)
		checkNodeTerm(&term.Preference, false, item.Field("preference"))
	}
}

// checkNodeTerm checks a term that selects nodes. A preference may have invalid values.
func checkNodeTerm(term *corev1.NodeSelectorTerm, values bool, at *At) {
	for i := range term.MatchExpressions {
		r, item := &term.MatchExpressions[i], at.Field("matchExpressions").Index(i)
		item.Field("key").Qualified(r.Key)
		list := item.Field("values")
		switch r.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(r.Values) == 0 {
				list.Missing("must be specified when `operator` is 'In' or 'NotIn'",
					"set the values")
			}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			if len(r.Values) > 0 {
				list.Forbid("may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
					"remove the values")
			}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			if len(r.Values) != 1 {
				list.Missing("must be specified single value when `operator` is 'Lt' or 'Gt'",
					"set one value")
			}
		default:
			OneOf(item.Field("operator"), r.Operator, corev1.NodeSelectorOpIn,
				corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
				corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt,
				corev1.NodeSelectorOpLt)
		}
		for j, value := range r.Values {
			if values {
				list.Index(j).labelValue(value)
			}
		}
	}
	for i := range term.MatchFields {
		r, item := &term.MatchFields[i], at.Field("matchFields").Index(i)
		OneOf(item.Field("key"), r.Key, "metadata.name")
		OneOf(item.Field("operator"), r.Operator, corev1.NodeSelectorOpIn,
			corev1.NodeSelectorOpNotIn)
		list := item.Field("values")
		if len(r.Values) != 1 {
			list.Missing("must be only one value when `operator` is 'In' or 'NotIn' for node field "+
				"selector", "name one node")
		}
		for j, value := range r.Values {
			list.Index(j).Subdomain(value)
		}
	}
}

func (p *podChecker) checkPodAffinity(a *corev1.PodAffinity, at *At) {
	if a == nil {
		return
	}
	must, better := a.RequiredDuringSchedulingIgnoredDuringExecution,
		a.PreferredDuringSchedulingIgnoredDuringExecution
	for i := range must {
		p.checkPodTerm(&must[i], at.Field(mustMatch).Index(i))
	}
	for i := range better {
		item := at.Field(shouldMatch).Index(i)
		item.weight(better[i].Weight)
		p.checkPodTerm(&better[i].PodAffinityTerm, item.Field("podAffinityTerm"))
	}
}

func (p *podChecker) checkPodTerm(term *corev1.PodAffinityTerm, at *At) {
	if term.LabelSelector != nil {
		at.Field("labelSelector").Selector(term.LabelSelector)
	}
	if term.NamespaceSelector != nil {
		at.Field("namespaceSelector").Selector(term.NamespaceSelector)
	}
	for i, namespace := range term.Namespaces {
		at.Field("namespaces").Index(i).Label(namespace)
	}
	matched := at.Field("matchLabelKeys")
	checkLabelKeys(term.MatchLabelKeys, term.LabelSelector, matched)
	checkLabelKeys(term.MismatchLabelKeys, term.LabelSelector, at.Field("mismatchLabelKeys"))
	p.checkNamed(term.MatchLabelKeys, term.LabelSelector, false, matched)
	for i, key := range term.MatchLabelKeys {
		if slices.Contains(term.MismatchLabelKeys, key) {
			matched.Index(i).Invalid(key,
				"exists in both matchLabelKeys and mismatchLabelKeys", "keep one")
		}
	}
	if topology := at.Field("topologyKey"); topology.Required(term.TopologyKey) {
		topology.Qualified(term.TopologyKey)
	}
}

func checkLabelKeys(keys []string, selector *metav1.LabelSelector, at *At) {
	if len(keys) > 0 && selector == nil {
		at.Forbid("must not be specified when labelSelector is not set",
			"add one, or remove the keys")
		return
	}
	for i, key := range keys {
		at.Index(i).Qualified(key)
	}
}

// checkNamed reports a key of matchLabelKeys that the selector also names. The API server adds an
// expression to the selector for each key that is a label of a Pod, or with always, for each key.
// Two expressions for one key count as the author's and the server's, even if the Pod lacks the
// label.
func (p *podChecker) checkNamed(keys []string, selector *metav1.LabelSelector, always bool, at *At) {
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
		if _, has := p.labels[key]; (has || always) && named || hasDuplicate {
			at.Index(i).Invalid(key, "exists in both matchLabelKeys and labelSelector", "keep one")
		}
	}
}

// notPositive is the API server's detail of a number that must be positive.
const notPositive = "must be greater than zero"

func (p *podChecker) checkSpread(i int) {
	all := p.Spec.TopologySpreadConstraints
	c, at := &all[i], p.at.As(codes.Scheduling).Field("topologySpreadConstraints").Index(i)
	if c.MaxSkew <= 0 {
		at.Field("maxSkew").Invalid(c.MaxSkew, notPositive, "set 1 or more")
	}
	at.Field("topologyKey").Required(c.TopologyKey)
	OneOf(at.Field("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule,
		corev1.ScheduleAnyway)
	for _, other := range all[:i] {
		if other.TopologyKey == c.TopologyKey && other.WhenUnsatisfiable == c.WhenUnsatisfiable {
			at.Duplicate(fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable),
				"merge the two")
		}
	}
	if n := c.MinDomains; n != nil && *n <= 0 {
		at.Field("minDomains").Invalid(*n, notPositive, "set 1 or more")
	} else if n != nil && c.WhenUnsatisfiable != corev1.DoNotSchedule {
		at.Field("minDomains").Invalid(*n, fmt.Sprintf(
			"can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule,
			c.WhenUnsatisfiable), "remove it")
	}
	NilOr(at.Field("nodeAffinityPolicy"), c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor,
		corev1.NodeInclusionPolicyIgnore)
	NilOr(at.Field("nodeTaintsPolicy"), c.NodeTaintsPolicy, corev1.NodeInclusionPolicyHonor,
		corev1.NodeInclusionPolicyIgnore)
	checkLabelKeys(c.MatchLabelKeys, c.LabelSelector, at.Field("matchLabelKeys"))
	// since 1.34, the server adds expressions as it does for affinities
	p.checkNamed(c.MatchLabelKeys, c.LabelSelector, !p.since("1.34"), at.Field("matchLabelKeys"))
	if c.LabelSelector != nil {
		at.Field("labelSelector").Selector(c.LabelSelector)
	}
}
