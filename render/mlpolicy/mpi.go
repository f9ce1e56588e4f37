package mlpolicy

import (
	"fmt"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// The names that the controller's mpi plugin uses (Trainer v2.3.0 pkg/constants).
const (
	launcher = "launcher"

	sshVolume     = "mpi-ssh-auth"
	sshPublicKey  = "ssh-publickey"
	sshMountPath  = "/root/.ssh"
	hostVolume    = "mpi-hostfile"
	hostKey       = "hostfile"
	hostMountPath = "/etc/mpi"
)

// mpi connects the launcher and the nodes (Trainer v2.3.0 pkg/runtime/framework/plugins/mpi). The
// jobs called launcher and node get the volumes, whatever their labels. Their containers called
// node get the mounts, and the launcher's container also gets the variables.
//
// The field spec.trainer.numNodes sets the Pods of the job called node. It is one less if the
// launcher counts as a node. The runtime's mlPolicy.numNodes sets the Pods of the job with the
// trainer's label, as under every policy. Under MPI that job is the launcher.
func mpi(j *Job) bool {
	policy, node := j.source().MPI, j.set(Node)
	if t := j.TrainJob.Spec.Trainer; node != nil && t != nil && t.NumNodes != nil {
		count := *t.NumNodes
		if j.launcherAsNode() {
			count = max(count-1, 1)
		}
		node.Count, node.CountFrom = count, Copied("spec", "trainer", "numNodes")
	}
	j.slots = j.slotsPerNode(policy)
	j.checkMPINodes()

	by := policyWriter("mpi")
	for _, set := range j.Sets {
		if set.Name != Node && set.Name != launcher {
			continue
		}
		j.upsertVolumes(by, set, j.sshVolume())
		if set.Name == launcher {
			j.upsertVolumes(by, set, j.hostVolume())
		}
		for i := range set.Containers() {
			c := set.In("containers", &set.Containers()[i])
			if c.Name != Node {
				continue
			}
			j.upsertMounts(j.sshMountFrom(), c,
				corev1.VolumeMount{
					Name: sshVolume, MountPath: orDefault(policy.SSHAuthMountPath, sshMountPath)})
			if set.Name != launcher {
				continue
			}
			j.upsertMounts(by, c, corev1.VolumeMount{Name: hostVolume, MountPath: hostMountPath})
			if implementation(policy) != trainer.MPIImplementationOpenMPI {
				j.unknownImplementation(implementation(policy), finding.Error)
				return false
			}
			j.UpsertEnv(by, c,
				corev1.EnvVar{Name: "OMPI_MCA_orte_default_hostfile",
					Value: hostMountPath + "/" + hostKey},
				corev1.EnvVar{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
			)
			j.UpsertEnv(j.slotsFrom(), c,
				corev1.EnvVar{Name: "OMPI_MCA_orte_set_default_slots",
					Value: strconv.Itoa(int(j.slots))})
			j.UpsertEnv(by, c,
				corev1.EnvVar{Name: "OMPI_MCA_plm_rsh_args", Value: "-o ConnectionAttempts=10"})
			j.prte(by, c)
		}
	}
	if implementation(policy) != trainer.MPIImplementationOpenMPI {
		// Without a launcher that has a node container, the controller does not fail, and the
		// hostfile stays empty.
		j.unknownImplementation(implementation(policy), finding.Warning)
	}
	return true
}

// prte sets the variables of Open MPI 5 (kubeflow/trainer#4029). The names of the hosts are not
// fully qualified: the launcher would connect to itself, since its own name never is.
func (j *Job) prte(by Writer, c Place) {
	if !j.Release.MPIPrte {
		return
	}
	j.UpsertEnv(by, c,
		corev1.EnvVar{Name: "PRTE_MCA_prte_default_hostfile", Value: hostMountPath + "/" + hostKey},
		corev1.EnvVar{Name: "PRTE_MCA_prte_keep_fqdn_hostnames", Value: "false"},
	)
	j.UpsertEnv(j.slotsFrom(), c,
		corev1.EnvVar{Name: "PRTE_MCA_prte_set_default_slots", Value: strconv.Itoa(int(j.slots))})
	j.UpsertEnv(by, c,
		corev1.EnvVar{Name: "PRTE_MCA_plm_ssh_args", Value: "-o ConnectionAttempts=10"})
}

// TakesImage reports whether spec.trainer.image applies to the job: to one with the trainer's label
// and, as a release has it, to MPI's launcher and nodes (kubeflow/trainer#4301).
func (j *Job) TakesImage(set *PodSet) bool {
	isMPI := j.Release.MPIImage && j.source().MPI != nil &&
		(set.Name == Node || set.Name == launcher)
	return set.Ancestor == Trainer || isMPI
}

// launcherAsNode reports whether MPI's launcher counts as a node.
func (j *Job) launcherAsNode() bool {
	policy := j.source().MPI
	return policy != nil && orDefault(policy.RunLauncherAsNode, false)
}

// checkMPINodes reports numNodes with another effect than its name suggests.
func (j *Job) checkMPINodes() {
	j.checkHostnames()
	node, set := j.set(Node), j.trainerSet()
	if n := j.Runtime.MLPolicy.NumNodes; n != nil && *n > 1 && set != nil && set.Name != Node {
		others := ""
		if node != nil {
			others = fmt.Sprintf("; job node runs %s", pods(node.Count))
			if node.CountFrom.Layer == runtimepatch.TrainJobLayer {
				others += fmt.Sprintf(", as %s asks", j.TrainJobID)
			}
		}
		j.reportRuntime(codes.MPINodes, finding.Warning,
			fieldpath.Fields("spec", "mlPolicy", "numNodes"),
			fmt.Sprintf("job %s has the trainer's label, so it runs %s, and each of them starts "+
				"mpirun%s", set.Name, pods(*n), others),
			"set numNodes to 1, and set parallelism of job node, or spec.trainer.numNodes of the "+
				"TrainJob")
	}
	t := j.TrainJob.Spec.Trainer
	if node == nil || t == nil || t.NumNodes == nil || *t.NumNodes >= 2 || !j.launcherAsNode() ||
		j.set(launcher) == nil {
		return
	}
	j.reportTrainJob(codes.MPINodes, finding.Warning,
		fieldpath.Fields("spec", "trainer", "numNodes"),
		fmt.Sprintf("numNodes %d runs on 2 nodes: the launcher and at least one Pod of job node",
			*t.NumNodes),
		"set numNodes: 2, or reference a runtime without a job node")
}

func pods(n int32) string {
	if n == 1 {
		return "1 Pod"
	}
	return fmt.Sprintf("%d Pods", n)
}

func (j *Job) unknownImplementation(name trainer.MPIImplementation, severity finding.Severity) {
	what := "fails on every reconcile"
	if severity != finding.Error {
		what = "writes an empty hostfile"
	}
	openMPI := string(trainer.MPIImplementationOpenMPI)
	j.report(finding.Finding{
		Code: codes.MPIImplementation, Severity: severity, Object: j.RuntimeID,
		Path:    fieldpath.Fields("spec", "mlPolicy", "mpi", "mpiImplementation"),
		Message: fmt.Sprintf("unsupported MPI implementation %q: the controller %s", name, what),
		Remedy: finding.Remedy{
			Do: finding.SetValue, Options: []string{openMPI}, IsCertain: name == "" ||
				strings.EqualFold(string(name), openMPI),
			Text: "set mpiImplementation: OpenMPI",
		},
	})
}

func (j *Job) hostfileTooLarge(set *PodSet) {
	about, at := j.reportRuntime, set.CountFrom.From.Path
	switch {
	case set.replicas > set.Count:
		at = inRuntime(set.Path()).Append(fieldpath.Field("replicas"))
	case set.CountFrom.Layer == runtimepatch.TrainJobLayer:
		about = j.reportTrainJob
	}
	about(codes.Hostfile, finding.Error, at,
		fmt.Sprintf("the hostfile with the %d nodes of job %s is too large: a ConfigMap may have "+
			"at most 1 MiB", set.Count, set.Name),
		"lower "+at[len(at)-1].String())
}

func (j *Job) hostfileEmpty() {
	if implementation(j.source().MPI) != trainer.MPIImplementationOpenMPI || j.set(Node) != nil {
		return // another finding reports the cause: the implementation, or numNodes
	}
	j.reportRuntime(codes.Hostfile, finding.Warning, fieldpath.Fields("spec", "mlPolicy", "mpi"),
		"the hostfile has no host: the runtime has no job node", "rename the nodes' job to node")
}

func implementation(policy *trainer.MPIMLPolicySource) trainer.MPIImplementation {
	return orDefault(policy.MPIImplementation, trainer.MPIImplementationOpenMPI)
}

// slotsPerNode returns the number of processes on each node, from spec.trainer or else the runtime.
// Since Trainer 2.1, a one in the runtime means one process per GPU. So a runtime cannot request
// one process on a node with several GPUs.
func (j *Job) slotsPerNode(policy *trainer.MPIMLPolicySource) int32 {
	if n := j.numProcPerNode(); n != nil {
		return int32(n.IntValue())
	}
	slots := orDefault(policy.NumProcPerNode, 1)
	if slots != 1 || j.Release.MPISlots == release.SlotsAsSet {
		return slots
	}
	if set := j.set(Node); set != nil {
		if c := set.Container(Node); c != nil {
			j.checkGPUs(set.In("containers", c))
		}
	}
	if n := j.gpus(j.Release.Claims.MPI); n > 1 {
		return int32(n)
	}
	return 1
}

// slotsFrom returns the origin of that number.
func (j *Job) slotsFrom() Writer {
	switch t := j.TrainJob.Spec.Trainer; {
	case j.numProcPerNode() != nil:
		return policyWriter("mpi").from("spec", "trainer", "numProcPerNode")
	case orDefault(j.source().MPI.NumProcPerNode, 1) != 1:
		return policyWriter("mpi").from("spec", "mlPolicy", "mpi", "numProcPerNode")
	case t != nil && t.ResourcesPerNode != nil && j.Release.MPISlots != release.SlotsAsSet:
		return policyWriter("mpi").from("spec", "trainer", "resourcesPerNode")
	default:
		return policyWriter("mpi")
	}
}

// sshMountFrom returns the origin of the mount path of the keys.
func (j *Job) sshMountFrom() Writer {
	if j.source().MPI.SSHAuthMountPath == nil {
		return policyWriter("mpi")
	}
	return policyWriter("mpi").from("spec", "mlPolicy", "mpi", "sshAuthMountPath")
}

func (j *Job) sshVolume() corev1.Volume {
	mode := func(mode int32) *int32 {
		if !j.Release.SSHModes {
			return nil
		}
		return &mode
	}
	item := func(key, path string, file int32) corev1.KeyToPath {
		return corev1.KeyToPath{Key: key, Path: path, Mode: mode(file)}
	}
	return corev1.Volume{
		Name: sshVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName:  j.sshSecretName(),
			DefaultMode: mode(0o400),
			Items: []corev1.KeyToPath{
				item(corev1.SSHAuthPrivateKey, "id_rsa", 0o640),
				item(sshPublicKey, "id_rsa.pub", 0o644),
				item(sshPublicKey, "authorized_keys", 0o644),
			},
		}}}
}

