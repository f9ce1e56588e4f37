package mlpolicy

import (
	"fmt"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// The names that the controller's flux plugin uses (Trainer v2.3.0 pkg/constants).
const (
	fluxInstaller   = "flux-installer"
	fluxInstall     = "flux-install"
	fluxSoftware    = "spack-install"
	fluxMemory      = "shared-memory"
	fluxCurve       = "flux-curve"
	fluxInstallPath = "/mnt/flux"
	fluxConfigPath  = "/etc/flux-config"
	fluxImage       = "FLUX_VIEW_IMAGE"
	fluxDevice      = "FLUX_NETWORK_DEVICE"
	fluxQueue       = "FLUX_QUEUE_POLICY"
)

// flux starts a Flux cluster and runs the trainer's command in it (Trainer v2.3.0
// pkg/runtime/framework/plugins/flux). An init container installs Flux, and a script replaces the
// command. Without spec.trainer.numNodes, the controller panics on every retry.
//
// Only the job called node gets the volumes, but every job with the trainer's label gets the
// command. The runtime's own args stay after the script's arguments, and the script adds them to
// the command. The TrainJob's args do not replace them as under all other policies.
func flux(j *Job) bool {
	if t := j.TrainJob.Spec.Trainer; t == nil || t.NumNodes == nil {
		j.fluxNeedsNodes()
		return false
	}
	by := policyWriter("flux")
	settings := j.fluxSettings()
	j.checkFlux()
	j.Command, j.CommandFrom = []string{"/bin/bash", fluxConfigPath + "/entrypoint.sh",
		j.wrappedCommand()}, j.wrappedFrom()
	j.Args = nil

	scripts, execute, secret := j.fluxScriptsName(), int32(0o755), int32(0o400)
	installMount := corev1.VolumeMount{Name: fluxInstall, MountPath: fluxInstallPath}
	scriptsMount := corev1.VolumeMount{Name: scripts, MountPath: fluxConfigPath, ReadOnly: true}
	for _, set := range j.Sets {
		if set.Name != Node {
			continue
		}
		j.upsertVolumes(by, set,
			emptyDir(fluxSoftware, ""),
			emptyDir(fluxInstall, ""),
			corev1.Volume{
				Name: scripts,
				VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: scripts},
					DefaultMode:          &execute,
				}}})
		if j.Release.Flux != release.Flux22 {
			j.upsertVolumes(by, set, emptyDir(fluxMemory, corev1.StorageMediumMemory))
		}
		j.upsertVolumes(
			by, set, corev1.Volume{
				Name: fluxCurve,
				VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
					SecretName: j.curveSecretName(), DefaultMode: &secret,
				}}})
		j.appendInit(by, set, corev1.Container{
			Name: fluxInstaller, Image: settings.image,
			Command:      []string{"/bin/bash", fluxConfigPath + "/init.sh"},
			VolumeMounts: []corev1.VolumeMount{installMount, scriptsMount},
		})
		for i := range set.Containers() {
			c := set.In("containers", &set.Containers()[i])
			if c.Name != Node {
				continue
			}
			j.upsertMounts(by, c, installMount,
				corev1.VolumeMount{Name: fluxSoftware, MountPath: "/opt/software"},
				scriptsMount,
				corev1.VolumeMount{Name: fluxCurve, MountPath: "/curve", ReadOnly: true},
			)
			if j.Release.Flux != release.Flux22 {
				j.upsertMounts(
					by, c, corev1.VolumeMount{Name: fluxMemory, MountPath: "/dev/shm",
						ReadOnly: true})
			}
		}
	}
	return true
}

func emptyDir(name string, medium corev1.StorageMedium) corev1.Volume {
	return corev1.Volume{
		Name: name, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium}}}
}

// fluxSettings are the settings that a user sets with variables of the node container. Variables in
// spec.trainer.env override the runtime's.
type fluxSettings struct{ image, device, queue string }

// size is the number of bytes that the settings have in the ConfigMap with the scripts.
func (s fluxSettings) size() int { return len(s.device) + len(s.queue) }

