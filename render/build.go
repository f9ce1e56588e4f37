package render

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// build makes the JobSet from the merged template, which it takes over. The companions follow,
// since they count the items of the JobSet. The owners of the merge record every write.
func (r *renderer) build(merged *runtimepatch.Result, opts Options) {
	r.checkManagers(&merged.Template)
	r.checkGates(opts.FeatureGates)
	r.record = writesTo(merged.History)
	j, enforced := r.enforce(merged, opts)
	defer func() { r.out.Findings = append(r.out.Findings, j.Findings...) }()
	if !enforced {
		return
	}
	job, template := r.in.TrainJob, &merged.Template
	r.out.JobSet = &jobset.JobSet{
		TypeMeta: metav1.TypeMeta{APIVersion: jobset.GroupVersion.String(), Kind: "JobSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: job.Name, Namespace: job.Namespace,
			// The controller reads only these two from the template's metadata. The TrainJob's own
			// labels do not reach the JobSet.
			Labels: template.Labels, Annotations: template.Annotations,
		},
		Spec: template.Spec,
	}
	dropEmpty(r.out.JobSet)
	r.companions(j, opts)
}

// mergeOptions returns the options of a merge: the fields that the Go types of patches lack count
// if the release reads them.
func (r *renderer) mergeOptions() runtimepatch.Options {
	if r.merging != nil {
		return *r.merging
	}
	if !r.release.Claims.Gate {
		return runtimepatch.Options{}
	}
	return runtimepatch.Options{Added: r.in.Earlier.Patched}
}

// checkGates reports a gate that the release does not have.
func (r *renderer) checkGates(gates FeatureGates) {
	r.checkClaims(gates)
	for _, gate := range []struct {
		name      string
		on, known bool
	}{{statusGate, gates.TrainJobStatus, r.release.StatusGate},
		{claimsGate, gates.DynamicResourceAllocation, r.release.Claims.Gate}} {
		if gate.on && !gate.known {
			r.report(finding.Finding{
				Code: codes.ReachesNothing, Severity: finding.Warning, Object: r.trainJob(),
				Message: fmt.Sprintf(
					"the feature gate %s has no effect: Trainer %s does not have it", gate.name,
					r.release.Name),
				Remedy: finding.Remedy{Text: "remove the gate"},
			})
		}
	}
}

// checkClaims reports fields that need the feature gate of claims. What the controller does without
// the gate is not known; its core asks for none.
func (r *renderer) checkClaims(gates FeatureGates) {
	earlier := r.in.Earlier
	if !r.release.Claims.Gate || gates.DynamicResourceAllocation ||
		len(earlier.NodeClaims)+len(earlier.Patched) == 0 {
		return
	}
	at := fieldpath.Fields("spec", "trainer", "resourceClaimsPerNode")
	if len(earlier.NodeClaims) == 0 {
		at = runtimepatch.PatchPath(slices.Min(slices.Collect(maps.Keys(earlier.Patched))))
	}
	r.report(finding.Finding{
		Code: codes.ClaimGate, Severity: finding.Warning, Object: r.trainJob(), Path: at,
		Message: fmt.Sprintf(
			"the field needs the feature gate DynamicResourceAllocation of Trainer %s, which is "+
				"off by default",
			r.release.Name),
		Remedy: finding.Remedy{
			Text: "turn the gate on in the controller, and set it among the feature gates here"},
	})
}

// writesTo records each write, also of an equal value.
func writesTo(h *merge.History) recorder {
	var last merge.Origin
	origin := func(path fieldpath.Path) merge.Origin { return last.Within(path) }
	return func(layer merge.Owner, from merge.Origin, path fieldpath.Path, before, now any) {
		last, last.Always = from, true
		h.Within(path).Record(layer, before, now, origin)
	}
}

// enforce writes everything after the patches into the merged template, in the order of Trainer
// v2.3.0 (pkg/runtime/framework/plugins/jobset). The policies come first, then the counts. The
// TrainJob's own sections override both, and the marks of the gang schedulers come last. It returns
// false if a policy fails.
func (r *renderer) enforce(merged *runtimepatch.Result, opts Options) (*mlpolicy.Job, bool) {
	in := mlpolicy.Input{
		Release: r.release, Earlier: r.in.Earlier,
		TrainJob: r.in.TrainJob, Runtime: r.in.Runtime, Template: &merged.Template, Order: r.order,
		TrainJobID: r.trainJob(), RuntimeID: r.runtime(), Record: r.record,
	}
	if opts.FeatureGates.TrainJobStatus && r.release.StatusGate {
		in.StatusServer = &opts.StatusServer
	}
	j := mlpolicy.NewJob(in)
	if !mlpolicy.Enforce(j) {
		return j, false
	}
	for _, set := range j.Sets {
		j.SetCounts(set)
		j.Settle(set)
	}
	for _, set := range j.Sets {
		r.initializer(j, set)
	}
	for _, set := range j.Sets {
		r.trainer(j, set)
		j.CheckReplicas(set)
	}
	mlpolicy.Schedule(j)
	j.SetSuspend()
	return j, true
}

// storageURI is the variable that names the source for an initializer to fetch.
const storageURI = "STORAGE_URI"

