package cluster

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// Object is an object as JSON.
type Object = map[string]any

// The outcomes of a case.
const (
	Accepted  = "accepted"
	Suspended = "suspended"
	Partial   = "partial"  // the JobSet finished before Jobs that wait for others were made
	Ignored   = "ignored"  // managed by somebody else
	Rejected  = "rejected" // refused at admission
	Blocked   = "blocked"  // accepted, and then a controller failed or was refused
	Undecided = "undecided"
)

// Case is what the cluster made of the objects of one case. Its namespace reads as default.
type Case struct {
	Outcome string
	// Words say how the outcome shows.
	Words string
	// Refusals are what admission refused, in the order of the objects.
	Refusals []Refusal
	// Warnings are those of admission.
	Warnings []string
	// Failures are errors of the controllers, and Events those of type Warning.
	Failures []string
	Events   []Object
	// Waits is set where Pods wait for a leader to be scheduled, as exclusive placement has it.
	Waits bool
	// Finished is set where the JobSet or a Job was over, or deleted, before all was read: what is there is not all that was made.
	Finished bool
	// Objects are those of the namespace, by resource: trainjobs, jobsets, jobs, pods and so on.
	Objects map[string][]Object
}

// Refusal is an object that admission refused.
type Refusal struct{ Kind, Name, Text string }

// resource is where the objects of a kind are.
type resource struct {
	apiVersion, plural string
	namespaced         bool
}

func (r resource) path(namespace string) string {
	prefix := "/apis/" + r.apiVersion
	if !strings.Contains(r.apiVersion, "/") {
		prefix = "/api/" + r.apiVersion
	}
	if r.namespaced {
		prefix += "/namespaces/" + namespace
	}
	return prefix + "/" + r.plural
}

// What a case may consist of, and what a TrainJob comes to. Deletion follows this order.
var kinds = []struct {
	kind string
	resource
}{
	{"TrainJob", resource{"trainer.kubeflow.org/v1alpha1", "trainjobs", true}},
	{"JobSet", resource{"jobset.x-k8s.io/v1alpha2", "jobsets", true}},
	{"Job", resource{"batch/v1", "jobs", true}},
	{"Pod", resource{"v1", "pods", true}},
	{"Service", resource{"v1", "services", true}},
	{"ConfigMap", resource{"v1", "configmaps", true}},
	{"Secret", resource{"v1", "secrets", true}},
	{"PodGroup", resource{"scheduling.x-k8s.io/v1alpha1", "podgroups", true}},
	{"PodGroup", resource{"scheduling.volcano.sh/v1beta1", "podgroups", true}},
	{"PersistentVolumeClaim", resource{"v1", "persistentvolumeclaims", true}},
	{"NetworkPolicy", resource{"networking.k8s.io/v1", "networkpolicies", true}},
	{"TrainingRuntime", resource{"trainer.kubeflow.org/v1alpha1", "trainingruntimes", true}},
	{"ClusterTrainingRuntime", resource{"trainer.kubeflow.org/v1alpha1", "clustertrainingruntimes", false}},
	{"PriorityClass", resource{"scheduling.k8s.io/v1", "priorityclasses", false}},
	{"RuntimeClass", resource{"node.k8s.io/v1", "runtimeclasses", false}},
}

func resourceOf(object Object) (resource, bool) {
	group, _, _ := strings.Cut(text(object, "apiVersion"), "/")
	for _, k := range kinds {
		if of, _, _ := strings.Cut(k.apiVersion, "/"); k.kind == object["kind"] && of == group {
			return k.resource, true
		}
	}
	return resource{}, false
}

func text(object Object, path ...string) string {
	for _, key := range path[:len(path)-1] {
		object, _ = object[key].(Object)
	}
	value, _ := object[path[len(path)-1]].(string)
	return value
}

// Namespace creates a namespace whose name is as long as default's, so that limits of length are the same.
func (c *ControlPlane) Namespace() (string, error) {
	c.mu.Lock()
	c.next++
	name := fmt.Sprintf("ns%05d", c.next)
	c.mu.Unlock()
	return name, c.namespace(name)
}

