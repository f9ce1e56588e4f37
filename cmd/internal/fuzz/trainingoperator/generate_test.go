package trainingoperator_test

import (
	"fmt"
	"math/rand/v2"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// generator makes a job of a number: the same job of the same number.
type generator struct {
	*rand.Rand
	name, namespace string
	types           []kubeflow.ReplicaType
	main            string
	port            string
}

func newGenerator(number uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(number, 7))}
	g.name = pick(g, "job", "my-job", "worker", "job-worker-1")
	g.namespace = pick(g, "", "team-a")
	return g
}

func pick[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

// maybe is true once in n times.
func (g *generator) maybe(n int) bool { return g.IntN(n) == 0 }

func ptr[T any](v T) *T { return &v }

// job is a job of any kind.
func (g *generator) job() apiruntime.Object {
	meta := metav1.ObjectMeta{Name: g.name, Namespace: g.namespace}
	if g.maybe(3) {
		meta.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "q"}
	}
	run := g.runPolicy()
	switch g.IntN(6) {
	case 0:
		job := &kubeflow.PyTorchJob{ObjectMeta: meta, Spec: kubeflow.PyTorchJobSpec{RunPolicy: run}}
		job.Spec.PyTorchReplicaSpecs = g.replicas("pytorch", kubeflow.PyTorchJobDefaultPortName,
			true, "Master", "Worker")
		if g.maybe(3) {
			job.Spec.NprocPerNode = ptr(pick(g, "auto", "2", "gpu", "cpu"))
		}
		if g.maybe(3) {
			job.Spec.ElasticPolicy = g.elastic(job.Spec.NprocPerNode == nil)
		}
		return job
	case 1:
		job := &kubeflow.XGBoostJob{ObjectMeta: meta, Spec: kubeflow.XGBoostJobSpec{RunPolicy: run}}
		job.Spec.XGBReplicaSpecs = g.replicas("xgboost", kubeflow.XGBoostJobDefaultPortName, true,
			"Master", "Worker")
		return job
	case 2:
		job := &kubeflow.JAXJob{ObjectMeta: meta, Spec: kubeflow.JAXJobSpec{RunPolicy: run}}
		job.Spec.JAXReplicaSpecs = g.replicas("jax", kubeflow.JAXJobDefaultPortName, false,
			"Worker")
		return job
	case 3:
		job := &kubeflow.TFJob{ObjectMeta: meta, Spec: kubeflow.TFJobSpec{RunPolicy: run}}
		job.Spec.TFReplicaSpecs = g.replicas("tensorflow", kubeflow.TFJobDefaultPortName, false,
			pick(g, kubeflow.TFJobReplicaTypeChief, kubeflow.TFJobReplicaTypeMaster), "Worker",
			"PS", "Evaluator")
		if g.maybe(4) {
			job.Spec.SuccessPolicy = ptr(kubeflow.SuccessPolicyAllWorkers)
		}
		return job
	case 4:
		job := &kubeflow.PaddleJob{ObjectMeta: meta, Spec: kubeflow.PaddleJobSpec{RunPolicy: run}}
		job.Spec.PaddleReplicaSpecs = g.replicas("paddle", kubeflow.PaddleJobDefaultPortName, false,
			"Master", "Worker")
		return job
	default:
		return g.mpi(meta, run)
	}
}

// mpi is an MPIJob, whose containers have any name.
func (g *generator) mpi(meta metav1.ObjectMeta, run kubeflow.RunPolicy) *kubeflow.MPIJob {
	job := &kubeflow.MPIJob{ObjectMeta: meta, Spec: kubeflow.MPIJobSpec{RunPolicy: run}}
	job.Spec.MPIReplicaSpecs = g.replicas("mpi", "mpi-port", true, "Launcher", "Worker")
	if worker := job.Spec.MPIReplicaSpecs["Worker"]; worker != nil {
		main := &worker.Template.Spec.Containers[0]
		main.Command, main.Args = nil, nil
		if g.maybe(3) {
			main.Command = pick(g, []string{"/usr/sbin/sshd", "-De"}, []string{"sleep", "infinity"})
		}
		if len(worker.Template.Spec.Containers) > 1 && g.maybe(2) {
			job.Spec.MainContainer = worker.Template.Spec.Containers[1].Name
			worker.Template.Spec.Containers[1].Command = []string{"/usr/sbin/sshd", "-De"}
		}
		if g.maybe(6) {
			worker.Replicas = ptr(int32(0))
		}
	}
	if g.maybe(2) {
		job.Spec.SlotsPerWorker = ptr(int32(1 + g.IntN(4)))
	}
	return job
}

