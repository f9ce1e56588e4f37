// Package podapi checks whether the Pod API accepts a Pod, a template for Pods, or a volume claim.
//
// CheckTemplate checks a template. CheckPod adds the rules that apply only to a Pod, and
// CheckAdmission those of the default admission plugins. CheckClaim checks claims.
//
// # Order
//
// The rules follow ValidatePodTemplateSpec of Kubernetes v1.36.3 (pkg/apis/core/validation), with
// the default features, and of other minor versions where they differ (podChecker.since). Each file has one part:
//
//	volume.go      the volumes, with volume_disk.go, projected.go and claim.go
//	container.go   the containers, with env.go, probe.go, resources.go and mount.go
//	pod.go         names, the host, the resolver, annotations
//	scheduling.go  where Pods run
//	security.go    users, groups and privileges, with windows.go and profiles.go
//	created.go     created Pods (plugin/pkg/admission), with priority.go
package podapi
