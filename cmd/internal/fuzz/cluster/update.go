package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is the result of changing an object.
type Change struct {
	// Before is the object in the cluster before the change, or nil if it did not get that far.
	Before Object
	// Live are all objects of the cluster before the change, as kubectl reads them.
	Live []Object
	// Said are the API server's rejection of the change, or the messages of the controllers and
	// Warning events after it. For a JobSet without a change, they are the messages about the
	// JobSet itself.
	Said []string
}

// Update creates the objects, and waits until the controllers have come to rest. It then replaces
// the object with the kind and name of changed, and waits again. It applies a JobSet server-side
// instead, both times. If finish is set, the Pods succeed first, until the TrainJob is complete.
func (c *ControlPlane) Update(ctx context.Context, objects []Object, changed Object,
	finish bool) (*Change, error) {
	defer c.reserve(objects)()
	r, err := c.record()
	if err != nil {
		return nil, err
	}
	defer r.clean(objects)
	where, served := resourceOf(changed)
	if !served {
		return &Change{}, nil
	}
	path := where.path(r.namespace) + "/" + text(changed, "metadata", "name")
	if where.plural == "jobsets" {
		answer, err := r.apply(path, objects[0])
		if err != nil || answer.Status != http.StatusCreated {
			return &Change{Said: []string{answer.Rejection()}}, err
		}
		if err := r.rest(ctx); err != nil {
			return nil, err
		}
		if err := r.read(); err != nil {
			return nil, err
		}
		if said := r.saidSince(nil); len(said) > 0 {
			return &Change{Said: said}, nil
		}
	} else if err := r.play(ctx, objects); err != nil || r.out.Outcome != Accepted &&
		r.out.Outcome != Suspended {
		return &Change{}, err
	} else if finish {
		if err := r.succeed(ctx); err != nil {
			return nil, err
		}
	}
	change := &Change{}
	var known []Object
	var answer Answer
	const tries = 5 // its controller may write the object in between
	for range tries {
		if answer.Status != 0 && answer.Status != http.StatusConflict {
			break
		}
		change.Before = nil
		answer, err = c.Do(http.MethodGet, path, nil)
		if err != nil || answer.Status != http.StatusOK {
			return &Change{}, err
		}
		if err := exact(answer.Body, &change.Before); err != nil {
			return nil, err
		}
		if err := r.read(); err != nil {
			return nil, err
		}
		known = r.out.Events
		if change.Live, err = r.live(objects); err != nil {
			return nil, err
		}
		c.failures.Delete(r.namespace)
		if where.plural == "jobsets" {
			answer, err = r.apply(path, changed)
		} else {
			answer, err = r.replace(path, changed,
				text(change.Before, "metadata", "resourceVersion"))
		}
		if err != nil {
			return nil, err
		}
	}
	job := objects[len(objects)-1] // a user who applies all files sends the TrainJob again
	if where.plural == "trainjobs" || where.plural == "jobsets" {
		job = changed
	} else if answer.Status == http.StatusOK && later(job) == 1 {
		time.Sleep(settled) // until the webhook reads the changed runtime
		if answer, err = r.again(job); err != nil {
			return nil, err
		}
	}
	if answer.Status != http.StatusOK {
		change.Said = []string{answer.Rejection()}
		return change, nil
	}
	for {
		if err := r.rest(ctx); err != nil {
			return nil, err
		}
		if err := r.read(); err != nil {
			return nil, err
		}
		change.Said = r.saidSince(known)
		resumed := resume(job)
		if len(change.Said) > 0 || resumed == nil {
			return change, nil
		}
		// A rejection on resume is an error of the suspended job.
		if answer, err = r.again(resumed); err != nil {
			return nil, err
		}
		if job = resumed; answer.Status != http.StatusOK {
			change.Said = []string{answer.Rejection()}
			return change, nil
		}
	}
}

// resume returns the object without its suspension, or nil if nothing suspends it.
func resume(object Object) Object {
	spec, _ := object["spec"].(Object)
	if later(object) == 0 && object["kind"] != "JobSet" || spec["suspend"] != true {
		return nil
	}
	object, spec = maps.Clone(object), maps.Clone(spec)
	object["spec"], spec["suspend"] = spec, false
	return object
}

// succeed lets all Pods succeed until the TrainJob is complete, or nothing happens any more.
func (r *recording) succeed(ctx context.Context) error {
	pods := resource{"v1", "pods", true}
	for start := time.Now(); time.Since(start) < patience/4; time.Sleep(60 * time.Millisecond) {
		trainjobs, err := r.list(kinds[0].resource, "")
		if err != nil || !slices.ContainsFunc(trainjobs, func(trainjob Object) bool {
			return !(&Change{Before: trainjob}).ended()
		}) {
			return err
		}
		items, err := r.list(pods, "")
		if err != nil {
			return err
		}
		for _, pod := range items {
			if text(pod, "status", "phase") == "Succeeded" {
				continue
			}
			answer, err := r.c.Do(http.MethodPatch,
				pods.path(r.namespace)+"/"+text(pod, "metadata", "name")+"/status",
				[]byte(`{"status":{"phase":"Succeeded"}}`))
			if err != nil {
				return err
			}
			if answer.Status != http.StatusOK && answer.Status != http.StatusNotFound {
				return fmt.Errorf("status of a Pod: %s", answer.Rejection())
			}
		}
	}
	return ctx.Err()
}

