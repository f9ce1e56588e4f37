package trainingjob

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// framework describes a kind of the old API.
type framework struct {
	kind string
	// label is the value of the runtime's label trainer.kubeflow.org/framework.
	label string
	// specs is the field of the replica types. types lists them in the order of their ranks.
	specs string
	types []kubeflow.ReplicaType
	// container is the required name of the training container, or empty for any name.
	container string
	// portName and port define the port by which the Pods find each other.
	portName string
	port     int32
	// restart is the default restart policy of a replica type, and replicas returns its default
	// number of Pods.
	restart  kubeflow.RestartPolicy
	replicas func(kubeflow.ReplicaType) int32
}

// conversion is the conversion of one job.
type conversion struct {
	findings finding.List
	opts     Options
	framework
	object   fieldpath.Object
	meta     metav1.ObjectMeta
	run      kubeflow.RunPolicy
	replicas []*replica
	hosts    *regexp.Regexp // see oldHosts

	// The decisions of the job's kind.

	roles []*role
	// ml is the policy of the runtime. An empty one makes plain replicated jobs.
	ml trainer.MLPolicySource
	// procs is spec.trainer.numProcPerNode. nodes is spec.trainer.numNodes, if it differs from the
	// count of the job node.
	procs, nodes *int32
	// targets are the replicated jobs that must succeed. Empty stands for all.
	targets []string
}

// replica is one replica type of the old job.
type replica struct {
	typ  kubeflow.ReplicaType
	spec *kubeflow.ReplicaSpec
	path fieldpath.Path
}

func (r *replica) pod() *corev1.PodSpec { return &r.spec.Template.Spec }

func (r *replica) podPath(steps ...fieldpath.Step) fieldpath.Path {
	return r.path.Append(fieldpath.Fields("template", "spec")...).Append(steps...)
}

func (r *replica) count() int32 { return *r.spec.Replicas }

// lower returns the type in the form of the old controller's Pod names.
func (r *replica) lower() string { return strings.ToLower(string(r.typ)) }

// read stores the common parts of all kinds. It sets the defaults of the old API, and reports
// values that the old API rejects (training-operator v1.9.3 pkg/apis/kubeflow.org/v1,
// pkg/webhooks).
func (c *conversion) read(f framework, meta metav1.ObjectMeta, run kubeflow.RunPolicy,
	specs map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec) {
	c.framework, c.meta, c.run = f, meta, run
	c.object = fieldpath.Object{Kind: f.kind, Namespace: meta.Namespace, Name: meta.Name}
	c.checkName()
	c.hosts = oldHosts(meta.Name)
	specsPath := fieldpath.Fields("spec", f.specs)
	if len(specs) == 0 {
		c.report("noReplicaType", specsPath, joinReplicaTypes(f.types))
	}
	byType := map[kubeflow.ReplicaType]*replica{}
	for _, written := range slices.Sorted(maps.Keys(specs)) {
		i := slices.IndexFunc(f.types, func(t kubeflow.ReplicaType) bool {
			return strings.EqualFold(string(t), string(written))
		})
		path := specsPath.Append(fieldpath.Key(string(written)))
		switch {
		case i < 0 && specs[written] != nil:
			c.report("unknownReplicaType", path, joinReplicaTypes(f.types), f.kind, written)
		case specs[written] == nil:
			c.report("emptyReplicaType", path)
		case byType[f.types[i]] != nil:
			c.report("duplicateReplicaType", path, f.types[i])
		default:
			byType[f.types[i]] = &replica{f.types[i], specs[written], path}
		}
	}
	for _, t := range f.types {
		if r := byType[t]; r != nil {
			c.defaults(r)
			c.replicas = append(c.replicas, r)
		}
	}
	c.reportIf(len(c.replicas) > 0 && c.total() == 0, "noPods", specsPath)
}

// maxReplicas is the largest number of Pods of an indexed Job.
const maxReplicas = 100_000

// defaults sets the defaults of a replica type and checks its values.
func (c *conversion) defaults(r *replica) {
	if r.spec.Replicas == nil {
		r.spec.Replicas = new(int32(1))
		if c.framework.replicas != nil {
			r.spec.Replicas = new(c.framework.replicas(r.typ))
		}
	}
	n := r.count()
	c.reportIf(n < 0 || n > maxReplicas, "replicas", within(r.path, "replicas"), n, maxReplicas)
	if r.spec.RestartPolicy == "" {
		r.spec.RestartPolicy = c.framework.restart
	}
	containers := r.podPath(fieldpath.Field("containers"))
	if c.reportIf(len(r.pod().Containers) == 0, "noContainer", containers) {
		return
	}
	for i := range r.pod().Containers {
		c.reportIf(r.pod().Containers[i].Image == "", "noImage",
			containers.Append(fieldpath.Index(i), fieldpath.Field("image")))
	}
	c.reportIf(c.container != "" && containerOf(r.pod(), c.container) == nil, "unnamedContainer",
		containers, c.container, c.framework.kind)
}

// checkName requires a name that can be part of Pod addresses.
func (c *conversion) checkName() {
	path := fieldpath.Fields("metadata", "name")
	switch {
	case c.meta.Name == "" && c.meta.GenerateName != "":
		c.report("generateName", fieldpath.Fields("metadata", "generateName"))
	case c.meta.Name == "":
		c.report("noName", path)
	case len(validation.IsDNS1035Label(c.meta.Name)) > 0:
		c.report("badName", path, c.meta.Name)
	}
}

// exactlyOne reports a number of Pods other than one.
func (c *conversion) exactlyOne(t kubeflow.ReplicaType) {
	if r := c.replica(t); r != nil {
		c.reportIf(r.count() != 1, "notOne", within(r.path, "replicas"), r.count(), t)
	}
}

// replica returns a replica type, or nil if the job lacks it.
func (c *conversion) replica(t kubeflow.ReplicaType) *replica {
	for _, r := range c.replicas {
		if r.typ == t {
			return r
		}
	}
	return nil
}

// agree reports whether all replica types have the same Pods and restart policy.
func (c *conversion) agree() bool {
	first := c.replicas[0].spec
	for _, r := range c.replicas[1:] {
		if r.spec.RestartPolicy != first.RestartPolicy ||
			!equality.Semantic.DeepEqual(podsOf(r.spec), podsOf(first)) {
			return false
		}
	}
	return true
}

// podsOf returns the part of a template that affects the Pods.
func podsOf(spec *kubeflow.ReplicaSpec) corev1.PodTemplateSpec {
	t := spec.Template.DeepCopy()
	t.ObjectMeta = metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations,
		Finalizers: t.Finalizers}
	t.Spec.RestartPolicy = ""
	return *t
}

// total returns the number of Pods of all replica types.
func (c *conversion) total() int32 {
	n := int32(0)
	for _, r := range c.replicas {
		n += r.count()
	}
	return n
}

// portOf returns the port of the type's Pods: the port with the framework's name, or its default.
func (c *conversion) portOf(r *replica) int32 {
	if main := containerOf(r.pod(), c.container); main != nil {
		for _, p := range main.Ports {
			if p.Name == c.portName {
				return p.ContainerPort
			}
		}
	}
	return c.port
}

func containerOf(pod *corev1.PodSpec, name string) *corev1.Container {
	for i := range pod.Containers {
		if pod.Containers[i].Name == name {
			return &pod.Containers[i]
		}
	}
	return nil
}

func joinReplicaTypes(types []kubeflow.ReplicaType) string {
	var words []string
	for _, t := range types {
		words = append(words, string(t))
	}
	return strings.Join(words, ", ")
}
