package policy

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/schema"
)

// The functions of this file are the only ones that write to the JobSet, so that what a policy
// writes is also what ownership records. They follow Trainer v2.3.0 pkg/apply: an item that is there
// already is replaced whole and in its place, a new one goes last.

// Path is where the job stands in the JobSet.
func (s *PodSet) Path() schema.Path {
	return schema.Path{schema.Field("spec"), schema.Field("replicatedJobs"), schema.Item("name", s.Name)}
}

// JobPath is where the spec of the job's Jobs stands.
func (s *PodSet) JobPath() schema.Path { return s.Path().Append(schema.Fields("template", "spec")...) }

// PodPath is where the spec of the job's Pods stands.
func (s *PodSet) PodPath() schema.Path {
	return s.JobPath().Append(schema.Fields("template", "spec")...)
}

// Place is a container and where it stands.
type Place struct {
	*corev1.Container
	set  *PodSet
	list string
}

// In places a container in its job; list is "containers" or "initContainers".
func (s *PodSet) In(list string, c *corev1.Container) Place { return Place{c, s, list} }

// Path is where a field of the container stands in the JobSet.
func (p Place) Path(steps ...schema.Step) schema.Path {
	return p.set.PodPath().Append(schema.Field(p.list), schema.Item("name", p.Name)).Append(steps...)
}

// upsert puts an item in the place of the first one that matches it, or last. It returns what stood
// there, and whether anything did. The list may share memory with nobody else.
func upsert[T any](list *[]T, item T, match func(T) bool) (before T, found bool) {
	for i, old := range *list {
		if match(old) {
			(*list)[i] = item
			return old, true
		}
	}
	*list = append(*list, item)
	return before, false
}

// recordItem tells Record of one upsert.
func recordItem[T any](j *Job, layer schema.Layer, path schema.Path, before T, found bool, now T) {
	if found {
		j.Record(layer, path, before, now)
	} else {
		j.Record(layer, path, nil, now)
	}
}

// UpsertEnv sets environment variables of a container, by name.
func (j *Job) UpsertEnv(layer schema.Layer, c Place, env ...corev1.EnvVar) {
	for i := range env {
		e := *env[i].DeepCopy() // one list may go to several containers
		before, found := upsert(&c.Env, e, func(old corev1.EnvVar) bool { return old.Name == e.Name })
		if j.Record != nil {
			recordItem(j, layer, c.Path(schema.Field("env"), schema.Item("name", e.Name)), before, found, e)
		}
	}
}

// upsertPort adds a port without a name. The controller takes two ports for one when their numbers
// or their names are equal, and two missing names are equal: the runtime's first unnamed port is lost
// to the policy's, and so is the name of one with the same number.
func (j *Job) upsertPort(layer schema.Layer, c Place, number int32) {
	now := corev1.ContainerPort{ContainerPort: number}
	before, found := upsert(&c.Ports, now, samePort(now))
	if found && (before.ContainerPort != number || before.Name != "") {
		j.portLost(layer, c, before)
	}
	if j.Record == nil {
		return
	}
	if found && before.ContainerPort != number {
		j.Record(layer, c.Path(schema.Field("ports"), portItem(before)), before, nil)
		found = false
	}
	recordItem(j, layer, c.Path(schema.Field("ports"), portItem(now)), before, found, now)
}

func samePort(p corev1.ContainerPort) func(corev1.ContainerPort) bool {
	return func(old corev1.ContainerPort) bool { return old.ContainerPort == p.ContainerPort || old.Name == p.Name }
}

func portItem(p corev1.ContainerPort) schema.Step {
	return schema.Item("containerPort", strconv.Itoa(int(p.ContainerPort)))
}

