// Package check finds mistakes in a runtime's template and in the patches to it, before any merge.
//
//	findings := check.Patches(&runtime.Spec.Template, job.Spec.RuntimePatches)
//	if err := findings.Err(); err != nil {
//		return err
//	}
//
// Its first file to read is shape.go.
package check

import (
	"fmt"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/patched"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// longestManager is the TrainJob CRD's limit on a manager's name (Trainer v2.3.0).
const longestManager = 253

// Patches checks a runtime's template and the patches to it before any merge, and returns all
// findings. It never changes its arguments. A nil template is an empty one.
//
// Errors are inputs that the cluster rejects, at admission or when it creates a Job, and inputs
// that can never run:
//
//   - A manager has a bad name, or two patches.
//   - A patch is for a replicated job, container or init container that the template lacks. The
//     cluster notices only after its merge has added it.
//   - A patch sets env on a container whose env has an API of its own.
//   - Two members of one union are set: in the patch, in the runtime, or one in each.
//   - Two items share a merge key.
//   - A map holds a directive.
//
// Warnings are inputs that the cluster accepts silently: ignored metadata, lost tolerations, and
// reordered init containers.
//
// Paths start at the TrainJob's .spec for findings in a patch, and at the runtime's for findings in
// the template. The object of a finding has the kind of the TrainJob or the runtime.
func Patches(template *trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) finding.List {
	if template == nil {
		template = &trainer.JobSetTemplateSpec{}
	}
	return Trees(runtimepatch.ReadTrees(template, patches), template, patches)
}

// Trees does what Patches does, with the JSON of the template and the patches. It must come before
// their merge.
func Trees(trees *runtimepatch.Trees, template *trainer.JobSetTemplateSpec,
	patches []trainer.RuntimePatch) finding.List {
	const deepest = 24 // steps for which memory is made at once
	c := objectChecker{
		trees: trees, patches: patches, steps: make([]step, 0, deepest), named: map[string]int{},
		jobs:    firstIndexes(template.Spec.ReplicatedJobs, jobName),
		trainer: onlyTrainer(template.Spec.ReplicatedJobs),
	}
	for i := range patches {
		c.named[patches[i].Manager]++
	}
	c.object.Kind = trainer.TrainingRuntimeKind
	spec, _ := trees.Template["spec"].(merge.Object)
	c.walk(nil, spec)
	c.object.Kind = trainer.TrainJobKind
	c.managers(patches)
	for i := range patches {
		c.current = i
		c.patchOf(template, spec, &patches[i])
	}
	return c.findings
}

// managers checks the managers' names. Trainer v2.3.0 pkg/runtime/framework/plugins/jobset requires
// a domain-prefixed path. Its CRD requires 1 to 253 characters and one entry a manager.
func (c *objectChecker) managers(patches []trainer.RuntimePatch) {
	const form = `use a domain and a path, such as "team-a.example.com/defaults"`
	entry := func(i int, steps ...fieldpath.Step) fieldpath.Path {
		return fieldpath.Fields("spec", "runtimePatches").Append(fieldpath.Index(i)).Append(
			steps...)
	}
	firsts := firstIndexes(patches, managerName)
	for i := range patches {
		name := patches[i].Manager
		var errs field.ErrorList
		switch {
		case name == "":
			c.report(codes.BadManager, entry(i), form, "Required value")
		case len(name) > longestManager:
			c.report(codes.BadManager, entry(i, fieldpath.Field("manager")), form,
				"Too long: may not be more than %d bytes", longestManager)
		default:
			errs = validation.IsDomainPrefixedPath(nil, name)
		}
		for _, err := range errs {
			c.report(codes.BadManager, entry(i, fieldpath.Field("manager")), form,
				"%s", err.ErrorBody())
		}
		if first := firsts[name]; first < i && name != "" {
			f := c.report(codes.DuplicateManager,
				entry(i, fieldpath.Field("manager")), "combine the two patches",
				"Duplicate value: %q", name)
			f.Claims, f.Remedy.Do = duplicateClaims(merge.Manager(name), entry(first), entry(i)),
				finding.Merge
		}
	}
}

// walk checks the specs of a patch, nil for none, and of the template along the plan.
func (c *objectChecker) walk(patch, template merge.Object) {
	w := walker{objectChecker: c, alone: patch == nil}
	w.walk(specShape(), patch, template, 0, "")
}

// patchOf checks one manager's patch against the runtime's template, of which spec is the JSON.
func (c *objectChecker) patchOf(template *trainer.JobSetTemplateSpec, spec merge.Object,
	patch *trainer.RuntimePatch) {
	if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil {
		return
	}
	p := patch.TrainingRuntimeSpec.Template
	object := c.trees.Patch(p) // nil if the merge fails
	metadata := within(object, "metadata")
	c.metadata(metadata, false, func() fieldpath.Path { return c.at("metadata") })
	for _, name := range []string{"labels", "annotations"} {
		c.directives(within(metadata, name),
			func() fieldpath.Path { return c.at("metadata", name) })
	}
	if p.Spec == nil {
		return
	}
	fields := within(object, "spec")
	if fields != nil {
		c.walk(fields, spec)
	}
	c.patched = nil
	items, _ := fields["replicatedJobs"].([]any)
	for i := range p.Spec.ReplicatedJobs {
		var job merge.Object
		if i < len(items) {
			job, _ = items[i].(merge.Object)
		}
		c.job(template.Spec.ReplicatedJobs, &p.Spec.ReplicatedJobs[i], job)
	}
}

// atJob returns the path to a replicated job of the patch, or to the named field of its Pods' spec.
func (c *objectChecker) atJob(job string, podField ...string) fieldpath.Path {
	path := c.at("spec", "replicatedJobs").Append(fieldpath.Item("name", job))
	if len(podField) == 0 {
		return path
	}
	return path.Append(fieldpath.Fields("template", "spec", "template", "spec")...).Append(
		fieldpath.Fields(podField...)...)
}

// job checks a patch of a replicated job, of which object is the JSON.
func (c *objectChecker) job(jobs []jobset.ReplicatedJob, patch *trainer.ReplicatedJobPatch,
	object merge.Object) {
	var job *jobset.ReplicatedJob
	if i, ok := c.jobs[patch.Name]; ok {
		job = &jobs[i]
	}
	c.mainEnv(patch)
	if patch.Name == "" {
		return // reported as such
	}
	if job == nil {
		if c.patched == nil {
			c.patched = firstIndexes(
				c.patches[c.current].TrainingRuntimeSpec.Template.Spec.ReplicatedJobs,
				patchedJobName)
		}
		if c.jobNames == nil {
			c.jobNames = newChoice(len(jobs), func(i int) string { return jobs[i].Name })
		}
		f := c.report(codes.UnknownJob, c.atJob(patch.Name),
			"use one of the runtime's jobs"+c.jobNames.among(patch.Name),
			"the runtime has no replicated job %q: the merge adds one without containers",
			patch.Name)
		f.Remedy.Path = f.Path
		c.jobNames.rename(&f.Remedy, patch.Name, c.patched)
		return
	}
	c.metadata(within(object, "template", "metadata"), false, func() fieldpath.Path {
		return c.atJob(patch.Name).Append(fieldpath.Fields("template", "metadata")...)
	})
	c.metadata(within(object, "template", "spec", "template", "metadata"), true,
		func() fieldpath.Path {
			return c.atJob(patch.Name).Append(
				fieldpath.Fields("template", "spec", "template", "metadata")...)
		})
	if pod := patched.Pod(patch); pod != nil {
		c.pod(job, pod)
	}
}

func (c *objectChecker) pod(job *jobset.ReplicatedJob, patch *trainer.PodSpecPatch) {
	pod := &job.Template.Spec.Template.Spec
	c.containers(job.Name, patch.Containers, containerList{
		"container", "containers", pod.Containers, pod.InitContainers})
	c.containers(job.Name, patch.InitContainers, containerList{
		"init container", "initContainers", pod.InitContainers, pod.Containers})
	c.initOrder(job.Name, patch.InitContainers, pod.InitContainers)
	c.tolerations(job.Name, patch.Tolerations, pod.Tolerations)
}

// containerList is a list of the runtime's containers, with its name in messages and its field. The
// others are in the other list.
type containerList struct {
	what, field  string
	have, others []corev1.Container
}

// containers reports patches for containers that the runtime lacks. Trainer v2.3.0 looks for them
// only after its merge has added them. So it admits them, and the Job is later rejected because a
// container lacks an image.
func (c *objectChecker) containers(job string, patches []trainer.ContainerPatch,
	list containerList) {
	known, what, have := firstIndexes(list.have, containerName), list.what, list.have
	var names *choice
	var patched, elsewhere map[string]int
	for i := range patches {
		name := patches[i].Name
		if _, ok := known[name]; ok || name == "" {
			continue // one without a name is reported as such
		}
		if names == nil {
			names = newChoice(len(have), func(i int) string { return have[i].Name })
			patched, elsewhere = firstIndexes(patches, patchName),
				firstIndexes(list.others, containerName)
		}
		_, isOther := elsewhere[name]
		remedy := finding.Remedy{
			Text: fmt.Sprintf("use one of the job's %ss%s", what, names.among(name))}
		switch {
		case isOther:
			other := "initContainers"
			if what == "init container" {
				other = "containers"
			}
			to := c.atJob(job, other).Append(fieldpath.Item("name", name))
			remedy = finding.Remedy{Do: finding.Move, Options: []string{to.String()},
				IsCertain: true,
				Text:      fmt.Sprintf("patch %q in %s, as in the runtime", name, other)}
		case len(have) == 0:
			remedy.Text = fmt.Sprintf("add the %s to the runtime",
				what)
		default:
			names.rename(&remedy, name, patched)
		}
		remedy.Path = c.atJob(job, list.field).Append(fieldpath.Item("name", name))
		c.report(codes.UnknownContainer, remedy.Path, "",
			"the runtime's replicated job %q has no %s %q: the merge adds one without an image",
			job, what, name).Remedy = remedy
	}
}

// EnvFields returns the fields of a TrainJob that set the env of a container, by the name of the
// container. No patch may set the env of a container of these names (Trainer v2.3.0
// pkg/runtime/framework/plugins/jobset).
func EnvFields() map[string]string {
	return map[string]string{
		"node": "spec.trainer.env", "dataset-initializer": "spec.initializer.dataset.env",
		"model-initializer": "spec.initializer.model.env",
	}
}

// mainEnv reports env on the containers whose env the TrainJob sets itself. Only the container's
// name counts, in any job, even in one that the runtime lacks.
func (c *objectChecker) mainEnv(patch *trainer.ReplicatedJobPatch) {
	pod := patched.Pod(patch)
	if pod == nil {
		return
	}
	containers := pod.Containers
	for i := range containers {
		if len(containers[i].Env) == 0 {
			continue
		}
		if api := EnvFields()[containers[i].Name]; api != "" {
			at := c.atJob(patch.Name, "containers").Append(
				fieldpath.Item("name", containers[i].Name), fieldpath.Field("env"))
			f := c.report(codes.EnvOnMain, at, "set "+api+" of the TrainJob instead",
				"Invalid value: must not have envs for the dataset-initializer, "+
					"model-initializer, node containers")
			if containers[i].Name == "node" && patch.Name == c.trainer && c.trainer != "" {
				f.Remedy.Do, f.Remedy.Options, f.Remedy.IsCertain = finding.Move,
					[]string{"." + api}, true
			}
		}
	}
}

// ancestorLabel marks the jobs that get the sections of a TrainJob (Trainer v2.3.0 pkg/constants).
const ancestorLabel = "trainer.kubeflow.org/trainjob-ancestor-step"

// onlyTrainer returns the job that alone has the label by which the controller finds the job for
// spec.trainer, or "".
func onlyTrainer(jobs []jobset.ReplicatedJob) string {
	only := ""
	for i := range jobs {
		if jobs[i].Template.Labels[ancestorLabel] != "trainer" {
			continue
		}
		if only != "" {
			return ""
		}
		only = jobs[i].Name
	}
	return only
}

// initOrder warns of a patch that names init containers in another order than the runtime. The
// merge takes the patch's order, and the containers run in it.
func (c *objectChecker) initOrder(job string, patches []trainer.ContainerPatch,
	have []corev1.Container) {
	known, last, order := firstIndexes(have, containerName), -1, ""
	for i := range patches {
		at, ok := known[patches[i].Name]
		if !ok {
			continue
		}
		if at < last {
			if order == "" {
				var names []string
				for i := range have[:min(len(have), mostNamed)] {
					names = append(names, have[i].Name)
				}
				order = joinFirst(names, len(have))
			}
			c.report(codes.InitOrder,
				c.atJob(job, "initContainers").Append(fieldpath.Item("name", patches[i].Name)),
				fmt.Sprintf("use the runtime's order: %s", order),
				"init container %q runs after %q: the patch has another order than the runtime",
				patches[i].Name, have[last].Name).Severity = finding.Warning
		}
		last = max(last, at)
	}
}

// tolerations warns of a list that drops tolerations of the runtime: a patch replaces the list
// whole.
func (c *objectChecker) tolerations(job string, patch, have []corev1.Toleration) {
	if len(patch) == 0 || len(have) == 0 {
		return
	}
	type value struct {
		corev1.Toleration // without its seconds
		hasSeconds        bool
		seconds           int64
	}
	valueOf := func(t corev1.Toleration) value {
		v := value{Toleration: t}
		if t.TolerationSeconds != nil {
			v.hasSeconds, v.seconds = true, *t.TolerationSeconds
		}
		v.TolerationSeconds = nil
		return v
	}
	kept := map[value]bool{}
	for i := range patch {
		kept[valueOf(patch[i])] = true
	}
	var lost []string
	for i := range have {
		if !kept[valueOf(have[i])] {
			lost = append(lost, finding.FormatValue(nil, have[i], false))
		}
	}
	if lost == nil {
		return
	}
	f := c.report(codes.DropsTolerations, c.atJob(job, "tolerations"),
		"repeat the runtime's tolerations in the patch, or remove them from the runtime",
		"the list replaces the runtime's list, and drops %s", strings.Join(lost, " and "))
	f.Severity = finding.Warning
	runtime := inTemplate().Append(f.Path[len(c.at("spec")):]...)
	f.Claims = []merge.Claim{{Owner: runtimepatch.RuntimeLayer, Value: have, At: runtime},
		{Owner: c.layer(), Value: patch, At: f.Path}}
}

// metadata warns of fields in a patch's metadata other than labels and annotations. The API
// documents only these two. The controllers ignore the rest, except a Pod template's finalizers.
// These reach the Pods and prevent their deletion (Kubernetes v1.36
// pkg/controller/controller_utils.go).
func (c *objectChecker) metadata(fields merge.Object, ofPod bool, path func() fieldpath.Path) {
	if len(fields) == 0 {
		return
	}
	for _, f := range jobMetadata().Patchable() {
		if _, has := fields[f.Name]; !has || f.Name == "labels" || f.Name == "annotations" {
			continue
		}
		found := c.report(codes.IgnoredMetadata, path().Append(fieldpath.Field(f.Name)),
			"set labels and annotations only", "%s", IgnoredMetadata(f.Name, ofPod))
		if found.Severity = finding.Warning; !reachesPods(f.Name, ofPod) {
			found.Remedy.Do, found.Remedy.IsCertain = finding.Remove, true
		}
	}
}

// IgnoredMetadata states the problem of a field in a patch's metadata that is neither labels nor
// annotations. If ofPod is set, the metadata belongs to a Pod template.
func IgnoredMetadata(name string, ofPod bool) string {
	if reachesPods(name, ofPod) {
		return name + " reach the Pods and prevent their deletion"
	}
	return fmt.Sprintf("%s has no effect: a patch sets labels and annotations only", name)
}

// reachesPods reports whether a field of a patch's metadata has an effect that its author probably
// did not mean.
func reachesPods(name string, ofPod bool) bool { return ofPod && name == "finalizers" }

var jobMetadata = sync.OnceValue(func() *schema.Type {
	return runtimepatch.JobSetTemplate().Lookup(
		fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("replicatedJobs"),
			fieldpath.Item("name", ""), fieldpath.Field("template"), fieldpath.Field("metadata")})
})

// firstIndexes returns the position of the first item with each key.
func firstIndexes[T any](list []T, key func(*T) string) map[string]int {
	at := make(map[string]int, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		at[key(&list[i])] = i
	}
	return at
}

func jobName(j *jobset.ReplicatedJob) string { return j.Name }

func patchedJobName(p *trainer.ReplicatedJobPatch) string { return p.Name }

func managerName(p *trainer.RuntimePatch) string { return p.Manager }

func containerName(c *corev1.Container) string { return c.Name }

func patchName(c *trainer.ContainerPatch) string { return c.Name }