// replicas are some of the types; where the first leads, it is there with one Pod.
func (g *generator) replicas(main, port string, leads bool,
	types ...kubeflow.ReplicaType) map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec {
	g.main, g.port = main, port
	for i, t := range types {
		if i == 0 && leads && (main != "pytorch" || !g.maybe(4)) || i > 0 && len(types) < 4 ||
			g.maybe(2) {
			g.types = append(g.types, t)
		}
	}
	if len(g.types) == 0 {
		g.types = types[len(types)-1:]
	}
	if leads && len(g.types) > 1 && main != "mpi" && g.maybe(5) {
		g.types = g.types[:1]
	}
	alike := g.maybe(2)
	specs := map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{}
	var first *kubeflow.ReplicaSpec
	for _, t := range g.types {
		spec := g.replica()
		if alike && first != nil {
			spec = first.DeepCopy()
		} else if first == nil {
			first = spec
		}
		spec.Replicas = nil
		if t == types[0] && leads {
			spec.Replicas = ptr(int32(1))
		} else if !g.maybe(4) {
			spec.Replicas = ptr(int32(1 + g.IntN(4)))
		}
		specs[t] = spec
	}
	return specs
}

func (g *generator) replica() *kubeflow.ReplicaSpec {
	spec := &kubeflow.ReplicaSpec{}
	if !g.maybe(4) {
		spec.RestartPolicy = pick(g, kubeflow.RestartPolicyNever, kubeflow.RestartPolicyOnFailure,
			kubeflow.RestartPolicyExitCode, kubeflow.RestartPolicyAlways)
	}
	if g.maybe(3) {
		spec.Template.Labels = map[string]string{"app": pick(g, "a", "b")}
	}
	if g.maybe(4) {
		spec.Template.Annotations = map[string]string{"sidecar.istio.io/inject": "false"}
	}
	pod := &spec.Template.Spec
	if g.maybe(2) {
		pod.Containers = append(pod.Containers, g.container("sidecar"))
	}
	pod.Containers = append(pod.Containers, g.container(g.main))
	if g.maybe(3) {
		pod.Containers = append(pod.Containers, g.container("logger"))
	}
	if g.maybe(4) {
		pod.InitContainers = []corev1.Container{g.container("prepare")}
	}
	if g.maybe(3) {
		pod.Volumes = []corev1.Volume{
			{Name: "data",
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"},
			{Name: "data", MountPath: "/more", SubPath: "more"}}
	}
	if g.maybe(3) {
		pod.NodeSelector = map[string]string{"pool": "gpu"}
		pod.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	}
	if g.maybe(5) {
		pod.ServiceAccountName = "trainer"
	}
	return spec
}

func (g *generator) container(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: "registry.example.com/" + name + ":1"}
	if g.maybe(2) {
		c.Command = []string{pick(g, "torchrun", "python3"), "train.py"}
	}
	for range g.IntN(3) {
		c.Args = append(c.Args, g.text())
	}
	for i := range g.IntN(4) {
		c.Env = append(c.Env, g.variable(i))
	}
	if g.maybe(2) {
		q := resource.MustParse(pick(g, "1", "2"))
		name := pick(g, corev1.ResourceName("nvidia.com/gpu"), corev1.ResourceCPU)
		c.Resources.Limits = corev1.ResourceList{name: q}
	}
	for i := range g.IntN(3) {
		port := corev1.ContainerPort{ContainerPort: int32(8000 + i)}
		if i > 0 && g.maybe(2) {
			port.Name = g.port
		}
		c.Ports = append(c.Ports, port)
	}
	return c
}