func (c *ControlPlane) namespace(name string) error {
	answer, err := c.Do(http.MethodPost, "/api/v1/namespaces", []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`))
	if err == nil && answer.Status != http.StatusCreated {
		err = fmt.Errorf("namespace %s: %s", name, answer.Refusal())
	}
	return err
}

// Create posts an object, strictly. An object without a namespace or of default goes to the given one.
func (c *ControlPlane) Create(object Object, namespace, query string) (Answer, error) {
	where, known := resourceOf(object)
	if !known {
		return Answer{Status: http.StatusNotFound, Body: []byte("the server has no such resource")}, nil
	}
	// A version that is not served is the server's to refuse.
	where.apiVersion = text(object, "apiVersion")
	body, err := json.Marshal(inNamespace(object, namespace))
	if err != nil {
		return Answer{}, err
	}
	return c.Do(http.MethodPost, where.path(namespace)+"?fieldValidation=Strict&fieldManager=case"+query, body)
}

func inNamespace(object Object, namespace string) Object {
	metadata, isMap := object["metadata"].(Object)
	if !isMap || metadata["namespace"] != "default" {
		return object
	}
	out, changed := Object{}, Object{}
	for key, value := range object {
		out[key] = value
	}
	for key, value := range metadata {
		changed[key] = value
	}
	changed["namespace"], out["metadata"] = namespace, changed
	return out
}

// Record creates the objects of a case, runtimes first, waits until the controllers have come to rest, reads what
// they made, and deletes it all.
func (c *ControlPlane) Record(ctx context.Context, objects []Object) (*Case, error) {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b Object) int { return later(a) - later(b) })
	defer c.reserve(objects)()
	namespace, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	r := &recording{c: c, namespace: namespace, seen: map[types.UID]Object{}, out: &Case{Objects: map[string][]Object{}}}
	defer r.clean(objects)
	var trainjob Object
	for _, object := range objects {
		answer, err := r.create(ctx, object)
		if err != nil {
			return nil, err
		}
		if answer.Status == http.StatusCreated && object["kind"] == "TrainJob" {
			if err := json.Unmarshal(answer.Body, &trainjob); err != nil {
				return nil, err
			}
		}
	}
	if trainjob == nil {
		r.out.Outcome = Rejected
		if len(r.out.Refusals) == 0 {
			r.out.Outcome, r.out.Words = Accepted, "no TrainJob"
		}
		return r.plain(), nil
	}
	if err := r.watch(ctx, text(trainjob, "metadata", "name")); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	if r.out.Outcome == Blocked && strings.HasPrefix(r.out.Words, "BLOCKED: pods refused") && !slices.ContainsFunc(r.out.Events, refusesForGood) {
		r.out.Outcome, r.out.Waits = Accepted, true
	}
	return r.plain(), nil
}

// refusesForGood tells whether an event is about more than a follower that waits for its leader's node.
func refusesForGood(event Object) bool {
	message := text(event, "message")
	return event["reason"] == "FailedCreate" && !strings.Contains(message, "follower pod") && !strings.Contains(message, "leader pod")
}

func later(object Object) int {
	if object["kind"] == "TrainJob" {
		return 1
	}
	return 0
}

// reserve holds the names of cluster-wide runtimes, alone if the case creates one. It returns what releases them.
func (c *ControlPlane) reserve(objects []Object) func() {
	own := map[string]bool{}
	for _, object := range objects {
		if where, known := resourceOf(object); known && !where.namespaced {
			own[text(object, "metadata", "name")] = true
		}
	}
	for _, object := range objects {
		spec, _ := object["spec"].(Object)
		if ref, isMap := spec["runtimeRef"].(Object); isMap {
			if name, isText := ref["name"].(string); isText && !own[name] {
				own[name] = false
			}
		}
	}
	names := make([]string, 0, len(own))
	for name := range own {
		names = append(names, name)
	}
	slices.Sort(names)
	var release []func()
	for _, name := range names {
		kept, _ := c.runtimes.LoadOrStore(name, &sync.RWMutex{})
		lock := kept.(*sync.RWMutex)
		if own[name] {
			lock.Lock()
			release = append(release, lock.Unlock)
		} else {
			lock.RLock()
			release = append(release, lock.RUnlock)
		}
	}
	return func() {
		for _, unlock := range release {
			unlock()
		}
	}
}

// recording is one case while it is recorded.
type recording struct {
	c         *ControlPlane
	namespace string
	made      bool                 // The JobSet was there.
	seen      map[types.UID]Object // Pods as they were before the recorder played the kubelet
	displaced [][]byte             // stock objects in whose place the case's are
	out       *Case
}

func (r *recording) create(ctx context.Context, object Object) (Answer, error) {
	answer, err := r.c.Create(object, r.namespace, "")
	if err != nil {
		return answer, err
	}
	if where, _ := resourceOf(object); answer.Status == http.StatusConflict && !where.namespaced {
		// A stock runtime: this case's is meant, until it ends.
		name := text(object, "metadata", "name")
		if stock, err := r.c.Do(http.MethodGet, where.path("")+"/"+name, nil); err == nil && stock.Status == http.StatusOK {
			r.displaced = append(r.displaced, stock.Body)
		}
		if err := r.c.remove(where, "", name); err != nil {
			return answer, err
		}
		if answer, err = r.c.Create(object, r.namespace, ""); err != nil {
			return answer, err
		}
	}
	r.out.Warnings = append(r.out.Warnings, answer.Warnings...)
	if answer.Status != http.StatusCreated {
		r.out.Refusals = append(r.out.Refusals, Refusal{text(object, "kind"), text(object, "metadata", "name"), answer.Refusal()})
		return answer, nil
	}
	return answer, r.c.known(ctx, answer.Body)
}

// known waits until the managers know the runtime: the webhook of TrainJobs reads it from a cache.
func (c *ControlPlane) known(ctx context.Context, created []byte) error {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(created, &object); err != nil {
		return err
	}
	var cached client.Object
	switch object.Kind {
	case "TrainingRuntime":
		cached = &trainer.TrainingRuntime{}
	case "ClusterTrainingRuntime":
		cached = &trainer.ClusterTrainingRuntime{}
	default:
		return nil
	}
	for range 400 {
		err := c.trainer.GetClient().Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Name}, cached)
		if err == nil && cached.GetUID() == object.UID {
			return nil
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the trainer does not see %s %s", object.Kind, object.Name)
}

// state is what a case has come to.
type state struct {
	jobs, pods, claims int
	failures           int
	outcome, words     string
	waits              bool // for Pods to become ready or to complete
}

// How long a state must last before it is taken for the last.
const (
	calm     = 1200 * time.Millisecond // where something failed
	settled  = 150 * time.Millisecond  // where all is there
	patience = time.Minute             // where nothing comes
)

func (r *recording) watch(ctx context.Context, name string) error {
	var last state
	start := time.Now()
	since := start
	for {
		now, err := r.look(ctx, name, time.Since(since) >= settled)
		if err != nil {
			return err
		}
		if now != last {
			last, since = now, time.Now()
		}
		r.out.Outcome, r.out.Words = now.outcome, now.words
		switch rest := time.Since(since); {
		case now.outcome == Accepted || now.outcome == Partial:
			if rest >= settled {
				return nil
			}
		case now.outcome != Undecided:
			if rest >= calm {
				return nil
			}
		case now.waits && rest >= settled:
			if err := r.playKubelet(ctx, name); err != nil {
				return err
			}
		}
		if time.Since(start) > patience {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(60 * time.Millisecond):
		}
	}
}

// lines are the failures that do not pass by themselves.
func (r *recording) lines() []string {
	kept, any := r.c.failures.Load(r.namespace)
	if !any {
		return nil
	}
	lines := kept.(*failures).all()
	for i, line := range lines {
		// The trainer reads the JobSet that it has not made yet, in the same pass.
		line, _, _ = strings.Cut(line, `\nJobSet.jobset.x-k8s.io "`)
		lines[i] = line
	}
	slices.Sort(lines)
	return slices.DeleteFunc(slices.Compact(lines), func(line string) bool {
		return strings.HasPrefix(line, "trainer: ") && strings.HasSuffix(line, " not found") && strings.Contains(line, ": JobSet.jobset.x-k8s.io ") || strings.Contains(line, "already exists") || strings.Contains(line, "the object has been modified") ||
			strings.Contains(line, "StorageError") || strings.Contains(line, "Precondition failed")
	})
}

