// Package jobapi checks whether the Job API accepts a Job that the JobSet controller made.
//
// The rules follow validateJobSpec of Kubernetes v1.36.3 (pkg/apis/batch/validation), with the
// default features:
//
//	job.go       counts, the selector, the restart policy, metadata; then package podapi on the template
//	policies.go  the policies for failed and succeeded Pods
//	path.go      fields of Jobs as the API server prints them
package jobapi
