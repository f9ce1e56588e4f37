package mlpolicy

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Only the functions of this file write to the JobSet, so that ownership records every write of a
// policy. They follow Trainer v2.3.0 pkg/apply: a write replaces a whole existing item in its
// place, or appends a new item.

// Path returns the path of the job in the JobSet.
func (s *PodSet) Path() fieldpath.Path { return s.path(nil, 0) }

// path returns the path of a part of the job, with room for more steps.
func (s *PodSet) path(part fieldpath.Path, more int) fieldpath.Path {
	path := make(fieldpath.Path, 0, 3+len(part)+more)
	path = append(path, fieldpath.Field("spec"), fieldpath.Field("replicatedJobs"),
		fieldpath.Item("name", s.Name))
	return append(path, part...)
}

// JobPath returns the path of the spec of the job's Jobs.
func (s *PodSet) JobPath() fieldpath.Path { return s.path(jobSpec(), 1) }

// PodPath returns the path of the spec of the job's Pods.
func (s *PodSet) PodPath() fieldpath.Path { return s.path(podSpec(), 2) }

var (
	jobSpec = sync.OnceValue(func() fieldpath.Path { return fieldpath.Fields("template", "spec") })
	podSpec = sync.OnceValue(func() fieldpath.Path {
		return fieldpath.Fields("template", "spec", "template", "spec")
	})
)

// Place is a container and its position in a job.
type Place struct {
	*corev1.Container
	set  *PodSet
	list string
}

// In returns the place of a container in its job; list is "containers" or "initContainers".
func (s *PodSet) In(list string, c *corev1.Container) Place { return Place{c, s, list} }

// Path returns the path in the JobSet of a field of the container.
func (p Place) Path(steps ...fieldpath.Step) fieldpath.Path {
	path := append(p.set.path(podSpec(), 2+len(steps)), fieldpath.Field(p.list),
		fieldpath.Item("name", p.Name))
	return append(path, steps...)
}

// upsert replaces the first item that matches, or appends the item. It returns the old item, and
// whether there was one. The list must not share its memory.
func upsert[T any](list *[]T, item T, match func(*T) bool) (before T, found bool) {
	for i := range *list {
		if at := &(*list)[i]; match(at) {
			before, *at = *at, item
			return before, true
		}
	}
	*list = append(*list, item)
	return before, false
}

// orNil returns a value if there was one, and nil otherwise.
func orNil[T any](before T, found bool) any {
	if found {
		return before
	}
	return nil
}

// UpsertEnv sets environment variables of a container, by name.
func (j *Job) UpsertEnv(by Writer, c Place, env ...corev1.EnvVar) {
	name := func(e *corev1.EnvVar) string { return e.Name }
	first := firstPositions(c.Env, name)
	for i := range env {
		var e, before corev1.EnvVar
		env[i].DeepCopyInto(&e) // several containers may get the same list
		old := firstPosition(first, c.Env, name, e.Name)
		found := old >= 0
		if found {
			before, c.Env[old] = c.Env[old], e
		} else if c.Env = append(c.Env, e); first != nil {
			first[e.Name] = len(c.Env) - 1
		} else {
			first = firstPositions(c.Env, name) // the list may have become long
		}
		if by.Layer != runtimepatch.TrainJobLayer {
			j.checkVariable(by, c, &e)
		}
		by := by.item("name", e.Name)
		j.Record(by.Layer, by.From,
			c.Path(fieldpath.Field("env"), fieldpath.Item("name", e.Name)), orNil(before, found), e)
	}
}

// upsertVolumes sets volumes of a job's Pods, by name.
func (j *Job) upsertVolumes(by Writer, s *PodSet, volumes ...corev1.Volume) {
	for i := range volumes {
		v := *volumes[i].DeepCopy()
		before, found := upsert(&s.pod().Volumes, v, func(old *corev1.Volume) bool {
			return old.Name == v.Name
		})
		j.Record(by.Layer, by.From,
			append(s.PodPath(), fieldpath.Field("volumes"), fieldpath.Item("name", v.Name)),
			orNil(before, found), v)
	}
}

