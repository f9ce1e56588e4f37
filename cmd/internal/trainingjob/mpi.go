package trainingjob

import (
	"cmp"
	"path"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/fieldpath"
)

// The SSH settings by which the launcher reaches the nodes, as root in an image with OpenSSH.
const (
	sshd    = "/usr/sbin/sshd"
	sshPort = 22
	sshHome = "/root/.ssh"
)

// mpi converts an MPIJob (training-operator v1.9.3 pkg/controller.v1/mpi). The old launcher started
// its processes with kubectl exec. The new one uses SSH.
func (c *conversion) mpi(job *kubeflow.MPIJob) {
	launcher, worker := kubeflow.MPIJobReplicaTypeLauncher, kubeflow.MPIJobReplicaTypeWorker
	run := job.Spec.RunPolicy
	run.CleanPodPolicy = cmp.Or(run.CleanPodPolicy, job.Spec.CleanPodPolicy)
	c.read(framework{
		kind: kubeflow.MPIJobKind, label: "mpi", specs: "mpiReplicaSpecs",
		types:   []kubeflow.ReplicaType{launcher, worker},
		restart: kubeflow.MPIJobDefaultRestartPolicy,
		replicas: func(t kubeflow.ReplicaType) int32 {
			if t == worker {
				return 0
			}
			return 1
		},
	}, job.ObjectMeta, run, job.Spec.MPIReplicaSpecs)
	p := job.Spec.CleanPodPolicy
	c.reportIf(p != nil && *p != *run.CleanPodPolicy, "oldCleanPodPolicy",
		fieldpath.Fields("spec", "cleanPodPolicy"))
	c.exactlyOne(launcher)
	c.reportIf(c.replica(launcher) == nil, "noLauncher", fieldpath.Fields("spec", "mpiReplicaSpecs"))
	if c.findings.Err() != nil {
		return
	}
	c.mpiRoles(c.replica(launcher), c.replica(worker), job.Spec.MainContainer)
	c.mpiPolicy(job.Spec.SlotsPerWorker)
	for _, r := range c.roles {
		c.checkMPIPod(r)
	}
	c.checkSSH()
}

// mpiRoles returns the nodes, if any, and the launcher. The launcher waits for them, as its old
// init container did. In a gang it does not, since the Pods of a gang must not wait for each other.
func (c *conversion) mpiRoles(launcher, worker *replica, mainContainer string) {
	l := &role{
		name: launcherJob, replica: launcher, main: launcher.pod().Containers[0].Name, count: 1,
		isTrainer: true,
		members:   []member{{launcher, 0, 1}},
	}
	l.env = func(container string) []corev1.EnvVar { return c.launcherEnv(l, container) }
	c.targets = []string{l.name}
	if worker == nil || worker.count() == 0 {
		c.roles = []*role{l}
		return
	}
	n := &role{name: node, replica: worker, main: worker.pod().Containers[0].Name,
		count: worker.count(), members: []member{{worker, 0, worker.count()}}}
	if mainContainer != "" {
		n.main = mainContainer
		c.reportIf(containerOf(worker.pod(), mainContainer) == nil, "mainContainer",
			fieldpath.Fields("spec", "mainContainer"), mainContainer)
	}
	n.env = func(string) []corev1.EnvVar { return nil }
	if c.gangScheduler() == "" {
		l.after = n.name
	}
	c.roles = []*role{n, l}
	c.serveSSH(n)
}

// mpiPolicy sets the number of processes and of nodes. The old controller counted a launcher with a
// GPU as a node.
func (c *conversion) mpiPolicy(slots *int32) {
	launcher := c.roles[len(c.roles)-1]
	asNode := slices.ContainsFunc(launcher.replica.pod().Containers, func(c corev1.Container) bool {
		return hasGPU(c.Resources.Limits)
	})
	perNode := ptr.Deref(slots, 1)
	c.ml.MPI = &trainer.MPIMLPolicySource{
		NumProcPerNode: &perNode, MPIImplementation: new(trainer.MPIImplementationOpenMPI),
		SSHAuthMountPath: new(sshHome), RunLauncherAsNode: &asNode}
	c.procs = &perNode
	if len(c.roles) == 1 {
		return
	}
	c.nodes = new(c.roles[0].count)
	if asNode {
		*c.nodes++
	}
}

// launcherEnv returns the variables of the launcher that do not belong to kubectl exec. They keep
// it off GPUs that it did not request.
func (c *conversion) launcherEnv(r *role, container string) []corev1.EnvVar {
	if container != r.main || *c.ml.MPI.RunLauncherAsNode {
		return nil
	}
	return []corev1.EnvVar{envVar("NVIDIA_VISIBLE_DEVICES", ""),
		envVar("NVIDIA_DRIVER_CAPABILITIES", "")}
}