// look reads the state from the managers' caches, and if it is calm the Pods that were refused.
func (r *recording) look(ctx context.Context, name string, isCalm bool) (state, error) {
	var s state
	from := client.InNamespace(r.namespace)
	var trainjob trainer.TrainJob
	if err := r.c.trainer.GetClient().Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, &trainjob); err != nil {
		s.outcome, s.words = Undecided, "TIMEOUT: the trainer does not see the TrainJob"
		return s, client.IgnoreNotFound(err)
	}
	cache := r.c.jobset.GetClient()
	var jobs batchv1.JobList
	var pods corev1.PodList
	if err := cache.List(ctx, &jobs, from); err != nil {
		return s, err
	}
	if err := cache.List(ctx, &pods, from); err != nil {
		return s, err
	}
	lines := r.lines()
	s.jobs, s.pods, s.failures = len(jobs.Items), len(pods.Items), len(lines)
	by := func(manager string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, manager+": ") })
	}
	if by := trainjob.Spec.ManagedBy; by != nil && *by != "trainer.kubeflow.org/trainjob-controller" {
		s.outcome, s.words = Ignored, "nothing created"
		return s, nil
	}
	var set jobset.JobSet
	if err := cache.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, &set); err != nil {
		s.outcome, s.words = Undecided, "TIMEOUT: no JobSet"
		r.out.Finished = r.out.Finished || r.made
		for _, condition := range trainjob.Status.Conditions {
			if condition.Type == trainer.TrainJobFailed && condition.Status == metav1.ConditionTrue {
				s.outcome, s.words = Blocked, "failed: the TrainJob is Failed: "+condition.Reason
			}
		}
		if by("trainer") {
			s.outcome, s.words = Blocked, "BLOCKED: the trainer keeps failing to build the JobSet (controller-errors.txt)"
		}
		return s, client.IgnoreNotFound(err)
	}
	r.made = true
	r.out.Finished = r.out.Finished || finishedBy(&set) != "" ||
		slices.ContainsFunc(jobs.Items, func(job batchv1.Job) bool { return isOver(&job) || job.DeletionTimestamp != nil }) ||
		slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	if by := set.Spec.ManagedBy; by != nil && *by != jobset.JobSetControllerName {
		s.outcome, s.words = Ignored, "JobSet managed by another controller: no Jobs"
		return s, nil
	}
	r.compareCounts(&s, &set, jobs.Items, pods.Items)
	if isCalm && strings.HasPrefix(s.words, shortOfPods) && r.refusesPods() {
		s.outcome, s.words = Blocked, "BLOCKED: pods refused: "+strings.TrimPrefix(s.words, shortOfPods)
	}
	isSuspended := trainjob.Spec.Suspend != nil && *trainjob.Spec.Suspend
	switch finished := finishedBy(&set); {
	case isSuspended && !by("jobset") && (s.outcome == Accepted || s.waits):
		// Jobs that wait for others are made only when it resumes.
		s.outcome, s.words, s.waits = Suspended, "suspended", false
	case s.outcome == Accepted:
	case finished != "" && strings.HasPrefix(s.words, "PARTIAL"):
		s.outcome, s.words = Partial, "PARTIAL: JobSet "+finished+" before Jobs were made for: "+strings.TrimPrefix(s.words, "PARTIAL: ")
	case by("jobset"):
		s.outcome, s.words, s.waits = Blocked, "BLOCKED: the JobSet controller fails (controller-errors.txt)", false
	case strings.HasPrefix(s.words, "PARTIAL"):
		s.words = "TIMEOUT: jobs missing: " + s.words
	}
	return s, nil
}

