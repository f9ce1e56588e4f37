package trainingoperator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Outcome is the outcome for a variable that the operator set.
type Outcome string

const (
	// Carried variables keep their value, except for the addresses of Pods in it.
	Carried Outcome = "carried"
	// Mapped variables have a value of the policy.
	Mapped Outcome = "mapped"
	// Gone variables are missing.
	Gone Outcome = "gone"
)

// Comparison configures the comparison of the Pods of one job.
type Comparison struct {
	// Kind is the kind of the old job.
	Kind string
	// Main returns the name of the container that trains, by replica type.
	Main func(kubeflow.ReplicaType) string
	// Outcomes are the outcomes of the kind's variables.
	Outcomes map[string]Outcome
	// Added are the variables that only new Pods have.
	Added []string
}

// Diff returns the differences between the new Pods and the old ones, which have the same order. It
// returns "" if the new Pods act as the old ones.
func (c Comparison) Diff(old []Pod, now []*corev1.Pod) string {
	if len(old) != len(now) {
		return fmt.Sprintf("%d Pods before, %d now", len(old), len(now))
	}
	hosts := map[string]string{}
	for i := range old {
		hosts[old[i].Name] = now[i].Spec.Hostname + "." + now[i].Spec.Subdomain
	}
	for i := range old {
		if diff := c.pod(old[i], now[i], addresses(hosts)); diff != "" {
			return fmt.Sprintf("Pod %s, now %s of %s:\n%s", old[i].Name, now[i].Spec.Hostname,
				now[i].Spec.Subdomain, diff)
		}
	}
	return ""
}

// addresses replaces old addresses by new ones, and an address with the namespace by its short
// form. Both are valid within the namespace.
func addresses(hosts map[string]string) func(string) string {
	var old, now []string
	for _, name := range slices.SortedFunc(maps.Keys(hosts), func(a, b string) int {
		return len(b) - len(a)
	}) {
		old, now = append(old, regexp.QuoteMeta(name)), append(now, regexp.QuoteMeta(hosts[name]))
	}
	pattern := regexp.MustCompile(`(^|[^A-Za-z0-9_.-])(` + strings.Join(old, "|") +
		`)($|[^A-Za-z0-9_-])`)
	long := regexp.MustCompile(`(` + strings.Join(now, "|") + `)\.[a-z0-9-]+\.svc`)
	return func(text string) string {
		for at := 0; ; {
			m := pattern.FindStringSubmatchIndex(text[at:])
			if m == nil {
				break
			}
			host := hosts[text[at+m[4]:at+m[5]]]
			text = text[:at+m[4]] + host + text[at+m[5]:]
			at += m[4] + len(host)
		}
		return long.ReplaceAllString(text, "$1")
	}
}

// pod compares one Pod: its variables as its containers see them, and then all the rest.
func (c Comparison) pod(old Pod, now *corev1.Pod, readdress func(string) string) string {
	was, is := old.DeepCopy(), now.DeepCopy()
	main := c.Main(old.Type)
	before := &corev1.Pod{ObjectMeta: was.ObjectMeta, Spec: was.Spec}
	var out strings.Builder
	for i := range before.Spec.Containers {
		name := before.Spec.Containers[i].Name
		if name == main && len(is.Spec.Containers) > i && is.Spec.Containers[i].Name == "node" {
			name = "node"
		}
		if i >= len(is.Spec.Containers) || is.Spec.Containers[i].Name != name {
			return fmt.Sprintf("container %s is not there", name)
		}
		out.WriteString(
			c.env(before, is, &before.Spec.Containers[i], &is.Spec.Containers[i], readdress))
		before.Spec.Containers[i].Name = name
	}
	for _, pod := range []*corev1.PodSpec{&before.Spec, &is.Spec} {
		for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range list {
				for _, texts := range [][]string{list[i].Command, list[i].Args} {
					for k := range texts {
						texts[k] = readdress(texts[k])
					}
				}
			}
		}
	}
	c.withoutOld(before, is, old.Type)
	if len(before.Spec.InitContainers) != len(is.Spec.InitContainers) {
		return fmt.Sprintf("%d init containers before, %d now", len(before.Spec.InitContainers),
			len(is.Spec.InitContainers))
	}
	for i := range before.Spec.InitContainers {
		was, now := &before.Spec.InitContainers[i], &is.Spec.InitContainers[i]
		out.WriteString(c.env(before, is, was, now, readdress))
		withDefaults(was.Ports, now.Ports)
	}
	for name := range before.Labels { // variables may refer to them until here
		if strings.HasPrefix(name, "training.kubeflow.org/") {
			delete(before.Labels, name)
		}
	}
	withoutNew(is)
	// Empty and absent lists are the same in an API object.
	if !equality.Semantic.DeepEqual(before.Spec, is.Spec) {
		out.WriteString(cmp.Diff(before.Spec, is.Spec))
	}
	if !equality.Semantic.DeepEqual(before.Labels, is.Labels) ||
		!equality.Semantic.DeepEqual(before.Annotations, is.Annotations) {
		out.WriteString(
			cmp.Diff(before.Labels, is.Labels) + cmp.Diff(before.Annotations, is.Annotations))
	}
	return out.String()
}

