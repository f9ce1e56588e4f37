// Package trainjob writes TrainJobs.
//
// It takes the options of the Kubeflow Python SDK, and follows the SDK's rules:
//
//	job, findings := trainjob.New("torch-distributed",
//		trainjob.Name("llm"),
//		trainjob.Labels{"team": "research"},
//		trainjob.TrainerImage("registry.example.com/train:2"),
//		trainjob.TrainerCommand{"torchrun", "train.py"},
//		trainjob.NumNodes(4),
//		trainjob.ResourcesPerNode{"cpu": "8", "gpu": "1"},
//	)
//	if err := findings.Err(); err != nil {
//		return err // every value that the SDK or the cluster rejects
//	}
//	return manifest.Encode(os.Stdout, manifest.YAML, job)
//
// The TrainJob encodes to the JSON that the SDK sends for the same options, without empty values.
// New also rejects values that the SDK accepts and the cluster rejects. docs/create.md has a table
// of both. Some rules depend on the runtime, such as whether it has a patched container. Package
// check checks them.
//
// Two differences are intended. The SDK generates a random name by default. This package requires a
// name, so that equal options give equal TrainJobs. A second patch of one manager is an error,
// because the cluster rejects it.
package trainjob

import (
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/nearest"
)

// SDKManager is the manager of the SDK's patches (Kubeflow SDK,
// kubeflow/trainer/options/kubernetes.py).
const SDKManager = "trainer.kubeflow.org/kubeflow-sdk"

// Limits of the TrainJob's definition (Trainer v2.3.0 manifests/base/crds).
const (
	longestRuntimeName = 253
	longestImage       = 500
	mostWords          = 128 // of command and of args
	longestWord        = 1 << 20
	mostVariables      = 128
	mostPatches        = 16
)

// Option sets one part of a TrainJob. The types of this package implement it.
type Option interface {
	apply(*builder)
}

// New returns a TrainJob on the named runtime with the options. Of duplicate options the last one
// counts, as in the SDK. Variables and patches add up.
//
// It returns all findings at once, and no TrainJob if one of them is an error. Values that the SDK
// or the cluster rejects are errors. Warnings come from check.Patches. The TrainJob shares no
// memory with the options.
func New(runtime string, options ...Option) (*trainer.TrainJob, finding.List) {
	b := &builder{job: &trainer.TrainJob{}}
	b.job.APIVersion = trainer.GroupVersion.String()
	b.job.Kind = trainer.TrainJobKind
	b.job.Spec.RuntimeRef.Name = runtime
	for _, o := range options {
		if o != nil {
			o.apply(b)
		}
	}
	b.check()
	for i := range b.findings {
		f := &b.findings[i]
		f.Object = fieldpath.Object{Kind: trainer.TrainJobKind, Namespace: b.job.Namespace,
			Name: b.job.Name}
	}
	if b.findings.Err() != nil {
		return nil, b.findings
	}
	return b.job, b.findings
}

// builder builds a TrainJob.
type builder struct {
	job      *trainer.TrainJob
	given    ResourcesPerNode
	deadline *int64
	written  []func(fieldpath.Path) bool // see RuntimePatch; one for each patch
	findings finding.List
}

// trainer returns spec.trainer. It adds a missing one.
func (b *builder) trainer() *trainer.Trainer {
	if b.job.Spec.Trainer == nil {
		b.job.Spec.Trainer = &trainer.Trainer{}
	}
	return b.job.Spec.Trainer
}

func (b *builder) reject(code finding.Code, path fieldpath.Path, help, message string,
	args ...any) {
	b.findings = append(b.findings, finding.Finding{
		Code: code, Severity: finding.Error, Path: path, Message: fmt.Sprintf(message, args...),
		Remedy: finding.Remedy{Text: help},
	})
}

func (b *builder) check() {
	b.checkNames()
	b.checkMetadata()
	b.checkTrainer()
	b.resources()
	if s := b.deadline; s != nil {
		b.job.Spec.ActiveDeadlineSeconds = *s
		if *s < 1 {
			b.reject(codes.BadValue, fieldpath.Fields("spec", "activeDeadlineSeconds"),
				"use 1 or more, or remove it",
				"invalid value %d: must be at least 1", *s)
		}
	}
	b.checkPatches()
}

// checkNames checks the rules of the TrainJob's definition: an RFC 1035 name, and a runtime.
func (b *builder) checkNames() {
	name := fieldpath.Fields("metadata", "name")
	if b.job.Name == "" {
		b.reject(codes.NoName, name, "set a name",
			"Required value: names of Jobs, Pods and addresses contain it")
	} else {
		for _, problem := range validation.IsDNS1035Label(b.job.Name) {
			b.reject(codes.BadMetadata, name,
				"use lower-case letters, digits and hyphens, and begin with a letter",
				"invalid name %q: %s", b.job.Name, problem)
		}
	}
	if b.job.Namespace != "" {
		for _, problem := range validation.IsDNS1123Label(b.job.Namespace) {
			b.reject(codes.BadMetadata, fieldpath.Fields("metadata", "namespace"),
				"use lower-case letters, digits and hyphens",
				"invalid namespace %q: %s", b.job.Namespace, problem)
		}
	}
	ref := b.job.Spec.RuntimeRef
	runtime := fieldpath.Fields("spec", "runtimeRef", "name")
	switch {
	case ref.Name == "":
		b.reject(codes.MissingField, runtime, "name a runtime, such as torch-distributed",
			"the TrainJob names no runtime")
	case len(ref.Name) > longestRuntimeName:
		b.reject(codes.BadValue, runtime, "name a runtime that exists",
			"the runtime's name has %d characters: must have at most %d", len(ref.Name),
			longestRuntimeName)
	}
	if ref.Kind == nil {
		return
	}
	kinds := RuntimeKinds()
	if slices.Contains(kinds, *ref.Kind) {
		return
	}
	help := "use " + kinds[0] + " or " + kinds[1]
	if near := nearest.To(*ref.Kind, kinds); near != "" {
		help = fmt.Sprintf("did you mean %q?", near)
	}
	b.reject(codes.UnknownRuntime, fieldpath.Fields("spec", "runtimeRef", "kind"), help,
		"unsupported value %q", *ref.Kind)
}
