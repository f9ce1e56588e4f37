// Package jobapi answers whether the Job API takes a Job that the JobSet controller made.
//
// The rules follow validateJobSpec of Kubernetes v1.36.3 (pkg/apis/batch/validation), with the features that are on by default:
//
//	job.go       counts, the selector, the restart policy, metadata; then package podapi on the template
//	policies.go  what the Pods' failures and successes do to the Job
//	path.go      fields of Jobs as the API server prints them
package jobapi