// upsertMounts sets volume mounts of a container, by path. It replaces a mount of another volume at
// that path.
func (j *Job) upsertMounts(by Writer, c Place, mounts ...corev1.VolumeMount) {
	for _, m := range mounts {
		before, found := upsert(&c.VolumeMounts, m, func(old *corev1.VolumeMount) bool {
			return old.MountPath == m.MountPath
		})
		j.Record(by.Layer, by.From,
			c.Path(fieldpath.Field("volumeMounts"), fieldpath.Item("mountPath", m.MountPath)),
			orNil(before, found), m)
	}
}

// appendInit adds an init container after all others, even if another one has its name.
func (j *Job) appendInit(by Writer, s *PodSet, c corev1.Container) {
	list := &s.pod().InitContainers
	before := *list
	*list = append(before, *c.DeepCopy())
	path := s.In("initContainers", &c).Path()
	if slices.ContainsFunc(before, func(other corev1.Container) bool {
		return other.Name == c.Name
	}) {
		path[len(path)-1] = fieldpath.Index(len(before))
	}
	j.Record(by.Layer, by.From, path, nil, c)
}

// AppendEnvFrom adds a source of environment variables after all others.
func (j *Job) AppendEnvFrom(by Writer, c Place, source corev1.EnvFromSource) {
	before := c.EnvFrom
	c.EnvFrom = append(slices.Clip(c.EnvFrom), source)
	j.write(by, c, "envFrom", orNil(before, len(before) > 0), c.EnvFrom)
}

// SetImage replaces a container's image.
func (j *Job) SetImage(by Writer, c Place, image string) {
	before := c.Image
	c.Image = image
	j.write(by, c, "image", orNil(before, before != ""), image)
}

// SetCommand replaces a container's command. An empty list clears it.
func (j *Job) SetCommand(by Writer, c Place, command []string) {
	before := c.Command
	c.Command = append([]string{}, command...)
	j.write(by, c, "command", listOrNil(before), listOrNil(c.Command))
}

// SetArgs replaces a container's arguments. An empty list clears them.
func (j *Job) SetArgs(by Writer, c Place, args []string) {
	before := c.Args
	c.Args = append([]string{}, args...)
	j.write(by, c, "args", listOrNil(before), listOrNil(c.Args))
}

// listOrNil returns the list, or nil for an empty one, as its encoding omits it.
func listOrNil(list []string) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// write records a write to a container's field.
func (j *Job) write(by Writer, c Place, field string, before, now any) {
	j.Record(by.Layer, by.From, c.Path(fieldpath.Field(field)), before, now)
}

// dropClaims removes a container's resource claims.
func (j *Job) dropClaims(c Place) {
	if before := c.Resources.Claims; before != nil {
		by := Computed("spec", "trainer", "resourcesPerNode")
		j.Record(by.Layer, by.From, c.Path(fieldpath.Field("resources"), fieldpath.Field("claims")),
			before, nil)
	}
	c.Resources.Claims = nil
}

// setResources writes spec.trainer's list of resources into a container's, key by key. A release
// that replaces resources drops the other keys.
func (j *Job) setResources(c Place, field string, list *corev1.ResourceList,
	over corev1.ResourceList) {
	by := Copied("spec", "trainer", "resourcesPerNode", field)
	before := *list
	if j.replacesResources() {
		*list = overlayResources(nil, over)
	} else {
		*list = overlayResources(before, over)
	}
	for _, name := range sortedNames(before) {
		if _, kept := (*list)[name]; !kept {
			dropped := Computed("spec", "trainer", "resourcesPerNode")
			j.Record(dropped.Layer, dropped.From,
				c.Path(fieldpath.Field("resources"), fieldpath.Field(field),
					fieldpath.Key(string(name))), before[name], nil)
		}
	}
	for _, name := range sortedNames(over) {
		step := fieldpath.Key(string(name))
		old, found := before[name]
		by := Writer{by.Layer, merge.Origin{Path: by.From.Path.Append(step)}}
		j.Record(by.Layer, by.From,
			c.Path(fieldpath.Field("resources"), fieldpath.Field(field), step), orNil(old, found),
			over[name])
	}
}

