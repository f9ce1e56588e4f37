package main

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/policy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// validator rejects TrainJobs whose patches the cluster could not use or the policy forbids. It
// also rejects a TrainJob if its managers set one field to different values. Runtimes reads the
// runtimes of the TrainJobs.
type validator struct {
	runtimes client.Reader
	policy   *policy.Policy // nil allows everything
}

var _ admission.Validator[*trainer.TrainJob] = validator{}

func (v validator) ValidateCreate(ctx context.Context,
	job *trainer.TrainJob) (admission.Warnings, error) {
	return v.review(ctx, nil, job)
}

// ValidateUpdate allows every update that changes no patch, label or runtime: the policy selects
// TrainJobs by labels. A TrainJob admitted before this webhook can still change its finalizers and
// suspension.
func (v validator) ValidateUpdate(ctx context.Context, old,
	job *trainer.TrainJob) (admission.Warnings, error) {
	if reflect.DeepEqual(old.Spec.RuntimePatches, job.Spec.RuntimePatches) &&
		reflect.DeepEqual(old.Spec.RuntimeRef, job.Spec.RuntimeRef) &&
		maps.Equal(old.Labels, job.Labels) {
		return nil, nil
	}
	return v.review(ctx, old.Spec.RuntimePatches, job)
}

func (v validator) ValidateDelete(context.Context, *trainer.TrainJob) (admission.Warnings, error) {
	return nil, nil
}

// review answers with every finding at once. The argument before has the patches of the stored
// TrainJob.
func (v validator) review(ctx context.Context, before []trainer.RuntimePatch,
	job *trainer.TrainJob) (admission.Warnings, error) {
	patches := job.Spec.RuntimePatches
	at := field.NewPath("spec", "runtimePatches")
	for i, patch := range patches {
		if len(patch.Manager) > validation.DNS1123SubdomainMaxLength {
			return nil, invalid(
				job, field.ErrorList{
					field.TooLong(at.Index(i).Child("manager"), "",
						validation.DNS1123SubdomainMaxLength)})
		}
	}
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var errs field.ErrorList
	for _, manager := range v.policy.Refused(request.UserInfo.Username, before, patches) {
		errs = append(
			errs, field.Forbidden(at.Key(manager),
				"the policy does not let "+request.UserInfo.Username+" change the patch"))
	}
	if errs != nil {
		return nil, invalid(job, errs)
	}
	template, err := v.template(ctx, job)
	if err != nil {
		return nil, err
	}
	findings := v.rated(append(check.Patches(template, patches), v.policy.Check(job, patches)...))
	if err := findings.Err(); err != nil {
		return nil, invalid(
			job, field.ErrorList{field.Invalid(at, field.OmitValueType{}, err.Error())})
	}
	result, err := runtimepatch.Apply(template, patches, runtimepatch.Options{})
	if err != nil {
		return nil, invalid(
			job, field.ErrorList{field.Invalid(at, field.OmitValueType{}, err.Error())})
	}
	var conflicts conflict.Conflicts
	for _, c := range conflict.Find(result.History) {
		f := c.Finding(fieldpath.Object{})
		if v.policy.Severity(f) == finding.Error {
			conflicts = append(conflicts, c)
		}
		findings = append(findings, v.rated(finding.List{f})...)
	}
	if len(conflicts) > 0 {
		return nil, invalid(job, runtimepatch.ErrorList(conflicts, at))
	}
	findings = append(findings, v.rated(runtimepatch.Warnings(template, result))...)
	if err := findings.Err(); err != nil {
		return nil, invalid(
			job, field.ErrorList{field.Invalid(at, field.OmitValueType{}, err.Error())})
	}
	var warnings admission.Warnings
	for _, f := range findings {
		if f.Severity == finding.Warning {
			warnings = append(warnings, short(f.Error()))
		}
	}
	return warnings[:min(len(warnings), mostProblems)], nil
}

// rated returns the findings with the severities of the policy. It drops the findings that the
// policy removes.
func (v validator) rated(findings finding.List) finding.List {
	for i := range findings {
		findings[i].Severity = v.policy.Severity(findings[i])
	}
	return slices.DeleteFunc(findings, func(f finding.Finding) bool { return f.Severity == 0 })
}

// template is the JobSet template of the runtime that a TrainJob names.
func (v validator) template(ctx context.Context,
	job *trainer.TrainJob) (*trainer.JobSetTemplateSpec, error) {
	ref := job.Spec.RuntimeRef
	kind := trainer.ClusterTrainingRuntimeKind
	if ref.Kind != nil {
		kind = *ref.Kind
	}
	at := field.NewPath("spec", "runtimeRef")
	var template *trainer.JobSetTemplateSpec
	var err error
	switch kind {
	case trainer.ClusterTrainingRuntimeKind:
		runtime := &trainer.ClusterTrainingRuntime{}
		err = v.runtimes.Get(ctx, client.ObjectKey{Name: ref.Name}, runtime)
		template = &runtime.Spec.Template
	case trainer.TrainingRuntimeKind:
		runtime := &trainer.TrainingRuntime{}
		err = v.runtimes.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: ref.Name},
			runtime)
		template = &runtime.Spec.Template
	default:
		kinds := []string{trainer.ClusterTrainingRuntimeKind, trainer.TrainingRuntimeKind}
		return nil, invalid(job, field.ErrorList{field.NotSupported(at.Child("kind"), kind, kinds)})
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, invalid(job, field.ErrorList{field.NotFound(at, kind+" "+ref.Name)})
	case err != nil:
		return nil, apierrors.NewInternalError(fmt.Errorf("get %s %s: %w", kind, ref.Name, err))
	}
	return template, nil
}

// An answer has at most so many problems, each with so many bytes.
const (
	mostProblems = 20
	mostBytes    = 4096
)

func short(text string) string {
	if len(text) > mostBytes {
		return strings.ToValidUTF8(text[:mostBytes], "") + "..."
	}
	return text
}

func invalid(job *trainer.TrainJob, errs field.ErrorList) error {
	if more := len(errs) - mostProblems; more > 0 {
		errs = append(errs[:mostProblems:mostProblems],
			field.InternalError(nil, fmt.Errorf("%d more problems", more)))
	}
	for _, err := range errs {
		err.Field, err.Detail = short(err.Field), short(err.Detail)
		if value, ok := err.BadValue.(string); ok {
			err.BadValue = short(value)
		}
	}
	return apierrors.NewInvalid(trainer.GroupVersion.WithKind(trainer.TrainJobKind).GroupKind(),
		job.Name, errs)
}
