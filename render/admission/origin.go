package admission

import (
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/policy"
)

// origin says where the value of a field of the JobSet comes from: the section of the TrainJob that is
// written over the template, else the runtime or the manager's patch that set it last, else whoever
// named the nearest thing around it first. Its Value is only meant where the field itself was set.
func (c *checker) origin(path fieldpath.Path) engine.Claim {
	if source, ok := c.fromTrainJob(path); ok {
		return engine.Claim{Layer: merge.TrainJobLayer, Value: engine.Presence{}, Source: source}
	}
	c.indexOwners()
	if made, ok := c.madeFrom(path); ok {
		return made
	}
	for n := len(path); n > 0; n-- {
		claims := c.owners[path[:n].String()]
		if len(claims) == 0 {
			continue
		}
		claim := claims[len(claims)-1]
		if n == len(path) {
			return claim
		}
		if _, named := claim.Value.(engine.Presence); named {
			claim = claims[0] // something that is missing in an item is for the one to add who brought it
		}
		claim.Value, claim.Source = engine.Presence{}, claim.Source.Append(path[n:]...)
		return claim
	}
	return engine.Claim{Layer: merge.RuntimeLayer, Value: engine.Presence{}, Source: fieldpath.Fields("spec", "template").Append(path...)}
}

// madeFrom is the origin of what the JobSet controller makes of names: labels, and the subdomain of Pods.
func (c *checker) madeFrom(path fieldpath.Path) (engine.Claim, bool) {
	if c.merged == nil || len(c.owners[path.String()]) > 0 {
		return engine.Claim{}, false
	}
	source, ok := madeFrom(&c.merged.Template.Spec, path)
	if !ok || source.HasPrefix(fieldpath.Fields("metadata")) {
		return engine.Claim{Layer: merge.TrainJobLayer, Value: engine.Presence{}, Source: source}, ok
	}
	return engine.Claim{Layer: merge.RuntimeLayer, Value: engine.Presence{}, Source: fieldpath.Fields("spec", "template").Append(source...)}, true
}

// madeFrom returns the field of a JobSet that its controller makes a label, or the subdomain of Pods, of.
func madeFrom(spec *jobset.JobSetSpec, path fieldpath.Path) (fieldpath.Path, bool) {
	if len(path) < 4 || !path.HasPrefix(fieldpath.Fields("spec", "replicatedJobs")) {
		return nil, false
	}
	name, jobName := fieldpath.Fields("metadata", "name"), path[:3].Append(fieldpath.Field("name"))
	last := path[len(path)-1]
	key, _ := last.Key()
	switch {
	case last == fieldpath.Field("subdomain"):
		if spec.Network != nil && spec.Network.Subdomain != "" {
			return fieldpath.Fields("spec", "network", "subdomain"), true
		}
		return name, true
	case key == jobset.ReplicatedJobNameKey:
		return jobName, true
	case key == jobset.GroupNameKey:
		return path[:3].Append(fieldpath.Field("groupName")), true
	case key == jobset.CoordinatorKey:
		return fieldpath.Fields("spec", "coordinator"), true
	case key == jobset.JobSetNameKey, key == "job-name", key == batchv1.JobNameLabel:
		return name, true
	case key == jobset.JobSetUIDKey:
		return fieldpath.Fields("metadata", "uid"), true
	}
	return nil, false
}

// indexOwners makes the merge's claims findable by their field, when the first one is asked for.
func (c *checker) indexOwners() {
	if c.owners != nil || c.merged == nil {
		return
	}
	c.owners = map[string][]engine.Claim{}
	for path, claims := range c.merged.Owners.All() {
		c.owners[path.String()] = claims
	}
}

// fromTrainJob is the field of the TrainJob's own sections that decides on a field of the JobSet.
func (c *checker) fromTrainJob(path fieldpath.Path) (fieldpath.Path, bool) {
	text := path.String()
	switch {
	case text == ".metadata.namespace":
		return path, true
	case strings.HasPrefix(text, ".metadata.name"):
		return fieldpath.Fields("metadata", "name"), true
	case text == ".spec.suspend":
		return fieldpath.Fields("spec", "suspend"), true
	}
	if !path.HasPrefix(fieldpath.Fields("spec", "replicatedJobs")) || len(path) < 6 || c.merged == nil {
		return nil, false
	}
	job := c.jobOf(path)
	if job == nil {
		return nil, false
	}
	const depth = 3 // .spec.replicatedJobs[…]
	rest := path[depth:]
	if t := c.typed.Spec.Trainer; t != nil && t.NumNodes != nil && isCount(rest) && c.takesNumNodes(job) {
		return fieldpath.Fields("spec", "trainer", "numNodes"), true
	}
	inContainer := fieldpath.Fields("template", "spec", "template", "spec", "containers")
	if !rest.HasPrefix(inContainer) || len(rest) < len(inContainer)+2 {
		return nil, false
	}
	_, name, _ := rest[len(inContainer)].Item()
	return c.sectionField(job, name, rest[len(inContainer)+1:])
}

