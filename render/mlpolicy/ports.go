package mlpolicy

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
)

// upsertPort adds a port without a name. The controller treats ports with equal numbers or equal
// names as one. Two missing names are equal. So the policy's port replaces the first port with its
// number or without a name.
func (j *Job) upsertPort(by Writer, c Place, number int32) {
	list := slices.Clone(c.Ports)
	now := corev1.ContainerPort{ContainerPort: number}
	before, found := upsert(&c.Ports, now, samePort(now))
	if found && (before.ContainerPort != number || before.Name != "") {
		j.portLost(by.Layer, c, before)
	}
	j.recordPorts(by, c, list, c.Ports, number)
}

// recordPorts records the changed ports and the written one.
func (j *Job) recordPorts(by Writer, c Place, before, now []corev1.ContainerPort, number int32) {
	had, has := portItems(before), portItems(now)
	old, changed := portsByStep(had, before), portsByStep(has, now)
	for i, step := range has {
		was, found := old[step]
		if !found || was != now[i] || step == portNumber(number) {
			j.Record(by.Layer, by.From, c.Path(fieldpath.Field("ports"), step), orNil(was, found),
				now[i])
		}
	}
	for i, step := range had {
		if _, still := changed[step]; !still {
			j.Record(by.Layer, by.From, c.Path(fieldpath.Field("ports"), step), before[i], nil)
		}
	}
}

func portsByStep(items []fieldpath.Step,
	ports []corev1.ContainerPort) map[fieldpath.Step]corev1.ContainerPort {
	byStep := make(map[fieldpath.Step]corev1.ContainerPort, len(items))
	for i, step := range items {
		byStep[step] = ports[i]
	}
	return byStep
}

// portItems returns the steps to ports. A step is the number, or the position if an earlier port
// has that number.
func portItems(ports []corev1.ContainerPort) []fieldpath.Step {
	seen := make(map[int32]bool, len(ports))
	steps := make([]fieldpath.Step, len(ports))
	for i := range ports {
		number := ports[i].ContainerPort
		steps[i] = portNumber(number)
		if seen[number] {
			steps[i] = fieldpath.Index(i)
		}
		seen[number] = true
	}
	return steps
}

func portNumber(number int32) fieldpath.Step {
	return fieldpath.Item("containerPort", strconv.Itoa(int(number)))
}

func samePort(p corev1.ContainerPort) func(*corev1.ContainerPort) bool {
	return func(old *corev1.ContainerPort) bool {
		return old.ContainerPort == p.ContainerPort || old.Name == p.Name
	}
}

// Settle repeats the controller's final copy of a job's lists into the JobSet. The copy upserts
// each item again into a list that already has it. If the controller treats two items as one, the
// first is lost and the second occurs twice. Valid input has such pairs only among ports. Ports 80
// and 81 without names become 81 and 81, which the JobSet API rejects. Releases before 2.3 copy the
// lists of containers, and not of init containers.
func (j *Job) Settle(s *PodSet) {
	pod := s.pod()
	upsertAll(pod.Volumes, func(v *corev1.Volume) string { return v.Name })
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"containers", pod.Containers}, {"initContainers", pod.InitContainers}} {
		if list.name == "initContainers" && !j.Release.InitLists {
			continue
		}
		for i := range list.containers {
			c := s.In(list.name, &list.containers[i])
			upsertAll(c.Env, func(e *corev1.EnvVar) string { return e.Name })
			upsertAll(c.VolumeMounts, func(m *corev1.VolumeMount) string { return m.MountPath })
			if len(c.Ports) < 2 {
				continue
			}
			before := slices.Clone(c.Ports)
			settlePorts(c.Ports)
			changed := false
			for i := range before {
				if before[i] != c.Ports[i] {
					j.reportMergedPorts(c, before[i], c.Ports[i])
					changed = true
				}
			}
			if changed {
				j.recordPorts(j.by, c, before, c.Ports, 0)
			}
		}
	}
}

// upsertAll upserts each item of a list into the list itself, by key.
func upsertAll[T any, K comparable](list []T, key func(*T) K) {
	first := firstPositions(list, key)
	for i := range list {
		if at := firstPosition(first, list, key, key(&list[i])); at < i {
			list[at] = list[i]
		}
	}
}

// firstPositions returns the first position of each key in a long list. It returns nil for a short
// list, where a scan is faster.
func firstPositions[T any, K comparable](list []T, key func(*T) K) map[K]int {
	const short = 32
	if len(list) <= short {
		return nil
	}
	first := make(map[K]int, len(list))
	for i := range list {
		if _, known := first[key(&list[i])]; !known {
			first[key(&list[i])] = i
		}
	}
	return first
}

// firstPosition returns the first position of a key in a list, or -1. The argument first is the
// result of firstPositions.
func firstPosition[T any, K comparable](first map[K]int, list []T, key func(*T) K, k K) int {
	if at, known := first[k]; known {
		return at
	}
	for i := 0; first == nil && i < len(list); i++ {
		if key(&list[i]) == k {
			return i
		}
	}
	return -1
}

// settlePorts upserts each port of a list into the list itself, by number or name.
func settlePorts(list []corev1.ContainerPort) {
	numbers, names := firsts[int32]{}, firsts[string]{}
	for i := range list {
		port := list[i]
		at := min(
			numbers.first(port.ContainerPort, i, func(k int) bool {
				return list[k].ContainerPort == port.ContainerPort
			}),
			names.first(port.Name, i, func(k int) bool { return list[k].Name == port.Name }),
		)
		list[at] = port
		// The overwritten position precedes all others with its new number and name.
		numbers.addLeading(port.ContainerPort, at)
		names.addLeading(port.Name, at)
		if at != i {
			numbers.addFollowing(port.ContainerPort, i)
			names.addFollowing(port.Name, i)
		}
	}
}

// firsts finds the first item of a list by a key. Items may lose their key, so first discards stale
// positions. The last position in leading comes first, then following in order.
type firsts[K comparable] map[K]*portPositions

type portPositions struct{ leading, following []int }

// first returns the first position that still has the key, or else none.
func (f firsts[K]) first(key K, none int, has func(int) bool) int {
	p := f[key]
	for p != nil && len(p.leading) > 0 {
		last := len(p.leading) - 1
		if at := p.leading[last]; has(at) {
			return at
		}
		p.leading = p.leading[:last]
	}
	for p != nil && len(p.following) > 0 {
		if at := p.following[0]; has(at) {
			return at
		}
		p.following = p.following[1:]
	}
	return none
}

func (f firsts[K]) at(key K) *portPositions {
	if f[key] == nil {
		f[key] = &portPositions{}
	}
	return f[key]
}

func (f firsts[K]) addLeading(key K, at int) { p := f.at(key); p.leading = append(p.leading, at) }
func (f firsts[K]) addFollowing(key K, at int) {
	p := f.at(key)
	p.following = append(p.following, at)
}