// text has, at times, the address of a Pod in it.
func (g *generator) text() string {
	host := fmt.Sprintf("%s-%s-%d", g.name, pick(g, "worker", "master", "chief", "ps"), g.IntN(3))
	return pick(g, "--epochs=1", "--master="+host+":29400", host,
		"tcp://"+host+".team-a.svc:80,"+host, host+"-data", "$(RANK) $$(RANK)", "x"+host)
}

func (g *generator) variable(i int) corev1.EnvVar {
	name := pick(g, "WORLD_SIZE", "EPOCHS", "LOG_LEVEL", "RANK_COPY", "PET_MASTER_ADDR",
		"TF_CONFIG")
	switch g.IntN(8) {
	case 7:
		label := pick(g, kubeflow.JobNameLabel, kubeflow.ReplicaIndexLabel)
		if g.main == "mpi" {
			label = kubeflow.JobNameLabel // the operator gives a launcher no index
		}
		return corev1.EnvVar{
			Name: fmt.Sprintf("LABEL_%d", i),
			ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{
					FieldPath: "metadata.labels['" + label + "']"}}}
	case 0:
		return corev1.EnvVar{Name: fmt.Sprintf("NODE_NAME_%d", i),
			ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}
	case 1:
		return corev1.EnvVar{
			Name: fmt.Sprintf("CPUS_%d", i),
			ValueFrom: &corev1.EnvVarSource{
				ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}
	default:
		return corev1.EnvVar{Name: name, Value: g.text()}
	}
}

func (g *generator) elastic(procs bool) *kubeflow.ElasticPolicy {
	p := &kubeflow.ElasticPolicy{}
	if g.maybe(2) {
		p.MinReplicas = ptr(int32(1))
	}
	if g.maybe(2) {
		p.MaxReplicas = ptr(int32(2 + g.IntN(3)))
	}
	if g.maybe(3) {
		p.RDZVHost = ptr(pick(g, "etcd", g.name+"-worker-0"))
	}
	if g.maybe(3) {
		p.RDZVPort = ptr(int32(29400))
	}
	if g.maybe(3) {
		p.RDZVConf = []kubeflow.RDZVConf{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}
	}
	if g.maybe(3) {
		p.RDZVID, p.MaxRestarts, p.Standalone = ptr("id"), ptr(int32(3)), ptr(true)
	}
	if procs && g.maybe(3) {
		p.NProcPerNode = ptr(int32(2))
	}
	return p
}

func (g *generator) runPolicy() kubeflow.RunPolicy {
	p := kubeflow.RunPolicy{}
	if g.maybe(3) {
		p.CleanPodPolicy = ptr(
			pick(g, kubeflow.CleanPodPolicyAll, kubeflow.CleanPodPolicyRunning,
				kubeflow.CleanPodPolicyNone))
	}
	if g.maybe(3) {
		p.BackoffLimit = ptr(int32(g.IntN(5)))
	}
	if g.maybe(3) {
		p.TTLSecondsAfterFinished = ptr(int32(g.IntN(300)))
	}
	if g.maybe(4) {
		p.ActiveDeadlineSeconds = ptr(int64(3600))
	}
	if g.maybe(4) {
		p.Suspend = ptr(g.maybe(2))
	}
	if g.maybe(5) {
		p.ManagedBy = ptr(pick(g, kubeflow.KubeflowJobsController, kubeflow.MultiKueueController))
	}
	if g.maybe(4) {
		p.SchedulingPolicy = &kubeflow.SchedulingPolicy{Queue: pick(g, "", "q")}
		if g.maybe(2) {
			p.SchedulingPolicy.ScheduleTimeoutSeconds = ptr(int32(30))
		}
	}
	return p
}
