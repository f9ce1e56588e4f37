package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Object is an object as JSON.
type Object = map[string]any

// resource locates the objects of a kind.
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

// The kinds of a case and of the objects that follow from a TrainJob. Deletion follows this order.
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
	{"ClusterTrainingRuntime",
		resource{"trainer.kubeflow.org/v1alpha1", "clustertrainingruntimes", false}},
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

// Namespace creates a namespace. Its name is as long as default's, so that limits of length are the
// same.
func (c *ControlPlane) Namespace() (string, error) {
	c.mu.Lock()
	c.next++
	name := fmt.Sprintf("ns%05d", c.next)
	c.mu.Unlock()
	return name, c.namespace(name)
}

func (c *ControlPlane) namespace(name string) error {
	answer, err := c.Do(http.MethodPost, "/api/v1/namespaces",
		[]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`))
	if err == nil && answer.Status != http.StatusCreated {
		err = fmt.Errorf("namespace %s: %s", name, answer.Rejection())
	}
	return err
}

// Create posts an object, strictly. An object without a namespace, or in default, goes to the given
// one.
func (c *ControlPlane) Create(object Object, namespace, query string) (Answer, error) {
	where, known := resourceOf(object)
	if !known {
		return Answer{Status: http.StatusNotFound, Body: []byte("the server has no such resource")},
			nil
	}
	// The server itself rejects an unknown version.
	where.apiVersion = text(object, "apiVersion")
	body, err := json.Marshal(inNamespace(object, namespace))
	if err != nil {
		return Answer{}, err
	}
	return c.Do(http.MethodPost, where.path(namespace)+"?fieldValidation=Strict&fieldManager=case"+
		query, body)
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

func (r *recording) list(from resource, query string) ([]Object, error) {
	answer, err := r.c.Do(http.MethodGet, from.path(r.namespace)+query, nil)
	if err != nil || answer.Status != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %w", from.plural, answer.Rejection(), err)
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

// exact reads JSON and keeps the spelling of its numbers.
func exact(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// remove deletes an object of the cluster, and waits for its end.
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
