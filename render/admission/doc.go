// Package admission answers whether the cluster would take a TrainJob, and would run it.
//
//	runtime, findings := admission.AdmitRuntime(ctx, runtimeFields, "default")
//	findings = append(findings, admission.Check(ctx, admission.Input{TrainJob: jobFields, Runtime: runtime})...)
//	if err := findings.Err(); err != nil {
//		return err // every reason, at every stage of the way
//	}
//
// # The way of a TrainJob
//
// Each stage is a file, in the order in which the cluster comes to it. A cluster stops at the first stage
// that refuses the object, hours later perhaps; Check goes through them all.
//
//	definition.go       the custom resource definitions, embedded
//	object.go           the API server: unknown fields, defaults, schema, unique keys, rules
//	runtime.go          the Trainer's webhook for runtimes
//	trainjob.go         the Trainer's webhook for TrainJobs: the time stamp, the runtime's jobs
//	policies.go         the same webhook: torch, torchtune, mpi, xgboost, flux, volcano
//	jobset.go           the JobSet, rendered by package render: its definition and its webhook
//	children.go         the Jobs, Pods and volume claims
//	internal/jobapi     the Job API
//	internal/podapi     the Pod API
//	update.go           all that again, for a change
//	warnings.go         what the cluster takes and its author hardly meant
//
// Two kinds of findings come from elsewhere and pass through: those of check.Patches and package conflict
// on the patches, and those of package render on what the policies make of them.
//
// # Where a finding stands
//
// Findings of the first stages name a field of the TrainJob or of its runtime. Later ones name the
// object that the cluster would refuse, a JobSet or a Job, and the field there, as the cluster does; their
// claims say which field of the input the value comes from, the last claim being the one to look at.
//
// # Limits
//
// A file does not show what else is in the cluster: other objects of the same name, quotas, policies of
// other webhooks, whether a Secret exists. Alpha feature gates are taken to be off. Versions: Kubernetes
// 1.36, JobSet 0.12.0, Trainer 2.3.0.
//
// This package links the API server's own validation, which is large: nothing but a program should
// import it. It is not meant for js/wasm.
package admission
