package mlpolicy

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// reportTrainJob and reportRuntime add a finding on a field of one of the two inputs.
func (j *Job) reportTrainJob(code finding.Code, severity finding.Severity, path fieldpath.Path,
	message, help string) {
	j.report(finding.Finding{Code: code, Severity: severity, Object: j.TrainJobID, Path: path,
		Message: message, Remedy: finding.Remedy{Text: help}})
}

func (j *Job) reportRuntime(code finding.Code, severity finding.Severity, path fieldpath.Path,
	message, help string) {
	j.report(finding.Finding{Code: code, Severity: severity, Object: j.RuntimeID, Path: path,
		Message: message, Remedy: finding.Remedy{Text: help}})
}

// report adds a finding once: several jobs may cause the same one.
func (j *Job) report(f finding.Finding) {
	key := codes.KeyOf(f)
	if !slices.ContainsFunc(j.Findings, func(g finding.Finding) bool {
		return codes.KeyOf(g) == key
	}) {
		j.Findings = append(j.Findings, f)
	}
}

// inRuntime returns the path in the runtime of a field of the merged template.
func inRuntime(path fieldpath.Path) fieldpath.Path {
	return fieldpath.Fields("spec", "template").Append(path...)
}

func (j *Job) portLost(layer merge.Owner, c Place, before corev1.ContainerPort) {
	message := fmt.Sprintf("port %d of container %s has no name: port %d of %s replaces it",
		before.ContainerPort, c.Name, port, layer)
	if before.ContainerPort == port {
		message = fmt.Sprintf(
			"port %d of container %s loses its name %s: the port of %s replaces it", port, c.Name,
			before.Name, layer)
	}
	j.reportRuntime(codes.PortLost, finding.Warning,
		inRuntime(c.Path(fieldpath.Field("ports"), portNumber(before.ContainerPort))), message,
		"set a name and another number than 29500")
}

func (j *Job) reportMergedPorts(c Place, lost, doubled corev1.ContainerPort) {
	why := "neither has a name"
	if lost.ContainerPort == doubled.ContainerPort {
		why = "their numbers are equal"
	} else if lost.Name != "" {
		why = "their names are equal"
	}
	j.reportRuntime(codes.PortsTakenForOne, finding.Error,
		inRuntime(c.Path(fieldpath.Field("ports"), portNumber(lost.ContainerPort))),
		fmt.Sprintf("the controller treats ports %d and %d of container %s as one, since %s: it "+
			"writes a duplicate of the second port, which the JobSet API rejects",
			lost.ContainerPort, doubled.ContainerPort, c.Name, why),
		"set a different name and number for each port")
}

// countReplaced reports a count of the template that another one replaces. The job takes the count
// of counted.
func (j *Job) countReplaced(s, counted *PodSet, field string, before *int32) {
	if before == nil || *before == counted.Count ||
		counted.CountFrom.Layer == runtimepatch.TrainJobLayer {
		return
	}
	why, help := "the controller sets both to the parallelism, at least 1",
		"set parallelism and completions to one number, or neither"
	if s.Ancestor == Trainer && j.Runtime.MLPolicy != nil {
		why, help = "the trainer's job gets mlPolicy.numNodes, by default 1",
			"set spec.mlPolicy.numNodes of the runtime instead"
	} else if s.Name != counted.Name {
		why, help = fmt.Sprintf("all jobs with the trainer's label get the value of job %s",
			counted.Name), "remove the label from one of the jobs"
	}
	j.reportRuntime(codes.CountReplaced, finding.Warning,
		inRuntime(append(s.JobPath(), fieldpath.Field(field))),
		fmt.Sprintf("%s %d of job %s becomes %d: %s", field, *before, s.Name, counted.Count, why),
		help)
}

// checkVariable reports a variable of a policy that spec.trainer.env replaces at the end.
func (j *Job) checkVariable(by Writer, c Place, set *corev1.EnvVar) {
	t := j.TrainJob.Spec.Trainer
	if t == nil || c.Name != Node || c.list != "containers" || !j.TakesTrainer(c.set) {
		return
	}
	at := slices.IndexFunc(t.Env, func(e corev1.EnvVar) bool { return e.Name == set.Name })
	if at < 0 || equality.Semantic.DeepEqual(Env(t.Env[at : at+1])[0], *set) {
		return
	}
	value := "a value of the Pod"
	if set.ValueFrom == nil {
		value = strconv.Quote(set.Value)
	}
	j.reportTrainJob(codes.Shadowed, finding.Warning,
		fieldpath.Fields("spec", "trainer", "env").Append(fieldpath.Item("name", set.Name)),
		fmt.Sprintf("the variable replaces that of %s, which sets it to %s", by.Layer, value),
		"remove the variable")
}

