// Package kubeapi checks whether the API server accepts Pods, templates for Pods, volume claims,
// Jobs, Services, Ingresses and NetworkPolicies.
//
// CheckTemplate checks a template, and CheckJob a Job with its template. CheckPod adds the rules
// that apply only to a Pod, and CheckAdmission those of the default admission plugins. CheckClaim
// checks claims, and CheckService, CheckIngress and CheckNetworkPolicy the kinds around Pods.
//
// # Order
//
// The rules follow those of Kubernetes v1.36.3 (pkg/apis/core/validation,
// pkg/apis/batch/validation, pkg/apis/networking/validation), with the default features, and of
// other minor versions where they differ (podChecker.since). A rule is a method of At, the field
// that it judges. Each file has one part:
//
//	at.go          a field, and the rules for single values; text.go has the words
//	metadata.go    labels and annotations
//	volume.go      the volumes of a Pod, with volume_disk.go and claim.go
//	container.go   the containers, with env.go, probe.go, resources.go and mount.go
//	pod.go         names, the host, the resolver, annotations
//	scheduling.go  where Pods run
//	security.go    users, groups and privileges, with windows.go and profiles.go
//	created.go     created Pods (plugin/pkg/admission)
//	job.go         counts, the selector, the restart policy of Jobs, with job_policies.go
//	path.go        fields of Jobs as the API server prints them
//	net.go         Services, Ingresses and NetworkPolicies
//
// Its first file to read is pod.go.
package kubeapi
