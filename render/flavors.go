package render

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// QueueLabel names Kueue's queue of a job (Kueue v0.15.0 pkg/controller/constants).
const QueueLabel = "kueue.x-k8s.io/queue-name"

// KueueManager is the manager of Kueue's patch.
const KueueManager = "kueue.x-k8s.io/manager"

// ResourceFlavor is Kueue's object of that kind, as far as it reaches Pods.
type ResourceFlavor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NodeLabels   map[string]string   `json:"nodeLabels"`
		NodeTaints   []corev1.Taint      `json:"nodeTaints"`
		Tolerations  []corev1.Toleration `json:"tolerations"`
		TopologyName *string             `json:"topologyName"`
	} `json:"spec"`
}

// Workload is Kueue's object of that kind, as far as its admission reaches Pods.
type Workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		QueueName string `json:"queueName"`
	} `json:"spec"`
	Status struct {
		Admission       *Admission       `json:"admission"`
		AdmissionChecks []AdmissionCheck `json:"admissionChecks"`
	} `json:"status"`
}

// Admission assigns flavors to the Pod sets of a Workload.
type Admission struct {
	ClusterQueue      string             `json:"clusterQueue"`
	PodSetAssignments []PodSetAssignment `json:"podSetAssignments"`
}

// PodSetAssignment assigns a flavor to each resource of a Pod set.
type PodSetAssignment struct {
	Name               string            `json:"name"`
	Flavors            map[string]string `json:"flavors"`
	TopologyAssignment any               `json:"topologyAssignment"`
}

// AdmissionCheck is a check's result, which may change Pods.
type AdmissionCheck struct {
	Name          string         `json:"name"`
	PodSetUpdates []PodSetUpdate `json:"podSetUpdates"`
}

// PodSetUpdate holds the fields that a check adds to the Pods of a set.
type PodSetUpdate struct {
	Name         string              `json:"name"`
	Labels       map[string]string   `json:"labels"`
	Annotations  map[string]string   `json:"annotations"`
	NodeSelector map[string]string   `json:"nodeSelector"`
	Tolerations  []corev1.Toleration `json:"tolerations"`
}

// Owns reports whether the Workload is the TrainJob's.
func (w *Workload) Owns(job *trainer.TrainJob) bool {
	return w != nil && job != nil && w.Namespace == job.Namespace &&
		slices.ContainsFunc(w.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == trainer.TrainJobKind && o.Name == job.Name &&
				(job.UID == "" || o.UID == job.UID)
		})
}

// Assign returns the Workload of an admission by hand, with a flavor for each named Pod set. It has
// no name and no ClusterQueue, since only a cluster knows them. The error is a finding.List. It
// tells why the scheduler of Kueue v0.19.2 does not assign the flavors: taints, selectors and
// required affinities count. A flavor with a topology assigns one. Each Pod set with requests needs
// a flavor.
func Assign(job *trainer.TrainJob, sets []PodSet, flavorOf map[string]string,
	flavors []ResourceFlavor) (*Workload, error) {
	if job == nil {
		job = &trainer.TrainJob{}
	}
	w := &Workload{}
	w.Spec.QueueName, w.Status.Admission = job.Labels[QueueLabel], &Admission{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(flavorOf)) {
		if !slices.ContainsFunc(sets, func(set PodSet) bool { return set.Name == name }) {
			errs = append(errs, fmt.Errorf("the TrainJob has no Pod set %q", name))
		}
	}
	for i := range sets {
		set := &sets[i]
		a := PodSetAssignment{Name: set.Name, Flavors: map[string]string{}}
		if name, ok := flavorOf[set.Name]; ok {
			flavor := find(flavors, name)
			if err := flavor.fits(set); err != nil {
				errs = append(
					errs, fmt.Errorf("flavor %q does not fit Pod set %q: %w", name, set.Name, err))
				continue
			}
			a.Flavors[string(corev1.ResourcePods)] = name
			if flavor.Spec.TopologyName != nil {
				a.TopologyAssignment = *flavor.Spec.TopologyName
			}
		} else if len(set.Requests) > 0 {
			errs = append(
				errs, fmt.Errorf("Pod set %q requests resources and has no flavor", set.Name))
		}
		w.Status.Admission.PodSetAssignments = append(w.Status.Admission.PodSetAssignments, a)
	}
	if errs != nil {
		return nil, notAdmitted(job, joinErrors(errs))
	}
	return w, nil
}

func find(flavors []ResourceFlavor, name string) *ResourceFlavor {
	for i := range flavors {
		if flavors[i].Name == name {
			return &flavors[i]
		}
	}
	return nil
}

