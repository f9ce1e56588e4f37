package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Hold replaces the cluster's objects with stored runtimes and JobSets, and with all
// PriorityClasses that they name. It sets up the Trainer's webhooks over them.
func (o *Oracle) Hold(objects ...Object) error {
	if o.trainer == nil {
		return errNoTrainer
	}
	builder := o.cluster()
	classes := map[string]bool{}
	for _, object := range objects {
		held, err := o.typed(object)
		if err != nil {
			return fmt.Errorf("the server stored what its clients cannot read: %w", err)
		}
		builder.WithObjects(held)
		priorityClasses(object, classes)
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class := &schedulingv1.PriorityClass{}
		class.Name = name
		builder.WithObjects(class)
	}
	o.hooks = map[string]*admission.Webhook{}
	return o.trainer.Hooks(&manager{scheme: o.scheme, client: builder.Build(), hooks: o.hooks},
		indexer{builder})
}

// priorityClasses gathers the names of all PriorityClasses that are named anywhere in a value.
func priorityClasses(value any, names map[string]bool) {
	switch v := value.(type) {
	case Object:
		if name, ok := v["priorityClassName"].(string); ok && name != "" {
			names[name] = true
		}
		for _, field := range v {
			priorityClasses(field, names)
		}
	case []any:
		for _, item := range v {
			priorityClasses(item, names)
		}
	}
}

// hooksFor returns the webhooks of a kind by path.
func (o *Oracle) hooksFor(kind string) map[string]*admission.Webhook {
	if kind == "JobSet" {
		return o.jobSetHooks
	}
	return o.hooks
}

// AdmitJobSet sends a JobSet to the validating webhook, and returns the reason for which it
// rejects.
func (o *Oracle) AdmitJobSet(object, old Object) (rejected string, err error) {
	_, rejected, err = o.admit(o.jobSetHooks, "/validate"+hooksOf("JobSet"), object, old)
	return rejected, err
}

// admit sends an object to a webhook. It returns the object that the webhook makes, or the reason
// for which it rejects. The API server takes a panic as a rejection.
func (o *Oracle) admit(hooks map[string]*admission.Webhook, path string, object,
	old Object) (out Object, rejected string, err error) {
	hook := hooks[path]
	if hook == nil {
		return nil, "", fmt.Errorf("there is no webhook %s", path)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, "", err
	}
	request := admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create,
		Object: apiruntime.RawExtension{Raw: raw}}
	if old != nil {
		was, err := json.Marshal(old)
		if err != nil {
			return nil, "", err
		}
		request.Operation, request.OldObject = admissionv1.Update, apiruntime.RawExtension{Raw: was}
	}
	response := handle(hook, request)
	o.warnings = append(o.warnings, response.Warnings...)
	if !response.Allowed {
		return nil, path + ": " + response.Result.Message, nil
	}
	if len(response.Patches) > 0 {
		data, err := json.Marshal(response.Patches)
		if err != nil {
			return nil, "", err
		}
		patch, err := jsonpatch.DecodePatch(data)
		if err != nil {
			return nil, "", err
		}
		if raw, err = patch.Apply(raw); err != nil {
			return nil, "", err
		}
	}
	return out, "", Convert(json.RawMessage(raw), &out)
}

func handle(hook *admission.Webhook,
	request admissionv1.AdmissionRequest) (response admission.Response) {
	defer func() {
		if r := recover(); r != nil {
			response = admission.Denied(fmt.Sprintf("panic: %v", r))
		}
	}()
	return hook.Handle(context.Background(), admission.Request{AdmissionRequest: request})
}
