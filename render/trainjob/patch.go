package trainjob

import (
	"encoding/json"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/patched"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// The types of a patch have the SDK's names. They are aliases of the API's types, so patches need
// no conversion. The API's PodSpecPatch has terminationGracePeriodSeconds, which the SDK's lacks.
type (
	TrainingRuntimeSpecPatch = trainer.TrainingRuntimeSpecPatch
	JobSetTemplatePatch      = trainer.JobSetTemplatePatch
	JobSetSpecPatch          = trainer.JobSetSpecPatch
	ReplicatedJobPatch       = trainer.ReplicatedJobPatch
	JobTemplatePatch         = trainer.JobTemplatePatch
	JobSpecPatch             = trainer.JobSpecPatch
	PodTemplatePatch         = trainer.PodTemplatePatch
	PodSpecPatch             = trainer.PodSpecPatch
	ContainerPatch           = trainer.ContainerPatch
)

// RuntimePatch adds a manager's patch of the runtime, the SDK's RuntimePatch. It omits empty
// values, like the SDK.
//
// The SDK requires a name that is not blank for each ContainerPatch, including init containers.
// Each variable needs a name, and a value or a valueFrom with one of KnownSources. Each mount needs
// a name and an absolute path. All other rules that need no runtime come from check.Patches.
type RuntimePatch struct {
	// Manager is the manager of the patch. Empty stands for SDKManager, which the SDK always sends.
	Manager             string
	TrainingRuntimeSpec *TrainingRuntimeSpecPatch
	// Written reports whether the source text of the patch sets a field. In Go, an empty value of a
	// variable looks like a missing one. A nil Written treats it as missing.
	Written func(fieldpath.Path) bool
}

func (o RuntimePatch) apply(b *builder) {
	manager := o.Manager
	if manager == "" {
		manager = SDKManager
	}
	// The copy goes through JSON, which defines a patch.
	var spec *TrainingRuntimeSpecPatch
	text, err := json.Marshal(o.TrainingRuntimeSpec)
	if err == nil {
		err = json.Unmarshal(text, &spec)
	}
	if err != nil {
		b.reject(codes.WrongType, runtimepatch.PatchPath(manager), "fix the patch",
			"the patch cannot be written as JSON: %v", err)
		return
	}
	b.job.Spec.RuntimePatches = append(b.job.Spec.RuntimePatches,
		trainer.RuntimePatch{Manager: manager, TrainingRuntimeSpec: strip(spec)})
	b.written = append(b.written, o.Written)
}

// checkPatches checks the SDK's rules, and the cluster's rules that do not depend on the runtime.
func (b *builder) checkPatches() {
	patches := b.job.Spec.RuntimePatches
	list := fieldpath.Fields("spec", "runtimePatches")
	if len(patches) > mostPatches {
		b.reject(codes.BadValue, list, "combine your patches",
			"there are %d patches: must be at most %d", len(patches), mostPatches)
	}
	b.findings = append(b.findings, check.Patches(patched.Skeleton(patches), patches)...)
	count := map[string]int{}
	for i := range patches {
		count[patches[i].Manager]++
	}
	for i := range patches {
		step := fieldpath.Item("manager", patches[i].Manager)
		if count[patches[i].Manager] > 1 {
			step = fieldpath.Index(i)
		}
		c := containerChecker{b, list.Append(step), b.written[i]}
		jobs := patched.Jobs(&patches[i])
		for j := range jobs {
			pod := patched.Pod(&jobs[j])
			if pod == nil {
				continue
			}
			path := fieldpath.Fields("trainingRuntimeSpec", "template", "spec",
				"replicatedJobs").Append(itemStep(jobs[j].Name, j)).
				Append(fieldpath.Fields("template", "spec", "template", "spec")...)
			c.check(path.Append(fieldpath.Field("initContainers")), pod.InitContainers)
			c.check(path.Append(fieldpath.Field("containers")), pod.Containers)
		}
	}
}

// itemStep returns the step to a list item by its name, or by its index without a name.
func itemStep(name string, i int) fieldpath.Step {
	if name == "" {
		return fieldpath.Index(i)
	}
	return fieldpath.Item("name", name)
}

// containerChecker checks the containers of one patch.
type containerChecker struct {
	*builder
	patch   fieldpath.Path
	written func(fieldpath.Path) bool
}

func (c containerChecker) check(list fieldpath.Path, patches []ContainerPatch) {
	for i := range patches {
		p := &patches[i]
		at := list.Append(itemStep(p.Name, i))
		// check.Patches reports an empty name, which is a missing key.
		if p.Name != "" && strings.TrimSpace(p.Name) == "" {
			c.reject(codes.BadName, c.patch.Append(at...), "name a container of the runtime",
				"the name of a container is blank")
		}
		c.env(at.Append(fieldpath.Field("env")), p.Env)
		c.mounts(at.Append(fieldpath.Field("volumeMounts")), p.VolumeMounts)
	}
}

func (c containerChecker) env(list fieldpath.Path, env []corev1.EnvVar) {
	for i := range env {
		v := &env[i]
		at := list.Append(itemStep(v.Name, i))
		switch {
		case v.Name == "": // check.Patches reports it
		case v.ValueFrom != nil:
			if !known(v.ValueFrom) {
				c.reject(codes.Env, c.patch.Append(at.Append(fieldpath.Field("valueFrom"))...),
					sourcesHelp(), "the variable %s has a source that the SDK lacks", v.Name)
			}
		case v.Value == "" && (c.written == nil || !c.written(at.Append(fieldpath.Field("value")))):
			c.reject(codes.Env, c.patch.Append(at...), "set value or valueFrom",
				"the variable %s has neither a value nor a valueFrom", v.Name)
		}
	}
}

func (c containerChecker) mounts(list fieldpath.Path, mounts []corev1.VolumeMount) {
	for i := range mounts {
		m := &mounts[i]
		at := c.patch.Append(list.Append(fieldpath.Index(i))...)
		if m.MountPath != "" {
			at = c.patch.Append(list.Append(fieldpath.Item("mountPath", m.MountPath))...)
		}
		if m.Name == "" {
			c.reject(codes.Mount, at, "name the volume that is mounted", "the mount has no name")
		}
		// check.Patches reports a mount without a path, which is its key.
		if m.MountPath != "" && !strings.HasPrefix(m.MountPath, "/") {
			c.reject(codes.Mount, at.Append(fieldpath.Field("mountPath")), "begin it with /",
				"%q is not an absolute path", m.MountPath)
		}
	}
}