// fits follows Kueue v0.19.2 pkg/scheduler/flavorassigner checkFlavorForPodSets. Only the keys of
// the flavor's own labels count.
func (f *ResourceFlavor) fits(set *PodSet) error {
	if f == nil {
		return errors.New("no such ResourceFlavor")
	}
	pod := &set.Template.Spec
	if t := set.TopologyRequest; f.Spec.TopologyName == nil && t != nil &&
		(t.Required != nil || t.Preferred != nil || t.Unconstrained != nil ||
			t.PodSetSliceSize != nil || t.SliceConstraints != nil) {
		return errors.New("the Pods ask for a topology, and the flavor has none")
	}
	tolerations := slices.Concat(pod.Tolerations, f.Spec.Tolerations)
	for i := range f.Spec.NodeTaints {
		taint := &f.Spec.NodeTaints[i]
		tolerated := slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(logr.Logger{}, taint, true)
		})
		if !tolerated &&
			(taint.Effect == corev1.TaintEffectNoSchedule ||
				taint.Effect == corev1.TaintEffectNoExecute) {
			return fmt.Errorf("the Pods do not tolerate taint %s", taint.ToString())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(pod.NodeSelector)) {
		if label, ok := f.Spec.NodeLabels[key]; ok && label != pod.NodeSelector[key] {
			return fmt.Errorf("the Pods select nodes with %s=%s, and the flavor has %s=%s", key,
				pod.NodeSelector[key], key, label)
		}
	}
	if !f.satisfies(pod.Affinity) {
		return errors.New(
			"the required node affinity of the Pods excludes the labels of the flavor")
	}
	return nil
}

// satisfies reports whether a term of the required affinity holds for the flavor's labels. A term
// without such labels holds.
func (f *ResourceFlavor) satisfies(affinity *corev1.Affinity) bool {
	if affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	var own corev1.NodeSelector
	for _, term := range terms {
		relevant := slices.DeleteFunc(slices.Clone(term.MatchExpressions),
			func(e corev1.NodeSelectorRequirement) bool {
				_, ok := f.Spec.NodeLabels[e.Key]
				return !ok
			})
		if len(relevant) == 0 {
			return true
		}
		own.NodeSelectorTerms = append(own.NodeSelectorTerms,
			corev1.NodeSelectorTerm{MatchExpressions: relevant})
	}
	one, _ := nodeaffinity.NewLazyErrorNodeSelector(&own).Match(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: f.Spec.NodeLabels}})
	return one || len(terms) == 0
}

// Admit returns the input with the patch that Kueue writes for an admission. The patch replaces the
// earlier one, or follows the TrainJob's own patches. PodSets returns the sets. Admit does not
// change in. The error is a finding.List. It reports an unknown flavor or Pod set, a Workload of
// another TrainJob, and values that exclude each other. Kueue follows no order where two flavors of
// a Pod set disagree.
func Admit(in Input, sets []PodSet, w *Workload, flavors []ResourceFlavor) (Input, error) {
	in = in.filled()
	jobs, err := w.patches(in.TrainJob, sets, flavors)
	if err != nil {
		return in, notAdmitted(in.TrainJob, err)
	}
	in.TrainJob = in.TrainJob.DeepCopy()
	patches := &in.TrainJob.Spec.RuntimePatches
	at := slices.IndexFunc(*patches, func(p trainer.RuntimePatch) bool {
		return p.Manager == KueueManager
	})
	if at < 0 { // Kueue's webhook adds it on creation
		at, *patches = len(*patches), append(*patches, trainer.RuntimePatch{Manager: KueueManager})
	}
	template := &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: jobs}}
	if old := (*patches)[at].TrainingRuntimeSpec; old != nil && old.Template != nil {
		template.Metadata = old.Template.Metadata
	}
	(*patches)[at].TrainingRuntimeSpec = &trainer.TrainingRuntimeSpecPatch{Template: template}
	return in, nil
}

// notAdmitted returns the finding on a TrainJob that Kueue does not admit.
func notAdmitted(job *trainer.TrainJob, err error) finding.List {
	return finding.List{{
		Code: codes.NotAdmitted, Severity: finding.Error, Object: ObjectOf(job),
		Path:    fieldpath.Fields("spec"),
		Message: "Kueue does not admit the TrainJob: " + err.Error(),
		Remedy:  finding.Remedy{Text: "assign other flavors, or fix the objects that are named"},
	}}
}

