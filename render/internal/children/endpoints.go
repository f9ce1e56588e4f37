package children

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/internal/patched"
)

// lostEndpoints reports addresses of Pods that the JobSet does not have. It checks the coordinator,
// and every string in the form of such an address. It finds these in companion ConfigMaps, and in
// the environment and command line of containers.
func (f *Family) lostEndpoints() finding.List {
	var found finding.List
	jobSet := fieldpath.Object{Kind: "JobSet", Namespace: f.Namespace, Name: f.Name}
	report := func(object fieldpath.Object, path fieldpath.Path, what, why string) {
		found = append(found, finding.Finding{
			Code: codes.NoSuchPod, Severity: finding.Warning, Object: object, Path: path,
			Message: fmt.Sprintf("%s names a Pod that the JobSet does not have: %s", what, why),
			Remedy: finding.Remedy{
				Text: "use the host <JobSet>-<replicated job>-<index of the Job>-<index " +
					"of the Pod>.<subdomain>"},
		})
	}
	endpoints := sync.OnceValue(f.endpointPattern)
	start := strings.ToValidUTF8(f.Name, "?") + "-" // of each host
	scan := func(object fieldpath.Object, path func() fieldpath.Path, what, text string) {
		if !strings.Contains(text, start) || f.isFirstHost(text) {
			return
		}
		reported := map[string]bool{}
		for _, match := range endpoints().FindAllStringSubmatch(text, -1) {
			if why := f.noSuchPod(match[1], match[2], match[3], match[4]); why != "" &&
				!reported[why] {
				reported[why] = true
				report(object, path(), what, why)
			}
		}
	}
	meet := func(path func() fieldpath.Path, what, name, text string) {
		scan(jobSet, path, what, text)
		if why := f.otherJobSet(name, text); why != "" {
			report(jobSet, path(), what, why)
		}
	}
	if c := f.Spec.Coordinator; c != nil {
		if why := f.noSuchPod(c.ReplicatedJob, strconv.Itoa(c.JobIndex), strconv.Itoa(c.PodIndex),
			f.subdomain); why != "" {
			report(jobSet, fieldpath.Fields("spec", "coordinator"), "the coordinator", why)
		}
	}
	for c := range patched.Containers(f.Spec.ReplicatedJobs) {
		scanWords := func(list string, words []string) {
			for i, word := range words {
				option, _, joined := strings.Cut(word, "=")
				if !joined && i > 0 {
					option = words[i-1]
				}
				meet(func() fieldpath.Path {
					return c.Path().Append(fieldpath.Field(list), fieldpath.Index(i))
				}, "the container's "+list, option, word)
			}
		}
		scanWords("command", c.Command)
		scanWords("args", c.Args)
		for _, env := range c.Env {
			meet(func() fieldpath.Path {
				return c.Path().Append(fieldpath.Field("env"), fieldpath.Item("name", env.Name),
					fieldpath.Field("value"))
			}, "the variable "+env.Name, env.Name, env.Value)
		}
	}
	for _, companion := range f.opts.Companions {
		config, ok := companion.(*corev1.ConfigMap)
		if !ok || config == nil {
			continue
		}
		object := fieldpath.Object{Kind: "ConfigMap", Namespace: config.Namespace,
			Name: config.Name}
		for _, key := range slices.Sorted(maps.Keys(config.Data)) {
			scan(object, func() fieldpath.Path {
				return fieldpath.Path{fieldpath.Field("data"), fieldpath.Key(key)}
			}, "the file "+key, config.Data[key])
		}
	}
	return found
}

// rendezvousWords are parts of the names of variables and options that say where the Pods of one
// JobSet meet.
var rendezvousWords = []string{"master_addr", "rdzv", "rendezvous", "coordinator", "hostfile",
	"init_method"}

