package cluster

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// The outcomes of a case.
const (
	Accepted  = "accepted"
	Suspended = "suspended"
	Partial   = "partial"  // the JobSet finished before Jobs that wait for others were created
	Ignored   = "ignored"  // another controller manages it
	Rejected  = "rejected" // rejected at admission
	Blocked   = "blocked"  // accepted, and then a controller failed or was rejected
	Undecided = "undecided"
)

// Case is the cluster's result for the objects of one case. Its namespace reads as default.
type Case struct {
	Outcome string
	// Words describe how the outcome shows.
	Words string
	// Rejections are the rejections at admission, in the order of the objects.
	Rejections []Rejection
	// Warnings are the warnings of admission.
	Warnings []string
	// Failures are errors of the controllers, and Events their events of type Warning.
	Failures []string
	Events   []Object
	// Waits is set if Pods wait for a leader to be scheduled, as in exclusive placement.
	Waits bool
	// Finished is set if the JobSet or a Job ended, or was deleted, before the reading. The read
	// objects are then incomplete.
	Finished bool
	// Objects are the objects of the namespace, by resource: trainjobs, jobsets, jobs, pods and so
	// on.
	Objects map[string][]Object
}

// Rejection is a rejection of an object at admission.
type Rejection struct {
	Kind, Name, Text string
	// Fields are the paths that the API server names.
	Fields []string
}

// Record creates the objects of a case, runtimes first, and waits until the controllers have come
// to rest. It then reads the objects that they created, and deletes all.
func (c *ControlPlane) Record(ctx context.Context, objects []Object) (*Case, error) {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b Object) int { return later(a) - later(b) })
	defer c.reserve(objects)()
	r, err := c.record()
	if err != nil {
		return nil, err
	}
	defer r.clean(objects)
	if err := r.play(ctx, objects); err != nil {
		return nil, err
	}
	return r.plain(), nil
}

func (c *ControlPlane) record() (*recording, error) {
	namespace, err := c.Namespace()
	return &recording{c: c, namespace: namespace, seen: map[types.UID]Object{},
		out: &Case{Objects: map[string][]Object{}}}, err
}

// mustBeThere is the webhook's message about a runtime that it does not see yet. On a busy machine,
// it may also no longer see one.
const mustBeThere = "must be created before the TrainJob is created"

// play creates the objects, waits, and reads.
func (r *recording) play(ctx context.Context, objects []Object) error {
	var trainjob Object
	for _, object := range objects {
		answer, err := r.create(ctx, object)
		if err != nil {
			return err
		}
		if answer.Status == http.StatusCreated && object["kind"] == "TrainJob" {
			if err := json.Unmarshal(answer.Body, &trainjob); err != nil {
				return err
			}
		}
	}
	if trainjob == nil {
		r.out.Outcome = Rejected
		if rejected := r.out.Rejections; len(rejected) == 1 && rejected[0].Kind == "TrainJob" &&
			strings.HasSuffix(rejected[0].Text, mustBeThere) {
			r.out.Outcome, r.out.Words = Undecided, "the webhook has lost sight of the runtime"
		}
		if len(r.out.Rejections) == 0 {
			r.out.Outcome, r.out.Words = Accepted, "no TrainJob"
		}
		return nil
	}
	if err := r.watch(ctx, text(trainjob, "metadata", "name")); err != nil {
		return err
	}
	if err := r.read(); err != nil {
		return err
	}
	if r.out.Outcome == Blocked && strings.HasPrefix(r.out.Words, "BLOCKED: pods refused") &&
		!slices.ContainsFunc(r.out.Events, rejectsForGood) {
		r.out.Outcome, r.out.Waits = Accepted, true
	}
	return nil
}

// rejectsForGood reports whether an event is about more than a follower that waits for its leader's
// node.
func rejectsForGood(event Object) bool {
	message := text(event, "message")
	return event["reason"] == "FailedCreate" && !strings.Contains(message, "follower pod") &&
		!strings.Contains(message, "leader pod")
}

func later(object Object) int {
	if object["kind"] == "TrainJob" {
		return 1
	}
	return 0
}