// CheckReplicas reports a zero in the replicas of a job. The controller loses the zero, and the API
// fills in one.
func (j *Job) CheckReplicas(s *PodSet) {
	if s.Replicas == 0 {
		j.replicasReplaced(s, 0)
	}
}

func (j *Job) replicasReplaced(s *PodSet, before int32) {
	known := slices.ContainsFunc(j.Runtime.Template.Spec.ReplicatedJobs,
		func(rj jobset.ReplicatedJob) bool { return rj.Name == s.Name })
	if before == 1 || !known {
		return
	}
	why := "a job with the label of a section runs once"
	if before == 0 {
		why = "the controller treats 0 as missing"
	}
	j.reportRuntime(codes.ReplicasReplaced, finding.Warning,
		inRuntime(s.Path().Append(fieldpath.Field("replicas"))),
		fmt.Sprintf("replicas %d of job %s becomes 1: %s", before, s.Name, why),
		"set replicas: 1, use parallelism for more Pods, or remove the job")
}

func (j *Job) suspendReplaced(before *bool) {
	if before == nil || !*before || orDefault(j.TrainJob.Spec.Suspend, false) {
		return
	}
	j.reportRuntime(codes.SuspendReplaced, finding.Warning,
		inRuntime(fieldpath.Fields("spec", "suspend")),
		"the TrainJob's suspend replaces the runtime's suspend: true, and the job starts at once",
		"set spec.suspend of the TrainJob")
}

// checkTrainer reports TrainJob fields without effect. It runs before any policy.
func (j *Job) checkTrainer() {
	j.checkInitializer()
	t := j.TrainJob.Spec.Trainer
	if t == nil {
		return
	}
	ignored := func(field, why, help string) {
		j.reportTrainJob(codes.ReachesNothing, finding.Warning,
			fieldpath.Fields("spec", "trainer", field),
			fmt.Sprintf("%s has no effect: %s", field, why), help)
	}
	set := j.trainerSet()
	if set == nil || set.Container(Node) == nil {
		why := "the runtime has no job with the trainer's label and a container called node"
		help := fmt.Sprintf(
			"add the label %s: %s to the job in the runtime, and rename its container to node",
			Ancestor, Trainer)
		for _, field := range []struct {
			name string
			set  bool
		}{{"image", t.Image != nil}, {"command", t.Command != nil}, {"args", t.Args != nil},
			{"env", t.Env != nil && !j.nodeTakesTrainer()}} {
			if field.set {
				ignored(field.name, why, help)
			}
		}
	}
	j.checkCounts(set, ignored)
	j.checkResources(set, ignored)
	if set == nil {
		return
	}
	rest := "and neither its numNodes nor what the policy writes"
	if j.Release.SecondTrainer == release.FirstTrainerCounts {
		rest = fmt.Sprintf("and as many Pods as job %s, but not what the policy writes", set.Name)
	}
	for _, second := range j.Sets {
		if second.Ancestor == Trainer && second != set {
			j.reportRuntime(codes.SecondTrainer, finding.Warning,
				inRuntime(second.Path().Append(
					fieldpath.Fields("template", "metadata", "labels")...).Append(
					fieldpath.Key(Ancestor))),
				fmt.Sprintf("jobs %s and %s both have the trainer's label: the second gets "+
					"image, command and env of the TrainJob, %s", set.Name, second.Name, rest),
				"remove the label from one of the jobs")
		}
	}
}