// serveSSH makes the nodes run sshd. Under the old controller they slept.
func (c *conversion) serveSSH(r *role) {
	container := containerOf(r.replica.pod(), r.main)
	if container == nil {
		return
	}
	if first := &r.replica.pod().Containers[0]; first != container && len(first.Command) == 0 {
		first.Command, first.Args = []string{"sleep"}, []string{"365d"} // like the old controller
	}
	field := r.path(fieldpath.Field("containers"), fieldpath.Item("name", r.main),
		fieldpath.Field("command"))
	words := strings.Fields(strings.Join(slices.Concat(container.Command, container.Args), " "))
	sleeps := slices.DeleteFunc(slices.Clone(words), func(w string) bool { // sh -c "sleep 365d"
		return strings.HasPrefix(w, "-") || path.Base(w) == "sh" || path.Base(w) == "bash"
	})
	switch {
	case slices.ContainsFunc(words, func(w string) bool {
		return path.Base(strings.Trim(w, `;&"'`)) == "sshd"
	}):
		return // it already runs sshd in its own way
	case len(container.Command) > 0 && (len(sleeps) != 2 || path.Base(sleeps[0]) != "sleep"):
		c.report("notSSHD", field, words[0], sshd)
		return
	}
	container.Command, container.Args = []string{sshd}, []string{"-De"}
	if container.ReadinessProbe == nil {
		container.ReadinessProbe = &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{
				TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(sshPort)}},
			InitialDelaySeconds: 5,
		}
	}
}

// unsupported reports the paths in a text that the old controller mounted and the Trainer does not.
func (c *conversion) unsupported(text string, at fieldpath.Path, help string) {
	for _, mounted := range []struct{ path, rule string }{
		{"/etc/mpi/discover_hosts.sh", "elasticMPI"}, // lists the running nodes
		{"/etc/mpi/kubexec.sh", "kubexec"}, {"/opt/kube", "kubexec"},
	} {
		c.reportIf(strings.Contains(text, mounted.path), mounted.rule, at, mounted.path, help)
	}
}

// rshAgent sets the program with which Open MPI starts processes on other nodes.
const rshAgent = "OMPI_MCA_plm_rsh_agent"

// checkMPIPod reports the parts of the Pods that belong to kubectl exec.
func (c *conversion) checkMPIPod(r *role) {
	for i := range r.replica.pod().Containers {
		container := &r.replica.pod().Containers[i]
		at := r.path(fieldpath.Field("containers"), fieldpath.Item("name", container.Name))
		texts := map[string][]string{"command": container.Command, "args": container.Args}
		for _, field := range []string{"command", "args"} {
			for k, text := range texts[field] {
				c.unsupported(text, at.Append(fieldpath.Field(field), fieldpath.Index(k)),
					"train with a fixed number of nodes, listed in /etc/mpi/hostfile")
			}
		}
		var kept []corev1.EnvVar
		for _, e := range container.Env {
			field := at.Append(fieldpath.Field("env"), fieldpath.Item("name", e.Name))
			switch {
			case e.Name == rshAgent && r.isTrainer && container.Name == r.main:
				c.report("rshAgent", field)
				continue
			case strings.HasPrefix(e.Name, "I_MPI_"):
				c.report("intelMPI", field)
			default:
				c.unsupported(e.Value, field, "remove it")
			}
			kept = append(kept, e)
		}
		container.Env = kept
	}
}

// checkSSH reports the requirements on the images.
func (c *conversion) checkSSH() {
	if len(c.roles) == 1 && !*c.ml.MPI.RunLauncherAsNode {
		return
	}
	c.report("needsSSH", fieldpath.Fields("spec", "mpiReplicaSpecs"), node)
	for _, r := range c.roles {
		pod := r.replica.pod()
		main := containerOf(pod, r.main)
		if main == nil {
			continue
		}
		if other := notRoot(pod, main); other != nil {
			c.report("notRoot", r.path(other...), sshHome)
		}
	}
}

// notRoot returns the field that runs the container as a user other than root, or nil.
func notRoot(pod *corev1.PodSpec, container *corev1.Container) fieldpath.Path {
	other := func(user *int64, not *bool) bool {
		return user != nil && *user != 0 || user == nil && not != nil && *not
	}
	if s := container.SecurityContext; s != nil && (s.RunAsUser != nil || s.RunAsNonRoot != nil) {
		if other(s.RunAsUser, s.RunAsNonRoot) {
			return fieldpath.Path{
				fieldpath.Field("containers"), fieldpath.Item("name", container.Name),
				fieldpath.Field("securityContext")}
		}
		return nil
	}
	if s := pod.SecurityContext; s != nil && other(s.RunAsUser, s.RunAsNonRoot) {
		return fieldpath.Path{fieldpath.Field("securityContext")}
	}
	return nil
}
