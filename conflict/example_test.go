package conflict_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/merge"
)

// A controller merges what several managers want of a Deployment, asks whether they agree, and
// records who set what.
func Example() {
	patches := []merge.Patch{
		{Manager: "web", Value: merge.Object{"spec": map[string]any{"replicas": int64(3)}}},
		{Manager: "autoscaler",
			Value: merge.Object{
				"spec": map[string]any{"replicas": int64(5), "minReadySeconds": int64(10)}}},
	}
	result, err := merge.Strategic(&appsv1.Deployment{}, patches)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*result.Value.Spec.Replicas)
	fmt.Println(conflict.Find(result.History).Err())
	for layer, fields := range result.History.FieldsV1(nil) {
		if manager, ok := layer.Manager(); ok {
			fmt.Println(manager, string(fields))
		}
	}
	// Output:
	// 5
	// .spec.replicas: managers set different values: web sets 3, autoscaler sets 5
	// web {}
	// autoscaler {"f:spec":{"f:minReadySeconds":{},"f:replicas":{}}}
}
