package runtimepatch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// A validating admission webhook rejects TrainJobs whose managers disagree, with an error for each
// field. The one of docs/examples/webhook does so with controller-runtime.
func Example_webhook() {
	template := &trainer.JobSetTemplateSpec{}
	template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}

	// reject returns why a TrainJob is rejected, or nil.
	reject := func(job *trainer.TrainJob) *apierrors.StatusError {
		patches := job.Spec.RuntimePatches
		at := field.NewPath("spec", "runtimePatches")
		kind := trainer.GroupVersion.WithKind(trainer.TrainJobKind).GroupKind()
		err := check.Patches(template, patches).Err()
		var result *runtimepatch.Result
		if err == nil {
			result, err = runtimepatch.Apply(template, patches, runtimepatch.Options{})
		}
		if err != nil {
			return apierrors.NewInvalid(kind, job.Name,
				field.ErrorList{field.Invalid(at, field.OmitValueType{}, err.Error())})
		}
		if conflicts := conflict.Find(result.History); len(conflicts) > 0 {
			return apierrors.NewInvalid(kind, job.Name,
				runtimepatch.ErrorList(conflicts, at))
		}
		return nil
	}
	webhook := func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "the body is no AdmissionReview", http.StatusBadRequest)
			return
		}
		job := &trainer.TrainJob{}
		if err := json.Unmarshal(review.Request.Object.Raw, job); err != nil {
			http.Error(w, "the object is no TrainJob", http.StatusBadRequest)
			return
		}
		response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if rejected := reject(job); rejected != nil {
			response.Allowed, response.Result = false, &rejected.ErrStatus
		}
		review.Request, review.Response = nil, response
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
	server := httptest.NewTLSServer(http.HandlerFunc(webhook))
	defer server.Close()

	// ask does as the API server does when a TrainJob is created.
	ask := func(patches ...trainer.RuntimePatch) *admissionv1.AdmissionResponse {
		job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "llm"}}
		job.Spec.RuntimePatches = patches
		object, err := json.Marshal(job)
		if err != nil {
			panic(err)
		}
		review := admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
			Request: &admissionv1.AdmissionRequest{
				UID: "1", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: object},
			},
		}
		body, err := json.Marshal(review)
		if err != nil {
			panic(err)
		}
		answer, err := server.Client().Post(server.URL, "application/json", bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&review); err != nil {
			panic(err)
		}
		return review.Response
	}

	rejected := ask(pool("sdk.example.com/user", "reserved"),
		pool("queue.example.com/admission", "spot"))
	fmt.Println(rejected.Allowed, rejected.Result.Code)
	for _, cause := range rejected.Result.Details.Causes {
		fmt.Println(cause.Field)
		fmt.Println(cause.Message)
	}
	fmt.Println(ask(pool("sdk.example.com/user", "spot"),
		pool("queue.example.com/admission", "spot")).Allowed)
	// Output:
	// false 422
	// spec.runtimePatches[queue.example.com/admission].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.nodeSelector["pool"]
	// Invalid value: managers set different values: sdk.example.com/user sets "reserved", queue.example.com/admission sets "spot"
	// true
}