// jobOf is the replicated job that a path of the JobSet leads into.
func (c *checker) jobOf(path fieldpath.Path) *jobset.ReplicatedJob {
	jobs := c.merged.Template.Spec.ReplicatedJobs
	if i, ok := path[2].Index(); ok && i < len(jobs) {
		return &jobs[i]
	}
	_, name, _ := path[2].Item()
	return replicatedJob(jobs, name)
}

func isCount(path fieldpath.Path) bool {
	return len(path) == 3 && (path[2] == fieldpath.Field("parallelism") || path[2] == fieldpath.Field("completions"))
}

func (c *checker) takesNumNodes(job *jobset.ReplicatedJob) bool {
	if p := c.in.Runtime.spec.MLPolicy; p != nil && p.MPI != nil {
		return job.Name == policy.Node
	}
	return job.Template.Labels[policy.Ancestor] == policy.Trainer
}

// sectionField is the field of spec.trainer or spec.initializer that is written into a field of a
// container.
func (c *checker) sectionField(job *jobset.ReplicatedJob, container string, path fieldpath.Path) (fieldpath.Path, bool) {
	ancestor := job.Template.Labels[policy.Ancestor]
	if name, known := containerOf(ancestor); !known || name != container {
		return nil, false
	}
	field, _ := path[0].Field()
	if i, ok := indexIn(path); ok && field == "envFrom" && i < len(containerOrZero(job, container).EnvFrom) {
		return nil, false // one of the runtime's: the TrainJob's reference comes last
	}
	spec := &c.typed.Spec
	switch ancestor {
	case policy.Trainer:
		return c.trainerField(spec.Trainer, c.in.Runtime.spec.MLPolicy, field, path)
	case policy.DatasetInitializer:
		if spec.Initializer != nil && spec.Initializer.Dataset != nil {
			d := spec.Initializer.Dataset
			return initializerField("dataset", c.hasEnv(d.Env), d.StorageUri != nil, d.SecretRef != nil, field, path)
		}
	case policy.ModelInitializer:
		if spec.Initializer != nil && spec.Initializer.Model != nil {
			m := spec.Initializer.Model
			return initializerField("model", c.hasEnv(m.Env), m.StorageUri != nil, m.SecretRef != nil, field, path)
		}
	}
	return nil, false
}

func (c *checker) trainerField(t *trainer.Trainer, p *trainer.MLPolicy, field string, path fieldpath.Path) (fieldpath.Path, bool) {
	if t == nil {
		return nil, false
	}
	at := fieldpath.Fields("spec", "trainer")
	switch field {
	case "image":
		return at.Append(path...), t.Image != nil
	case "command":
		return at.Append(path...), t.Command != nil
	case "args":
		return at.Append(path...), t.Args != nil
	case "env":
		return at.Append(path...), len(path) > 1 && c.hasEnv(t.Env)(nameOf(path[1]))
	case "resources":
		if t.ResourcesPerNode == nil || p == nil {
			return nil, false
		}
		source := fieldpath.Fields("spec", "trainer", "resourcesPerNode").Append(path[1:]...)
		if len(path) < 2 {
			return source, true
		}
		list := t.ResourcesPerNode.Requests
		if path[1] == fieldpath.Field("limits") {
			list = t.ResourcesPerNode.Limits
		}
		if len(path) == 2 {
			return source, len(list) > 0
		}
		key, _ := path[2].Key()
		for name := range list {
			if string(name) == key {
				return source, true
			}
		}
	}
	return nil, false
}

const storageURI = "STORAGE_URI"

func initializerField(section string, hasEnv func(string) bool, uri, secret bool, field string, path fieldpath.Path) (fieldpath.Path, bool) {
	at := fieldpath.Fields("spec", "initializer", section)
	switch {
	case field == "env" && len(path) > 1 && hasEnv(nameOf(path[1])):
		return at.Append(path...), true
	case field == "env" && len(path) > 1 && uri && nameOf(path[1]) == storageURI:
		return at.Append(fieldpath.Field("storageUri")), true
	case field == "envFrom" && secret:
		return at.Append(fieldpath.Field("secretRef")), true
	}
	return nil, false
}

func nameOf(step fieldpath.Step) string {
	_, name, _ := step.Item()
	return name
}

func indexIn(path fieldpath.Path) (int, bool) {
	if len(path) < 2 {
		return 0, false
	}
	return path[1].Index()
}

func containerOrZero(job *jobset.ReplicatedJob, name string) corev1.Container {
	for _, c := range job.Template.Spec.Template.Spec.Containers {
		if c.Name == name {
			return c
		}
	}
	return corev1.Container{}
}