func (j *Job) hostVolume() corev1.Volume {
	return corev1.Volume{
		Name: hostVolume,
		VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{
				Name: j.TrainJob.Name + "-mpi-hostfile"},
			Items: []corev1.KeyToPath{
				{Key: hostKey, Path: hostKey, Mode: new(int32(0o444))}},
		}}}
}

func (j *Job) sshSecretName() string { return j.TrainJob.Name + "-mpi-ssh-auth" }

// maxConfigMap is the maximum size of a ConfigMap in the API server, in bytes.
const maxConfigMap = 1 << 20

// hostfile returns the ConfigMap with the list of nodes for mpirun, in the order of the template.
// They are the Pods of the job called node, and of the launcher if it counts as a node. Unlike the
// other policies, it uses network.subdomain. It counts the replicas of the template, or the first
// one alone, as the release has it. The controller sets replicas to one only in a job with the
// trainer's label.
func (j *Job) hostfile() *corev1.ConfigMap {
	var lines strings.Builder
	for _, set := range j.Sets {
		if set.Name != Node && !(j.launcherAsNode() && set.Name == launcher) ||
			implementation(j.source().MPI) != trainer.MPIImplementationOpenMPI {
			continue
		}
		replicas := set.replicas
		if j.Release.Endpoints == release.FirstReplica {
			replicas = 1
		}
		for replica := range replicas {
			for pod := range set.Count {
				fmt.Fprintf(&lines, "%s-%s-%d-%d.%s slots=%d\n", j.TrainJob.Name, set.Name, replica,
					pod, j.subdomain(), j.slots)
				if lines.Len() > maxConfigMap {
					j.hostfileTooLarge(set)
					return nil
				}
			}
		}
	}
	if lines.Len() == 0 {
		j.hostfileEmpty()
	}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: j.TrainJob.Name + "-mpi-hostfile",
			Namespace: j.TrainJob.Namespace},
		Data: map[string]string{hostKey: lines.String()},
	}
}

// subdomain returns the subdomain of the Pods' addresses.
func (j *Job) subdomain() string {
	if network := j.Template.Spec.Network; network != nil && network.Subdomain != "" {
		return network.Subdomain
	}
	return j.TrainJob.Name
}