// patches follows Kueue v0.19.2 pkg/controller/jobframework getPodSetsInfoFromStatus and
// pkg/podset.
func (w *Workload) patches(job *trainer.TrainJob, sets []PodSet,
	flavors []ResourceFlavor) ([]trainer.ReplicatedJobPatch, error) {
	switch {
	case w == nil || w.Status.Admission == nil:
		return nil, errors.New("its Workload has no admission")
	case w.Name != "" && !w.Owns(job):
		return nil, fmt.Errorf("Workload %s/%s belongs to another object", w.Namespace, w.Name)
	case len(w.Status.Admission.PodSetAssignments) != len(sets):
		return nil, fmt.Errorf("its Workload assigns %d Pod sets, and the TrainJob has %d",
			len(w.Status.Admission.PodSetAssignments), len(sets))
	}
	var jobs []trainer.ReplicatedJobPatch
	for i, a := range w.Status.Admission.PodSetAssignments {
		if a.Name != sets[i].Name {
			return nil, fmt.Errorf("its Workload assigns Pod set %q, and the TrainJob has %q",
				a.Name, sets[i].Name)
		}
		pod := PodSetUpdate{Labels: w.labels(a.Name), Annotations: map[string]string{},
			NodeSelector: map[string]string{}}
		var gates []corev1.PodSchedulingGate
		if a.TopologyAssignment != nil {
			if t := sets[i].TopologyRequest; t == nil || t.Required == nil && t.Preferred == nil &&
				t.Unconstrained == nil {
				pod.Annotations["kueue.x-k8s.io/podset-unconstrained-topology"] = "true"
			}
			gates = append(gates, corev1.PodSchedulingGate{Name: "kueue.x-k8s.io/topology"})
		}
		if w.Name != "" {
			pod.Annotations["kueue.x-k8s.io/workload"] = w.Name
		}
		if err := pod.addFlavors(a.Flavors, flavors); err != nil {
			return nil, fmt.Errorf("Pod set %q: %w", a.Name, err)
		}
		for _, check := range w.Status.AdmissionChecks {
			at := slices.IndexFunc(check.PodSetUpdates, func(u PodSetUpdate) bool {
				return u.Name == a.Name
			})
			if at < 0 {
				continue
			}
			if err := pod.add(check.PodSetUpdates[at]); err != nil {
				return nil, fmt.Errorf("Pod set %q: admission check %q: %w", a.Name,
					check.Name, err)
			}
		}
		jobs = append(
			jobs, trainer.ReplicatedJobPatch{
				Name: a.Name,
				Template: &trainer.JobTemplatePatch{
					Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{
						Metadata: &metav1.ObjectMeta{
							Annotations: pod.Annotations, Labels: pod.Labels},
						Spec: &trainer.PodSpecPatch{
							NodeSelector: pod.NodeSelector, Tolerations: pod.Tolerations,
							SchedulingGates: gates},
					}}}})
	}
	return jobs, nil
}

// labels returns the labels that Kueue gives to all Pods of a set.
func (w *Workload) labels(set string) map[string]string {
	all := map[string]string{
		"kueue.x-k8s.io/podset": set, "kueue.x-k8s.io/local-queue-name": w.Spec.QueueName}
	if queue := w.Status.Admission.ClusterQueue; len(validation.IsDNS1123Label(queue)) == 0 {
		all["kueue.x-k8s.io/cluster-queue-name"] = queue
	}
	if _, remote := w.Labels["kueue.x-k8s.io/multikueue-origin"]; remote {
		all["kueue.x-k8s.io/multikueue-worker-workload-pod"] = "true"
	}
	return all
}

// addFlavors adds each flavor once. Kueue takes them in random order; here the order of the
// resources counts.
func (u *PodSetUpdate) addFlavors(of map[string]string, flavors []ResourceFlavor) error {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if seen[of[name]] {
			continue
		}
		seen[of[name]] = true
		flavor := find(flavors, of[name])
		if flavor == nil {
			return fmt.Errorf("no ResourceFlavor %q", of[name])
		}
		if err := addAll("node label", u.NodeSelector, flavor.Spec.NodeLabels); err != nil {
			return fmt.Errorf("flavor %q: %w: Kueue takes either value", of[name], err)
		}
		u.Tolerations = append(u.Tolerations, flavor.Spec.Tolerations...)
	}
	return nil
}

// add adds the update of a check, without the tolerations that the set has.
func (u *PodSetUpdate) add(from PodSetUpdate) error {
	err := joinErrors(
		[]error{addAll("annotation", u.Annotations, from.Annotations),
			addAll("label", u.Labels, from.Labels),
			addAll("node label", u.NodeSelector, from.NodeSelector)})
	for _, t := range from.Tolerations {
		if !slices.ContainsFunc(u.Tolerations, func(own corev1.Toleration) bool {
			return sameToleration(own, t)
		}) {
			u.Tolerations = append(u.Tolerations, t)
		}
	}
	return err
}

// sameToleration compares tolerations as Kueue does: a missing operator is Equal.
func sameToleration(a, b corev1.Toleration) bool {
	for _, t := range []*corev1.Toleration{&a, &b} {
		if t.Operator == "" {
			t.Operator = corev1.TolerationOpEqual
		}
	}
	return a.MatchToleration(&b)
}

// addAll adds entries to a map. It reports keys with another value.
func addAll(what string, to, from map[string]string) error {
	var clashes []error
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if value, ok := to[key]; ok && value != from[key] {
			clashes = append(clashes, fmt.Errorf("%s %s is %q and %q", what, key, value, from[key]))
		}
		to[key] = from[key]
	}
	return joinErrors(clashes)
}

// joinErrors returns one error in one line, or nil.
func joinErrors(errs []error) error {
	var texts []string
	for _, err := range errs {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if texts == nil {
		return nil
	}
	return errors.New(strings.Join(texts, ", "))
}