func (j *Job) checkCounts(set *PodSet, ignored func(field, why, help string)) {
	t, policy := j.TrainJob.Spec.Trainer, j.policyName()
	if t.NumNodes != nil {
		reached := set
		if policy == "mpi" {
			reached = j.set(Node)
		}
		switch {
		case reached == nil && policy == "mpi":
			ignored("numNodes", "under MPI it needs a job node in the runtime",
				"rename the nodes' job to node in the runtime")
		case reached == nil:
			ignored("numNodes", "the runtime has no job with the trainer's label",
				fmt.Sprintf("add the label %s: %s to the job in the runtime", Ancestor, Trainer))
		case *t.NumNodes == 0 && !j.launcherAsNode():
			j.reportTrainJob(codes.NeverCreated, finding.Warning,
				fieldpath.Fields("spec", "trainer", "numNodes"),
				fmt.Sprintf("the Pods of job %s are never created: numNodes is 0, and the Job "+
					"completes at once", reached.Name), "set numNodes to 1 or more")
		}
	}
	if j.numProcPerNode() != nil && slices.Contains([]string{"plain", "jax", "xgboost"}, policy) {
		ignored("numProcPerNode", fmt.Sprintf("a runtime of policy %s does not use it", policy),
			"remove it, or set a variable of the runtime's program")
	}
}

func (j *Job) checkResources(set *PodSet, ignored func(field, why, help string)) {
	over := j.TrainJob.Spec.Trainer.ResourcesPerNode
	if over == nil {
		return
	}
	reached := slices.ContainsFunc(j.Sets, func(s *PodSet) bool {
		return j.takesResources(s) && s.Container(Node) != nil
	})
	node := j.set(Node)
	switch {
	case j.replacesResources() && over.Limits == nil && over.Requests == nil:
		ignored("resourcesPerNode", "it has neither limits nor requests",
			"set limits or requests, or remove resourcesPerNode")
	case !j.replacesResources() && j.Runtime.MLPolicy == nil:
		ignored("resourcesPerNode", "the controller ignores it without an mlPolicy in the runtime",
			"add an mlPolicy to the runtime, such as numNodes: 1, or set the resources in the "+
				"runtime")
	case !reached:
		ignored("resourcesPerNode",
			"the runtime has no job with the trainer's label and a container called node",
			fmt.Sprintf("add the label %s: %s to the job in the runtime, and rename its "+
				"container to node", Ancestor, Trainer))
	case j.source().MPI != nil && set != nil && set.Name != Node && node != nil &&
		!j.TakesTrainer(node):
		help := "set the nodes' resources in the runtime"
		if j.Release.MPINodeTrainer {
			help += ", or runLauncherAsNode: true"
		}
		ignored("resourcesPerNode",
			fmt.Sprintf("only job %s with the trainer's label gets it", set.Name), help)
	}
	if reached && len(over.Claims) > 0 {
		j.reportTrainJob(codes.ClaimsDropped, finding.Warning,
			fieldpath.Fields("spec", "trainer", "resourcesPerNode", "claims"),
			"the controller drops resource claims of resourcesPerNode",
			"set the claims in the runtime, and remove resourcesPerNode")
	}
}

// claimsDropped reports the resource claims of a container that resourcesPerNode changes.
func (j *Job) claimsDropped(c Place) {
	if len(c.Resources.Claims) > 0 {
		j.reportRuntime(codes.ClaimsDropped, finding.Warning,
			inRuntime(c.Path(fieldpath.Field("resources"), fieldpath.Field("claims"))),
			fmt.Sprintf("the controller drops the resource claims of container %s, since %s has "+
				"resourcesPerNode", c.Name, j.TrainJobID),
			"remove spec.trainer.resourcesPerNode from TrainJobs of this runtime")
	}
}

// checkInitializer reports sections without a job. The controller finds the job by its label, and
// its webhook by its name.
func (j *Job) checkInitializer() {
	spec := j.TrainJob.Spec.Initializer
	if spec == nil {
		return
	}
	for _, section := range []struct {
		name, ancestor string
		set            bool
	}{{"dataset", DatasetInitializer, spec.Dataset != nil},
		{"model", ModelInitializer, spec.Model != nil}} {
		taken := slices.ContainsFunc(j.Sets, func(s *PodSet) bool {
			return s.Ancestor == section.ancestor && s.Container(section.ancestor) != nil
		})
		if section.set && !taken {
			j.reportTrainJob(codes.ReachesNothing, finding.Warning,
				fieldpath.Fields("spec", "initializer", section.name),
				fmt.Sprintf("%s has no effect: the runtime has no job with the label %s and a "+
					"container of that name", section.name, section.ancestor),
				fmt.Sprintf("add the label %s: %s to the job in the runtime, and rename its "+
					"container to %s", Ancestor, section.ancestor, section.ancestor))
		}
	}
}

