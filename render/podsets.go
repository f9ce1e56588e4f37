package render

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/release"
)

// PodSet is what Kueue counts for one replicated job of a TrainJob, in the form of its Workload.
type PodSet struct {
	Name  string `json:"name" doc:"The replicated job."`
	Count int32  `json:"count" doc:"The number of Pods."`
	// Requests are in Kueue's units: thousandths of a CPU, and whole units of everything else. A
	// limit without a request counts as one.
	Requests        corev1.ResourceList    `json:"requests,omitempty" doc:"The requests of one Pod."`
	Limits          corev1.ResourceList    `json:"limits,omitempty" doc:"The limits of one Pod."`
	TopologyRequest *TopologyRequest       `json:"topologyRequest,omitempty" doc:"The request of the topology annotations, as in a Workload."`
	Template        corev1.PodTemplateSpec `json:"template" doc:"The Pods in the Workload. The cluster's Pods have more: the fields of the runtime's policy."`
	// Findings warn of Pods or requests that the cluster has in other numbers.
	Findings finding.List `json:"-"`
}

// TopologyRequest is Kueue's request for the topology of a Pod set. It has the fields of the one in
// a Workload.
type TopologyRequest struct {
	Required                    *string           `json:"required,omitempty"`
	Preferred                   *string           `json:"preferred,omitempty"`
	Unconstrained               *bool             `json:"unconstrained,omitempty"`
	PodIndexLabel               *string           `json:"podIndexLabel,omitempty"`
	SubGroupIndexLabel          *string           `json:"subGroupIndexLabel,omitempty"`
	SubGroupCount               *int32            `json:"subGroupCount,omitempty"`
	PodSetGroupName             *string           `json:"podSetGroupName,omitempty"`
	PodSetSliceRequiredTopology *string           `json:"podSetSliceRequiredTopology,omitempty"`
	PodSetSliceSize             *int32            `json:"podSetSliceSize,omitempty"`
	SliceConstraints            []SliceConstraint `json:"podsetSliceRequiredTopologyConstraints,omitempty"`
}

// SliceConstraint is one layer of slices of a Pod set.
type SliceConstraint struct {
	Topology string `json:"topology,omitempty"`
	Size     int32  `json:"size,omitempty"`
}

// mostPodSets is the number of Pod sets that a Workload takes.
const mostPodSets = 18

// PodSets returns the Pod sets that Kueue 0.18 and 0.19 count for a TrainJob, in their order. Kueue
// counts with the code of Trainer 2.2 on every cluster. Findings of the sets name other Pods of the
// cluster, which runs Options.Release. The error holds every reason why the cluster rejects the
// TrainJob, or why Kueue makes no Workload of it. RuntimeClasses and LimitRanges do not count.
func PodSets(in Input, o Options) ([]PodSet, error) {
	out, err := JobSet(in, o)
	if err != nil {
		return nil, err
	}
	o.Release = o.Release.Or()
	if reflect.DeepEqual(in.Live, in.Runtime) {
		in.Live = nil
	} else if in.Live != nil {
		in.Runtime = in.Live
	}
	m := Merge(in,
		Options{Release: release.Kueue(), OnConflict: Last, ForceManagers: o.ForceManagers})
	if o.Release.Overrides != release.RuntimePatches {
		return nil, m.noPodSets(
			fmt.Errorf("spec.runtimePatches does not exist in Trainer %s", o.Release.Name))
	}
	sets, err := m.podSets()
	if err != nil {
		return nil, m.noPodSets(err)
	}
	m.compare(sets, out.JobSet, o.Release)
	return sets, nil
}

// Totals returns the requests of all Pods of the sets.
func Totals(sets []PodSet) corev1.ResourceList {
	totals := corev1.ResourceList{}
	for _, set := range sets {
		for name, q := range set.Requests {
			sum := totals[name]
			q = q.DeepCopy()
			q.Mul(int64(set.Count))
			sum.Add(q)
			totals[name] = sum
		}
	}
	return totals
}