func finishedBy(set *jobset.JobSet) string {
	for _, condition := range set.Status.Conditions {
		if (condition.Type == string(jobset.JobSetCompleted) || condition.Type == string(jobset.JobSetFailed)) && condition.Status == metav1.ConditionTrue {
			return condition.Type
		}
	}
	return ""
}

const shortOfPods = "TIMEOUT: pods missing: "

// compareCounts compares the Jobs and Pods with those that the JobSet asks for.
func (r *recording) compareCounts(s *state, set *jobset.JobSet, jobs []batchv1.Job, pods []corev1.Pod) {
	owned := map[string]int{}
	for _, pod := range pods {
		owned[pod.Labels[batchv1.JobNameLabel]]++
	}
	of := map[string]int{}
	var short []string
	claims := 0
	for _, job := range jobs {
		of[job.Labels[jobset.ReplicatedJobNameKey]]++
		want, have := podsOf(&job), owned[job.Name]
		if have < want {
			short = append(short, fmt.Sprintf("job %s: %d/%d pods", job.Name, have, want))
		}
		for _, volume := range job.Spec.Template.Spec.Volumes {
			if volume.Ephemeral != nil {
				claims += want
			}
		}
	}
	var missing []string
	for _, replicated := range set.Spec.ReplicatedJobs {
		if of[replicated.Name] < int(replicated.Replicas) {
			missing = append(missing, replicated.Name)
		}
	}
	slices.Sort(short)
	s.outcome, s.words = Undecided, ""
	switch {
	case len(short) > 0:
		s.words = shortOfPods + strings.Join(short, "; ")
	case len(missing) > 0:
		s.words, s.waits = "PARTIAL: "+strings.Join(missing, ", "), len(jobs) > 0
	default:
		if claims > 0 {
			items, _ := r.list(resource{"v1", "persistentvolumeclaims", true}, "")
			owned := 0
			for _, item := range items {
				metadata, _ := item["metadata"].(Object)
				owners, _ := metadata["ownerReferences"].([]any)
				for _, owner := range owners {
					if owner, isMap := owner.(Object); isMap && owner["kind"] == "Pod" {
						owned++
					}
				}
			}
			if s.claims = owned; owned < claims {
				s.words = fmt.Sprintf("TIMEOUT: %d of %d claims", owned, claims)
				return
			}
		}
		s.outcome, s.words = Accepted, "complete"
	}
}