// SetCounts sets the parallelism and completions of a job's Jobs. Both become the job's count,
// whatever the runtime has (Trainer v2.3.0 pkg/runtime/framework/plugins/jobset SyncParallelCount).
// Trainer v2.0.1 gives every job with the trainer's label the count of the first one (builder.go
// Trainer).
func (j *Job) SetCounts(s *PodSet) {
	spec, counted := &s.Template.Spec, s
	if first := j.trainerSet(); first != nil && s.Ancestor == Trainer &&
		j.Release.SecondTrainer == release.FirstTrainerCounts {
		counted = first
	}
	for _, field := range []struct {
		name string
		at   **int32
	}{{"parallelism", &spec.Parallelism}, {"completions", &spec.Completions}} {
		before, now := *field.at, counted.Count
		*field.at = &now
		j.countReplaced(s, counted, field.name, before)
		path, by := append(s.JobPath(), fieldpath.Field(field.name)), counted.CountFrom
		if before == nil {
			j.Record(by.Layer, by.From, path, nil, now)
		} else if by.Layer != runtimepatch.RuntimeLayer || *before != now {
			j.Record(by.Layer, by.From, path, *before, now)
		}
	}
}

// SetOneReplica sets a job's replicas to one. The controller does so for every job with the label
// of a TrainJob section.
func (j *Job) SetOneReplica(s *PodSet) {
	before := s.Replicas
	s.Replicas = 1
	j.replicasReplaced(s, before)
	if before != 1 {
		j.Record(j.by.Layer, j.by.From, s.Path().Append(fieldpath.Field("replicas")), before,
			int32(1))
	}
}

// SetSuspend copies spec.suspend of the TrainJob, even if it is missing.
func (j *Job) SetSuspend() {
	at, now := &j.Template.Spec.Suspend, j.TrainJob.Spec.Suspend
	before := *at
	*at = nil
	if now != nil {
		*at = new(*now)
	}
	j.suspendReplaced(before)
	if before == nil && now == nil {
		return
	}
	path := fieldpath.Fields("spec", "suspend")
	from := merge.Origin{Path: path}
	switch {
	case before == nil:
		j.Record(runtimepatch.TrainJobLayer, from, path, nil, *now)
	case now == nil:
		j.Record(runtimepatch.TrainJobLayer, from, path, *before, nil)
	default:
		j.Record(runtimepatch.TrainJobLayer, from, path, *before, *now)
	}
}

// setPodLabel and setPodAnnotation set one entry in the metadata of a job's Pods.
func (j *Job) setPodLabel(by Writer, s *PodSet, key, value string) {
	path, entries := s.podMetadata("labels", key), &s.Template.Spec.Template.Labels
	j.Record(by.Layer, by.From, path, setEntry(entries, key, value), value)
}

func (j *Job) setPodAnnotation(by Writer, s *PodSet, key, value string) {
	path, entries := s.podMetadata("annotations", key), &s.Template.Spec.Template.Annotations
	j.Record(by.Layer, by.From, path, setEntry(entries, key, value), value)
}

// podMetadata returns the path of an entry in the metadata of the job's Pods.
func (s *PodSet) podMetadata(field, key string) fieldpath.Path {
	return append(s.path(jobSpec(), 4), fieldpath.Field("template"), fieldpath.Field("metadata"),
		fieldpath.Field(field), fieldpath.Key(key))
}

// setEntry sets an entry of a map, and returns the value before, nil for none.
func setEntry(entries *map[string]string, key, value string) any {
	before, found := (*entries)[key]
	if *entries == nil {
		*entries = map[string]string{}
	}
	(*entries)[key] = value
	return orNil(before, found)
}
