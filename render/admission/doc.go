// Package admission reports whether the cluster would accept a TrainJob, and whether it would run.
//
//	runtime, findings := admission.AdmitRuntime(ctx, nil, runtimeFields, "default")
//	findings = append(findings, admission.Check(ctx, admission.Input{TrainJob: jobFields, Runtime: runtime})...)
//	if err := findings.Err(); err != nil {
//		return err // every reason, at every stage
//	}
//
// # Stages
//
// Each stage is a file, in the order of the cluster. A cluster stops at the first stage that
// rejects the object, perhaps hours later. Check runs all of them.
//
//	definition.go       the custom resource definitions, embedded
//	create.go           the rules of a definition that matter for a new object
//	object.go           the API server: unknown fields, defaults, schema, unique keys, rules; schema.go has the findings
//	earlier.go          the fields that only earlier releases have
//	runtime.go          the Trainer's webhook for runtimes
//	trainjob.go         the Trainer's webhook for TrainJobs: the runtime's jobs; stamp.go has the time stamp
//	policies.go         the same webhook: torch, torchtune, mpi, xgboost, flux, volcano
//	gang.go             the Trainer's controller: the deadline, and a gang without Pods
//	jobset.go           the JobSet, rendered by package render: its definition and its webhook
//	children.go         the Jobs, Pods and volume claims, and classes that the inputs lack
//	internal/kubeapi    the APIs of Jobs, Pods and the kinds around them
//	update.go           all stages again, for a change, with reapply.go
//	warnings.go         patches that are accepted and probably a mistake, with idle.go
//	launch.go           a command line that contradicts the TrainJob
//	doubts.go           runtimes that are accepted and probably a mistake, with alone.go
//
// Check also returns the findings of other packages. Package check and package conflict report on
// the patches, and package render on the results of the policies.
//
// # The fields of findings
//
// Findings of the first stages name a field of the TrainJob or its runtime. Later ones name the
// JobSet, Job or other object that the cluster would reject. They name the same field as the
// cluster. Their claims name the field of the input that the value comes from. The last claim is
// the most relevant.
//
// # Limits
//
// A file does not show the rest of the cluster. Check knows nothing of other objects of the same
// name, quotas, other webhooks and existing Secrets. It assumes that the feature gates of
// Kubernetes and JobSet have their defaults. Release.Kubernetes is the minor version of Kubernetes.
// Without a release, the Trainer is 2.3.0, JobSet 0.12.0 and Kubernetes 1.36.
//
// This package links the API server's own validation, which is large. Only a program should import
// it.
//
// Its first file to read is check.go.
package admission