// upsertVolumes sets volumes of a job's Pods, by name.
func (j *Job) upsertVolumes(layer schema.Layer, s *PodSet, volumes ...corev1.Volume) {
	for i := range volumes {
		v := *volumes[i].DeepCopy()
		before, found := upsert(&s.pod().Volumes, v, func(old corev1.Volume) bool { return old.Name == v.Name })
		if j.Record != nil {
			recordItem(j, layer, s.PodPath().Append(schema.Field("volumes"), schema.Item("name", v.Name)), before, found, v)
		}
	}
}

// upsertMounts sets volume mounts of a container, by path: a mount of another volume at that path is
// replaced.
func (j *Job) upsertMounts(layer schema.Layer, c Place, mounts ...corev1.VolumeMount) {
	for _, m := range mounts {
		before, found := upsert(&c.VolumeMounts, m, func(old corev1.VolumeMount) bool { return old.MountPath == m.MountPath })
		if j.Record != nil {
			recordItem(j, layer, c.Path(schema.Field("volumeMounts"), schema.Item("mountPath", m.MountPath)), before, found, m)
		}
	}
}

// appendInit adds an init container after all others, also where one of that name is there already.
func (j *Job) appendInit(layer schema.Layer, s *PodSet, c corev1.Container) {
	list := &s.pod().InitContainers
	*list = append(*list, *c.DeepCopy())
	if j.Record != nil {
		j.Record(layer, s.In("initContainers", &c).Path(), nil, c)
	}
}

// AppendEnvFrom adds a source of environment variables after all others.
func (j *Job) AppendEnvFrom(layer schema.Layer, c Place, source corev1.EnvFromSource) {
	before := c.EnvFrom
	c.EnvFrom = append(slices.Clip(c.EnvFrom), source)
	j.write(layer, c, "envFrom", before, c.EnvFrom, before != nil)
}

// SetImage replaces a container's image.
func (j *Job) SetImage(layer schema.Layer, c Place, image string) {
	before := c.Image
	c.Image = image
	j.write(layer, c, "image", before, image, before != "")
}

// SetCommand replaces a container's command. An empty list clears it.
func (j *Job) SetCommand(layer schema.Layer, c Place, command []string) {
	before := c.Command
	c.Command = append([]string{}, command...)
	j.write(layer, c, "command", before, c.Command, before != nil)
}

// SetArgs replaces a container's arguments. An empty list clears them.
func (j *Job) SetArgs(layer schema.Layer, c Place, args []string) {
	before := c.Args
	c.Args = append([]string{}, args...)
	j.write(layer, c, "args", before, c.Args, before != nil)
}

// write tells Record of a container's field.
func (j *Job) write(layer schema.Layer, c Place, field string, before, now any, found bool) {
	if j.Record == nil {
		return
	}
	if !found {
		before = nil
	}
	j.Record(layer, c.Path(schema.Field(field)), before, now)
}

// setResources lays a list of resources over a container's, key by key.
func (j *Job) setResources(layer schema.Layer, c Place, field string, list *corev1.ResourceList, over corev1.ResourceList) {
	before := *list
	*list = overlay(before, over)
	if j.Record == nil {
		return
	}
	for _, name := range sortedNames(over) {
		path := c.Path(schema.Field("resources"), schema.Field(field), schema.Key(string(name)))
		old, found := before[name]
		recordItem(j, layer, path, old, found, over[name])
	}
}

// SetCounts gives a job's Jobs their parallelism and completions. Both become the one count, whatever
// the runtime says (Trainer v2.3.0 pkg/runtime/framework/plugins/jobset SyncParallelCount).
func (j *Job) SetCounts(s *PodSet) {
	spec := &s.Template.Spec
	for _, field := range []struct {
		name string
		at   **int32
	}{{"parallelism", &spec.Parallelism}, {"completions", &spec.Completions}} {
		before, now := *field.at, s.Count
		*field.at = &now
		j.countReplaced(s, field.name, before)
		if j.Record != nil {
			path := s.JobPath().Append(schema.Field(field.name))
			if before == nil {
				j.Record(s.CountFrom, path, nil, now)
			} else if s.CountFrom != schema.Runtime || *before != now {
				j.Record(s.CountFrom, path, *before, now)
			}
		}
	}
}

