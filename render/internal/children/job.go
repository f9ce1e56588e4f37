package children

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/release/minor"
)

// restartAttemptKey is the label with the number of restarts of the whole JobSet. The module of
// JobSet's API does not export it (JobSet v0.12.0 pkg/constants).
const restartAttemptKey = "jobset.sigs.k8s.io/restart-attempt"

// Members are the child Jobs of one replicated job.
type Members struct {
	*jobset.ReplicatedJob
	family *Family
	// firstOfAll and firstInGroup are the numbers of Jobs before its first Job, in the JobSet and
	// in its group.
	firstOfAll, firstInGroup, groupReplicas int
	WaitsFor                                []jobset.DependsOn
	presence                                presence

	shared *sharedJob // made by the first call of Job
}

// sharedJob holds the values that all Jobs of one replicated job share.
type sharedJob struct {
	marks map[string]string // labels that are also annotations
	job   batchv1.Job
}

// Job returns the child Job of the index. Jobs of one replicated job share memory. The caller may
// change the Job and its maps, but nothing behind another pointer or slice.
func (m *Members) Job(index int) *batchv1.Job {
	if m.shared == nil {
		m.shared = m.newSharedJob()
	}
	f := m.family
	job := m.shared.job
	job.Name = m.JobName(index)
	m.mark(&job.ObjectMeta, index, job.Name)
	m.mark(&job.Spec.Template.ObjectMeta, index, job.Name)
	if _, exclusive := job.Annotations[jobset.ExclusiveKey]; exclusive {
		if _, byNodeSelector := job.Annotations[jobset.NodeSelectorStrategyKey]; byNodeSelector {
			placeByNodeSelector(&job.Spec.Template.Spec, f.Namespace+"_"+job.Name)
		}
	}
	if f.opts.Stored {
		m.storeJob(&job)
	}
	return &job
}

// newSharedJob makes the parts that do not depend on the index.
func (m *Members) newSharedJob() *sharedJob {
	f := m.family
	marks := map[string]string{
		jobset.JobSetNameKey:         f.Name,
		jobset.ReplicatedJobNameKey:  m.Name,
		restartAttemptKey:            strconv.Itoa(int(f.Status.Restarts)),
		jobset.ReplicatedJobReplicas: strconv.Itoa(int(m.Replicas)),
		jobset.GlobalReplicasKey:     strconv.Itoa(f.globalReplicas),
	}
	if f.opts.Release.JobSet.GroupLabels {
		marks[jobset.GroupNameKey], marks[jobset.GroupReplicasKey] = m.GroupName,
			strconv.Itoa(m.groupReplicas)
		if f.uid != "" {
			marks[jobset.JobSetUIDKey] = string(f.uid)
		}
	}
	if c := f.Spec.Coordinator; c != nil {
		marks[jobset.CoordinatorKey] = f.coordinatorEndpoint()
	}
	job := batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		// Of the template's metadata, only labels and annotations reach the Job.
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       f.Namespace,
			Labels:          m.Template.Labels,
			Annotations:     m.Template.Annotations,
			OwnerReferences: f.owner(),
		},
		Spec: *m.Template.Spec.DeepCopy(),
	}
	job.Spec.Suspend = new(f.suspended())
	pod := &job.Spec.Template.Spec
	if f.subdomain != "" {
		pod.Subdomain = f.subdomain
	}
	pod.Volumes = append(pod.Volumes, f.claimVolumes(pod)...)
	if f.opts.Stored {
		defaults.PodTemplate(pod)
		minor.Each(f.opts.Release.Kubernetes, &job.Spec, dropped)
		storePodTemplate(&job.Spec.Template, f.opts.Release.Kubernetes)
		setDefaultCounts(&job.Spec)
	}
	return &sharedJob{marks: marks, job: job}
}

// mark writes the JobSet controller's labels and annotations over the author's. Both get the same
// keys, except that only annotations ask for exclusive placement.
func (m *Members) mark(meta *metav1.ObjectMeta, index int, jobName string) {
	f := m.family
	key := sha1.Sum([]byte(f.Namespace + "/" + jobName))
	marks := map[string]string{
		jobset.JobIndexKey:       strconv.Itoa(index),
		jobset.JobKey:            hex.EncodeToString(key[:]),
		jobset.JobGlobalIndexKey: strconv.Itoa(m.firstOfAll + index),
	}
	if f.opts.Release.JobSet.GroupLabels {
		marks[jobset.JobGroupIndexKey] = strconv.Itoa(m.firstInGroup + index)
	}
	meta.Labels = overlay(meta.Labels, m.shared.marks, marks)
	meta.Annotations = overlay(meta.Annotations, m.shared.marks, marks,
		exclusivePlacement(f.Annotations), exclusivePlacement(m.Template.Annotations))
}