// initializer writes a section of spec.initializer into the job with its label. The job runs with
// one replica, even without the section.
func (r *renderer) initializer(j *mlpolicy.Job, set *mlpolicy.PodSet) {
	spec := r.in.TrainJob.Spec.Initializer
	var uri *string
	var env []corev1.EnvVar
	var secret *corev1.LocalObjectReference
	requested, section := false, ""
	switch set.Ancestor {
	case mlpolicy.DatasetInitializer:
		if requested = spec != nil && spec.Dataset != nil; requested {
			section, uri, env, secret = "dataset", spec.Dataset.StorageUri, spec.Dataset.Env,
				spec.Dataset.SecretRef
		}
	case mlpolicy.ModelInitializer:
		if requested = spec != nil && spec.Model != nil; requested {
			section, uri, env, secret = "model", spec.Model.StorageUri, spec.Model.Env,
				spec.Model.SecretRef
		}
	default:
		return
	}
	j.SetOneReplica(set)
	if !requested {
		return
	}
	for i := range set.Containers() {
		c := &set.Containers()[i]
		if c.Name != set.Ancestor {
			continue
		}
		place := set.In("containers", c)
		if uri != nil {
			j.UpsertEnv(mlpolicy.Computed("spec", "initializer", section, "storageUri"), place,
				corev1.EnvVar{Name: storageURI, Value: *uri})
		}
		j.UpsertEnv(mlpolicy.Copied("spec", "initializer", section, "env"), place,
			mlpolicy.Env(env)...)
		if secret != nil {
			j.AppendEnvFrom(mlpolicy.Computed("spec", "initializer", section, "secretRef"), place,
				corev1.EnvFromSource{
					SecretRef: &corev1.SecretEnvSource{LocalObjectReference: *secret}})
		}
	}
}

// trainer writes spec.trainer into the node container of every job with the trainer's label. If
// MPI's launcher counts as a node, the job called node gets the env as well. Since Trainer 2.4 the
// jobs of MPI get the image.
func (r *renderer) trainer(j *mlpolicy.Job, set *mlpolicy.PodSet) {
	spec := r.in.TrainJob.Spec.Trainer
	isTrainer := set.Ancestor == mlpolicy.Trainer
	if isTrainer {
		j.SetOneReplica(set)
	}
	takesEnv, takesImage := j.TakesTrainer(set), j.TakesImage(set)
	if spec == nil || !takesEnv && !takesImage {
		return
	}
	for i := range set.Containers() {
		c := &set.Containers()[i]
		if c.Name != mlpolicy.Node {
			continue
		}
		place := set.In("containers", c)
		if takesImage && spec.Image != nil {
			j.SetImage(mlpolicy.Copied("spec", "trainer", "image"), place, *spec.Image)
		}
		if isTrainer {
			// An empty list clears the runtime's command or args.
			if j.Command != nil {
				j.SetCommand(j.CommandFrom, place, j.Command)
			}
			if j.Args != nil {
				j.SetArgs(mlpolicy.Copied("spec", "trainer", "args"), place, j.Args)
			}
		}
		if takesEnv {
			j.UpsertEnv(mlpolicy.Copied("spec", "trainer", "env"), place, mlpolicy.Env(spec.Env)...)
		}
	}
}

// checkEnv checks the variables that the TrainJob itself sets. The controller drops a value next to
// a valueFrom. It passes on a variable without a name, and the cluster rejects the Job.
func (r *renderer) checkEnv() {
	spec := r.in.TrainJob.Spec
	if spec.Trainer != nil {
		r.checkEnvList(spec.Trainer.Env, fieldpath.Fields("spec", "trainer", "env"))
	}
	if spec.Initializer != nil && spec.Initializer.Dataset != nil {
		r.checkEnvList(spec.Initializer.Dataset.Env,
			fieldpath.Fields("spec", "initializer", "dataset", "env"))
	}
	if spec.Initializer != nil && spec.Initializer.Model != nil {
		r.checkEnvList(spec.Initializer.Model.Env,
			fieldpath.Fields("spec", "initializer", "model", "env"))
	}
}

func (r *renderer) checkEnvList(env []corev1.EnvVar, list fieldpath.Path) {
	for i, e := range env {
		f := finding.Finding{Object: r.trainJob()}
		switch {
		case e.Name == "":
			f.Code, f.Severity, f.Path = codes.EnvWithoutName, finding.Error,
				list.Append(fieldpath.Index(i))
			f.Message, f.Remedy.Text = "Required value: the variable has no name",
				"set the name of the variable"
		case e.Value != "" && e.ValueFrom != nil:
			f.Code, f.Severity, f.Path = codes.TrainerEnvDrops, finding.Warning,
				list.Append(fieldpath.Item("name", e.Name), fieldpath.Field("value"))
			f.Message = "the variable has value and valueFrom: the controller drops the value"
			f.Remedy = finding.Remedy{Do: finding.Remove, IsCertain: true,
				Text: "remove value or valueFrom"}
		case e.ValueFrom != nil && e.ValueFrom.FileKeyRef != nil:
			f.Code, f.Severity, f.Path = codes.FileKeyRef, finding.Error,
				list.Append(fieldpath.Item("name", e.Name))
			f.Message = "the controller drops the fileKeyRef of the variable, and the Job API " +
				"rejects valueFrom without a source"
			f.Remedy.Text = "set the variable in the runtime"
		default:
			continue
		}
		r.report(f)
	}
}