// SetOneReplica makes a job's replicas one, as the controller does for every job that carries the
// label of a section of the TrainJob.
func (j *Job) SetOneReplica(s *PodSet) {
	before := s.Replicas
	s.Replicas = 1
	j.replicasReplaced(s, before)
	if j.Record != nil && before != 1 {
		j.Record(j.Layer(), s.Path().Append(schema.Field("replicas")), before, int32(1))
	}
}

// SetSuspend takes over spec.suspend of the TrainJob, also where it is absent.
func (j *Job) SetSuspend() {
	at, now := &j.Template.Spec.Suspend, j.TrainJob.Spec.Suspend
	before := *at
	*at = nil
	if now != nil {
		suspend := *now
		*at = &suspend
	}
	j.suspendReplaced(before)
	if j.Record == nil || before == nil && now == nil {
		return
	}
	path := schema.Fields("spec", "suspend")
	switch {
	case before == nil:
		j.Record(schema.TrainJob, path, nil, *now)
	case now == nil:
		j.Record(schema.TrainJob, path, *before, nil)
	default:
		j.Record(schema.TrainJob, path, *before, *now)
	}
}

// setPodLabel and setPodAnnotation set one entry of a job's Pods' metadata.
func (j *Job) setPodLabel(layer schema.Layer, s *PodSet, key, value string) {
	j.setEntry(layer, s, "labels", &s.Template.Spec.Template.Labels, key, value)
}

func (j *Job) setPodAnnotation(layer schema.Layer, s *PodSet, key, value string) {
	j.setEntry(layer, s, "annotations", &s.Template.Spec.Template.Annotations, key, value)
}

func (j *Job) setEntry(layer schema.Layer, s *PodSet, field string, entries *map[string]string, key, value string) {
	before, found := (*entries)[key]
	if *entries == nil {
		*entries = map[string]string{}
	}
	(*entries)[key] = value
	if j.Record != nil {
		path := s.JobPath().Append(schema.Fields("template", "metadata", field)...).Append(schema.Key(key))
		recordItem(j, layer, path, before, found, value)
	}
}

// Settle does to a job's lists what the controller does when it copies them from its own bookkeeping
// back into the JobSet: it upserts each item once more into the list that holds it already. Two items
// that it takes for one then lose the first and double the second. Valid input has such pairs among
// ports only: of 80 and 81 without names remain 81 and 81, which the JobSet API refuses.
func (j *Job) Settle(s *PodSet) {
	pod := s.pod()
	settle(pod.Volumes, func(a, b *corev1.Volume) bool { return a.Name == b.Name })
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"containers", pod.Containers}, {"initContainers", pod.InitContainers}} {
		for i := range list.containers {
			c := s.In(list.name, &list.containers[i])
			settle(c.Env, func(a, b *corev1.EnvVar) bool { return a.Name == b.Name })
			settle(c.VolumeMounts, func(a, b *corev1.VolumeMount) bool { return a.MountPath == b.MountPath })
			before := c.Ports
			if len(before) > 1 {
				before = slices.Clone(before)
			}
			settle(c.Ports, func(a, b *corev1.ContainerPort) bool { return a.ContainerPort == b.ContainerPort || a.Name == b.Name })
			for i := range before {
				if before[i] != c.Ports[i] {
					j.portsTakenForOne(c, before[i], c.Ports[i])
					if j.Record != nil {
						j.Record(j.Layer(), c.Path(schema.Field("ports"), portItem(before[i])), before[i], nil)
					}
				}
			}
		}
	}
}

// settle upserts each item of a list into the list itself.
func settle[T any](list []T, same func(a, b *T) bool) {
	for i := range list {
		for k := range i {
			if same(&list[k], &list[i]) {
				list[k] = list[i]
				break
			}
		}
	}
}
