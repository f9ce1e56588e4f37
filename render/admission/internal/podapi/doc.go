// Package podapi answers whether the Pod API takes a Pod, a template for Pods, or a volume claim.
//
// CheckTemplate runs the rules for the template of a Job. CheckPod adds the rules that a created Pod meets only later: those of the Pod
// API itself, and of the default admission plugins. CheckClaim runs the rules for claims.
//
// # Order
//
// The rules follow ValidatePodTemplateSpec of Kubernetes v1.36.3 (pkg/apis/core/validation), with the features that are on by
// default. Each file has one part:
//
//	volume.go      the volumes, with volume_disk.go, projected.go and claim.go
//	container.go   the containers, with env.go, probe.go, resources.go and mount.go
//	pod.go         names, the host, the resolver, annotations
//	scheduling.go  where Pods run
//	security.go    as whom they run, with windows.go and profiles.go
//	created.go     created Pods (plugin/pkg/admission), with priority.go
package podapi