// fluxSettings reads the settings. A variable of the TrainJob always counts, so valueFrom makes the
// setting empty. A variable of the runtime counts only if it has a value.
func (j *Job) fluxSettings() fluxSettings {
	s := fluxSettings{image: "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
		device: "eth0", queue: "fcfs"}
	set := func(name, value string) {
		switch name {
		case fluxImage:
			s.image = value
		case fluxDevice:
			s.device = value
		case fluxQueue:
			s.queue = value
		}
	}
	if jobs := j.trainerSet(); jobs != nil {
		if c := jobs.Container(Node); c != nil {
			for _, e := range c.Env {
				if e.Value != "" {
					set(e.Name, e.Value)
				}
			}
		}
	}
	for _, e := range j.TrainJob.Spec.Trainer.Env {
		set(e.Name, e.Value)
	}
	return s
}

// wrappedCommand returns the command that Flux runs, as one string. It is the command of
// spec.trainer, or else of the runtime, with spec.trainer's args. Trainer 2.2 does not see the
// runtime's. Spaces join the parts without quotes, so an argument with a space becomes two.
func (j *Job) wrappedCommand() string {
	var command []string
	if set := j.trainerSet(); set != nil && j.Release.Flux != release.Flux22 {
		if c := set.Container(Node); c != nil {
			command = c.Command
		}
	}
	t := j.TrainJob.Spec.Trainer
	if t.Command != nil {
		command = t.Command
	}
	words := append(append([]string{}, command...), t.Args...)
	return strings.TrimSpace(strings.Join(words, " "))
}

// wrappedFrom returns the origin of that command.
func (j *Job) wrappedFrom() Writer {
	if j.TrainJob.Spec.Trainer.Command != nil {
		return policyWriter("flux").from("spec", "trainer", "command")
	}
	return policyWriter("flux")
}

// fluxTasks returns the number of processes on each node.
func (j *Job) fluxTasks(policy *trainer.FluxMLPolicySource) int32 {
	if n := j.TrainJob.Spec.Trainer.NumProcPerNode; n != nil {
		return *n
	}
	return orDefault(policy.NumProcPerNode, 1)
}

func (j *Job) fluxScriptsName() string { return j.TrainJob.Name + "-flux-entrypoint" }

func (j *Job) curveSecretName() string { return j.TrainJob.Name + "-flux-curve" }

func (j *Job) fluxNeedsNodes() {
	j.reportTrainJob(codes.FluxNodes, finding.Error,
		fieldpath.Fields("spec", "trainer", "numNodes"),
		"Required value: without it the controller crashes on every reconcile under the flux policy",
		"set numNodes in spec.trainer")
}

