package explain

import (
	"slices"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Writer is a layer that writes a field after the patches, and so wins over them.
type Writer struct {
	// Layer is the layer as in ownership; "policy/*" is any policy.
	Layer merge.Layer
	// Path is the written field: the requested one, one around it or one within it.
	Path fieldpath.Path
	// From is the origin of the value, or "" if the layer makes it itself.
	From string
}

const (
	anyPolicy = merge.Layer("policy/*")
	jobs      = ".spec.replicatedJobs[name]"
	pods      = jobs + ".template.spec.template"
	trainers  = pods + ".spec.containers[name]"
	inits     = pods + ".spec.initContainers[name]"
)

// written are the fields of a JobSet that the layers write, with the origins in the TrainJob (Trainer v2.3.0
// pkg/runtime/framework/plugins). A test compares it with the policies' writes.
var written = []struct {
	layer merge.Layer
	path  string
	from  string
}{
	{runtimepatch.TrainJobLayer, ".metadata.name", "metadata.name"},
	{runtimepatch.TrainJobLayer, ".metadata.namespace", "metadata.namespace"},
	{runtimepatch.TrainJobLayer, ".spec.suspend", "spec.suspend"},
	{anyPolicy, jobs + ".replicas", ""},
	{anyPolicy, jobs + ".template.spec.parallelism", "mlPolicy.numNodes of the runtime, or parallelism of its template"},
	{anyPolicy, jobs + ".template.spec.completions", "mlPolicy.numNodes of the runtime, or parallelism of its template"},
	{runtimepatch.TrainJobLayer, jobs + ".template.spec.parallelism", "spec.trainer.numNodes"},
	{runtimepatch.TrainJobLayer, jobs + ".template.spec.completions", "spec.trainer.numNodes"},
	{runtimepatch.TrainJobLayer, trainers + ".image", "spec.trainer.image"},
	{runtimepatch.TrainJobLayer, trainers + ".command", "spec.trainer.command"},
	{runtimepatch.TrainJobLayer, trainers + ".args", "spec.trainer.args"},
	{runtimepatch.TrainJobLayer, trainers + ".env", "spec.trainer.env, or env and storageUri of spec.initializer"},
	{runtimepatch.TrainJobLayer, trainers + ".envFrom", "secretRef of spec.initializer"},
	{runtimepatch.TrainJobLayer, trainers + ".resources", "spec.trainer.resourcesPerNode"},
	{runtimepatch.PolicyLayer("torch"), trainers + ".command", "torchtune's recipe, where the runtime's command is tune run"},
	{runtimepatch.PolicyLayer("torch"), trainers + `.env[name="PET_NNODES"]`, ""},
	{runtimepatch.PolicyLayer("torch"), trainers + `.env[name="PET_NPROC_PER_NODE"]`, "spec.trainer.numProcPerNode, or the devices"},
	{runtimepatch.PolicyLayer("torch"), trainers + `.env[name="PET_NODE_RANK"]`, ""},
	{runtimepatch.PolicyLayer("torch"), trainers + `.env[name="PET_MASTER_ADDR"]`, ""},
	{runtimepatch.PolicyLayer("torch"), trainers + `.env[name="PET_MASTER_PORT"]`, ""},
	{runtimepatch.PolicyLayer("torch"), trainers + `.ports[containerPort="29500"]`, ""},
	{runtimepatch.PolicyLayer("torch"), inits + `.env[name="PET_NNODES"]`, "envInjection of the runtime's policy"},
	{runtimepatch.PolicyLayer("torch"), inits + `.env[name="PET_NPROC_PER_NODE"]`, "envInjection of the runtime's policy"},
	{runtimepatch.PolicyLayer("torch"), inits + `.env[name="PET_NODE_RANK"]`, "envInjection of the runtime's policy"},
	{runtimepatch.PolicyLayer("torch"), inits + `.env[name="PET_MASTER_ADDR"]`, "envInjection of the runtime's policy"},
	{runtimepatch.PolicyLayer("torch"), inits + `.env[name="PET_MASTER_PORT"]`, "envInjection of the runtime's policy"},
	{runtimepatch.PolicyLayer("jax"), trainers + `.env[name="JAX_NUM_PROCESSES"]`, ""},
	{runtimepatch.PolicyLayer("jax"), trainers + `.env[name="JAX_PROCESS_ID"]`, ""},
	{runtimepatch.PolicyLayer("jax"), trainers + `.env[name="JAX_COORDINATOR_ADDRESS"]`, ""},
	{runtimepatch.PolicyLayer("jax"), trainers + `.ports[containerPort="29500"]`, ""},
	{runtimepatch.PolicyLayer("xgboost"), trainers + `.env[name="DMLC_TRACKER_URI"]`, ""},
	{runtimepatch.PolicyLayer("xgboost"), trainers + `.env[name="DMLC_TRACKER_PORT"]`, ""},
	{runtimepatch.PolicyLayer("xgboost"), trainers + `.env[name="DMLC_TASK_ID"]`, ""},
	{runtimepatch.PolicyLayer("xgboost"), trainers + `.env[name="DMLC_NUM_WORKER"]`, ""},
	{runtimepatch.PolicyLayer("xgboost"), trainers + `.ports[containerPort="29500"]`, ""},
	{runtimepatch.PolicyLayer("mpi"), trainers + `.env[name="OMPI_MCA_orte_default_hostfile"]`, ""},
	{runtimepatch.PolicyLayer("mpi"), trainers + `.env[name="OMPI_MCA_plm_rsh_args"]`, ""},
	{runtimepatch.PolicyLayer("mpi"), trainers + `.env[name="OMPI_MCA_orte_keep_fqdn_hostnames"]`, ""},
	{runtimepatch.PolicyLayer("mpi"), trainers + `.env[name="OMPI_MCA_orte_set_default_slots"]`, ""},
	{runtimepatch.PolicyLayer("mpi"), trainers + `.volumeMounts[mountPath="/etc/mpi"]`, ""},
	{runtimepatch.PolicyLayer("mpi"), trainers + ".volumeMounts", "mlPolicy.mpi.sshAuthMountPath of the runtime"},
	{runtimepatch.PolicyLayer("mpi"), pods + `.spec.volumes[name="mpi-ssh-auth"]`, ""},
	{runtimepatch.PolicyLayer("mpi"), pods + `.spec.volumes[name="mpi-hostfile"]`, ""},
	{runtimepatch.PolicyLayer("flux"), trainers + ".command", "the script that starts Flux around spec.trainer.command"},
	{runtimepatch.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/curve"]`, ""},
	{runtimepatch.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/dev/shm"]`, ""},
	{runtimepatch.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/etc/flux-config"]`, ""},
	{runtimepatch.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/mnt/flux"]`, ""},
	{runtimepatch.PolicyLayer("flux"), trainers + `.volumeMounts[mountPath="/opt/software"]`, ""},
	{runtimepatch.PolicyLayer("flux"), pods + `.spec.initContainers[name="flux-installer"]`, ""},
	{runtimepatch.PolicyLayer("flux"), pods + `.spec.volumes[name="flux-curve"]`, ""},
	{runtimepatch.PolicyLayer("flux"), pods + `.spec.volumes[name="flux-install"]`, ""},
	{runtimepatch.PolicyLayer("flux"), pods + `.spec.volumes[name="shared-memory"]`, ""},
	{runtimepatch.PolicyLayer("flux"), pods + `.spec.volumes[name="spack-install"]`, ""},
	{runtimepatch.PolicyLayer("flux"), pods + ".spec.volumes", "the volume of the scripts, which is called after the TrainJob"},
	{runtimepatch.PolicyLayer("trainjobstatus"), trainers + `.env[name="KUBEFLOW_TRAINER_SERVER_URL"]`, "the feature gate TrainJobStatus"},
	{runtimepatch.PolicyLayer("trainjobstatus"), trainers + `.env[name="KUBEFLOW_TRAINER_SERVER_CA_CERT"]`, "the feature gate TrainJobStatus"},
	{runtimepatch.PolicyLayer("trainjobstatus"), trainers + `.env[name="KUBEFLOW_TRAINER_SERVER_TOKEN"]`, "the feature gate TrainJobStatus"},
	{runtimepatch.PolicyLayer("trainjobstatus"), trainers + `.volumeMounts[mountPath="/var/run/secrets/kubeflow/trainer"]`, "the feature gate TrainJobStatus"},
	{runtimepatch.PolicyLayer("trainjobstatus"), pods + `.spec.volumes[name="kubeflow-trainer-token"]`, "the feature gate TrainJobStatus"},
	{runtimepatch.SchedulerLayer("coscheduling"), pods + `.metadata.labels["scheduling.x-k8s.io/pod-group"]`, "podGroupPolicy.coscheduling of the runtime"},
	{runtimepatch.SchedulerLayer("volcano"), pods + `.metadata.annotations["scheduling.k8s.io/group-name"]`, "podGroupPolicy.volcano of the runtime"},
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
		if n := min(len(w.Path), len(path)); alike(w.Path[:n], path[:n]) && (len(path) >= len(w.Path) || isRelevant(path, w.Path)) {
			found = append(found, w)
		}
	}
	return found
}

// isRelevant reports whether a write within a field matters for it. It does at most two steps below, unless the path is
// short. Else a replicated job would list all writes within it.
func isRelevant(path, written fieldpath.Path) bool {
	return len(written)-len(path) <= 2 && len(path) > 3
}

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
	r, err := resolve(runtimepatch.JobSetTemplate(), path)
	if err != nil {
		panic("explain: " + strings.TrimSpace(text) + ": " + err.Error())
	}
	return r.path
}