// exclusivePlacement returns the annotations that ask for exclusive placement. The strategy counts
// only with the topology.
func exclusivePlacement(annotations map[string]string) map[string]string {
	topology, ok := annotations[jobset.ExclusiveKey]
	if !ok {
		return nil
	}
	placement := map[string]string{jobset.ExclusiveKey: topology}
	if strategy, ok := annotations[jobset.NodeSelectorStrategyKey]; ok {
		placement[jobset.NodeSelectorStrategyKey] = strategy
	}
	return placement
}

// overlay merges maps into a new one; later maps win.
func overlay(layers ...map[string]string) map[string]string {
	size := 0
	for _, layer := range layers {
		size += len(layer)
	}
	merged := make(map[string]string, size)
	for _, layer := range layers {
		maps.Copy(merged, layer)
	}
	return merged
}

// placeByNodeSelector sends all Pods of a Job to the nodes with the label of the Job. An
// administrator labels these nodes, and taints them against other Pods.
func placeByNodeSelector(pod *corev1.PodSpec, label string) {
	pod.NodeSelector = overlay(pod.NodeSelector, map[string]string{jobset.NamespacedJobKey: label})
	pod.Tolerations = append(slices.Clip(pod.Tolerations), corev1.Toleration{
		Key: jobset.NoScheduleTaintKey, Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoSchedule,
	})
}

// coordinatorEndpoint returns the address of the Pod that spec.coordinator names. As upstream, it
// has a subdomain even if DNS hostnames are off.
func (f *Family) coordinatorEndpoint() string {
	c, subdomain := f.Spec.Coordinator, f.Spec.Network.Subdomain
	if subdomain == "" {
		subdomain = f.Name
	}
	return fmt.Sprintf("%s-%s-%d-%d.%s", f.Name, c.ReplicatedJob, c.JobIndex, c.PodIndex, subdomain)
}

// The Job API still writes these labels in addition to the labels with a prefix.
const (
	legacyJobNameLabel       = "job-name"
	legacyControllerUIDLabel = "controller-uid"
)

// storeJob adds the labels and the selector that the Job API writes on creation. A Job finds its
// Pods with them. storeJob keeps the author's values, and skips a Job with manualSelector.
func (m *Members) storeJob(job *batchv1.Job) {
	if manual := job.Spec.ManualSelector; manual != nil && *manual {
		return
	}
	labels := job.Spec.Template.Labels // made by mark, for this Job alone
	for _, key := range []string{legacyJobNameLabel, batchv1.JobNameLabel} {
		if _, set := labels[key]; !set {
			labels[key] = job.Name
		}
	}
	if m.family.opts.JobUID == nil {
		return
	}
	uid := string(m.family.opts.JobUID(job.Name))
	if uid == "" {
		return
	}
	for _, key := range []string{legacyControllerUIDLabel, batchv1.ControllerUidLabel} {
		if _, set := labels[key]; !set {
			labels[key] = uid
		}
	}
	selector := job.Spec.Selector.DeepCopy()
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}
	if _, set := selector.MatchLabels[batchv1.ControllerUidLabel]; !set {
		selector.MatchLabels = overlay(selector.MatchLabels,
			map[string]string{batchv1.ControllerUidLabel: uid})
	}
	job.Spec.Selector = selector
}

// setDefaultCounts sets the defaults of a Job's counts: a parallelism of one. If neither count is
// set, completions becomes one (Kubernetes v1.36.3 pkg/apis/batch/v1).
func setDefaultCounts(spec *batchv1.JobSpec) {
	if spec.Parallelism == nil && spec.Completions == nil {
		defaults.SetPointer(&spec.Completions, 1)
	}
	defaults.SetPointer(&spec.Parallelism, 1)
}

func (m *Members) JobName(index int) string {
	return m.family.Name + "-" + m.Name + "-" + strconv.Itoa(index)
}
