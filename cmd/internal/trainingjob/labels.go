package trainingjob

import (
	"maps"
	"slices"
	"strings"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
)

// Labels of a JobSet's Pods that correspond to the old controller's labels.
const (
	jobSetName    = "jobset.sigs.k8s.io/jobset-name"
	replicatedJob = "jobset.sigs.k8s.io/replicatedjob-name"
	podIndex      = "batch.kubernetes.io/job-completion-index"
	jobIndexLabel = "jobset.sigs.k8s.io/job-index"

	oldPrefix = "training.kubeflow.org/"
)

// newLabel returns the new label for an old one, or "". A Pod's number in its type has a label only
// in a job with a single type.
func (c *conversion) newLabel(old string) string {
	switch old {
	case kubeflow.JobNameLabel:
		return jobSetName
	case kubeflow.ReplicaTypeLabel:
		if len(c.roles) > 1 || len(c.replicas) == 1 {
			return replicatedJob
		}
	case kubeflow.ReplicaIndexLabel:
		now := podIndex
		for _, r := range c.roles {
			if len(r.members) > 1 || r.members[0].first > 0 {
				return ""
			}
			if r.jobPerPod {
				now = jobIndexLabel // 0 for the master, like its index
			}
		}
		return now
	}
	return ""
}

// newValue returns the value of the new label for a value of the old one.
func (c *conversion) newValue(label, value string) (string, bool) {
	if label != kubeflow.ReplicaTypeLabel {
		return value, true
	}
	for _, r := range c.roles {
		if strings.EqualFold(value, r.replica.lower()) {
			return r.name, true
		}
	}
	return "", false
}

// labels removes the old controller's labels from a template. The old controller overwrote them.
func (c *conversion) labels(t *corev1.PodTemplateSpec, metadata fieldpath.Path) {
	for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
		if strings.HasPrefix(name, oldPrefix) {
			delete(t.Labels, name)
			help := "remove it"
			if now := c.newLabel(name); now != "" {
				help = "select Pods by " + now
			}
			c.report("podLabel", metadata.Append(fieldpath.Field("labels"), fieldpath.Key(name)),
				help)
		}
	}
	if len(t.Labels) == 0 {
		t.Labels = nil
	}
}

// relabelRef replaces the label in a field reference to a label of the old controller.
func (c *conversion) relabelRef(r *role, path *string) {
	label, ok := strings.CutPrefix(*path, "metadata.labels['"+oldPrefix)
	if !ok {
		return
	}
	label = oldPrefix + strings.TrimSuffix(label, "']")
	now := c.newLabel(label)
	if c.reportIf(now == "", "fieldReference", r.path(), label) {
		return
	}
	*path = "metadata.labels['" + now + "']"
}

// selectors replaces the old controller's labels in the selectors of a Pod.
func (c *conversion) selectors(r *role, pod *corev1.PodSpec) {
	if a := pod.Affinity; a != nil {
		c.terms(a.PodAffinity, r.path(fieldpath.Fields("affinity", "podAffinity")...))
		c.terms((*corev1.PodAffinity)(a.PodAntiAffinity),
			r.path(fieldpath.Fields("affinity", "podAntiAffinity")...))
	}
	for i := range pod.TopologySpreadConstraints {
		path := r.path(fieldpath.Field("topologySpreadConstraints"), fieldpath.Index(i))
		c.selector(pod.TopologySpreadConstraints[i].LabelSelector, path)
		c.keys(pod.TopologySpreadConstraints[i].MatchLabelKeys, path)
	}
}

// terms replaces the labels in the terms of an affinity.
func (c *conversion) terms(a *corev1.PodAffinity, path fieldpath.Path) {
	if a == nil {
		return
	}
	term := func(t *corev1.PodAffinityTerm) {
		c.selector(t.LabelSelector, path)
		c.keys(t.MatchLabelKeys, path)
		c.keys(t.MismatchLabelKeys, path)
	}
	for i := range a.RequiredDuringSchedulingIgnoredDuringExecution {
		term(&a.RequiredDuringSchedulingIgnoredDuringExecution[i])
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		term(&a.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm)
	}
}

func (c *conversion) selector(s *metav1.LabelSelector, path fieldpath.Path) {
	if s == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if !strings.HasPrefix(name, oldPrefix) {
			continue
		}
		now := c.newLabel(name)
		value, known := c.newValue(name, s.MatchLabels[name])
		if now == "" || !known {
			c.noSelector(name, path)
			continue
		}
		delete(s.MatchLabels, name)
		s.MatchLabels[now] = value
	}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		if !strings.HasPrefix(e.Key, oldPrefix) {
			continue
		}
		old, now := e.Key, c.newLabel(e.Key)
		for k := range e.Values {
			value, known := c.newValue(old, e.Values[k])
			if !known {
				now = ""
			}
			e.Values[k] = value
		}
		if now == "" {
			c.noSelector(old, path)
			continue
		}
		e.Key = now
	}
}

func (c *conversion) keys(keys []string, path fieldpath.Path) {
	for i, key := range keys {
		if !strings.HasPrefix(key, oldPrefix) {
			continue
		}
		if now := c.newLabel(key); now != "" {
			keys[i] = now
		} else {
			c.noSelector(key, path)
		}
	}
}

func (c *conversion) noSelector(label string, path fieldpath.Path) {
	c.report("selector", path, label, jobSetName, replicatedJob)
}