// anyHost matches the host of a Pod of any JobSet. It captures the name of the Job, the index of
// the Pod and the subdomain.
var anyHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^a-zA-Z0-9.-])([a-z0-9-]+-[0-9]+)-[0-9]+\.([a-z0-9-]+)`)
})

// otherJobSet returns the reason why Pods cannot meet at the host in a text: the host belongs to
// another JobSet. This is so after kustomize has added a prefix to the TrainJob's name only. It
// returns the empty string unless the name belongs to a variable or an option for a meeting place.
func (f *Family) otherJobSet(name, text string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if !slices.ContainsFunc(rendezvousWords, func(part string) bool {
		return strings.Contains(name, part)
	}) {
		return ""
	}
	for _, host := range anyHost().FindAllStringSubmatch(text, -1) {
		job, other := host[1], host[2]
		if other == f.Name || other == f.subdomain {
			continue
		}
		for _, m := range f.Members {
			if index, ok := strings.CutPrefix(job, other+"-"+m.Name+"-"); ok &&
				below(index, int(m.Replicas)) {
				return fmt.Sprintf("it is of another JobSet, and this one is called %s", f.Name)
			}
		}
	}
	return ""
}

// endpointPattern matches hosts in the form of this JobSet's Pods. It captures the replicated job,
// the index of the Job, the index of the Pod and the subdomain. The subdomain must be the JobSet's
// own, or its name, which is the default. A host in another subdomain may belong to another JobSet.
func (f *Family) endpointPattern() *regexp.Regexp {
	quote := func(name string) string { return regexp.QuoteMeta(strings.ToValidUTF8(name, "?")) }
	name := quote(f.Name)
	domains := name
	if subdomain := f.Spec.Network.Subdomain; subdomain != "" {
		domains += "|" + quote(subdomain)
	}
	return regexp.MustCompile(
		`(?:^|[^a-zA-Z0-9.-])` + name + `-([a-z0-9-]*[a-z0-9])-([0-9]+)-([0-9]+)\.(` + domains +
			`)(?:$|[^a-zA-Z0-9-])`)
}

// isFirstHost reports whether a text is the host of the first Pod of a replicated job. Most texts
// with a host are, and need no pattern.
func (f *Family) isFirstHost(text string) bool {
	return slices.ContainsFunc(f.Members, func(m *Members) bool {
		return text == f.Name+"-"+m.Name+"-0-0."+f.subdomain &&
			f.noSuchPod(m.Name, "0", "0", f.subdomain) == ""
	})
}

// noSuchPod returns the reason why no Pod has this host, or the empty string if a Pod has it.
func (f *Family) noSuchPod(replicatedJob, jobIndex, podIndex, subdomain string) string {
	i := slices.IndexFunc(f.Members, func(m *Members) bool { return m.Name == replicatedJob })
	if i < 0 {
		return fmt.Sprintf("there is no replicated job %q", replicatedJob)
	}
	members := f.Members[i]
	spec := &members.Template.Spec
	switch {
	case f.subdomain == "":
		return "enableDNSHostnames is false, so its Pods have no hosts"
	case subdomain != f.subdomain:
		return fmt.Sprintf("its Pods are in the subdomain %q", f.subdomain)
	case members.presence == never:
		return fmt.Sprintf("the Jobs of %q are never created", replicatedJob)
	case *spec.CompletionMode != batchv1.IndexedCompletion:
		return fmt.Sprintf("the Pods of %q have no index, since its completionMode is not Indexed",
			replicatedJob)
	case !below(jobIndex, int(members.Replicas)):
		return fmt.Sprintf("the number of Jobs of %q is %d", replicatedJob, members.Replicas)
	case !below(podIndex, newPodCounts(spec).all):
		return fmt.Sprintf("the number of Pods in each Job of %q is %d", replicatedJob,
			newPodCounts(spec).all)
	default:
		return ""
	}
}

// below reports whether the string is an index into a list of that length.
func below(index string, length int) bool {
	i, err := strconv.Atoi(index)
	return err == nil && 0 <= i && i < length
}
