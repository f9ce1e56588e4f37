package explain

import (
	"slices"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// Writer is a layer that writes a field after the patches, and so wins over them.
type Writer struct {
	// Layer is the layer as in ownership; "policy/*" is any policy.
	Layer engine.Layer
	// Path is the written field: the requested one, one around it or one within it.
	Path fieldpath.Path
	// From is the origin of the value, or "" if the layer makes it itself.
	From string
}

const (
	anyPolicy = engine.Layer("policy/*")
	jobs      = ".spec.replicatedJobs[name]"
	pods      = jobs + ".template.spec.template"
	trainers  = pods + ".spec.containers[name]"
	inits     = pods + ".spec.initContainers[name]"
)

// written are the fields of a JobSet that the layers write, with the origins in the TrainJob (Trainer v2.3.0
// pkg/runtime/framework/plugins). A test compares it with the policies' writes.
var written = []struct {
	layer engine.Layer
	path  string
	from  string
}{
	{merge.TrainJobLayer, ".metadata.name", "metadata.name"},
	{merge.TrainJobLayer, ".metadata.namespace", "metadata.namespace"},
	{merge.TrainJobLayer, ".spec.suspend", "spec.suspend"},
	{anyPolicy, jobs + ".replicas", ""},
	{anyPolicy, jobs + ".template.spec.parallelism", "mlPolicy.numNodes of the runtime, or parallelism of its template"},
	{anyPolicy, jobs + ".template.spec.completions", "mlPolicy.numNodes of the runtime, or parallelism of its template"},
	{merge.TrainJobLayer, jobs + ".template.spec.parallelism", "spec.trainer.numNodes"},
	{merge.TrainJobLayer, jobs + ".template.spec.completions", "spec.trainer.numNodes"},
	{merge.TrainJobLayer, trainers + ".image", "spec.trainer.image"},
	{merge.TrainJobLayer, trainers + ".command", "spec.trainer.command"},
	{merge.TrainJobLayer, trainers + ".args", "spec.trainer.args"},
	{merge.TrainJobLayer, trainers + ".env", "spec.trainer.env, or env and storageUri of spec.initializer"},
	{merge.TrainJobLayer, trainers + ".envFrom", "secretRef of spec.initializer"},
	{merge.TrainJobLayer, trainers + ".resources", "spec.trainer.resourcesPerNode"},
	{merge.PolicyLayer("torch"), trainers + ".command", "torchtune's recipe, where the runtime's command is tune run"},
	{merge.PolicyLayer("torch"), trainers + `.env[name="PET_NNODES"]`, ""},
	{merge.PolicyLayer("torch"), trainers + `.env[name="PET_NPROC_PER_NODE"]`, "spec.trainer.numProcPerNode, or the devices"},
	{merge.PolicyLayer("torch"), trainers + `.env[name="PET_NODE_RANK"]`, ""},
	{merge.PolicyLayer("torch"), trainers + `.env[name="PET_MASTER_ADDR"]`, ""},
	{merge.PolicyLayer("torch"), trainers + `.env[name="PET_MASTER_PORT"]`, ""},
	{merge.PolicyLayer("torch"), trainers + `.ports[containerPort="29500"]`, ""},
	{merge.PolicyLayer("torch"), inits + `.env[name="PET_NNODES"]`, "envInjection of the runtime's policy"},
	{merge.PolicyLayer("torch"), inits + `.env[name="PET_NPROC_PER_NODE"]`, "envInjection of the runtime's policy"},
	{merge.PolicyLayer("torch"), inits + `.env[name="PET_NODE_RANK"]`, "envInjection of the runtime's policy"},
	{merge.PolicyLayer("torch"), inits + `.env[name="PET_MASTER_ADDR"]`, "envInjection of the runtime's policy"},
	{merge.PolicyLayer("torch"), inits + `.env[name="PET_MASTER_PORT"]`, "envInjection of the runtime's policy"},
	{merge.PolicyLayer("jax"), trainers + `.env[name="JAX_NUM_PROCESSES"]`, ""},
	{merge.PolicyLayer("jax"), trainers + `.env[name="JAX_PROCESS_ID"]`, ""},
	{merge.PolicyLayer("jax"), trainers + `.env[name="JAX_COORDINATOR_ADDRESS"]`, ""},
	{merge.PolicyLayer("jax"), trainers + `.ports[containerPort="29500"]`, ""},
	{merge.PolicyLayer("xgboost"), trainers + `.env[name="DMLC_TRACKER_URI"]`, ""},
	{merge.PolicyLayer("xgboost"), trainers + `.env[name="DMLC_TRACKER_PORT"]`, ""},
	{merge.PolicyLayer("xgboost"), trainers + `.env[name="DMLC_TASK_ID"]`, ""},
	{merge.PolicyLayer("xgboost"), trainers + `.env[name="DMLC_NUM_WORKER"]`, ""},
	{merge.PolicyLayer("xgboost"), trainers + `.ports[containerPort="29500"]`, ""},
	{merge.PolicyLayer("mpi"), trainers + `.env[name="OMPI_MCA_orte_default_hostfile"]`, ""},
	{merge.PolicyLayer("mpi"), trainers + `.env[name="OMPI_MCA_plm_rsh_args"]`, ""},
	{merge.PolicyLayer("mpi"), trainers + `.env[name="OMPI_MCA_orte_keep_fqdn_hostnames"]`, ""},
	{merge.PolicyLayer("mpi"), trainers + `.env[name="OMPI_MCA_orte_set_default_slots"]`, ""},
	{merge.PolicyLayer("mpi"), trainers + `.volumeMounts[mountPath="/etc/mpi"]`, ""},
	{merge.PolicyLayer("mpi"), trainers + ".volumeMounts", "mlPolicy.mpi.sshAuthMountPath of the runtime"},
	{merge.PolicyLayer("mpi"), pods + `.spec.volumes[name="mpi-ssh-auth"]`, ""},
	{merge.PolicyLayer("mpi"), pods + `.spec.volumes[name="mpi-hostfile"]`, ""},
	{merge.PolicyLayer("flux"), trainers + ".command", "the script that starts Flux around spec.trainer.command"},
	{merge.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/curve"]`, ""},
	{merge.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/dev/shm"]`, ""},
	{merge.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/etc/flux-config"]`, ""},
	{merge.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/mnt/flux"]`, ""},
	{merge.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/opt/software"]`, ""},
	{merge.PolicyLayer("flux"), pods + `.spec.initContainers[name="flux-installer"]`, ""},
	{merge.PolicyLayer("flux"), pods + `.spec.volumes[name="flux-curve"]`, ""},
	{merge.PolicyLayer("flux"), pods + `.spec.volumes[name="flux-install"]`, ""},
	{merge.PolicyLayer("flux"), pods + `.spec.volumes[name="shared-memory"]`, ""},
	{merge.PolicyLayer("flux"), pods + `.spec.volumes[name="spack-install"]`, ""},
	{merge.PolicyLayer("flux"), pods + ".spec.volumes", "the volume of the scripts, which is called after the TrainJob"},
	{merge.PolicyLayer("trainjobstatus"), trainers + `.env[name="KUBEFLOW_TRAINER_SERVER_URL"]`, "the feature gate TrainJobStatus"},
	{merge.PolicyLayer("trainjobstatus"), trainers + `.env[name="KUBEFLOW_TRAINER_SERVER_CA_CERT"]`, "the feature gate TrainJobStatus"},
	{merge.PolicyLayer("trainjobstatus"), trainers + `.env[name="KUBEFLOW_TRAINER_SERVER_TOKEN"]`, "the feature gate TrainJobStatus"},
	{merge.PolicyLayer("trainjobstatus"), trainers + `.volumeMounts[mountPath="/var/run/secrets/kubeflow/trainer"]`, "the feature gate TrainJobStatus"},
	{merge.PolicyLayer("trainjobstatus"), pods + `.spec.volumes[name="kubeflow-trainer-token"]`, "the feature gate TrainJobStatus"},
	{merge.SchedulerLayer("coscheduling"), pods + `.metadata.labels["scheduling.x-k8s.io/pod-group"]`, "podGroupPolicy.coscheduling of the runtime"},
	{merge.SchedulerLayer("volcano"), pods + `.metadata.annotations["scheduling.k8s.io/group-name"]`, "podGroupPolicy.volcano of the runtime"},
}

// writers returns the table with parsed paths.
var writers = sync.OnceValue(func() []Writer {
	all := make([]Writer, len(written))
	for i, w := range written {
		all[i] = Writer{Layer: w.layer, Path: parsed(w.path), From: w.from}
	}
	return all
})

// writersOf returns the layers that write a field, a part of it, or a field around it.
func writersOf(path fieldpath.Path) []Writer {
	var found []Writer
	for _, w := range writers() {
		if n := min(len(w.Path), len(path)); alike(w.Path[:n], path[:n]) && (len(path) >= len(w.Path) || concerns(path, w.Path)) {
			found = append(found, w)
		}
	}
	return found
}

// concerns reports whether a write within a field matters for it. It does at most two steps below, unless the path is
// short. Else a replicated job would list all writes within it.
func concerns(path, written fieldpath.Path) bool { return len(written)-len(path) <= 2 && len(path) > 3 }

// alike reports whether two paths may be equal. An unnamed item or key matches any.
func alike(a, b fieldpath.Path) bool {
	return slices.EqualFunc(a, b, func(x, y fieldpath.Step) bool {
		if x == y {
			return true
		}
		xKey, xValue, xItem := x.Item()
		yKey, yValue, yItem := y.Item()
		if xItem && yItem {
			return xKey == yKey && (xValue == "" || yValue == "")
		}
		xMap, xIsKey := x.Key()
		yMap, yIsKey := y.Key()
		return xIsKey && yIsKey && (xMap == "" || yMap == "")
	})
}

// parsed parses a path of the table. A test covers the table, so a failure means a broken build and panics.
func parsed(text string) fieldpath.Path {
	path, err := parse(text)
	if err != nil {
		panic("explain: " + err.Error())
	}
	r, err := resolve(merge.JobSetTemplate(), path)
	if err != nil {
		panic("explain: " + strings.TrimSpace(text) + ": " + err.Error())
	}
	return r.path
}
