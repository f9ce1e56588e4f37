package policy

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/schema"
)

// upsertPort adds a port without a name. The controller takes two ports for one when their numbers
// or their names are equal, and two missing names are equal: the runtime's first unnamed port is lost
// to the policy's, and so is the name of one with the same number.
func (j *Job) upsertPort(by Writer, c Place, number int32) {
	list := slices.Clone(c.Ports)
	now := corev1.ContainerPort{ContainerPort: number}
	before, found := upsert(&c.Ports, now, samePort(now))
	if found && (before.ContainerPort != number || before.Name != "") {
		j.portLost(by.Layer, c, before)
	}
	j.recordPorts(by, c, list, c.Ports, number)
}

// recordPorts tells Record of the ports that changed, and of the one that was written.
func (j *Job) recordPorts(by Writer, c Place, before, now []corev1.ContainerPort, number int32) {
	if j.Record == nil {
		return
	}
	old, changed := portsByStep(before), portsByStep(now)
	for i := range now {
		step := portItem(now, i)
		was, found := old[step]
		if !found || was != now[i] || step == portNumber(number) {
			recordItem(j, by, c.Path(schema.Field("ports"), step), was, found, now[i])
		}
	}
	for i := range before {
		step := portItem(before, i)
		if _, still := changed[step]; !still {
			j.Record(by.Layer, by.From, c.Path(schema.Field("ports"), step), before[i], nil)
		}
	}
}

func portsByStep(ports []corev1.ContainerPort) map[schema.Step]corev1.ContainerPort {
	byStep := map[schema.Step]corev1.ContainerPort{}
	for i := range ports {
		byStep[portItem(ports, i)] = ports[i]
	}
	return byStep
}

// portItem is the step to a port: its number, or its position where an earlier port has that number.
func portItem(ports []corev1.ContainerPort, at int) schema.Step {
	number := ports[at].ContainerPort
	if slices.ContainsFunc(ports[:at], func(p corev1.ContainerPort) bool { return p.ContainerPort == number }) {
		return schema.Index(at)
	}
	return portNumber(number)
}

func portNumber(number int32) schema.Step {
	return schema.Item("containerPort", strconv.Itoa(int(number)))
}

func samePort(p corev1.ContainerPort) func(*corev1.ContainerPort) bool {
	return func(old *corev1.ContainerPort) bool {
		return old.ContainerPort == p.ContainerPort || old.Name == p.Name
	}
}

// Settle does to a job's lists what the controller does when it copies them from its own bookkeeping
// back into the JobSet: it upserts each item once more into the list that holds it already. Two items
// that it takes for one then lose the first and double the second. Valid input has such pairs among
// ports only: of 80 and 81 without names remain 81 and 81, which the JobSet API refuses.
func (j *Job) Settle(s *PodSet) {
	j, s = j.filled(), s.filled()
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
			changed := false
			for i := range before {
				if before[i] != c.Ports[i] {
					j.portsTakenForOne(c, before[i], c.Ports[i])
					changed = true
				}
			}
			if changed {
				j.recordPorts(j.by, c, before, c.Ports, 0)
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