// podsOf is how many Pods a Job starts with.
func podsOf(job *batchv1.Job) int {
	if job.Spec.Suspend != nil && *job.Spec.Suspend || job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName {
		return 0
	}
	if isOver(job) {
		return 0
	}
	want := 1
	if job.Spec.Parallelism != nil {
		want = int(*job.Spec.Parallelism)
	}
	if job.Spec.Completions != nil {
		want = min(want, int(*job.Spec.Completions))
	}
	return want
}

func isOver(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) && condition.Status == corev1.ConditionTrue
	})
}

func (r *recording) refusesPods() bool {
	events, err := r.list(resource{"v1", "events", true}, "?fieldSelector=type%3DWarning")
	return err == nil && slices.ContainsFunc(events, func(event Object) bool { return event["reason"] == "FailedCreate" })
}

// playKubelet makes the Pods of Jobs that others wait for ready or complete, once they have been read.
func (r *recording) playKubelet(ctx context.Context, name string) error {
	var set jobset.JobSet
	if err := r.c.jobset.GetClient().Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, &set); err != nil {
		return client.IgnoreNotFound(err)
	}
	completes := map[string]bool{}
	for _, replicated := range set.Spec.ReplicatedJobs {
		for _, on := range replicated.DependsOn {
			completes[on.Name] = completes[on.Name] || on.Status == jobset.DependencyComplete
		}
	}
	pods, err := r.list(resource{"v1", "pods", true}, "")
	if err != nil {
		return err
	}
	for _, pod := range pods {
		uid := types.UID(text(pod, "metadata", "uid"))
		if _, played := r.seen[uid]; played {
			continue
		}
		r.seen[uid] = pod
		status := `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
		if completes[text(pod, "metadata", "labels", jobset.ReplicatedJobNameKey)] {
			status = `{"status":{"phase":"Succeeded"}}`
		}
		path := resource{"v1", "pods", true}.path(r.namespace) + "/" + text(pod, "metadata", "name") + "/status"
		answer, err := r.c.Do(http.MethodPatch, path, []byte(status))
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK {
			return fmt.Errorf("status of a Pod: %s", answer.Refusal())
		}
	}
	return nil
}

func (r *recording) list(from resource, query string) ([]Object, error) {
	answer, err := r.c.Do(http.MethodGet, from.path(r.namespace)+query, nil)
	if err != nil || answer.Status != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %w", from.plural, answer.Refusal(), err)
	}
	var list struct {
		Kind  string
		Items []Object
	}
	err = exact(answer.Body, &list)
	for _, item := range list.Items {
		item["apiVersion"], item["kind"] = from.apiVersion, strings.TrimSuffix(list.Kind, "List")
	}
	return list.Items, err
}

// read reads what the controllers made.
func (r *recording) read() error {
	for _, k := range kinds {
		if !k.namespaced {
			continue
		}
		items, err := r.list(k.resource, "")
		if err != nil {
			return err
		}
		for i, item := range items {
			if first, played := r.seen[types.UID(text(item, "metadata", "uid"))]; played {
				items[i] = first
			}
		}
		r.out.Objects[k.plural] = append(r.out.Objects[k.plural], items...)
	}
	events, err := r.list(resource{"v1", "events", true}, "?fieldSelector=type%3DWarning")
	r.out.Events = events
	r.out.Finished = r.out.Finished || r.made && len(r.out.Objects["jobsets"]) == 0
	r.out.Failures = r.lines()
	return err
}

// plain is the case with default for its namespace.
func (r *recording) plain() *Case {
	pairs := []string{r.namespace, "default"}
	for _, job := range r.out.Objects["jobs"] {
		name := text(job, "metadata", "name")
		pairs = append(pairs, jobKey(r.namespace, name), jobKey("default", name))
	}
	data, err := json.Marshal(r.out)
	if err != nil {
		panic(err) // It came from JSON.
	}
	var out Case
	if err := exact([]byte(strings.NewReplacer(pairs...).Replace(string(data))), &out); err != nil {
		panic(err)
	}
	return &out
}

// exact reads JSON and keeps its numbers as they are written.
func exact(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// jobKey is the label by which JobSet finds a Job's Pods.
func jobKey(namespace, name string) string {
	sum := sha1.Sum([]byte(namespace + "/" + name))
	return hex.EncodeToString(sum[:])
}

// clean deletes what the case has left. What controllers still make afterwards stays in a namespace that
// nothing uses again.
func (r *recording) clean(objects []Object) {
	options := []byte(`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
	for _, k := range kinds {
		if k.namespaced && (len(r.out.Objects[k.plural]) > 0 || k.kind == "JobSet" || k.kind == "TrainingRuntime") {
			_, _ = r.c.Do(http.MethodDelete, k.path(r.namespace), options)
		}
	}
	if len(r.out.Events) > 0 {
		_, _ = r.c.Do(http.MethodDelete, resource{"v1", "events", true}.path(r.namespace), options)
	}
	for _, object := range objects {
		if where, known := resourceOf(object); known && !where.namespaced {
			_ = r.c.remove(where, "", text(object, "metadata", "name"))
		}
	}
	for _, stock := range r.displaced {
		var object Object
		if exact(stock, &object) == nil {
			metadata := object["metadata"].(Object)
			delete(metadata, "resourceVersion")
			delete(metadata, "uid")
			if answer, err := r.c.Create(object, "", ""); err == nil {
				_ = r.c.known(context.Background(), answer.Body)
			}
		}
	}
	r.c.failures.Delete(r.namespace)
}

// remove deletes an object of the cluster, and waits until it is gone.
func (c *ControlPlane) remove(from resource, namespace, name string) error {
	path := from.path(namespace) + "/" + url.PathEscape(name)
	for range 100 {
		if _, err := c.Do(http.MethodDelete, path, nil); err != nil {
			return err
		}
		answer, err := c.Do(http.MethodPatch, path, []byte(`{"metadata":{"finalizers":null}}`))
		if err != nil || answer.Status == http.StatusNotFound {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s %s is still there", from.plural, name)
}