// env compares the variables of a container.
func (c Comparison) env(before, is *corev1.Pod, was, now *corev1.Container,
	readdress func(string) string) string {
	had, has := Environment(before, was.Env), Environment(is, now.Env)
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(had)) {
		value, there := has[name]
		delete(has, name)
		value, want := readdress(value), readdress(had[name])
		switch outcome := c.Outcomes[name]; {
		case outcome == Gone && there:
			fmt.Fprintf(&out, "variable %s is there, %q\n", name, value)
		case outcome == Gone:
		case !there:
			fmt.Fprintf(&out, "variable %s is not there: want %q\n", name, want)
		case outcome != Mapped && value != want:
			fmt.Fprintf(&out, "variable %s is %q: want %q\n", name, value, want)
		}
	}
	for name, value := range has {
		if !slices.Contains(c.Added, name) {
			fmt.Fprintf(&out, "variable %s is new, %q\n", name, value)
		}
	}
	was.Env, now.Env = nil, nil
	return out.String()
}

// withoutOld removes from the old and the new Pod the fields that docs/migrate.md lists as
// replaced.
func (c Comparison) withoutOld(before, is *corev1.Pod, t kubeflow.ReplicaType) {
	if before.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		before.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	switch c.Kind {
	case kubeflow.PyTorchJobKind:
		before.Spec.InitContainers = slices.DeleteFunc(before.Spec.InitContainers,
			func(init corev1.Container) bool { return init.Name == "init-pytorch" })
	case kubeflow.MPIJobKind:
		before.Spec.InitContainers = slices.DeleteFunc(before.Spec.InitContainers,
			func(init corev1.Container) bool { return init.Name == "kubectl-delivery" })
		withoutVolumes(&before.Spec, "mpi-job-kubectl", "mpi-job-config")
		withoutVolumes(&is.Spec, "mpi-ssh-auth", "mpi-hostfile")
		if strings.HasSuffix(before.Spec.ServiceAccountName, "-launcher") &&
			is.Spec.ServiceAccountName == "" {
			before.Spec.ServiceAccountName = ""
		}
		if t == kubeflow.MPIJobReplicaTypeWorker {
			// A sleeping node now runs sshd.
			for i := range before.Spec.Containers {
				was, now := &before.Spec.Containers[i], &is.Spec.Containers[i]
				if now.Name == "node" && len(was.Command) > 0 && was.Command[0] == "sleep" &&
					slices.Equal(now.Command, []string{"/usr/sbin/sshd"}) {
					was.Command, was.Args, now.Command, now.Args, now.ReadinessProbe = nil, nil,
						nil, nil, nil
				}
			}
		}
	}
	delete(before.Annotations, "volcano.sh/task-spec")
	for i := range before.Spec.Containers {
		was, now := &before.Spec.Containers[i], &is.Spec.Containers[i]
		// Nothing declares the operator's default port, and the policy's port is new.
		was.Ports = slices.DeleteFunc(was.Ports, func(p corev1.ContainerPort) bool {
			return defaultPorts[p.Name] == p.ContainerPort && p.Protocol == "" &&
				!slices.ContainsFunc(now.Ports, func(q corev1.ContainerPort) bool {
					return q.Name == p.Name
				})
		})
		now.Ports = slices.DeleteFunc(now.Ports, func(p corev1.ContainerPort) bool {
			return p.ContainerPort == 29500 && p.Name == ""
		})
		withDefaults(was.Ports, now.Ports)
	}
}

// withDefaults sets the protocol, as the API server does, and the present names of unnamed ports.
func withDefaults(ports, now []corev1.ContainerPort) {
	for i := range ports {
		if ports[i].Protocol == "" {
			ports[i].Protocol = corev1.ProtocolTCP
		}
		if ports[i].Name == "" && i < len(now) &&
			strings.HasPrefix(now[i].Name, fmt.Sprintf("port-%d", ports[i].ContainerPort)) {
			ports[i].Name = now[i].Name
		}
	}
}

// defaultPorts are the default ports of the operator.
var defaultPorts = map[string]int32{
	kubeflow.PyTorchJobDefaultPortName: kubeflow.PyTorchJobDefaultPort,
	kubeflow.XGBoostJobDefaultPortName: kubeflow.XGBoostJobDefaultPort,
	kubeflow.JAXJobDefaultPortName:     kubeflow.JAXJobDefaultPort,
	kubeflow.TFJobDefaultPortName:      kubeflow.TFJobDefaultPort,
	kubeflow.PaddleJobDefaultPortName:  kubeflow.PaddleJobDefaultPort,
}

func withoutVolumes(pod *corev1.PodSpec, names ...string) {
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool {
		return slices.Contains(names, v.Name)
	})
	for i := range pod.Containers {
		pod.Containers[i].VolumeMounts = slices.DeleteFunc(pod.Containers[i].VolumeMounts,
			func(m corev1.VolumeMount) bool { return slices.Contains(names, m.Name) })
	}
}

// withoutNew removes the fields that every Pod of a JobSet has.
func withoutNew(is *corev1.Pod) {
	for _, set := range []map[string]string{is.Labels, is.Annotations} {
		for name := range set {
			if domain, _, _ := strings.Cut(name, "/"); domain == "jobset.sigs.k8s.io" ||
				domain == "batch.kubernetes.io" || name == "job-name" {
				delete(set, name)
			}
		}
	}
	is.Spec.Hostname, is.Spec.Subdomain = "", ""
}