// nothingInjected reports why a policy found no container to write to.
func (j *Job) nothingInjected() {
	name, set := j.policyName(), j.trainerSet()
	switch {
	case set == nil:
		j.reportRuntime(codes.NothingInjected, finding.Warning,
			fieldpath.Fields("spec", "mlPolicy", name),
			fmt.Sprintf("the %s policy has no effect: no job has the trainer's label", name),
			fmt.Sprintf("add the label %s: %s to the job", Ancestor, Trainer))
	case set.Container(Node) == nil:
		j.reportRuntime(codes.NothingInjected, finding.Warning,
			fieldpath.Fields("spec", "mlPolicy", name),
			fmt.Sprintf("the %s policy has no effect: job %s has no container node", name,
				set.Name),
			"rename the trainer's container to node")
	default:
		j.reportTrainJob(codes.NothingInjected, finding.Warning,
			fieldpath.Fields("spec", "trainer"),
			fmt.Sprintf("the %s policy has no effect without spec.trainer: the nodes do not find "+
				"each other", name),
			"set trainer: {}")
	}
}

// checkMaster reports an address of the policy that belongs to no Pod. The controller assumes that
// the trainer's job is called node and that the subdomain is the TrainJob's name.
func (j *Job) checkMaster(set *PodSet) {
	if set.Name != Node {
		j.reportRuntime(codes.MasterAddress, finding.Warning,
			inRuntime(set.Path().Append(fieldpath.Field("name"))),
			fmt.Sprintf("the policy writes the address %s, but the trainer's job is called %s: "+
				"no Pod has that address", j.master(), set.Name),
			"rename the job to node")
	}
	if s := j.subdomain(); s != j.TrainJob.Name {
		j.reportRuntime(codes.MasterAddress, finding.Warning,
			inRuntime(fieldpath.Fields("spec", "network", "subdomain")),
			fmt.Sprintf("the policy writes the address %s, but the Pods are in the subdomain %s: "+
				"no Pod has that address", j.master(), s),
			"remove the subdomain")
	}
	j.checkHostnames()
}

// checkHostnames reports Pods without DNS names.
func (j *Job) checkHostnames() {
	if network := j.Template.Spec.Network; network != nil &&
		!orDefault(network.EnableDNSHostnames, true) {
		j.reportRuntime(codes.MasterAddress, finding.Warning,
			inRuntime(fieldpath.Fields("spec", "network", "enableDNSHostnames")),
			fmt.Sprintf("the %s policy uses DNS names of Pods, and enableDNSHostnames: false "+
				"removes them", j.policyName()),
			"remove enableDNSHostnames")
	}
}

// checkGPUs reports GPUs that the container keeps and the policy does not count. A release that
// replaces resources keeps none.
func (j *Job) checkGPUs(c Place) {
	t := j.TrainJob.Spec.Trainer
	if t == nil || t.ResourcesPerNode == nil || j.replacesResources() {
		return
	}
	if n := GPUs(c.Resources); n > 0 && GPUs(*t.ResourcesPerNode) == 0 {
		j.reportTrainJob(codes.GPUsUnseen, finding.Warning,
			fieldpath.Fields("spec", "trainer", "resourcesPerNode"),
			fmt.Sprintf("container %s keeps the runtime's %d GPUs, but the %s policy only counts "+
				"GPUs of resourcesPerNode", c.Name, n, j.policyName()),
			"set the GPUs in resourcesPerNode")
	}
}

// gpusDropped reports GPUs that the container loses, since resourcesPerNode replaces its resources.
func (j *Job) gpusDropped(c Place) {
	if n := GPUs(c.Resources); j.replacesResources() && n > 0 &&
		GPUs(*j.TrainJob.Spec.Trainer.ResourcesPerNode) == 0 {
		j.reportTrainJob(codes.GPUsUnseen, finding.Warning,
			fieldpath.Fields("spec", "trainer", "resourcesPerNode"),
			fmt.Sprintf("container %s loses the runtime's %d GPUs: Trainer %s replaces all "+
				"resources by resourcesPerNode", c.Name, n, j.Release.Name),
			"set the GPUs in resourcesPerNode")
	}
}

func (j *Job) noInjectionTarget(job, container string) {
	j.reportRuntime(codes.EnvInjection, finding.Error,
		fieldpath.Fields("spec", "mlPolicy", "torch", "envInjection", "targets").Append(
			fieldpath.Item("jobName", job)),
		fmt.Sprintf("Not found: container %q of replicated job %q in envInjection", container, job),
		"use a container of the runtime's template, or remove the target")
}
