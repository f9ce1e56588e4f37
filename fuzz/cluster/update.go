package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is what became of a changed object.
type Change struct {
	// Before is the object as it was in the cluster when it was changed; nil where it had not come that far.
	Before Object
	// Said is what the API server refused the change with, or what the controllers and Warning events said after it.
	Said []string
}

// Update creates the objects, waits until the controllers have come to rest, replaces the one of the changed object's kind and
// name, and waits again. A JobSet is applied server-side instead, both times.
func (c *ControlPlane) Update(ctx context.Context, objects []Object, changed Object) (*Change, error) {
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
			return &Change{}, err
		}
		if err := r.rest(ctx); err != nil || len(r.lines()) > 0 {
			return &Change{}, err
		}
	} else if err := r.play(ctx, objects); err != nil || r.out.Outcome != Accepted && r.out.Outcome != Suspended {
		return &Change{}, err
	}
	answer, err := c.Do(http.MethodGet, path, nil)
	if err != nil || answer.Status != http.StatusOK {
		return &Change{}, err
	}
	change := &Change{}
	if err := exact(answer.Body, &change.Before); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, event := range r.out.Events {
		known[nameOfEvent(event)] = true
	}
	c.failures.Delete(r.namespace)
	if where.plural == "jobsets" {
		answer, err = r.apply(path, changed)
	} else {
		answer, err = r.replace(path, changed, text(change.Before, "metadata", "resourceVersion"))
	}
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		change.Said = []string{answer.Refusal()}
		return change, nil
	}
	if err := r.rest(ctx); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	change.Said = slices.Clone(r.out.Failures)
	for _, event := range r.out.Events {
		if !known[nameOfEvent(event)] && refusesForGood(event) {
			change.Said = append(change.Said, text(event, "message"))
		}
	}
	return change, nil
}

func nameOfEvent(event Object) string {
	return fmt.Sprint(text(event, "metadata", "name"), event["count"])
}

func (r *recording) apply(path string, object Object) (Answer, error) {
	body, err := json.Marshal(inNamespace(object, r.namespace))
	if err != nil {
		return Answer{}, err
	}
	return r.c.Do(http.MethodPatch, path+"?fieldValidation=Strict&fieldManager=case&force=true", body)
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
	delete(metadata, "uid") // of another object
	if data, err = json.Marshal(copied); err != nil {
		return Answer{}, err
	}
	return r.c.Do(http.MethodPut, path+"?fieldValidation=Strict&fieldManager=case", data)
}

// rest waits until neither Jobs nor Pods nor failures have come for a while.
func (r *recording) rest(ctx context.Context) error {
	var last string
	start := time.Now()
	for since := start; time.Since(since) < calm && time.Since(start) < patience; {
		var jobs batchv1.JobList
		var pods corev1.PodList
		for _, list := range []client.ObjectList{&jobs, &pods} {
			if err := r.c.jobset.GetClient().List(ctx, list, client.InNamespace(r.namespace)); err != nil {
				return err
			}
		}
		if now := fmt.Sprint(len(jobs.Items), len(pods.Items), strings.Join(r.lines(), "")); now != last {
			last, since = now, time.Now()
		}
		time.Sleep(60 * time.Millisecond)
	}
	return nil
}
