package trainingjob

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// template returns the Pod template of a job, with new names and addresses. If rename is set, the
// training container gets the name that the Trainer requires.
func (c *conversion) template(r *role, rename bool) corev1.PodTemplateSpec {
	t := r.replica.spec.Template.DeepCopy()
	metadata := r.replica.path.Append(fieldpath.Fields("template", "metadata")...)
	if other := t.ObjectMeta; other.Name != "" || other.GenerateName != "" ||
		other.Namespace != "" || len(other.OwnerReferences) > 0 {
		c.dropped(finding.Note, metadata,
			"the old controller gives the Pods their names, and the Job controller does now", "")
	}
	t.ObjectMeta = metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations,
		Finalizers: t.Finalizers}
	c.labels(t, metadata)
	if t.Spec.RestartPolicy != "" {
		c.dropped(finding.Note, r.path(fieldpath.Field("restartPolicy")),
			"the replica type's restartPolicy is the one in force, in the old API as well", "")
	}
	t.Spec.RestartPolicy = podRestart(r.replica.spec.RestartPolicy)
	for _, removed := range []struct {
		name  string
		value *string
	}{{"hostname", &t.Spec.Hostname}, {"subdomain", &t.Spec.Subdomain}} {
		if *removed.value != "" {
			c.changed(r.path(fieldpath.Field(removed.name)),
				fmt.Sprintf("the Pods get their own %s, by which they find each other",
					removed.name), "remove it")
			*removed.value = ""
		}
	}
	if rename {
		c.rename(r, t)
	}
	c.nameBoth(r, t)
	return *t
}

// rename renames the training container to node, as the Trainer requires, in all references.
func (c *conversion) rename(r *role, t *corev1.PodTemplateSpec) {
	old := r.main
	if old == node {
		return
	}
	for _, list := range [][]corev1.Container{t.Spec.Containers, t.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == node {
				c.reject(r.path(fieldpath.Field("containers")).Append(fieldpath.Item("name", node)),
					fmt.Sprintf("container %q must take this name, since the Trainer trains in a "+
						"container called %q", old, node), "rename the container that has it")
				return
			}
		}
	}
	if main := containerOf(&t.Spec, old); main != nil {
		main.Name = node
	}
	if old == "" {
		return // nothing can refer to a container without a name
	}
	eachRef(&t.Spec, func(_ *corev1.ObjectFieldSelector, ref *corev1.ResourceFieldSelector) {
		if ref != nil && ref.ContainerName == old {
			ref.ContainerName = node
		}
	})
	const defaultContainer, appArmor = "kubectl.kubernetes.io/default-container",
		"container.apparmor.security.beta.kubernetes.io/"
	if t.Annotations[defaultContainer] == old {
		t.Annotations[defaultContainer] = node
	}
	if profile, ok := t.Annotations[appArmor+old]; ok {
		delete(t.Annotations, appArmor+old)
		t.Annotations[appArmor+node] = profile
	}
}

// nameBoth replaces old names in addresses and field references.
func (c *conversion) nameBoth(r *role, t *corev1.PodTemplateSpec) {
	for _, list := range []struct {
		field      string
		containers []corev1.Container
	}{{"initContainers", t.Spec.InitContainers}, {"containers", t.Spec.Containers}} {
		for i := range list.containers {
			container := &list.containers[i]
			path := r.path(fieldpath.Field(list.field),
				fieldpath.Item("name", c.oldName(r, container.Name)))
			for _, texts := range []struct {
				field string
				list  []string
			}{{"command", container.Command}, {"args", container.Args}} {
				for k := range texts.list {
					c.replaceAddresses(&texts.list[k],
						path.Append(fieldpath.Field(texts.field), fieldpath.Index(k)))
				}
			}
			for k := range container.Env {
				c.replaceAddresses(&container.Env[k].Value,
					path.Append(fieldpath.Field("env"),
						fieldpath.Item("name", container.Env[k].Name), fieldpath.Field("value")))
			}
		}
	}
	eachRef(&t.Spec, func(ref *corev1.ObjectFieldSelector, _ *corev1.ResourceFieldSelector) {
		if ref != nil {
			c.relabelRef(r, &ref.FieldPath)
		}
	})
	c.selectors(r, &t.Spec)
}

// oldName returns the original name of a container.
func (c *conversion) oldName(r *role, name string) string {
	if name == node && containerOf(r.replica.pod(), node) == nil {
		return r.main
	}
	return name
}

func (c *conversion) replaceAddresses(text *string, path fieldpath.Path) {
	if now := c.replaceHosts(*text); now != *text {
		*text = now
		c.add(codes.Readdressed, finding.Note, path,
			"the old address of a Pod in it is written as the new one", "")
	}
}

// eachRef calls visit for the references of a Pod to its fields and to containers' resources. One
// of the two may be nil.
func eachRef(pod *corev1.PodSpec,
	visit func(*corev1.ObjectFieldSelector, *corev1.ResourceFieldSelector)) {
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			for k := range list[i].Env {
				if from := list[i].Env[k].ValueFrom; from != nil {
					visit(from.FieldRef, from.ResourceFieldRef)
				}
			}
		}
	}
	files := func(items []corev1.DownwardAPIVolumeFile) {
		for k := range items {
			visit(items[k].FieldRef, items[k].ResourceFieldRef)
		}
	}
	for i := range pod.Volumes {
		if v := pod.Volumes[i].DownwardAPI; v != nil {
			files(v.Items)
		}
		if v := pod.Volumes[i].Projected; v != nil {
			for k := range v.Sources {
				if v.Sources[k].DownwardAPI != nil {
					files(v.Sources[k].DownwardAPI.Items)
				}
			}
		}
	}
}

// namePorts names the unnamed ports of a container. Trainer 2.3 treats all unnamed ports as one,
// and overwrites them with its own. It also treats two ports of one number as one.
func (c *conversion) namePorts(container *corev1.Container, path fieldpath.Path) {
	taken, numbers := map[string]bool{}, map[int32]bool{}
	for _, p := range container.Ports {
		taken[p.Name] = true
		if numbers[p.ContainerPort] {
			c.reject(path.Append(fieldpath.Field("ports")),
				fmt.Sprintf("port %d is a duplicate, and the Trainer takes the two for one, "+
					"whatever their protocols", p.ContainerPort),
				"remove one of the two: a port needs no declaration to be reached")
		}
		numbers[p.ContainerPort] = true
	}
	for i := range container.Ports {
		p := &container.Ports[i]
		if p.Name != "" {
			continue
		}
		for p.Name = fmt.Sprintf("port-%d", p.ContainerPort); taken[p.Name]; {
			p.Name += "x"
		}
		taken[p.Name] = true
	}
}

// withEnv appends the variables of the old controller to the container's own. A duplicate keeps its
// last value, which the container sees.
func (c *conversion) withEnv(own, injected []corev1.EnvVar, path fieldpath.Path) []corev1.EnvVar {
	last := map[string]int{}
	all := append(append([]corev1.EnvVar{}, own...), injected...)
	for i, e := range all {
		last[e.Name] = i
	}
	var kept []corev1.EnvVar
	for i, e := range all {
		if last[e.Name] == i {
			kept = append(kept, e)
			continue
		}
		why := "it is a duplicate, and the container sees the later one"
		if last[e.Name] >= len(own) {
			why = "the old controller sets it over this one"
		}
		c.add(codes.EnvReplaced, finding.Warning,
			path.Append(fieldpath.Field("env"), fieldpath.Item("name", e.Name)),
			fmt.Sprintf("%s, so that it has no effect", why), "remove it")
	}
	return kept
}
