package main

import (
	"context"
	_ "unsafe" // for the link

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	_ "sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/podset"
	_ "sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
)

// flavorSelector returns the selector of a Pod for the labels of a flavor.
//
//go:linkname flavorSelector sigs.k8s.io/kueue/pkg/scheduler/flavorassigner.flavorSelector
func flavorSelector(spec *corev1.PodSpec,
	allowedKeys sets.Set[string]) nodeaffinity.RequiredNodeAffinity

// getPodSetsInfoFromStatus makes what an admission adds to the Pods. Kueue does not export it. The
// empty assembly file lets it have no body.
//
//go:linkname getPodSetsInfoFromStatus sigs.k8s.io/kueue/pkg/controller/jobframework.getPodSetsInfoFromStatus
func getPodSetsInfoFromStatus(ctx context.Context, c client.Client,
	w *kueue.Workload) ([]podset.PodSetInfo, error)
