package main

import (
	"context"
	_ "unsafe" // for the link

	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	_ "sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/podset"
)

// getPodSetsInfoFromStatus makes what an admission adds to the Pods. Kueue does not export it. The empty assembly file lets it have no body.
//
//go:linkname getPodSetsInfoFromStatus sigs.k8s.io/kueue/pkg/controller/jobframework.getPodSetsInfoFromStatus
func getPodSetsInfoFromStatus(ctx context.Context, c client.Client, w *kueue.Workload) ([]podset.PodSetInfo, error)
