// Package ports finds the ports of a runtime without an explicit protocol.
//
//	plain := ports.WithoutProtocol(&runtime.Spec)
//	render.DefaultRuntime(&runtime.Spec, nil)
//	for _, p := range plain {
//		p.Protocol = ""
//	}
//	// ... and what the runtime renders to:
//	ports.Spell(out.JobSet, &runtime.Spec)
//
// The CRDs of runtimes and JobSets set the protocol of every port. A JobSet shows it. In Jobs and
// Pods it is a default without information, and is omitted unless the runtime sets it.
package ports

import (
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// WithoutProtocol returns the ports of a runtime without a protocol. They point into spec. Call it
// before setting the runtime's defaults.
func WithoutProtocol(spec *trainer.TrainingRuntimeSpec) []*corev1.ContainerPort {
	var plain []*corev1.ContainerPort
	eachPort(spec.Template.Spec.ReplicatedJobs, func(_ portKey, p *corev1.ContainerPort) {
		if p.Protocol == "" {
			plain = append(plain, p)
		}
	})
	return plain
}

// Spell sets TCP on a JobSet's port without a protocol if the runtime sets one for that port
// number. A policy has replaced that port, and the JobSet's CRD sets the protocol.
func Spell(js *jobset.JobSet, spec *trainer.TrainingRuntimeSpec) {
	spelled := map[portKey]bool{}
	eachPort(spec.Template.Spec.ReplicatedJobs, func(key portKey, p *corev1.ContainerPort) {
		spelled[key] = spelled[key] || p.Protocol != ""
	})
	eachPort(js.Spec.ReplicatedJobs, func(key portKey, p *corev1.ContainerPort) {
		if p.Protocol == "" && spelled[key] {
			p.Protocol = corev1.ProtocolTCP
		}
	})
}

type portKey struct {
	job, container string
	number         int32
}

func eachPort(jobs []jobset.ReplicatedJob, visit func(portKey, *corev1.ContainerPort)) {
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for c := range list {
				for p := range list[c].Ports {
					port := &list[c].Ports[p]
					visit(portKey{jobs[i].Name, list[c].Name, port.ContainerPort}, port)
				}
			}
		}
	}
}