// reserve locks the names of cluster-wide runtimes, exclusively if the case creates one. The
// returned function releases them.
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

// recording is the state of a case while it is recorded.
type recording struct {
	c         *ControlPlane
	namespace string
	made      bool                 // whether the JobSet existed
	seen      map[types.UID]Object // Pods before the recorder played the kubelet
	displaced [][]byte             // stock objects that the case's objects replace
	out       *Case
}

func (r *recording) create(ctx context.Context, object Object) (Answer, error) {
	answer, err := r.c.Create(object, r.namespace, "")
	if err != nil {
		return answer, err
	}
	if where, _ := resourceOf(object); answer.Status == http.StatusConflict && !where.namespaced {
		// The case replaces a stock runtime until it ends.
		name := text(object, "metadata", "name")
		if stock, err := r.c.Do(http.MethodGet, where.path("")+"/"+name, nil); err == nil &&
			stock.Status == http.StatusOK {
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
		r.out.Rejections = append(r.out.Rejections,
			Rejection{text(object, "kind"), text(object, "metadata", "name"), answer.Rejection(),
				answer.Fields()})
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
	for range 3000 {
		err := c.trainer.GetClient().Get(
			ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Name}, cached)
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

// The time that a state must last to count as the last.
const (
	calm     = 1200 * time.Millisecond // after a failure
	settled  = 150 * time.Millisecond  // if all objects exist
	patience = time.Minute             // if no objects come
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

// playKubelet makes Pods ready or complete if other Jobs wait for their Jobs. It first reads these
// Pods.
func (r *recording) playKubelet(ctx context.Context, name string) error {
	var set jobset.JobSet
	if err := r.c.jobset.GetClient().Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name},
		&set); err != nil {
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
		path := resource{"v1", "pods", true}.path(r.namespace) + "/" +
			text(pod, "metadata", "name") + "/status"
		answer, err := r.c.Do(http.MethodPatch, path, []byte(status))
		if err != nil {
			return err
		}
		// its Job may be gone by now
		if answer.Status != http.StatusOK && answer.Status != http.StatusNotFound {
			return fmt.Errorf("status of a Pod: %s", answer.Rejection())
		}
	}
	return nil
}

// read reads the objects of the controllers.
func (r *recording) read() error {
	clear(r.out.Objects)
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
	r.out.Finished = r.out.Finished || r.made && len(r.out.Objects["jobsets"]) == 0 ||
		slices.ContainsFunc(r.out.Objects["jobs"], isEnding)
	r.out.Failures = r.lines()
	return err
}

// isEnding reports whether a Job's Pods are being deleted, or are gone.
func isEnding(job Object) bool {
	status, _ := job["status"].(Object)
	conditions, _ := status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(condition any) bool {
		c, _ := condition.(Object)
		return c["type"] != string(batchv1.JobSuspended) &&
			c["status"] == string(metav1.ConditionTrue)
	})
}

// plain returns the case with default as its namespace.
func (r *recording) plain() *Case {
	pairs := []string{r.namespace, "default"}
	for _, job := range r.out.Objects["jobs"] {
		name := text(job, "metadata", "name")
		pairs = append(pairs, jobKey(r.namespace, name), jobKey("default", name))
	}
	data, err := json.Marshal(r.out)
	if err != nil {
		panic(err) // it came from JSON
	}
	var out Case
	if err := exact([]byte(strings.NewReplacer(pairs...).Replace(string(data))), &out); err != nil {
		panic(err)
	}
	return &out
}

// jobKey returns the label by which JobSet finds a Job's Pods.
func jobKey(namespace, name string) string {
	sum := sha1.Sum([]byte(namespace + "/" + name))
	return hex.EncodeToString(sum[:])
}

// clean deletes the objects of the case. Controllers may create others later, in a namespace that
// is not used again.
func (r *recording) clean(objects []Object) {
	options := []byte(
		`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
	for _, k := range kinds {
		if k.namespaced && (len(r.out.Objects[k.plural]) > 0 || k.kind == "JobSet" ||
			k.kind == "TrainingRuntime") {
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