// live returns the objects that a user dumps. They are the last read objects of the namespace, and
// the case's objects without a namespace.
func (r *recording) live(objects []Object) (live []Object, err error) {
	for _, object := range objects {
		where, served := resourceOf(object)
		if !served || where.namespaced {
			continue
		}
		answer, err := r.c.Do(http.MethodGet,
			where.path("")+"/"+text(object, "metadata", "name"), nil)
		if err != nil {
			return nil, err
		}
		var read Object
		if err := exact(answer.Body, &read); err != nil {
			return nil, err
		}
		live = append(live, read)
	}
	return append(live, r.plain().dump()...), nil
}

// ended reports whether the object was done before the change, so that its controller creates
// nothing more for it.
func (c *Change) ended() bool {
	status, _ := c.Before["status"].(Object)
	conditions, _ := status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(condition any) bool {
		is, _ := condition.(Object)
		kind := text(is, "type")
		return text(is, "status") == "True" &&
			(kind == "Complete" || kind == "Completed" || kind == "Failed")
	})
}

// saidSince returns the messages of the controllers and of new Warning events.
func (r *recording) saidSince(known []Object) []string {
	name := func(event Object) string {
		return fmt.Sprint(text(event, "metadata", "name"), event["count"])
	}
	said := slices.Clone(r.out.Failures)
	for _, event := range r.out.Events {
		isKnown := slices.ContainsFunc(known, func(k Object) bool { return name(k) == name(event) })
		if !isKnown && rejectsForGood(event) {
			said = append(said, text(event, "message"))
		}
	}
	return said
}

func (r *recording) apply(path string, object Object) (Answer, error) {
	body, err := json.Marshal(inNamespace(object, r.namespace))
	if err != nil {
		return Answer{}, err
	}
	return r.c.Do(http.MethodPatch, path+"?fieldValidation=Strict&fieldManager=case&force=true",
		body)
}

func (r *recording) replace(path string, object Object, version string) (Answer, error) {
	data, err := json.Marshal(inNamespace(object, r.namespace))
	if err != nil {
		return Answer{}, err
	}
	var copied Object
	if err := exact(data, &copied); err != nil {
		return Answer{}, err
	}
	metadata, isMap := copied["metadata"].(Object)
	if !isMap {
		return Answer{}, fmt.Errorf("an object without metadata")
	}
	metadata["resourceVersion"] = version
	if data, err = json.Marshal(copied); err != nil {
		return Answer{}, err
	}
	return r.c.Do(http.MethodPut, path+"?fieldValidation=Strict&fieldManager=case", data)
}

// again replaces a TrainJob, or applies a JobSet.
func (r *recording) again(object Object) (answer Answer, err error) {
	where, _ := resourceOf(object)
	path := where.path(r.namespace) + "/" + text(object, "metadata", "name")
	if where.plural == "jobsets" {
		return r.apply(path, object)
	}
	const tries = 5 // its controller may write the object in between
	for range tries {
		if answer, err = r.c.Do(http.MethodGet, path, nil); err != nil ||
			answer.Status != http.StatusOK {
			return answer, err
		}
		var before Object
		if err := exact(answer.Body, &before); err != nil {
			return Answer{}, err
		}
		if answer, err = r.replace(
			path, object, text(before, "metadata", "resourceVersion")); err != nil ||
			answer.Status != http.StatusConflict {
			return answer, err
		}
	}
	return answer, nil
}

// rest waits until, for a while, no Jobs, Pods or failures come and no Job's template or suspension
// changes. JobSet suspends and resumes one Job after the other. The status of a Job may change all
// the time.
func (r *recording) rest(ctx context.Context) error {
	var last string
	start := time.Now()
	for since := start; time.Since(since) < calm && time.Since(start) < patience; {
		var jobs batchv1.JobList
		var pods corev1.PodList
		for _, list := range []client.ObjectList{&jobs, &pods} {
			if err := r.c.jobset.GetClient().List(
				ctx, list, client.InNamespace(r.namespace)); err != nil {
				return err
			}
		}
		generations := make([]int64, len(jobs.Items))
		for i := range jobs.Items {
			generations[i] = jobs.Items[i].Generation
		}
		if now := fmt.Sprint(generations, len(pods.Items),
			strings.Join(r.lines(), "")); now != last {
			last, since = now, time.Now()
		}
		time.Sleep(60 * time.Millisecond)
	}
	return nil
}