// Requests returns the resources that the scheduler counts for a Pod. An API server copies limits
// to missing requests, so they count.
func Requests(spec *corev1.PodSpec) corev1.ResourceList {
	if spec == nil {
		return nil
	}
	counted := *spec.DeepCopy()
	fill := func(r *corev1.ResourceRequirements) {
		all := corev1.ResourceList{}
		maps.Copy(all, r.Limits)
		maps.Copy(all, r.Requests)
		r.Requests = all
	}
	for _, c := range defaults.Containers(&counted) {
		fill(&c.Resources)
	}
	if counted.Resources != nil {
		fill(counted.Resources)
	}
	return resourcehelper.PodRequests(&corev1.Pod{Spec: counted},
		resourcehelper.PodResourcesOptions{})
}

// noPodSets returns the finding on a TrainJob of which Kueue makes no Workload.
func (r *renderer) noPodSets(err error) finding.List {
	return finding.List{{
		Code: codes.NoPodSets, Severity: finding.Error, Object: r.trainJob(),
		Path:    fieldpath.Fields("spec"),
		Message: "Kueue makes no Workload of the TrainJob: " + err.Error(),
		Remedy:  finding.Remedy{Text: "fix the runtime or the patches"},
	}}
}

// podSets follows Kueue v0.19.2 pkg/controller/jobs/trainjob getChildJobSet. The policies give
// counts, the command, the arguments and Flux's init container; nothing else that they write
// reaches the Workload.
func (m *Merging) podSets() ([]PodSet, error) {
	if m.Result == nil {
		return nil, cmp.Or(m.err, errors.New("its patches do not merge in Trainer 2.2"))
	}
	runtime := *m.in.Runtime
	// Volcano writes an annotation only, which Kueue ignores
	if p := runtime.PodGroupPolicy; p != nil {
		runtime.PodGroupPolicy = &trainer.PodGroupPolicy{
			PodGroupPolicySource: trainer.PodGroupPolicySource{Coscheduling: p.Coscheduling}}
	}
	template := &m.Result.Template
	input := mlpolicy.Input{Release: m.release, Earlier: m.in.Earlier, TrainJob: m.in.TrainJob,
		Runtime: &runtime, Template: shared(template)}
	enforced := mlpolicy.NewJob(input)
	if !mlpolicy.Enforce(enforced) {
		return nil, errors.New("its policy fails in Trainer 2.2")
	}
	input.Template = template
	j := mlpolicy.NewJob(input)
	j.Command, j.Args, j.CommandFrom = enforced.Command, enforced.Args, enforced.CommandFrom
	for i, set := range j.Sets {
		set.Count = enforced.Sets[i].Count
		j.SetCounts(set)
		m.initializer(j, set)
		m.trainer(j, set)
		pod := &set.Template.Spec.Template.Spec
		pod.InitContainers = append(pod.InitContainers,
			enforced.Sets[i].Template.Spec.Template.Spec.InitContainers[len(
				pod.InitContainers):]...)
		// The Go types of Trainer 2.2 lack the field in patches.
		own := &m.in.Runtime.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		pod.TerminationGracePeriodSeconds = own.TerminationGracePeriodSeconds
	}
	mlpolicy.Schedule(j)
	made := &jobset.JobSet{Spec: template.Spec}
	dropEmpty(made)
	if n := len(made.Spec.ReplicatedJobs); n == 0 || n > mostPodSets {
		return nil, fmt.Errorf("invalid number of Pod sets %d: must be 1 to %d", n, mostPodSets)
	}
	var sets []PodSet
	for i := range made.Spec.ReplicatedJobs {
		set, err := podSetOf(&made.Spec.ReplicatedJobs[i])
		if err != nil {
			return nil, fmt.Errorf("replicated job %q: %w", made.Spec.ReplicatedJobs[i].Name, err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// shared returns a copy for the policies. As in Trainer 2.2, it shares the items of the lists that
// policies write. So an item that is replaced in place reaches the template. An appended one does
// not. Lists have the capacity that decoding gives them, a power of two.
func shared(template *trainer.JobSetTemplateSpec) *trainer.JobSetTemplateSpec {
	policed := *template
	policed.Spec.ReplicatedJobs = slices.Clone(template.Spec.ReplicatedJobs)
	for i := range template.Spec.ReplicatedJobs {
		pod := &template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		pod.Volumes = grown(pod.Volumes)
		for _, c := range defaults.Containers(pod) {
			c.Env, c.Ports, c.VolumeMounts = grown(c.Env), grown(c.Ports), grown(c.VolumeMounts)
		}
		to := &policed.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		*to = *pod
		to.Containers, to.InitContainers = slices.Clone(pod.Containers),
			slices.Clone(pod.InitContainers)
	}
	return &policed
}

func grown[T any](list []T) []T {
	if len(list) == 0 {
		return list
	}
	return append(make([]T, 0, 1<<bits.Len(uint(len(list)-1))), list...)
}

// podSetOf follows Kueue v0.19.2 pkg/controller/jobs/jobset PodSets, and the defaults of the
// Workload's definition.
func podSetOf(job *jobset.ReplicatedJob) (set PodSet, err error) {
	set = PodSet{
		Name: strings.ToLower(job.Name), Count: job.Replicas * *job.Template.Spec.Parallelism,
		Template: job.Template.Spec.Template}
	if set.TopologyRequest, err = topologyOf(set.Template.Annotations, job.Replicas); err != nil {
		return set, err
	}
	defaults.PodTemplate(&set.Template.Spec)
	defaults.PortProtocols(&set.Template.Spec, nil, nil)
	set.Limits = resourcehelper.PodLimits(&corev1.Pod{Spec: set.Template.Spec},
		resourcehelper.PodResourcesOptions{})
	set.Requests = queued(Requests(&set.Template.Spec))
	return set, nil
}

// queued returns requests in Kueue's units. A negative one counts as zero.
func queued(requests corev1.ResourceList) corev1.ResourceList {
	for name, q := range requests {
		if name == corev1.ResourceCPU {
			requests[name] = *resource.NewMilliQuantity(max(0, q.MilliValue()), q.Format)
		} else {
			requests[name] = *resource.NewQuantity(max(0, q.Value()), q.Format)
		}
	}
	return requests
}

// topologyOf reads the annotations of a Pod template as Kueue v0.19.2 pkg/controller/jobframework
// tas.go does.
func topologyOf(annotations map[string]string, replicas int32) (*TopologyRequest, error) {
	value := func(name string) *string {
		if v, ok := annotations["kueue.x-k8s.io/"+name]; ok {
			return &v
		}
		return nil
	}
	index, group := batchv1.JobCompletionIndexAnnotation, jobset.JobIndexKey
	r := &TopologyRequest{PodIndexLabel: &index, SubGroupIndexLabel: &group,
		SubGroupCount: &replicas}
	required, preferred := value("podset-required-topology"), value("podset-preferred-topology")
	switch free := value("podset-unconstrained-topology"); {
	case required != nil:
		r.Required = required
	case preferred != nil:
		r.Preferred = preferred
	case free != nil:
		unconstrained, err := strconv.ParseBool(*free)
		if err != nil {
			return nil, fmt.Errorf(
				"annotation kueue.x-k8s.io/podset-unconstrained-topology: invalid value %q: must "+
					"be true or false", *free)
		}
		r.Unconstrained = &unconstrained
	}
	if required != nil || preferred != nil {
		r.PodSetGroupName = value("podset-group-name")
	}
	slice, size := value("podset-slice-required-topology"), value("podset-slice-size")
	if layers := value("podset-slice-required-topology-constraints"); layers != nil {
		err := json.Unmarshal([]byte(*layers), &r.SliceConstraints)
		if n := len(r.SliceConstraints); err != nil || n == 0 || n > 3 {
			return nil, fmt.Errorf(
				"annotation kueue.x-k8s.io/podset-slice-required-topology-constraints: invalid "+
					"value %q: must be a list of 1 to 3 layers", *layers)
		}
	} else if slice != nil && size != nil {
		n, err := strconv.ParseInt(*size, 10, 32)
		if err != nil {
			return nil, fmt.Errorf(
				"annotation kueue.x-k8s.io/podset-slice-size: invalid value %q: must be a 32-bit "+
					"integer", *size)
		}
		r.PodSetSliceRequiredTopology, r.PodSetSliceSize = slice, new(int32(n))
	}
	return r, nil
}

// compare reports each set that the cluster runs in other numbers. Kueue reads the live runtime,
// and the Trainer its snapshot. The jobs may then differ, and the finding is about the runtime.
func (r *renderer) compare(sets []PodSet, js *jobset.JobSet, cluster *release.Release) {
	jobs := js.Spec.ReplicatedJobs
	named := func(name string) int {
		return slices.IndexFunc(jobs, func(job jobset.ReplicatedJob) bool {
			return strings.ToLower(job.Name) == name
		})
	}
	warn := func(set *PodSet, f finding.Finding, name string, counts, runs any) {
		f.Code, f.Severity = codes.QueueCounts, finding.Warning
		f.Message = fmt.Sprintf("Kueue counts %v for replicated job %q; Trainer %s runs %v", counts,
			name, cluster.Name, runs)
		if r.in.Live != nil {
			f.Message += " by its snapshot of the runtime"
			f.Object, f.Path, f.Remedy.Text = r.trainJob(), fieldpath.Fields("spec", "runtimeRef"),
				"create the TrainJob again, or restore the runtime"
		}
		set.Findings = append(set.Findings, f)
	}
	for i := range sets {
		set := &sets[i]
		count, runs, requests := fmt.Sprintf("%d Pods", set.Count), int64(0), set.Requests
		if at := named(set.Name); at >= 0 {
			// the JobSet API reads a lost zero as one
			runs = int64(max(1, jobs[at].Replicas)) * int64(*jobs[at].Template.Spec.Parallelism)
			requests = queued(Requests(&jobs[at].Template.Spec.Template.Spec))
		}
		if int64(set.Count) != runs {
			path := fieldpath.Fields("spec", "template", "spec", "replicatedJobs").Append(
				fieldpath.Item("name", set.Name))
			warn(set, finding.Finding{
				Object: r.runtime(), Path: path,
				Remedy: finding.Remedy{Text: "set replicas to at least 1"}}, set.Name, count, runs)
		}
		if counts, runs := requestsText(set.Requests), requestsText(requests); counts != runs {
			path, remedy := fieldpath.Fields("spec", "trainer", "resourcesPerNode"),
				"set every resource in resourcesPerNode that the runtime sets"
			warn(set, finding.Finding{Object: r.trainJob(), Path: path,
				Remedy: finding.Remedy{Text: remedy}}, set.Name, counts+" a Pod", runs)
		}
	}
	for i := range jobs {
		// in the snapshot only
		if !slices.ContainsFunc(sets, func(set PodSet) bool {
			return set.Name == strings.ToLower(jobs[i].Name)
		}) {
			warn(&sets[0], finding.Finding{}, jobs[i].Name, "no Pods",
				int64(max(1, jobs[i].Replicas))*int64(*jobs[i].Template.Spec.Parallelism))
		}
	}
}

func requestsText(list corev1.ResourceList) string {
	var parts []string
	for name, q := range list {
		if !q.IsZero() {
			parts = append(parts, fmt.Sprintf("%s=%s", name, q.String()))
		}
	}
	slices.Sort(parts)
	return cmp.Or(strings.Join(parts, ","), "nothing")
}