// checkFlux reports settings that keep Flux from running the intended command.
func (j *Job) checkFlux() {
	const code = codes.FluxCommand
	t := j.TrainJob.Spec.Trainer
	for _, set := range j.Sets {
		node := set.Container(Node)
		if set.Ancestor != Trainer || node == nil {
			continue
		}
		c := set.In("containers", node)
		j.checkGPUs(c)
		if set.Name != Node {
			j.reportRuntime(code, finding.Warning,
				inRuntime(set.Path().Append(fieldpath.Field("name"))),
				fmt.Sprintf("job %s runs Flux's script, but the controller mounts it in job node "+
					"only", set.Name),
				"rename the job to node")
		}
		if len(c.Command) > 0 && t.Command == nil && j.Release.Flux == release.Flux22 {
			j.reportRuntime(code, finding.Warning, inRuntime(c.Path(fieldpath.Field("command"))),
				fmt.Sprintf("the runtime's command of container %s has no effect: Trainer %s "+
					"uses the TrainJob's command only", c.Name, j.Release.Name),
				"set spec.trainer.command of the TrainJob")
		}
		if len(c.Args) > 0 && t.Args != nil {
			j.reportTrainJob(code, finding.Warning, fieldpath.Fields("spec", "trainer", "args"),
				fmt.Sprintf("under the flux policy, the args of the runtime's container in job "+
					"%s follow the TrainJob's", set.Name),
				"remove the args from the runtime, or from the TrainJob")
		}
	}
	for _, e := range t.Env {
		if !slices.Contains([]string{fluxImage, fluxDevice, fluxQueue},
			e.Name) || e.Value != "" {
			continue
		}
		severity, what := finding.Warning, "Flux's configuration gets an empty value"
		if e.Name == fluxImage {
			severity, what = finding.Error,
				"the init container has no image, and the cluster rejects the Job"
		}
		j.reportTrainJob(code, severity,
			fieldpath.Fields("spec", "trainer", "env").Append(fieldpath.Item("name", e.Name)),
			fmt.Sprintf("variable %s has no literal value: %s", e.Name, what),
			"set value instead of valueFrom, or remove the variable")
	}
	if j.fluxSettings().size() > maxConfigMap {
		j.fluxTooLarge()
	}
	j.checkFluxGPUs()
	j.checkHostnames()
	if s := j.subdomain(); s != j.TrainJob.Name {
		j.reportRuntime(codes.MasterAddress, finding.Warning,
			inRuntime(fieldpath.Fields("spec", "network", "subdomain")),
			fmt.Sprintf("Flux's brokers use the subdomain %s, but the Pods are in %s",
				j.TrainJob.Name, s),
			"remove the subdomain")
	}
}

// fluxTooLarge reports that the API server rejects the ConfigMap with the scripts, at the longest
// variable that is written into them.
func (j *Job) fluxTooLarge() {
	report, at, most := j.reportRuntime, fieldpath.Fields("spec", "mlPolicy", "flux"), 0
	known := map[string]bool{}
	longest := func(by func(finding.Code, finding.Severity, fieldpath.Path, string, string),
		in fieldpath.Path, env []corev1.EnvVar) {
		for _, e := range env {
			if (e.Name == fluxDevice || e.Name == fluxQueue) && !known[e.Name] {
				if known[e.Name] = true; len(e.Value) > most {
					report, at, most = by, in.Append(fieldpath.Item("name", e.Name)), len(e.Value)
				}
			}
		}
	}
	longest(j.reportTrainJob, fieldpath.Fields("spec", "trainer", "env"),
		j.TrainJob.Spec.Trainer.Env)
	if set := j.trainerSet(); set != nil {
		if c := set.Container(Node); c != nil {
			env := set.In("containers", c).Path(fieldpath.Field("env"))
			longest(j.reportRuntime, inRuntime(env), c.Env)
		}
	}
	report(codes.FluxCommand, finding.Error, at, fmt.Sprintf("ConfigMap %s with Flux's scripts is "+
		"too large: a ConfigMap may have at most 1 MiB", j.fluxScriptsName()),
		"shorten the value of the variable")
}

// checkFluxGPUs reports tasks that Flux cannot place, since the controller requests all GPUs of a
// node for each task.
func (j *Job) checkFluxGPUs() {
	tasks, n := j.fluxTasks(j.source().Flux), j.gpus(j.Release.Claims.Flux)
	if tasks < 2 || n == 0 {
		return
	}
	message := fmt.Sprintf(
		"each of the %d tasks of a node requests all %d GPUs of the node: Flux can place only "+
			"one task", tasks, n)
	const help = "set numProcPerNode to 1"
	if j.TrainJob.Spec.Trainer.NumProcPerNode != nil {
		j.reportTrainJob(codes.FluxCommand, finding.Warning,
			fieldpath.Fields("spec", "trainer", "numProcPerNode"), message, help)
	} else {
		if over := j.TrainJob.Spec.Trainer.ResourcesPerNode; over != nil && GPUs(*over) > 0 {
			message += fmt.Sprintf("; the GPUs are from %s", j.TrainJobID)
		}
		j.reportRuntime(codes.FluxCommand, finding.Warning,
			fieldpath.Fields("spec", "mlPolicy", "flux", "numProcPerNode"), message, help)
	}
}
