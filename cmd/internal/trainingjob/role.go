package trainingjob

import (
	"fmt"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
)

// Names of Trainer v2.3.0 (pkg/constants) and of JobSet v0.12.0.
const (
	node          = "node"
	launcherJob   = "launcher"
	ancestorLabel = "trainer.kubeflow.org/trainjob-ancestor-step"
	ancestor      = "trainer"

	completionIndex = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
	jobIndex        = "metadata.annotations['jobset.sigs.k8s.io/job-global-index']"
)

// role is one replicated job for Pods of the old job.
type role struct {
	name    string
	replica *replica // the source of the Pods' template
	main    string   // the old name of the training container
	count   int32
	// jobPerPod creates a Job for each Pod, so that a Pod's number counts over all jobs. A Pod
	// cannot add its own number to the number of earlier Pods.
	jobPerPod bool
	// members are the old Pods of this job, in order.
	members []member
	// env returns the variables that the old controller sets in a container of these Pods.
	env func(container string) []corev1.EnvVar
	// firstDecides and anyDecides end the job with its first Pod, or with any Pod.
	firstDecides, anyDecides bool
	// after names a job whose Pods must be ready before this job starts.
	after string
	// isTrainer adds the trainer's label to the job.
	isTrainer bool
}

// member is a range of Pods of one replica type.
type member struct {
	replica      *replica
	first, count int32
}

// path returns the path of the Pods' template in the old job.
func (r *role) path(steps ...fieldpath.Step) fieldpath.Path { return r.replica.podPath(steps...) }

// one combines all replica types into one job, in their order.
func (c *conversion) one() *role {
	r := &role{name: node, replica: c.replicas[0], main: c.container, isTrainer: true}
	for _, replica := range c.replicas {
		r.members = append(r.members, member{replica, 0, replica.count()})
		r.count += replica.count()
	}
	return r
}

// each returns a job for each replica type, with the type's name in lower case.
func (c *conversion) each() []*role {
	var roles []*role
	for _, replica := range c.replicas {
		if replica.count() == 0 {
			continue
		}
		roles = append(roles, &role{
			name: replica.lower(), replica: replica, main: c.container, count: replica.count(),
			members: []member{{replica, 0, replica.count()}},
		})
	}
	return roles
}

// host returns the address of the Pod with an index.
func (c *conversion) host(r *role, index int32) string {
	job, pod := int32(0), index
	if r.jobPerPod {
		job, pod = index, 0
	}
	return fmt.Sprintf("%s-%s-%d-%d.%s", c.meta.Name, r.name, job, pod, c.meta.Name)
}

// hostOf returns the new address of an old Pod, or "" if there is no such Pod.
func (c *conversion) hostOf(replica *replica, index int32) string {
	for _, r := range c.roles {
		before := int32(0)
		for _, m := range r.members {
			if m.replica == replica && index >= m.first && index < m.first+m.count {
				return c.host(r, before+index-m.first)
			}
			before += m.count
		}
	}
	return ""
}

// oldHosts matches the addresses of the old controller's Pods and Services: the job's name, the
// replica type and an index. MPI's launcher has no index.
func oldHosts(job string) *regexp.Regexp {
	return regexp.MustCompile(`(^|[^A-Za-z0-9_.-])` + regexp.QuoteMeta(job) +
		`-([a-z]+)(?:-([0-9]+))?(?:$|[^A-Za-z0-9_-])`)
}

// replaceHosts replaces old addresses of Pods by new ones.
func (c *conversion) replaceHosts(text string) string {
	for at := 0; at < len(text); {
		m := c.hosts.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		start, typ, end := at+m[3], text[at+m[4]:at+m[5]], at+m[5]
		index, indexed := int64(0), m[6] >= 0
		if indexed {
			index, _ = strconv.ParseInt(text[at+m[6]:at+m[7]], 10, 32)
			end = at + m[7]
		}
		at = end
		for _, replica := range c.replicas {
			if replica.lower() != typ || indexed == (replica.lower() == launcherJob) {
				continue
			}
			if host := c.hostOf(replica, int32(index)); host != "" {
				text = text[:start] + host + text[end:]
				at = start + len(host)
			}
		}
	}
	return text
}

func envVar(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

func number[T int | int32](name string, n T) corev1.EnvVar {
	return envVar(name, strconv.Itoa(int(n)))
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{
		Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// rank returns a variable with the number of a Pod among all Pods.
func (c *conversion) rank(r *role, name string) corev1.EnvVar {
	switch {
	case !r.jobPerPod && r == c.roles[0]:
		if len(c.roles) > 1 {
			return envVar(name, "0")
		}
		return fieldEnv(name, completionIndex)
	default:
		return fieldEnv(name, jobIndex)
	}
}

// unbuffered returns the variable that the old controller sets for Python in every container.
func unbuffered() corev1.EnvVar { return envVar("PYTHONUNBUFFERED", "1") }
