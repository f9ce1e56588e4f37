package trainingjob

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
)

// template returns the Pod template of a job, with new names and addresses. If rename is set, the
// training container gets the name that the Trainer requires.
func (c *conversion) template(r *role, rename bool) corev1.PodTemplateSpec {
	t := r.replica.spec.Template.DeepCopy()
	metadata := r.replica.path.Append(fieldpath.Fields("template", "metadata")...)
	other := t.ObjectMeta
	c.reportIf(other.Name != "" || other.GenerateName != "" || other.Namespace != "" ||
		len(other.OwnerReferences) > 0, "podName", metadata)
	t.ObjectMeta = metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations,
		Finalizers: t.Finalizers}
	c.labels(t, metadata)
	c.reportIf(t.Spec.RestartPolicy != "", "podRestartPolicy",
		r.path(fieldpath.Field("restartPolicy")))
	t.Spec.RestartPolicy = podRestart(r.replica.spec.RestartPolicy)
	c.reportIf(t.Spec.Hostname != "", "ownAddress", r.path(fieldpath.Field("hostname")), "hostname")
	c.reportIf(t.Spec.Subdomain != "", "ownAddress", r.path(fieldpath.Field("subdomain")),
		"subdomain")
	t.Spec.Hostname, t.Spec.Subdomain = "", ""
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
			if c.reportIf(list[i].Name == node, "nameTaken",
				r.path(fieldpath.Field("containers"), fieldpath.Item("name", node)), old, node) {
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
		c.report("readdressed", path)
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
		c.reportIf(numbers[p.ContainerPort], "duplicatePort", within(path, "ports"),
			p.ContainerPort)
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
		rule := "duplicateVariable"
		if last[e.Name] >= len(own) {
			rule = "overwrittenVariable"
		}
		c.report(rule, path.Append(fieldpath.Field("env"), fieldpath.Item("name", e.Name)))
	}
	return kept
}
